"""Topology files of strangers: `weft doctor topo FILE` says at first what an expert would."""

import csv
from pathlib import Path

import pytest

from weft.cli import run

FIELD = Path(__file__).parent / "fixtures" / "field_topology"
with (FIELD / "labels.csv").open(encoding="utf-8") as labels:
    LABELS = list(csv.DictReader(labels))
N_FIRST = 7
"""Lines of the first screen: the verdict and the first finding."""


@pytest.mark.parametrize("label", LABELS, ids=[label["file"] for label in LABELS])
def test_the_first_lines_say_what_an_expert_would(
    label: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["doctor", "topo", str(FIELD / label["file"])]) == int(label["code"])
    said = capsys.readouterr().out
    first = "\n".join(said.splitlines()[:N_FIRST])
    missing = [words for words in label["says"].split(";") if words not in first]
    assert not missing, first
    if label["must_not"]:
        assert label["must_not"] not in said


@pytest.mark.parametrize("label", LABELS, ids=[label["file"] for label in LABELS])
def test_findings_of_equal_devices_are_one(
    label: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    run(["doctor", "topo", str(FIELD / label["file"]), "--notes"])
    rules = [line for line in capsys.readouterr().out.splitlines() if line.endswith("]")]
    assert len(rules) <= 6, rules


def test_every_file_has_a_label() -> None:
    there = {path.name for path in FIELD.glob("*.xml")}
    assert there == {label["file"] for label in LABELS}
