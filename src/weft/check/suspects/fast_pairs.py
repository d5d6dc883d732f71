"""Few nodes without a platform: the nodes whose every reading is slower than those among the
others. Two slow nodes of four slow five pairs of six, so the median is theirs."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from weft.check.readings.fast_nodes import fewest_fast_nodes
from weft.check.readings.readings import METRICS, Ints, Metric
from weft.check.suspects.survey import Survey
from weft.core.finding import Finding, FindingFacts, FindingKind, Severity
from weft.core.units import format_significant
from weft.core.words import counted


@dataclass(frozen=True, slots=True)
class SlowerNodes(FindingFacts):
    """Nodes that may be slow, and the nodes whose pairs are faster than every pair with them."""

    nodes: tuple[str, ...]
    fast_nodes: tuple[str, ...]
    metric: Metric


def fast_pair_findings(survey: Survey) -> list[Finding]:
    """Warnings, one a metric at most. Readings that a suspect explains are left out."""
    crossings = survey.crossings
    if len(crossings.hosts) > survey.limits.few_nodes or crossings.network is not None:
        return []
    return [finding for metric in METRICS for finding in _findings(survey, metric)]


def _findings(survey: Survey, metric: Metric) -> Iterator[Finding]:
    readings, host = survey.readings, survey.crossings.host_number
    rows: Ints = np.flatnonzero((readings.metric == metric.code) & ~survey.explained)
    ends = np.sort(np.stack([host[readings.a[rows]], host[readings.b[rows]]]), axis=0)
    rows, ends = rows[ends[0] != ends[1]], ends[:, ends[0] != ends[1]]
    sign = 1.0 if metric is Metric.LATENCY else -1.0
    fast = fewest_fast_nodes(
        sign * np.log(readings.value[rows]),
        (ends[0], ends[1]),
        survey.limits.guard(metric, with_fabric=False),
    )
    if not fast.size:
        return
    among = np.isin(ends, fast).all(axis=0)
    names = survey.crossings.hosts
    slower = tuple(sorted(names[i] for i in np.setdiff1d(ends, fast).tolist()))
    faster = tuple(sorted(names[i] for i in fast.tolist()))
    slow_median, fast_median = (
        format_significant(float(np.median(readings.value[rows[of]]))) for of in (~among, among)
    )
    n_pairs = np.unique(ends[:, ~among], axis=1).shape[1]
    who, them = ("Node", "it") if len(slower) == 1 else ("Nodes", "them")
    nodes, others = " and ".join(slower), " and ".join(faster)
    yield Finding(
        FindingKind.SUSPECT_NODE,
        Severity.WARNING,
        f"{who} {nodes} may be slow: the median {metric.word} over {them} is {slow_median}"
        f" {metric.unit}, among {others} {fast_median}.",
        evidence=(
            f"each reading of {counted(n_pairs, 'pair')} with {them} is slower than each among"
            f" {others}",
            f"shorter paths among {others} would look alike: --platform, --fabric, or"
            f" {survey.limits.few_nodes + 1} nodes or more tell",
        ),
        facts=SlowerNodes(slower, faster, metric),
    )
