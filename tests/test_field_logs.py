"""Logs of strangers: the first screen of `weft doctor log FILE` says what an expert would."""

import csv
from pathlib import Path

import pytest

from weft.cli import run

FIELD = Path(__file__).parent / "fixtures" / "field_logs"
FIRST_SCREEN = 24
"""Lines of a terminal of the usual size."""
with (FIELD / "labels.csv").open(encoding="utf-8") as labels:
    LABELS = list(csv.DictReader(labels))


@pytest.mark.parametrize("label", LABELS, ids=[label["file"] for label in LABELS])
def test_the_first_screen_says_what_an_expert_would(
    label: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(["doctor", "log", str(FIELD / label["file"])])
    said = "\n".join(capsys.readouterr().out.splitlines()[:FIRST_SCREEN])
    assert code == int(label["exit"]), said
    missing = [words for words in label["says"].split(";") if words not in said]
    assert not missing, said
    wrong = [words for words in label["must_not"].split(";") if words and words in said]
    assert not wrong, said


def test_every_log_has_a_label() -> None:
    files = {path.name for path in FIELD.glob("*.log")}
    assert {label["file"] for label in LABELS} == files
    assert len(files) == 20
