"""A study thinned to fit a time."""

import math

import pytest

from weft.core.errors import InputError
from weft.study.plan.budget import MOST_CELLS, thinned
from weft.study.plan.document import parse_study
from weft.study.plan.model import Study

STUDY = """
schema = "weft.study/1"
name = "mine"
title = "Mine"
question = "Is it?"
repeats = 1
nodes = {nodes}
node_sets = 9
tasks_per_node = {tasks}
[[benchmarks]]
name = "allreduce"
sizes = "8:64"
[[benchmarks]]
name = "barrier"
"""


def study(nodes: str = "[2, 4, 8, 16, 32, 64]", tasks: str = "[1, 2]") -> Study:
    return parse_study(STUDY.format(nodes=nodes, tasks=tasks), "x.toml")


def cells(one: Study) -> float:
    """A second a cell and node set."""
    return float(len(one.nodes) * len(one.tasks_per_node) * one.node_sets)


def test_a_study_that_fits_stays_as_it_is() -> None:
    whole = study()
    assert thinned(whole, 108, cells) == (whole, ())


def test_the_middle_of_an_axis_goes_first_and_what_is_left_is_spread() -> None:
    thin, left_out = thinned(study(), 72, cells)
    assert thin.nodes == (2, 4, 16, 64)
    assert thin.node_sets == 9
    assert left_out[0].startswith("without nodes ")


def test_the_ends_of_all_axes_stay_and_then_node_sets_fall_to_six() -> None:
    thin, left_out = thinned(study(), 24, cells)
    assert (thin.nodes, thin.tasks_per_node, thin.node_sets) == ((2, 64), (1, 2), 6)
    assert thin.benchmarks[0].sizes == "8,64"
    assert "6 of 9 node sets" in left_out
    assert "without allreduce 16 B, 32 B" in left_out


def test_what_fits_in_no_form_is_refused() -> None:
    with pytest.raises(InputError, match=r"does not fit 23.0 s: its smallest form of 12 cells"):
        thinned(study(), 23, cells)


def test_ten_million_cells_are_thinned_before_their_time_is_estimated() -> None:
    many = study(str(list(range(2, 1402))), str(list(range(1, 1402))))
    seen = []

    def seconds_of(one: Study) -> float:
        seen.append(5 * len(one.nodes) * len(one.tasks_per_node))
        return 1.0

    thin, _ = thinned(many, 60, seconds_of)
    assert max(seen) <= MOST_CELLS
    assert {thin.nodes[0], thin.nodes[-1]} == {2, 1401}
    gaps = [math.log(b / a) for a, b in zip(thin.nodes, thin.nodes[1:], strict=False)]
    assert max(gaps) < 1.2
