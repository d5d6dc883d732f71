"""Files of strangers: the first three lines of `weft judge FILE` say what an expert would."""

import csv
from pathlib import Path

import pytest

from weft.cli import run

FIELD = Path(__file__).parent / "fixtures" / "field"
with (FIELD / "labels.csv").open(encoding="utf-8") as labels:
    LABELS = list(csv.DictReader(labels))


def first_lines(name: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert run(["judge", str(FIELD / name)]) in (0, 1, 5)
    return "\n".join(capsys.readouterr().out.splitlines()[:3])


@pytest.mark.parametrize("label", LABELS, ids=[label["file"] for label in LABELS])
def test_the_first_lines_say_what_an_expert_would(
    label: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    said = first_lines(label["file"], capsys)
    missing = [words for words in label["says"].split(";") if words not in said]
    assert not missing, said
    assert "NOT JUDGED" not in said
    assert "IMPOSSIBLE" not in said
    if label["must_not"]:
        assert label["must_not"] not in said


def test_every_file_has_a_label_or_is_a_collective_of_unknown_scale() -> None:
    labelled = {label["file"] for label in LABELS}
    others = {path.name for path in FIELD.iterdir()} - labelled - {"labels.csv", "README.md"}
    words = ("allreduce", "alltoall", "bibw", "latency")
    assert all(any(word in name for word in words) for name in others), sorted(others)
