"""The known name a misspelt one is nearest to."""

import pytest

from weft.core.words import nearest

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
