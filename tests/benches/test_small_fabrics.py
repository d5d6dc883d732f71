"""Small fabrics: a healthy component is never accused alone."""

import pytest
from benches.small_fabrics import Fault, Shape, outcome, shapes


def planted(shape: str, *texts: str) -> tuple[Fault, ...]:
    """Faults by their text, of those that the shape lists."""
    known = {fault.text: fault for fault in Shape(shapes()[shape]).faults((1.1, 1.5, 2.0, 10.0))}
    return tuple(known[text] for text in texts)


@pytest.mark.parametrize("n", [4, 5, 6, 8, 14])
def test_a_healthy_ring_is_not_accused(n: int) -> None:
    """Its paths there and back differ in length."""
    word, answer = outcome(f"ring-{n}", ())
    assert word in ("good", "unknown"), answer
    assert not answer.accused


@pytest.mark.parametrize(
    ("shape", "texts", "words"),
    [
        ("tree-9", ("leaf-02[4] down",), {"named"}),
        # All messages that its detour slows go to one node.
        ("tree-8", ("leaf-01[6] down",), {"named"}),
        ("tree-10", ("leaf-01[8] down",), {"named"}),
        ("tree-10", ("n005 slow=1.5", "n002 slow=1.5"), {"named", "in part"}),
        ("tree-3", ("n001 slow=10",), {"pairs", "unknown"}),
        ("3x3-2", ("s01[4] rate=0.5",), {"named"}),
        ("ring-8", ("s03[3] rate=0.1",), {"named", "pairs"}),
        # Two cables look like the switch between them.
        ("tree-12", ("leaf-02[8] rate=0.1", "leaf-03[8] rate=0.1"), {"named"}),
        ("ring-6", ("n002 slow=1.1", "s02[3] rate=0.909091"), {"named", "in part"}),
        ("ring-12", ("n009 slow=10", "s08[3] rate=0.909091"), {"named", "in part"}),
        # A slow node's messages load the detour less.
        ("tree-7", ("n002 slow=10", "leaf-01[6] down"), {"named"}),
    ],
)
def test_a_fault_on_a_small_fabric_is_named_or_left_open(
    shape: str, texts: tuple[str, ...], words: set[str]
) -> None:
    word, answer = outcome(shape, planted(shape, *texts))
    assert word in words, answer


def test_every_pair_of_faults_is_listed_once_in_different_places() -> None:
    shape = Shape(shapes()["2x2-2"])
    cases = list(shape.cases(singles=False))
    assert len({frozenset(fault.text for fault in case) for case in cases}) == len(cases)
    assert all(not a.things & b.things for a, b in (case for case in cases if len(case) == 2))
