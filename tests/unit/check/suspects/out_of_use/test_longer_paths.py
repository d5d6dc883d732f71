"""Messages around a cable out of use on a ring, by hand: three switches, one node each."""
# mypy: disable-error-code="no-untyped-def"

import numpy as np
import pytest
from benches.small_fabrics import Shape, shapes

from weft.check.suspects.out_of_use.longer_paths import take_longer


@pytest.fixture(scope="module")
def crossings():
    return Shape(shapes()["ring-3"]).verdict(()).survey.crossings


@pytest.mark.parametrize(
    ("cable", "longer"),
    [
        (("s00[2]", "s01[2]"), {("n000", "n001")}),
        (("n000/hca0[1]", "s00[1]"), set()),
    ],
)
def test_the_two_ends_of_a_dead_cable_are_one_switch_further_apart(crossings, cable, longer):
    number = crossings.network.port_id[cable[0]] >> 1
    assert set(crossings.network.cables[number]) == set(cable)
    rows = np.arange(len(crossings.readings))
    slow = rows[take_longer(crossings, rows, [number])]
    assert {crossings.readings.unordered(row) for row in slow.tolist()} == longer


def test_with_no_cable_out_of_use_nothing_is_longer(crossings):
    rows = np.arange(len(crossings.readings))
    assert not take_longer(crossings, rows, []).any()
