"""Files of strangers: the first three lines of `weft judge FILE` say what an expert would."""

import csv
from pathlib import Path

import pytest

from weft.cli import run

FIELD = Path(__file__).parent / "fixtures" / "field"
with (FIELD / "labels.csv").open(encoding="utf-8") as labels:
    LABELS = list(csv.DictReader(labels))
GOOD, BAD, UNKNOWN = 0, 1, 5
BY_ANSWER = (
    ("asks for them", {BAD}),  # RDMA was turned off by hand
    ("one queue pair that stalls", {GOOD}),  # a warning: a symptom, and nothing to compare it with
    ("no fabric was measured", {UNKNOWN}),
    ("inside one host", {UNKNOWN}),
    ("no link can be named", {UNKNOWN}),
    ("not its own interface", {UNKNOWN}),  # slow, and no part is at fault
    ("the MPI's provider", {UNKNOWN}),  # the same
    (" or RoCE", {UNKNOWN}),  # normal for one of two links: which one stays open
    ("normal for", {GOOD}),
)
"""Words of an expert's answer, and how weft ends: the first that are there decide."""
OPEN = {GOOD, UNKNOWN}
"""Other answers name a class, and leave open whether the file alone shows that the path is healthy.
None of them names a fault, so that BAD is always wrong."""
EXIT_OF_WORD = {"GOOD": GOOD, "WARNING": GOOD, "BAD": BAD, "NOTE": UNKNOWN}
"""SOURCE: docs/reference/exit_codes.md."""


def exits_of(answer: str) -> set[int]:
    return next((exits for words, exits in BY_ANSWER if words in answer), OPEN)


def first_lines(name: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = run(["judge", str(FIELD / name)])
    said = "\n".join(capsys.readouterr().out.splitlines()[:3])
    assert EXIT_OF_WORD[said.split()[0]] == code
    return code, said


@pytest.mark.parametrize("label", LABELS, ids=[label["file"] for label in LABELS])
def test_the_first_lines_say_what_an_expert_would(
    label: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = first_lines(label["file"], capsys)
    missing = [words for words in label["says"].split(";") if words not in said]
    assert not missing, said
    assert code in exits_of(label["answer"]), said
    assert "NOT JUDGED" not in said
    assert "IMPOSSIBLE" not in said
    if label["must_not"]:
        assert label["must_not"] not in said


def test_each_word_of_an_answer_pins_the_exit_of_a_file() -> None:
    for words, exits in BY_ANSWER:
        assert any(words in label["answer"] for label in LABELS), words
        assert len(exits) == 1


OTHERS = sorted(
    {path.name for path in FIELD.iterdir()}
    - {label["file"] for label in LABELS}
    - {"labels.csv", "README.md"}
)


@pytest.mark.parametrize("name", OTHERS)
def test_a_collective_of_unknown_scale_has_no_verdict(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = first_lines(name, capsys)
    if "allreduce" in name or "alltoall" in name:
        assert code == UNKNOWN, said
    else:
        # A pair of a healthy machine, without a label: BAD alone is wrong.
        assert "bibw" in name or "latency" in name
        assert code in OPEN, said
