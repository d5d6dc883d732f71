"""The nodes under each switch together: a group that is slow though its pairs are not."""

from collections.abc import Iterator, Sequence
from statistics import median

from weft.bench.nccl.backend import GROUP_PASS
from weft.check.nccl.outcomes import GroupOutcome, of_pass
from weft.check.nccl.thresholds import nccl_thresholds
from weft.core.finding import Finding, FindingKind, Severity
from weft.core.units import format_significant
from weft.core.words import counted, first_few

MOST_NAMED = 4


def findings(outcomes: Sequence[GroupOutcome], accused: set[str]) -> Iterator[Finding]:
    """Warnings about groups without an accused node that fail, or are slower than others of their
    size."""
    groups, limits = list(of_pass(outcomes, GROUP_PASS)), nccl_thresholds()
    by_size: dict[int, list[GroupOutcome]] = {}
    for one in groups:
        by_size.setdefault(len(one.hosts), []).append(one)
    for same in by_size.values():
        ok = [one for one in same if one.busbw_gb_s]
        normal = median(map(_figure, ok)) if ok else 0.0
        for one in same:
            if accused & set(one.hosts):
                continue
            if not one.is_ok:
                yield _failed(one)
            elif len(ok) < limits.compared_groups:
                continue
            elif _figure(one) < limits.slow_group_share * normal:
                yield _slow(one, normal)


def _slow(one: GroupOutcome, normal: float) -> Finding:
    figures = (_figure(one), normal)
    measured, others = (format_significant(value, 3) for value in figures)
    return Finding(
        FindingKind.ANOMALY,
        Severity.WARNING,
        f"{_who(one)} under one switch deliver {100 * figures[0] / normal:.0f} % of other such"
        f" groups together ({measured} of {others} GB/s of bus bandwidth), and no pair of them is"
        " slow.",
        evidence=(
            "measured once; possible causes: a setting that only larger groups use (algorithm,"
            " SHARP), traffic of other jobs",
        ),
    )


def _failed(one: GroupOutcome) -> Finding:
    return Finding(
        FindingKind.FAILURE,
        Severity.WARNING,
        f"{_who(one)} under one switch fail together, and none of them is accused: {one.reason}.",
        evidence=("measured once: run it again from its line in recipes/ of the run",),
    )


def _who(one: GroupOutcome) -> str:
    names = first_few(one.hosts[:MOST_NAMED], len(one.hosts))
    return f"{counted(len(one.hosts), 'node')} ({names})"


def _figure(one: GroupOutcome) -> float:
    return one.busbw_gb_s[max(one.busbw_gb_s)]
