"""What `weft export` writes, read by the programs it is for; weft's tests run by ReFrame."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.process_calls import call

from weft.api.export import perflog

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
ROOT = Path(__file__).resolve().parents[2]
READERS = Path(sys.prefix) / "opt/exports"
TESTS = ROOT / "src/weft/api/reframe_tests.py"
PAGE = ROOT / "docs/reference/export.md"
TWIN = ("--twin", "fat-tree", "--nodes", "8")
FIRST = "from reframe.frontend.cli import main; main()"


@pytest.fixture(scope="module")
def readers() -> Path:
    """The folder of the packages of requirements/exports.lock; another one by its path."""
    folder = Path(os.environ.get("WEFT_EXPORT_READERS", READERS))
    if not (folder / "reframe").is_dir():
        pytest.skip(f"no ReFrame in {folder} (make exports)")
    return folder


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    for words in (
        ["bench", "latency", *TWIN, "--repeats", "2", "--dir", str(folder / "bench")],
        ["check", *TWIN, "--plant", "n003 slow=2", "--no-report", "--dir", str(folder / "check")],
    ):
        assert call(words, limit_s=200).code in (0, 1)
    return folder


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """weft for ReFrame, whose packages it must not see."""
    path = tmp_path / "weft"
    paths = os.pathsep.join(filter(None, sys.path))
    script = f"#!/bin/sh\nPYTHONPATH='{paths}' exec {sys.executable} -m weft.cli \"$@\"\n"
    path.write_text(script)
    path.chmod(0o755)
    return path


def python(readers: Path, code: str, folder: Path, *argv: str) -> str:
    """The output of Python code that sees the readers' packages and weft."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(readers), *sys.path])}
    end = subprocess.run(
        [sys.executable, "-c", code, *argv],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert end.returncode == 0, end.stderr[-3000:]
    return end.stdout


def exported(runs: Path, to: str, out: Path) -> Path:
    made = call(["export", str(runs), "--to", to, "-o", str(out)], limit_s=200)
    assert made.code == 0, made.err
    return out


def test_both_parsers_of_prometheus_read_the_gauges(
    readers: Path, runs: Path, tmp_path: Path
) -> None:
    exported(runs, "openmetrics", tmp_path / "weft.prom")
    code = """
from prometheus_client import openmetrics, parser
from prometheus_client.openmetrics.parser import text_string_to_metric_families as strict
text = open("weft.prom").read()
found = list(strict(text))
older = list(parser.text_string_to_metric_families(text))
assert [len(one.samples) for one in found] == [len(one.samples) for one in older]
assert {one.type for one in found} == {one.type for one in older} == {"gauge"}
print(*(one.name for one in found))
"""
    names = python(readers, code, tmp_path).split()
    assert "weft_latency_seconds" in names
    assert "weft_check_bad" in names


FRAMES = """
import sys
from pathlib import Path
import weft
from weft.api import frames
from weft.study.sample_table import read_sample_table
place = sys.argv[1]
rows = weft.load(place, frame="rows")
pandas, polars, arrow = (weft.load(place, frame=one) for one in ("pandas", "polars", "arrow"))
assert type(weft.load(place)).__module__.startswith("pandas")
names = list(rows[0])
assert names == list(pandas.columns) == polars.columns == arrow.column_names
assert polars.rows(named=True) == rows == arrow.to_pylist()
assert pandas.astype(object).where(pandas.notna(), None).to_dict("records") == rows
assert pandas["latency_us"].dtype == "float64" and str(polars["size_bytes"].dtype) == "Int64"
import pyarrow.parquet, polars as pl
assert pyarrow.parquet.read_table("x.parquet").to_pylist() == rows
assert pl.read_parquet("x.parquet").rows(named=True) == rows
found, table = frames.importlib.util.find_spec, read_sample_table([Path(place)])
frames.importlib.util.find_spec = lambda name: None if name == "pyarrow" else found(name)
Path("polars.parquet").write_bytes(frames.parquet_bytes(table))
assert pl.read_parquet("polars.parquet").rows(named=True) == rows
print(len(rows))
"""


def test_pandas_polars_and_arrow_hold_the_same_rows(
    readers: Path, runs: Path, tmp_path: Path
) -> None:
    code = "import sys; from weft.cli import run; sys.exit(run(sys.argv[1:]))"
    words = ("export", str(runs), "--to", "parquet", "-o", "x.parquet")
    python(readers, code, tmp_path, *words)
    assert int(python(readers, FRAMES, tmp_path, str(runs))) > 50


def configuration() -> str:
    """ReFrame's configuration of the page."""
    (block,) = re.findall(r"^```python\n('logging.*?)^```$", PAGE.read_text(), re.M | re.S)
    return f"site_configuration = {{\n{block}}}\n"


def reframe(readers: Path, program: Path, *words: str) -> subprocess.CompletedProcess[str]:
    folder = program.parent
    (folder / "settings.py").write_text(configuration())
    where = ["-C", "settings.py", "--prefix", ".", "-c", str(TESTS), "-r", "--nocolor"]
    given = ["-S", f"weft={program}", "-S", f"options={','.join(TWIN)}"]
    # ReFrame leaves its log in the first, its reports in the second.
    own = {"TMPDIR": str(folder), "HOME": str(folder)}
    environment = {**os.environ, **own, "PYTHONPATH": str(readers)}
    return subprocess.run(
        [sys.executable, "-c", FIRST, *where, *given, *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def lines(log: Path) -> Iterator[dict[str, str]]:
    header, *found = log.read_text().splitlines()
    for line in found:
        yield dict(zip(header.split("|"), line.split("|"), strict=True))


def test_reframe_appends_to_an_exported_log(
    readers: Path, runs: Path, program: Path, tmp_path: Path
) -> None:
    log = tmp_path / "perflogs/generic/default/WeftBench.log"
    exported(runs / "bench", "perflog", log)
    before = log.read_text()
    ended = reframe(readers, program, "-n", "WeftBench%benchmark=latency")
    assert "Ran 1/1 test case(s)" in ended.stdout, ended.stdout
    assert "(0 failure(s)" in ended.stdout, ended.stdout
    assert [path.name for path in log.parent.iterdir()] == [log.name], "ReFrame moved the log away"
    assert log.read_text().startswith(before)
    assert log.read_text().splitlines()[0].split("|") == list(perflog.COLUMNS)
    found = list(lines(log))
    own, theirs = found[: before.count("\n") - 1], found[before.count("\n") - 1 :]
    assert len(theirs) == 3
    by_name = {one["perf_var"]: one for one in own}
    for one in theirs:
        # One twin measured both, on other numbers of nodes: the same names and units.
        assert by_name[one["perf_var"]]["perf_unit"] == one["perf_unit"] == "us"
        assert one["result"] == "pass"
        for column in ("perf_ref", "perf_lower_thres", "perf_upper_thres"):
            assert by_name[one["perf_var"]][column] == one[column]
        assert float(by_name[one["perf_var"]]["perf_value"]) == float(one["perf_value"])


@pytest.mark.parametrize(
    ("name", "more", "said"),
    [
        ("WeftCheck", "", ""),
        ("WeftCheck", "--plant,n003 slow=2", "n003"),
        ("WeftBench%benchmark=latency", "--no-such-option", "No such option"),
    ],
)
def test_a_test_of_reframe_fails_with_wefts_own_sentence(
    readers: Path, program: Path, name: str, more: str, said: str
) -> None:
    options: Any = ["-S", f"options={','.join(TWIN)},{more}"] if more else []
    ended = reframe(readers, program, "-n", name, *options)
    assert "Ran 1/1 test case(s)" in ended.stdout, ended.stdout
    if not said:
        assert "(0 failure(s)" in ended.stdout, ended.stdout
        return
    assert "(1 failure(s)" in ended.stdout, ended.stdout
    reason = ended.stdout.partition("Reason:")[2].partition("\n---")[0]
    assert said in reason
