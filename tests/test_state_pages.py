"""The reference pages list every state that a program prints, and none that it does not."""

import re
from enum import StrEnum
from pathlib import Path

import pytest

from weft.bench.rdma.failure import CAUSES
from weft.bench.rdma.verdict import RailState
from weft.cluster.bringup.model import StageState

PAGES = Path(__file__).parents[1] / "docs/reference"


def column(page: str, header: str, place: int) -> list[str]:
    """The words in code quotes in a column of the table below this header."""
    table = (PAGES / page).read_text().partition(header)[2].partition("\n\n")[0]
    rows = [row.split("|") for row in table.splitlines() if row.startswith("| ")]
    return [word for row in rows for word in re.findall("`(.+?)`", row[place])]


@pytest.mark.parametrize(
    ("page", "header", "place", "states"),
    [
        ("rdma_pairs.md", "| state of a row |", 1, RailState),
        ("cluster.md", "| table | `state` |", 2, StageState),
    ],
)
def test_a_page_lists_the_states(page: str, header: str, place: int, states: type[StrEnum]) -> None:
    assert column(page, header, place) == [state.value for state in states]


def test_the_page_lists_what_perftest_says_of_each_cause() -> None:
    listed = [text.lower() for text in column("rdma_pairs.md", "| perftest says", 1)]
    for words, cause, _ in CAUSES:
        assert any(all(word in text for word in words) for text in listed), cause
    assert len(listed) == len(CAUSES)
