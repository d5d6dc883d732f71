"""The pass in which each node runs nccl-tests alone: a slow NVLink or GPU shows here, and not
between nodes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from weft.bench.nccl.backend import NODE_PASS
from weft.check.external_evidence.expectation import nccl_conditions
from weft.check.external_evidence.platform_choice import ExpectedPlatform
from weft.check.facts import NodeFaultFacts
from weft.check.nccl.outcomes import GroupOutcome, of_pass
from weft.check.nccl.thresholds import nccl_thresholds
from weft.check.thresholds import CheckThresholds
from weft.core.finding import Finding, FindingKind, Severity, cannot_tell
from weft.core.units import format_significant
from weft.core.words import counted, first_few
from weft.expect.model import Expectation
from weft.judge.expectation.expected_value import expected_of, predictor
from weft.judge.model import RowState
from weft.judge.rows import rests_on_assumption, state_of
from weft.judge.rules import rules
from weft.results.model import Row
from weft.stats.summary import robust_sigma

MOST_NAMED = 6


@dataclass(frozen=True, slots=True)
class NodeFigures:
    """The bus bandwidths (GB/s) of each node alone at one size, and what they are compared with.
    `normal`: the median of all nodes; `spread`: the scatter of a node around it (natural
    logarithm)."""

    size_bytes: int
    of: Mapping[str, tuple[float, ...]]
    normal: float
    spread: float
    expected: Expectation | None = None

    def best(self, node: str) -> float:
        """The figure that speaks most for a node."""
        return max(self.of[node])


def figures_of(
    outcomes: Sequence[GroupOutcome], machine: ExpectedPlatform | None, limits: CheckThresholds
) -> NodeFigures | None:
    """The figures of the largest size; None without any."""
    found: dict[str, list[float]] = {}
    ok = [one for one in of_pass(outcomes, NODE_PASS) if one.busbw_gb_s]
    if not ok:
        return None
    size = max(max(one.busbw_gb_s) for one in ok)
    for one in ok:
        if size in one.busbw_gb_s:
            found.setdefault(one.hosts[0], []).append(one.busbw_gb_s[size])
    best = np.log([max(values) for values in found.values()])
    spread = max(float(robust_sigma(best)), limits.scale_floor)
    of = {node: tuple(values) for node, values in found.items()}
    return NodeFigures(size, of, float(np.exp(np.median(best))), spread, _expected(size, machine))


def _expected(size_bytes: int, machine: ExpectedPlatform | None) -> Expectation | None:
    if machine is None:
        return None
    conditions = nccl_conditions(machine, size_bytes, n_nodes=1)
    row = Row(0, size_bytes, {"busbw_gb_s": 1.0})
    ask = predictor(machine.platform)
    found = expected_of(row, conditions, machine.platform, ask, rules()).expectation
    return None if found is None or rests_on_assumption(found) else found


def slow_nodes(figures: NodeFigures, limits: CheckThresholds) -> list[str]:
    """Nodes that are slow each time, by 10 % and by more than scatter."""
    least = _least(figures, limits)
    slow = [n for n in figures.of if np.log(figures.normal / figures.best(n)) > least]
    return sorted(slow, key=figures.best)


def findings(
    figures: NodeFigures | None, machine: ExpectedPlatform | None, limits: CheckThresholds
) -> Iterator[Finding]:
    """Slow nodes, each named; and all nodes together where the platform should deliver more."""
    if figures is None:
        return
    slow = named_slow(figures, limits)
    for node in slow:
        yield _slow(figures, node)
    below = [*_below(figures, [node for node in figures.of if node not in slow], machine)]
    yield from below
    if not below and is_divided(figures, limits):
        yield _divided(figures)


def named_slow(figures: NodeFigures, limits: CheckThresholds) -> list[str]:
    """Slow nodes that enough others tell apart. Of more, the slow ones may be the normal ones: the
    platform alone tells."""
    slow, own = slow_nodes(figures, limits), nccl_thresholds()
    comparable = len(figures.of) >= own.compared_nodes
    return slow if comparable and len(slow) <= own.slow_nodes_share * len(figures.of) else []


def _least(figures: NodeFigures, limits: CheckThresholds) -> float:
    """The slowness (natural logarithm) from which a node is slow."""
    return max(limits.bandwidth_guard, nccl_thresholds().far_sigma * figures.spread)


def is_divided(figures: NodeFigures, limits: CheckThresholds) -> bool:
    """Whether the nodes that are not named differ by more than slow and healthy ones do: either
    may be the normal ones."""
    slow = named_slow(figures, limits)
    best = [figures.best(node) for node in figures.of if node not in slow]
    return bool(best) and float(np.log(max(best) / min(best))) > 2 * limits.bandwidth_guard


def _divided(figures: NodeFigures) -> Finding:
    best = [figures.best(node) for node in figures.of]
    least, most = (format_significant(value, 3) for value in (min(best), max(best)))
    return Finding(
        FindingKind.NOT_ENOUGH_DATA,
        Severity.UNKNOWN,
        cannot_tell(
            f"nodes alone deliver {least} to {most} GB/s of bus bandwidth, and too many of them are"
            " slow to know what is normal",
            "--platform NAME",
        ),
    )


def _below(
    figures: NodeFigures, nodes: Sequence[str], machine: ExpectedPlatform | None
) -> Iterator[Finding]:
    found = figures.expected
    if found is None or machine is None:
        return
    low = [n for n in nodes if state_of(figures.best(n), found, rules()) is RowState.LOW]
    if not low:
        return
    worst = min(low, key=figures.best)
    values = (figures.best(worst), found.value, found.low, found.high)
    measured, value, least, most = (format_significant(v, 3) for v in values)
    evidence = (
        f"expected on {machine.platform.name}: {value} GB/s ({least} to {most}), limited by"
        f" {found.bound}",
        f"nodes: {first_few(low[:MOST_NAMED], len(low))}",
    )
    if len(low) == 1:
        yield Finding(
            FindingKind.SUSPECT_NODE,
            Severity.BAD,
            f"Node {worst} alone delivers {measured} GB/s of bus bandwidth between its own GPUs,"
            f" where {machine.platform.name} delivers {value}.",
            evidence=evidence[:1],
            facts=NodeFaultFacts(worst, "nvlink"),
        )
        return
    who = "Every node" if len(low) == len(figures.of) else counted(len(low), "node")
    yield Finding(
        FindingKind.BELOW_EXPECTED,
        Severity.BAD,
        f"{who} alone delivers less than expected between its own GPUs: {measured} GB/s of bus"
        f" bandwidth the slowest, expected {value}.",
        evidence=evidence,
        next_command="weft doctor machine",
    )


def _slow(figures: NodeFigures, node: str) -> Finding:
    best = figures.best(node)
    measured, normal = (format_significant(v, 3) for v in (best, figures.normal))
    percent = 100 * best / figures.normal
    times = counted(len(figures.of[node]), "launch", "launches")
    n_others = len(figures.of) - 1
    evidence = (
        f"measured alone, without a network, in {times}: NVLink, PCIe or a GPU of this node",
        f"{counted(n_others, 'other node')}: median {normal} GB/s, scatter"
        f" {100 * figures.spread:.1f} %",
    )
    return Finding(
        FindingKind.SUSPECT_NODE,
        Severity.BAD,
        f"Node {node} is slow inside: {percent:.0f} % of others ({measured} of {normal} GB/s of bus"
        " bandwidth between its own GPUs).",
        evidence=evidence,
        facts=NodeFaultFacts(node, "nvlink"),
    )


def would_show(figures: NodeFigures | None, limits: CheckThresholds) -> tuple[str, ...]:
    """The slow nodes that would have shown."""
    if figures is None or len(figures.of) < nccl_thresholds().compared_nodes:
        return ()
    if is_divided(figures, limits):
        return ()
    share = float(np.exp(-_least(figures, limits)))
    return (f"a node below {share:.2f} of the others' bus bandwidth between its own GPUs",)
