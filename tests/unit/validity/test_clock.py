"""Whether the clock is fine enough, and whether it matters that hosts have their own."""

from dataclasses import replace

import pytest

from weft.validity.validity import findings

from .conftest import launch, of


# The shortest time measured is a round trip of 2 x 2 us: 4000 ns, of which a twentieth is 200.
@pytest.mark.parametrize(
    ("resolution_ns", "cost_ns", "word"), [(1, 200, "reading"), (250, 20, "step")]
)
def test_a_clock_that_is_part_of_the_latency_is_reported(judged, resolution_ns, cost_ns, word):
    clock = {"resolution_ns": resolution_ns, "cost_ns": cost_ns}
    finding = of(judged(clock=clock), "coarse-clock")
    coarse = max(resolution_ns, cost_ns)
    assert f"one {word} of it takes {coarse} ns of 4,000 ns measured" in finding.sentence
    assert "clocksource" in finding.evidence[-1]


@pytest.mark.parametrize("cost_ns", [22, 199])
def test_a_clock_that_is_fine_enough_is_not(judged, cost_ns):
    assert judged(clock={"resolution_ns": 1, "cost_ns": cost_ns}).warnings == ()


def test_without_a_latency_nothing_is_said_of_the_clock():
    large = launch(clock={"resolution_ns": 1, "cost_ns": 10**6})[0]
    assert findings([replace(large, metrics={"bandwidth_mb_s": 1.0})]).warnings == ()


def test_clocks_apart_matter_where_a_skew_was_judged(judged):
    clock = {"resolution_ns": 1, "cost_ns": 22, "common": False}
    assert judged(clock=clock).warnings == ()
    flagged = [replace(one, flags=("skew_dominates",)) for one in launch(clock=clock)]
    assert of(findings(flagged), "clocks-apart") is not None
