"""`weft compare` of a study on several scales: answer, matrix, onsets, on narrow terminals, too."""

import json
import re
from pathlib import Path

import pytest
from tests.mock_backend import MockBackend

from weft.bench.model import Launch
from weft.cli import run
from weft.cli.compare.matrix_text import matrix_lines
from weft.study.comparison.comparison import compare_arms
from weft.study.run.store import read_run

Capture = pytest.CaptureFixture[str]

STUDY = """
schema = "weft.study/1"
name = "matrix"
title = "A matrix"
question = "Where does it help?"
repeats = 8
nodes = [2, 4, 8, 16, 32, 64]
tasks_per_node = [1, 2]

[[benchmarks]]
name = "allreduce"
sizes = "8:4K"

[[benchmarks]]
name = "barrier"

[[factors]]
name = "sharp"
settings = [{ name = "off" }, { name = "on", evidence = { transport = "mock" } }]
"""
N_CELLS = 6 * 2 * (10 + 1)


class OnlyLarge(MockBackend):
    """The second arm helps from 16 nodes on."""

    def times_ns(self, launch: Launch, name: str, base_ns: float) -> list[int]:
        helps = launch.trial.arm["sharp"] == "on" and len(launch.trial.nodes) >= 16
        return super().times_ns(launch, name, base_ns * (0.5 if helps else 1.0))


@pytest.fixture(scope="module")
def where(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder: Path = tmp_path_factory.mktemp("matrix")
    (folder / "study.toml").write_text(STUDY)
    opened = (OnlyLarge(noise=0.002), tuple(f"n{i:03d}" for i in range(64)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("weft.cli.measure.open_backend", lambda _, **__: opened)
        assert run(["study", "run", str(folder / "study.toml"), "--dir", str(folder / "run")]) == 0
    return str(folder / "run")


def test_the_answer_is_the_first_line_and_the_effects_after_it_are_few(
    where: str, capsys: Capture
) -> None:
    assert run(["compare", where]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert re.match(
        rf"GOOD  allreduce and barrier with sharp=on are faster in 66 of {N_CELLS} cells "
        r"\(up to 2.\d\dx: .* on \d+ nodes x \d ranks?\) and equal within 5 % in 66\.$",
        lines[0],
    )
    assert len([line for line in lines if line.startswith("GOOD")]) == 1 + 6
    assert "18 more findings: weft compare RUN --format json" in lines
    (valid,) = [line for line in lines if line.startswith("valid ")]
    assert "for allreduce of 8 B to 4 KiB, barrier on 2 to 64 nodes x 1 to 2 ranks" in valid
    assert len([line for line in lines if line.startswith("power ")]) == 1


def test_where_it_begins_is_told_with_its_bounds(where: str, capsys: Capture) -> None:
    assert run(["compare", where]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("where")]
    said = "helps from 16 nodes on (begins between 8 and 16 nodes)"
    assert lines == [
        f"where    allreduce 8 B to 4 KiB, 1 rank a node: {said}",
        f"where    allreduce 8 B to 4 KiB, 2 ranks a node: {said}",
        f"where    barrier, 1 rank a node: {said}",
        f"where    barrier, 2 ranks a node: {said}",
    ]


@pytest.mark.parametrize("width", [60, 80])
def test_nothing_is_wider_than_the_terminal(
    where: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    for module in ("weft.cli.output", "weft.cli.compare.text"):
        monkeypatch.setattr(f"{module}.terminal_width", lambda *_: width)
    assert run(["compare", where]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if len(line) > width and where not in line] == []
    rows = [line.split() for line in lines if line.startswith("4 KiB ")]
    values = [value for row in rows for value in row[2:]]
    # 6 numbers of nodes x 2 of ranks, in as many parts as the width asks for.
    assert len(values) == 12
    assert [value[-1] for value in values].count("+") == 6
    assert all(float(value[:-1]) > 1.9 for value in values if value[-1] == "+")
    assert {value[:3] for value in values if value[-1] == "="} <= {"0.9", "1.0"}
    assert "+ faster  - slower  = equal  ? not decided" in lines


def test_a_matrix_is_cut_into_parts_that_fit(where: str) -> None:
    rows = compare_arms(read_run(Path(where))).rows
    lines = matrix_lines(rows, 24)[2:]
    assert max(map(len, lines)) <= 38  # The title of a block is folded as prose.
    table = [line for line in lines if line.startswith(("size", "4 KiB", "-"))]
    assert max(map(len, table)) <= 24
    heads = [line.split()[1:] for line in lines if line.startswith("size")]
    assert heads[:3] == [["2", "4"], ["8", "16"], ["32", "64"]]


def test_a_narrow_terminal_loses_columns_of_the_table_not_verdicts(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = STUDY.replace("[2, 4, 8, 16, 32, 64]", "[2]").replace("[1, 2]", "[1]")
    (tmp_path / "study.toml").write_text(text)
    opened = (MockBackend(noise=0.002), ("n001", "n002"))
    monkeypatch.setattr("weft.cli.measure.open_backend", lambda _, **__: opened)
    assert run(["study", "run", str(tmp_path / "study.toml"), "--dir", str(tmp_path / "run")]) == 0
    capsys.readouterr()
    monkeypatch.setattr("weft.cli.compare.text.terminal_width", lambda *_: 60)
    assert run(["compare", str(tmp_path / "run")]) == 0
    (head,) = [
        line for line in capsys.readouterr().out.splitlines() if line.startswith("benchmark ")
    ]
    assert len(head) <= 60
    assert head.split()[-1] == "outcome"
    assert "metric" not in head


def test_json_has_onsets_range_and_threats(where: str, capsys: Capture) -> None:
    assert run(["compare", where, "--format", "json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["valid_for"].startswith("Valid for allreduce of 8 B to 4 KiB")
    onset = next(one for one in record["onsets"] if one["axis"] == "nodes")
    assert (onset["none_below"], onset["certain_first"], onset["effect"]) == (8, 16, "helps")
    assert any(one.startswith("Few node sets") for one in record["threats"])
    assert all(row["detectable_ratio"] >= 1.01 for row in record["rows"])
    answer = record["findings"][0]
    assert answer["kind"] == "answer"
    assert answer["facts"]["outcomes"] == {"faster": 66, "equal": 66}
