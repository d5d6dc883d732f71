"""The option `phases` of pairs."""

from typing import Any

import pytest

from weft.bench.phase import phases_of
from weft.core.errors import InputError


def test_latency_and_bandwidth_each_direction_are_what_runs_unless_asked_otherwise() -> None:
    kinds = [kind for phase in phases_of({}) for kind in phase.kinds]
    assert kinds == ["latency", "bandwidth_ab", "bandwidth_ba"]


def test_phases_run_in_one_order_however_they_are_listed() -> None:
    asked = phases_of({"phases": ["bidirectional", "latency"]})
    assert [phase.name for phase in asked] == ["latency", "bidirectional"]
    assert [phase.is_small for phase in asked] == [True, False]


@pytest.mark.parametrize(
    "given",
    [
        [],
        ["latency", "latency"],
        ["bandwith"],
        "latency,bandwidth",
        "latency",
        None,
        [5],
        [["latency"]],
    ],
)
def test_what_is_no_list_of_phases_is_refused(given: Any) -> None:
    with pytest.raises(InputError, match="option 'phases' cannot be") as refused:
        phases_of({"phases": given})
    assert "latency, bandwidth, bidirectional" in str(refused.value)


def test_a_misspelt_phase_is_answered_with_the_one_that_was_meant() -> None:
    with pytest.raises(InputError, match="did you mean 'bandwidth'"):
        phases_of({"phases": ["bandwith"]})
