"""`weft check --from`: a run judged again with evidence that came later."""

import hashlib
import json
import shutil
from datetime import datetime
from pathlib import Path

import click
import pytest
from tests.cli.test_check import NODES, use_mock
from tests.cli.test_check_fabric import fabric_file

from weft.cli import run
from weft.cli.check.command import command
from weft.cli.check.replay import JUDGING
from weft.study.run.store import read_meta

REAL = Path(__file__).parent.parent / "fixtures" / "fabric"
FILES = (
    "--fabric", str(REAL / "small" / "ibnetdiscover.out"),
    "--fabric", str(REAL / "opensm" / "opensm-lfts.dump"),
)  # fmt: skip
COUNTERS = ("--counters", str(REAL / "counters" / "ibqueryerrors.out"))
OF_FILES = ("--twin", "azure-hbv3", *FILES)
Capture = pytest.CaptureFixture[str]
VERDICT = (
    "exit_code", "findings", "norms", "platform", "coverage", "would_show", "would_not_show",
    "caveats", "inputs", "planted", "readings",
)  # fmt: skip
"""The keys of an answer that hold the verdict; the others name the run and its time."""

pytest.importorskip("weft._engine", reason="the engine is not built")


def check(capsys: Capture, *words: str) -> dict:
    code = run(["check", *words, "--format", "json"])
    out, err = capsys.readouterr()
    assert out, err
    answer = json.loads(out)
    assert code == answer["exit_code"]
    return {key: answer[key] for key in VERDICT}


def stripped(run_dir: Path, copy: Path, *names: str) -> Path:
    """A copy of a run directory without the files of its evidence."""
    shutil.copytree(run_dir, copy)
    for name in names:
        (copy / name).unlink()
    return copy


def digests(run_dir: Path) -> dict[str, str]:
    files = sorted(path for path in run_dir.rglob("*") if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_counters_of_a_generated_twin_give_the_verdict_of_a_check_that_had_them(
    tmp_path: Path, capsys: Capture
) -> None:
    twin = ["--twin", "fat-tree", "--nodes", "24", "--seed", "2", "--no-report"]
    plant = ["--plant", "leaf-02[6] lost=0.001"]
    check(capsys, *twin, "--dir", str(tmp_path / "healthy"))
    check(capsys, *twin, *plant, "--dir", str(tmp_path / "lost"))
    files = [str(tmp_path / name / "counters.out") for name in ("healthy", "lost")]
    counters = [word for file in files for word in ("--counters", file)]
    first = check(capsys, *twin, *plant, *counters, "--dir", str(tmp_path / "first"))
    assert first["planted"][0]["named"] == "yes"
    assert check(capsys, "--from", str(tmp_path / "lost"), *counters) == first


def test_files_of_a_fabric_give_the_verdict_of_a_check_that_had_them(
    tmp_path: Path, capsys: Capture
) -> None:
    plant = ("--plant", "MF0;leaf000:MQM8700/U1[5] rate=0.3", "--no-report")
    run_dir = tmp_path / "r"
    first = check(capsys, *OF_FILES, *plant, *COUNTERS, "--dir", str(run_dir))
    assert "the files say" in json.dumps(first["findings"])
    later = stripped(run_dir, tmp_path / "later", "marks.json")
    assert check(capsys, "--from", str(later)) != first
    assert check(capsys, "--from", str(later), *FILES, *COUNTERS) == first
    assert check(capsys, "--from", str(run_dir)) == first


def test_a_fabric_given_later_names_the_cables_of_real_hosts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    use_mock(monkeypatch, slow_nodes={"n005": 4.0})
    fabric = ("--fabric", str(fabric_file(tmp_path)))
    run_dir = tmp_path / "r"
    first = check(capsys, "--mock", *fabric, "--dir", str(run_dir), "--no-report")
    names = [name for name in ("fabric.json", "marks.json") if (run_dir / name).exists()]
    later = stripped(run_dir, tmp_path / "later", *names)
    without = check(capsys, "--from", str(later))
    assert "n005/hca0[1]" not in json.dumps(without["findings"])
    assert check(capsys, "--from", str(later), *fabric) == first


def test_a_platform_given_later_is_compared_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    use_mock(monkeypatch, NODES)
    platform = ("--platform", "generic-hdr")
    first = check(capsys, "--mock", *platform, "--dir", str(tmp_path / "r"), "--no-report")
    later = stripped(tmp_path / "r", tmp_path / "later", "machine.toml")
    assert check(capsys, "--from", str(later))["platform"] is None
    assert check(capsys, "--from", str(later), *platform) == first


def test_it_writes_where_it_is_asked_to_and_nothing_into_the_run(
    tmp_path: Path, capsys: Capture
) -> None:
    run_dir, page, drain = tmp_path / "r", tmp_path / "page.html", tmp_path / "drain.sh"
    twin = ["--twin", "fat-tree", "--nodes", "8", "--plant", "n003 slow=3", "--no-report"]
    assert run(["check", *twin, "--dir", str(run_dir)]) == 1
    before = digests(run_dir)
    capsys.readouterr()
    assert run(["check", "--from", str(run_dir)]) == 1
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == f"report: weft check --from {run_dir} --output report.html"
    argv = ["check", "--from", str(run_dir), "-o", str(page), "--drain", str(drain)]
    assert run(argv) == 1
    assert digests(run_dir) == before
    assert "n003" in page.read_text()
    assert "NodeName=n003" in drain.read_text()
    assert capsys.readouterr().out.splitlines()[-1] == f"report: {page}"


def typed(option: click.Option) -> list[str]:
    """The option with a value that it accepts."""
    if option.is_flag:
        return [option.opts[0]]
    if isinstance(option.type, click.Choice):
        return [option.opts[0], option.type.choices[0]]
    if isinstance(option.type, click.FloatRange):
        return [option.opts[0], "0.1"]
    return [option.opts[0], "/dev/null" if option.opts[0] == "--hostfile" else "7"]


MEASURING = [
    option
    for option in command.params
    if isinstance(option, click.Option) and option.opts[0] not in (*JUDGING, "--dir")
]


@pytest.mark.parametrize("option", MEASURING, ids=lambda option: option.opts[0])
def test_options_that_measure_are_refused(
    option: click.Option, tmp_path: Path, capsys: Capture
) -> None:
    assert run(["check", "--from", str(tmp_path), *typed(option)]) == 2
    said = capsys.readouterr().err
    assert f"{option.opts[0]} and --from contradict each other: --from measures nothing" in said


def test_another_directory_is_refused(tmp_path: Path, capsys: Capture) -> None:
    assert run(["check", "--from", str(tmp_path)]) == 2
    assert "not a run directory" in capsys.readouterr().err
    where = tmp_path / "r"
    assert run(["bench", "latency", "--twin", "fat-tree", "--nodes", "2", "--dir", str(where)]) == 0
    assert run(["check", "--from", str(where)]) == 2
    assert "this run is no check: it measured no pair" in capsys.readouterr().err


def test_counters_of_files_need_these_files(tmp_path: Path, capsys: Capture) -> None:
    assert run(["check", *OF_FILES, "--dir", str(tmp_path / "r"), "--no-report"]) == 0
    assert run(["check", "--from", str(tmp_path / "r"), *COUNTERS]) == 2
    said = capsys.readouterr().err
    assert "--counters needs --fabric" in said
    assert "ibnetdiscover.out" in said


def test_a_fabric_with_more_adapters_than_ranks_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    use_mock(monkeypatch)
    assert run(["check", "--mock", "--dir", str(tmp_path / "r"), "--no-report"]) == 0
    fabric = str(fabric_file(tmp_path, hcas_per_node=2))
    assert run(["check", "--from", str(tmp_path / "r"), "--fabric", fabric]) == 2
    said = capsys.readouterr().err
    assert "has 2 adapters in this fabric, and the run does not say which of them" in said


def test_counters_of_another_fabric_are_refused(tmp_path: Path, capsys: Capture) -> None:
    assert run(["check", *OF_FILES, "--dir", str(tmp_path / "r"), "--no-report"]) == 0
    foreign = tmp_path / "foreign.out"
    foreign.write_text(Path(COUNTERS[1]).read_text().replace("0x506b4b03", "0x506b4bff"))
    assert run(["check", "--from", str(tmp_path / "r"), *FILES, "--counters", str(foreign)]) == 2
    assert "1 of 1 place with counters or cables is not in this fabric" in capsys.readouterr().err


@pytest.mark.parametrize(("seconds", "named"), [(0, "yes"), (-86400, "no")])
def test_a_link_that_went_down_during_the_check_explains_lost_packets(
    tmp_path: Path, capsys: Capture, seconds: int, named: str
) -> None:
    """The day before it does not: then traffic of others may be the cause as well. The twin's
    document numbers leaf-02 and spine-01 as 0x...10 and 0x...50."""
    twin = ["--twin", "fat-tree", "--nodes", "24", "--seed", "2", "--no-report"]
    where, log = tmp_path / "r", tmp_path / "event.log"
    check(capsys, *twin, "--plant", "leaf-02[6] lost=0.001", "--dir", str(where))
    at = datetime.fromtimestamp(read_meta(where)["started_unix_s"] + seconds)
    log.write_text(
        f"{at:%Y-%m-%d %H:%M:%S}.442 [7] [329] WARNING [Hardware] Link [Default(1)]: "
        "Link went down: (Switch:leaf-02:1/6)0200000010000010:6 - "
        "(Switch:spine-01:1/2)0200000010000050:2, cable S/N: X1\n"
    )
    before = check(capsys, "--from", str(where))
    after = check(capsys, "--from", str(where), "--counters", str(log))
    assert before["planted"][0]["named"] == "no"
    assert after["planted"][0]["named"] == named
    assert "the link went down" in json.dumps(after["findings"])


def test_a_link_event_that_no_reading_shows_is_a_warning(tmp_path: Path, capsys: Capture) -> None:
    where, log = tmp_path / "r", tmp_path / "kernel.log"
    check(capsys, "--twin", "fat-tree", "--nodes", "8", "--no-report", "--dir", str(where))
    at = datetime.fromtimestamp(read_meta(where)["started_unix_s"])
    log.write_text(f"{at:%b %d %H:%M:%S} n005 kernel: mlx5_core 0000:02:00.0 ib0: Link down\n")
    answer = check(capsys, "--from", str(where), "--counters", str(log))
    assert answer["exit_code"] == 0
    warning = answer["findings"][0]
    assert warning["severity"] == "warning"
    assert "a fault that no reading shows: n005 (mlx5_core 0000:02:00.0 ib0)" in warning["sentence"]
