"""`weft compare`: verdict first, in text, JSON and CSV; exit 1 for a regression."""

import csv
import io
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.mock_backend import MockBackend

from weft.cli import run

Capture = pytest.CaptureFixture[str]
Make = Callable[..., str]

STUDY = """
schema = "weft.study/1"
name = "ar"
title = "Adaptive routing"
question = "Does it help?"
repeats = {repeats}

[[benchmarks]]
name = "alltoall"
sizes = "8,64K"
"""
FACTOR = """
[[factors]]
name = "routing"
settings = [{ name = "static" }, { name = "adaptive", evidence = { transport = "mock" } }]
"""


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> Make:
    """Run the study with a scripted mock; where it is."""

    def run_it(name: str, *, repeats: int = 8, factor: str = FACTOR, **script: object) -> str:
        study = tmp_path / f"{name}.toml"
        study.write_text(STUDY.format(repeats=repeats) + factor)
        backend = MockBackend(**script)  # type: ignore[arg-type]
        opened = (backend, ("n001", "n002"))
        monkeypatch.setattr("weft.cli.measure.open_backend", lambda _, **__: opened)
        where = str(tmp_path / name)
        monkeypatch.setattr("sys.argv", ["weft", "study", "run", str(study), "--dir", where])
        assert run(["study", "run", str(study), "--dir", where]) in (0, 4)
        capsys.readouterr()
        return where

    return run_it


def test_the_verdict_comes_first_and_the_next_command_last(make: Make, capsys: Capture) -> None:
    where = make("run", effects={"routing=adaptive": 1.3})
    assert run(["compare", where]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("BAD  alltoall is up to 1.3")
    assert "slower" in lines[0]
    assert "with routing=adaptive than with routing=static" in lines[0]
    assert "covered  2 cells, 8 paired launches each" in lines
    assert lines[-1] == f"next     weft report {where}"


def test_the_table_fits_a_terminal_and_says_once_what_all_rows_share(
    make: Make, capsys: Capture
) -> None:
    assert run(["compare", make("run")]) == 0
    lines = capsys.readouterr().out.splitlines()
    head = lines.index("first: routing=static, second: routing=adaptive") + 1
    assert "arm" not in lines[head].split()
    assert "pairs" not in lines[head].split()
    assert [line.split()[0] for line in lines[head + 1 : head + 3]] == ["alltoall"] * 2
    assert max(len(line) for line in lines[head : head + 3]) <= 100


def test_of_three_arms_each_row_says_which(make: Make, capsys: Capture) -> None:
    third = FACTOR.replace("}]", '}, { name = "hashed" }]')
    assert run(["compare", make("run", factor=third)]) == 0
    lines = capsys.readouterr().out.splitlines()
    (head,) = (line for line in lines if line.startswith("benchmark "))
    assert "arm" in head.split()
    assert any(line.split()[2:3] == ["routing=hashed"] for line in lines)


def test_a_speed_up_is_good_and_exit_0(make: Make, capsys: Capture) -> None:
    assert run(["compare", make("run", effects={"routing=adaptive": 0.7})]) == 0
    assert capsys.readouterr().out.startswith("GOOD  alltoall is up to 1.4")


def test_the_baseline_can_be_named(make: Make, capsys: Capture) -> None:
    where = make("run", effects={"routing=adaptive": 0.7})
    assert run(["compare", where, "--baseline", "routing=adaptive"]) == 1
    assert "routing=static than with routing=adaptive" in capsys.readouterr().out


def test_json_and_csv_carry_the_intervals(make: Make, capsys: Capture) -> None:
    where = make("run", effects={"routing=adaptive": 1.3})
    assert run(["compare", where, "--format", "json"]) == 1
    record = json.loads(capsys.readouterr().out)
    assert record["findings"][0]["kind"] == "regression"
    assert record["interleaved"] is True
    assert run(["compare", where, "--format", "csv"]) == 1
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["size_bytes"] for row in rows] == ["8", "65536"]
    for row, same in zip(rows, record["rows"], strict=True):
        assert float(row["ratio_low"]) < 1.3 < float(row["ratio_high"])
        assert float(row["ratio"]) == same["ratio"]


def test_two_runs_are_compared_and_said_not_to_be_interleaved(make: Make, capsys: Capture) -> None:
    first = make("first", factor="")
    second = make("second", factor="", seed=2)
    assert run(["compare", first, second]) == 0
    printed = capsys.readouterr().out
    assert "GOOD  alltoall with second equals first within 5 % at both sizes: " in printed
    assert "caveat   The two runs were not interleaved" in printed
    assert printed.splitlines()[-1] == f"next     weft report {first} {second}"


def test_a_run_and_itself_or_its_copy_have_no_verdict(
    make: Make, capsys: Capture, tmp_path: Path
) -> None:
    """Equal figures are no evidence where the same launches stand on both sides."""
    first = make("first", factor="")
    copy = shutil.copytree(first, tmp_path / "copy")
    (tmp_path / "link").symlink_to(first)
    for second, said in (
        (first, "is compared with itself"),
        (str(tmp_path / "link"), "first and link hold the same launches"),
        (str(copy), "first and copy hold the same launches"),
    ):
        assert run(["compare", first, second]) == 5
        out = capsys.readouterr().out
        assert out.startswith("UNKNOWN  cannot tell: whether anything changed: ")
        assert said in out.splitlines()[0]
        assert "equal" not in out
        assert "would show" not in out


def test_too_few_repeats_are_said_not_judged(make: Make, capsys: Capture) -> None:
    assert run(["compare", make("run", repeats=4, effects={"routing=adaptive": 9})]) == 5
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("UNKNOWN  cannot tell: alltoall with routing=adaptive against")
    assert re.search("worst ratio 9.* 4 launches; what would tell: at least 6 launches[.]$", first)


def test_good_says_what_would_have_shown(make: Make, capsys: Capture) -> None:
    where = make("run", noise=0.002)
    assert run(["compare", where, "--margin", "3%"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("GOOD  alltoall with routing=adaptive equals routing=static within")
    shown = "3 % slower or more in alltoall (2 cells); missed in at most 5 % of comparisons"
    assert lines[1] == f"would show: {shown}"
    assert run(["compare", where, "--margin", "0.03", "--format", "json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["would_show"], record["margin"]) == ([shown], 0.03)


def test_undecided_is_no_verdict_with_the_ratio_and_the_command(
    make: Make, capsys: Capture
) -> None:
    where = make("run", noise=0.3)
    assert run(["compare", where]) == 5
    lines = capsys.readouterr().out.splitlines()
    said = (
        r"UNKNOWN  cannot tell: .*ratio \S+ \(\S+ to \S+\).*, not decided; what would tell: about"
    )
    assert re.match(said, lines[0])
    assert not [line for line in lines if line.startswith("would show")]
    study = where + ".toml"
    assert re.fullmatch(rf"next     weft study run {study} --repeats \d+", lines[-1])


def test_every_finding_is_one_line(make: Make, capsys: Capture) -> None:
    where = make("run", effects={"routing=adaptive": 1.3})
    assert run(["compare", where]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == ""
    assert re.search(r"worst ratio 1\.3\S+ \(.*\) at \d+ \w+, best 1\.\d+ \(", lines[0])


def test_an_arm_that_only_fails_is_the_verdict(make: Make, capsys: Capture) -> None:
    assert run(["compare", make("run", failing=["t001-alltoall"])]) == 1
    printed = capsys.readouterr().out
    assert printed.startswith("BAD  alltoall failed in 8 of 8 launches with routing=adaptive.")
    assert "covered  no benchmark and size that both sides measured" in printed


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["no-such-run"], "not a run directory"),
        (["--baseline", "routing=hashed"], "no arm 'routing=hashed'"),
        (["--tolerance", "7"], "--tolerance"),
        (["--margin", "nan"], "'nan' is no share from"),
        (["--margin", "5"], "'5' is no share from"),
        (["--margin", "5 percent"], "such as 5% or 0.05"),
        (["--margin", "0"], "--margin"),
        (["--margin", "0.5%"], "a margin of 0.5 % is below the tolerance of 1 %"),
    ],
)
def test_wrong_input_is_said(make: Make, capsys: Capture, more: list[str], said: str) -> None:
    assert run(["compare", make("run"), *more]) == 2
    assert said in capsys.readouterr().err


def test_a_baseline_and_a_second_run_contradict_each_other(make: Make, capsys: Capture) -> None:
    where = make("run")
    assert run(["compare", where, where, "--baseline", "routing=static"]) == 2
    assert "--baseline names an arm of one run" in capsys.readouterr().err
