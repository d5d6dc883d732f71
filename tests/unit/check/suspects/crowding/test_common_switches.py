"""One of several switches is accused where the paths to all of their neighbours are."""
# mypy: disable-error-code="no-untyped-def"

from dataclasses import replace

import pytest
from tests.unit.check.conftest import Fabric, Tree
from tests.unit.check.suspects.detours import direction

from weft.check.readings.readings import Metric
from weft.check.suspects.accusation import Standing, accuse
from weft.check.suspects.crowding.common_switches import with_common_switches
from weft.check.suspects.explanation import Suspect
from weft.check.suspects.survey import survey_of
from weft.check.thresholds import thresholds

CONFIRMED, PASSING, TIMES = Standing.CONFIRMED, Standing.PASSING, Standing.COMING_AND_GOING
SPINES = {f"spine-{number:02d}" for number in range(1, 5)}


@pytest.fixture(scope="module")
def survey():
    fabric = Fabric(Tree(4, 4, 4), noise=0.01)
    return survey_of(fabric.all_pairs(), fabric.tree, thresholds(), adaptive=True)


def paths_to(survey, leaf, standing):
    """An accusation of the ways from all spines down to a leaf."""
    ways = {direction(survey, f"{spine}[{leaf}]") for spine in SPINES}
    return accuse(survey, Suspect(tuple(ways), {Metric.BANDWIDTH: 0.2}, 30.0), standing)


def names_of(accusation):
    return {end for component in accusation.components for end in component.ends}


@pytest.mark.parametrize(
    ("standings", "is_common"),
    [
        ((CONFIRMED,) * 4, True),
        ((CONFIRMED, CONFIRMED, CONFIRMED, TIMES), True),
        ((CONFIRMED,) * 3, False),
        ((CONFIRMED, CONFIRMED, CONFIRMED, PASSING), False),
        ((CONFIRMED, CONFIRMED, TIMES, TIMES), False),
        ((TIMES,) * 4, False),
    ],
)
def test_paths_to_all_neighbours_are_one_switch_and_fewer_stay(survey, standings, is_common):
    made = [paths_to(survey, leaf, of) for leaf, of in enumerate(standings, start=1)]
    kept = with_common_switches(survey, made)
    if not is_common:
        assert kept == made
        return
    (common,) = kept
    assert names_of(common) >= SPINES
    assert common.standing is CONFIRMED
    assert common.evidence == pytest.approx(30.0 * len(made))


def test_a_path_that_is_slow_by_latency_is_none_of_them(survey):
    made = [paths_to(survey, leaf, CONFIRMED) for leaf in range(1, 5)]
    made[0] = replace(made[0], slower={Metric.LATENCY: 0.2})
    assert with_common_switches(survey, made) == made


def test_one_path_twice_as_slow_as_another_is_a_fault_of_its_own(survey):
    made = [paths_to(survey, leaf, CONFIRMED) for leaf in range(1, 5)]
    made[0] = replace(made[0], slower={Metric.BANDWIDTH: 1.1})
    assert with_common_switches(survey, made) == made
