"""External thresholds next to the rows that they are about: not our prediction."""

from collections.abc import Sequence

from weft.catalog.load import field_thresholds
from weft.catalog.threshold import FieldThreshold
from weft.judge.model import FieldVerdict, JudgedRow

PLACEMENTS = ("in-place", "out-of-place")
"""Words of a threshold that speaks of one of the two only."""


def field_verdicts(rows: Sequence[JudgedRow], platform: str) -> tuple[FieldVerdict, ...]:
    """Every threshold of the platform that a row can be held against, with the worst such row."""
    found: dict[FieldVerdict, None] = {}
    for threshold in field_thresholds():
        if platform not in threshold.platforms or not threshold.comparable:
            continue
        values = [row.row.metrics[threshold.metric] for row in rows if _speaks_of(threshold, row)]
        if values:
            worst = min(values) if threshold.direction == "at least" else max(values)
            found[_verdict(threshold, worst)] = None
    return tuple(found)


def _speaks_of(threshold: FieldThreshold, row: JudgedRow) -> bool:
    conditions = row.conditions
    if conditions is None or row.row.metrics.get(threshold.metric, 0.0) <= 0:
        return False
    if threshold.special or conditions.benchmark != threshold.benchmark:
        return False
    if threshold.memory and conditions.memory != threshold.memory:
        return False
    if threshold.n_nodes is not None and conditions.n_nodes != threshold.n_nodes:
        return False
    placement = row.row.labels.get("placement", "")
    if any(word in threshold.text and word != placement for word in PLACEMENTS):
        return False
    size = row.row.size_bytes or 0
    sizes = threshold.size_bytes
    of_the_tool = threshold.tool_test in ("", row.table.tool, row.table.test)
    return (
        of_the_tool
        and conditions.n_nodes >= threshold.min_nodes
        and (sizes is None or sizes[0] <= size <= sizes[1])
    )


def _verdict(threshold: FieldThreshold, measured: float) -> FieldVerdict:
    return FieldVerdict(
        system=threshold.system,
        test=threshold.text,
        threshold=threshold.value,
        unit=threshold.unit,
        kind=threshold.kind,
        measured=measured,
        passed=threshold.passed(measured),
        source=threshold.source,
        is_rule=threshold.rests_on == "rule" and threshold.kind != "expect",
    )
