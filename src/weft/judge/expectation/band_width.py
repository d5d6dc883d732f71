"""Ranges that tell nothing: a fault that must be found still lies inside."""

from dataclasses import replace

from weft.catalog.machine.platform import Platform
from weft.core.units import format_significant
from weft.expect.model import Conditions, Expectation
from weft.judge.causes.effect import share_left
from weft.judge.expectation.expected_value import Predict, is_measured
from weft.judge.model import JudgedRow, RowState
from weft.judge.rules import Rules

ADAPTERS_DECIDE = 0.5
"""A row is about the adapters where one less costs at least this part of its share of them."""


def width_judged(
    row: JudgedRow, platform: Platform | None, ask: Predict | None, rules: Rules
) -> JudgedRow:
    """The row; TOO_WIDE where it is normal, and its range holds a faulty machine's value too."""
    found, conditions = row.expectation, row.conditions
    if row.state is not RowState.NORMAL or found is None or found.low <= 0:
        return row
    why = _of_factor(found, rules)
    if not why and conditions is not None and platform is not None and ask is not None:
        why = _of_adapters(row, found, conditions, platform, ask)
    if not why:
        return row
    span = f"{_short(found.low)} to {_short(found.high)} {found.unit}"
    return replace(row, state=RowState.TOO_WIDE, note=f"too wide to tell: {why} {span}")


def _of_factor(found: Expectation, rules: Rules) -> str:
    """Of measured values only the slow side counts: the other one is as wide as the model's."""
    factor = found.high / found.low
    if is_measured(found):
        slow = found.high / found.value if found.lower_is_better else found.value / found.low
        factor = slow**2
    return f"a factor of {factor:.0f} lies in the range of" if factor >= rules.too_wide else ""


def _of_adapters(
    row: JudgedRow,
    found: Expectation,
    conditions: Conditions,
    platform: Platform,
    ask: Predict,
) -> str:
    """Where the adapters decide: whether the usual value of a machine with one less is inside the
    range, and such a machine could give this row."""
    n_hcas = platform.hcas_per_node
    if conditions.library != "nccl" or conditions.inside_node or n_hcas < 2 or conditions.n_hcas:
        return ""
    share = share_left(1, conditions, row.metric, platform, ask)
    if share is None or 1 - share[1] < ADAPTERS_DECIDE / n_hcas:
        return ""
    left = share[1]
    if found.lower_is_better:
        fits, reached = found.value / left <= found.high, row.value >= found.low / left
    else:
        fits, reached = found.value * left >= found.low, row.value <= found.high * left
    if not (fits and reached):
        return ""
    return f"with 1 of {n_hcas} adapters lost the row would still be in the range of"


def _short(value: float) -> str:
    return format_significant(value, 4)
