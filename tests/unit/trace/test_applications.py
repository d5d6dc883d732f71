"""Patterns of applications: who sends what to whom in a step."""

from collections import Counter
from typing import Any

import pytest

from weft.core.errors import InputError
from weft.trace.applications import PATTERNS, application
from weft.trace.program import RankProgram, written

SIZES = {"steps": 11, "size": "64K", "compute_us": 3.0}


def of_kind(rank: RankProgram, kind: str) -> list[tuple[Any, ...]]:
    return [numbers for own, numbers in rank.steps if own == kind]


@pytest.mark.parametrize("n", [2, 3, 7, 8, 12, 27])
@pytest.mark.parametrize("name", PATTERNS)
def test_every_message_has_both_ends_and_every_rank_its_marks(name: str, n: int) -> None:
    program = written(application(name, n, SIZES), lambda *_: None)
    assert (program.n_left_out, program.n_collectives_left_out) == (0, 0)
    assert program.text.startswith(f"num_ranks {n}\n")
    assert program.text.count("\nmark\n") == 12 * n


def test_a_halo_goes_to_six_neighbours_of_a_cube_and_sums_now_and_then() -> None:
    ranks = application("halo", 27, SIZES)
    sends = Counter(numbers[0] for numbers in of_kind(ranks[13], "send"))
    assert sends == dict.fromkeys((4, 22, 10, 16, 12, 14), 11)
    assert {numbers[1] for numbers in of_kind(ranks[0], "send")} == {65536}
    assert len(of_kind(ranks[0], "collective")) == 2
    assert of_kind(ranks[0], "calc") == [(3000,)] * 11
    # Two along a dimension are neighbours on both sides.
    assert Counter(n[0] for n in of_kind(application("halo", 8, SIZES)[0], "send")) == {
        1: 22, 2: 22, 4: 22
    }  # fmt: skip


def test_transposes_go_within_rows_and_columns_and_share_the_data() -> None:
    parts = [n[0] for n in of_kind(application("transposes", 12, SIZES)[5], "collective")]
    step = parts[:13]
    assert [one.members for one in step[:4]] == [(4, 5, 6, 7), (1, 5, 9), (1, 5, 9), (4, 5, 6, 7)]
    assert [one.size for one in step[:4]] == [16384, 21845, 21845, 16384]
    assert (step[12].name, step[12].size) == ("allreduce", 8)


def test_plane_waves_transform_there_and_back_and_sum() -> None:
    parts = [n[0] for n in of_kind(application("plane_waves", 8, SIZES)[0], "collective")]
    assert [(one.name, one.size) for one in parts[:5]] == [
        ("alltoall", 8192), ("alltoall", 8192), ("allreduce", 65536), ("allreduce", 16),
        ("allreduce", 16),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"steps": 0}, "option 'steps' is 0"),
        ({"steps": True}, "option 'steps' is True"),
        ({"size": "0"}, "messages of 0 B"),
        ({"size": "2G"}, "messages of"),
        ({"compute_us": -1.0}, "with -1.0 us"),
        ({"compute_us": float("nan")}, "with nan us"),
    ],
)
def test_options_that_cannot_be_are_refused(options: dict[str, object], what: str) -> None:
    with pytest.raises(InputError, match=what):
        application("halo", 4, {**SIZES, **options})
    with pytest.raises(InputError, match="halo of 1 ranks"):
        application("halo", 1, SIZES)
