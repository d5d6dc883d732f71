"""Published steps: throughputs, the sixteen times left out one size at a time, rows of others."""

from statistics import median

import pytest
from benches.training_steps import (
    efficiency,
    fitted,
    held_out,
    horovod_rates,
    left_out,
    modelled,
    shipped,
)

from weft.cli.train.expect_text import RING_FACTORS, RING_WARNED
from weft.train.published import GROK_SIZES, grok_row_of, grok_rows, nvidia_seconds
from weft.train.step_constants import N_CONSTANTS, step_constants


def test_sixteen_throughputs_follow_from_the_step_times() -> None:
    rows = grok_rows()
    assert len(rows) == 16
    for row in rows:
        tokens_per_s = row.batch * row.sequence / row.seconds
        assert tokens_per_s == pytest.approx(row.tokens_per_s, rel=0.005)


def test_the_constants_are_three_and_follow_from_the_sixteen_rows() -> None:
    assert N_CONSTANTS == 3
    again, shipped_ones = fitted(grok_rows()), step_constants()
    assert shipped_ones.matmul_share == pytest.approx(again.matmul_share, abs=0.001)
    assert shipped_ones.memory_share == pytest.approx(again.memory_share, abs=0.001)
    assert shipped_ones.wait_beyond_unit == pytest.approx(again.wait_beyond_unit, abs=0.001)


def test_a_size_left_out_is_predicted_within_five_percent() -> None:
    predicted = left_out()
    for row in grok_rows():
        seconds = predicted[row.precision, row.layout.n_gpus]
        assert seconds == pytest.approx(row.seconds, rel=0.05), (row.precision, row.layout.n_gpus)


def test_scaling_efficiencies_are_within_a_point() -> None:
    assert efficiency("bf16", shipped()) == pytest.approx(0.982, abs=0.01)
    assert efficiency("fp8", shipped()) == pytest.approx(0.973, abs=0.01)


def test_fp8_is_faster_everywhere() -> None:
    for n in GROK_SIZES:
        times = [modelled(grok_row_of(name, n), step_constants()) for name in ("fp8", "bf16")]
        assert times[0] < times[1]


def test_nvidias_reference_times_are_eighteen() -> None:
    assert len(nvidia_seconds()) == 18


def test_long_rings_miss_as_much_as_the_warning_says() -> None:
    rows = [row for row in held_out() if row.row.cp >= RING_WARNED]
    factors = [row.published_s / row.modelled_s for row in rows]
    assert len(factors) == 4
    assert (round(min(factors), 1), round(max(factors), 1)) == RING_FACTORS


def test_rows_that_nothing_was_fitted_to_have_a_median_error_below_fifteen_percent() -> None:
    rows = held_out()
    assert len(rows) >= 20
    names = {row.table.name.split("-")[0] for row in rows}
    assert names == {"megatron", "torchtitan"}
    assert median(abs(row.error) for row in rows) <= 0.15


@pytest.mark.parametrize("gpus", [1, 4])
def test_horovod_on_slingshot_has_the_order_of_madonna_2023(gpus: int) -> None:
    """Sockets < OFI < OFI with GPUDirect, at every number of nodes above one."""
    for nodes, (sockets, ofi, gpudirect) in horovod_rates(gpus).items():
        if nodes > 1:
            assert sockets < ofi < gpudirect, nodes
