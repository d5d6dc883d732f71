"""The known name a misspelt one is nearest to."""

import pytest

from weft.core.words import first_few, nearest

KNOWN = ["NCCL_IB_HCA", "NCCL_IB_TIMEOUT", "azure-ndv4", "azure-ndv5", "latency"]


@pytest.mark.parametrize(
    ("word", "most_letters", "name"),
    [
        ("latencey", None, "latency"),
        ("azure", None, "azure-ndv5"),
        ("zzzz", None, None),
        ("NCCL_IB_HAC", 2, "NCCL_IB_HCA"),
        ("NCCL_TIMEOUT", 2, None),
        ("latency", 0, "latency"),
    ],
)
def test_the_nearest_name(word: str, most_letters: int | None, name: str | None) -> None:
    assert nearest(word, KNOWN, most_letters=most_letters) == name
    assert nearest(word, KNOWN[::-1], most_letters=most_letters) == name
    assert nearest(word, [], most_letters=most_letters) is None


@pytest.mark.parametrize(
    ("names", "n_all", "text"),
    [
        (["a", "b"], 2, "a, b"),
        (["a", "b"], 1_005, "a, b and 1,003 more"),
        (["a"], 2, "a and 1 more"),
    ],
)
def test_names_and_the_number_of_the_others(names: list[str], n_all: int, text: str) -> None:
    assert first_few(names, n_all) == text
