"""Readings that the survey planned and the run does not have."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from weft.bench.model import Sample, Trial
from weft.bench.phase import phases_of
from weft.check.readings.readings import Metric, host_of, is_rank, rank_in
from weft.check.trials import SURVEY
from weft.core.finding import Finding, FindingFacts, FindingKind, Severity
from weft.core.nodeset import short_name
from weft.core.words import counted
from weft.study.run.store import StudyRun

_PHASES = {Metric.LATENCY: "latency", Metric.BANDWIDTH: "bandwidth"}
MOST_NAMED = 4


@dataclass(frozen=True, slots=True)
class UnmeasuredFacts(FindingFacts):
    """Nodes of the plan without a reading of these metrics; `wholly`: of any metric."""

    nodes: tuple[str, ...]
    metrics: tuple[Metric, ...]
    wholly: bool


def of_survey(
    run: StudyRun, samples: Sequence[Sample]
) -> tuple[tuple[Finding, ...], tuple[str, ...]]:
    """Findings about nodes of the plan without readings, and a caveat where some lack a part."""
    trial = next((one.trial for one in run.launches if one.trial.id == SURVEY), None)
    if trial is None or not isinstance(trial.options.get("rounds"), list | tuple):
        return (), ()
    planned = _planned(trial)
    measured = _measured(samples, one_host=len(trial.nodes) == 1)
    phases = {phase.name for phase in phases_of(trial.options)}
    metrics = [m for m, phase in _PHASES.items() if phase in phases and any(measured[m].values())]
    if not metrics:
        return (), ()
    wholly = tuple(_without(planned, measured, metrics))
    # Their partners lack these readings, too.
    return wholly, () if wholly else tuple(_in_part(planned, measured, metrics))


def _planned(trial: Trial) -> Counter[str]:
    """By node, on one host by rank: in how many pairs of the survey it is.

    INVARIANT: ranks fill one node after the other.
    """
    one_host = len(trial.nodes) == 1
    names = [short_name(node) for node in trial.nodes]
    return Counter(
        str(rank) if one_host else names[rank // trial.tasks_per_node]
        for pairs in trial.options["rounds"]
        for pair in pairs
        for rank in pair
    )


def _measured(samples: Sequence[Sample], *, one_host: bool) -> dict[Metric, Counter[str]]:
    """By metric and node the number of pairs with a reading of the survey; of bandwidth, with one
    that the node sent."""
    found: dict[Metric, Counter[str]] = {metric: Counter() for metric in _PHASES}
    for one in samples:
        if one.trial != SURVEY or one.pair is None:
            continue
        a, b = (_name(end, one_host) for end in (one.pair.a, one.pair.b))
        if Metric.LATENCY in one.metrics:
            found[Metric.LATENCY].update((a, b))
        if "bandwidth_ab_mb_s" in one.metrics:
            found[Metric.BANDWIDTH][a] += 1
        if "bandwidth_ba_mb_s" in one.metrics:
            found[Metric.BANDWIDTH][b] += 1
    return found


def _name(endpoint: str, one_host: bool) -> str:
    if one_host and is_rank(endpoint):
        return str(rank_in(endpoint))
    return short_name(host_of(endpoint))


def _without(
    planned: Counter[str], measured: dict[Metric, Counter[str]], metrics: list[Metric]
) -> Iterator[Finding]:
    """A finding for the nodes without any reading, and for those without one of a metric."""
    lacking = {node: tuple(m for m in metrics if not measured[m][node]) for node in sorted(planned)}
    for lost in sorted(set(lacking.values()) - {()}, key=len, reverse=True):
        nodes = tuple(node for node, of in lacking.items() if of == lost)
        wholly = len(lost) == len(metrics)
        what = "" if wholly else f" of {lost[0].word}"
        named = ", ".join(nodes[:MOST_NAMED])
        more = f" and {len(nodes) - MOST_NAMED:,} more" if len(nodes) > MOST_NAMED else ""
        verb, are = ("has", "it is") if len(nodes) == 1 else ("have", "they are")
        yield Finding(
            FindingKind.NOT_ENOUGH_DATA,
            Severity.UNKNOWN,
            f"{len(nodes):,} of {counted(len(planned), 'node')} {verb} no reading{what}:"
            f" {named}{more}. The run does not show whether {are} sound.",
            evidence=(
                f"the survey planned {counted(planned[nodes[0]], 'pair')} of {nodes[0]}",
                "to do: check again; if readings are missing again, look at the files in raw/",
            ),
            facts=UnmeasuredFacts(nodes, lost, wholly),
        )


def _in_part(
    planned: Counter[str], measured: dict[Metric, Counter[str]], metrics: list[Metric]
) -> Iterator[str]:
    """A caveat about nodes with fewer readings than planned."""
    missing = Counter(
        {
            node: sum(max(0, n - measured[m][node]) for m in metrics if measured[m][node])
            for node, n in planned.items()
        }
    )
    worst, n_missing = max(missing.items(), key=lambda one: one[1])
    if n_missing:
        yield (
            f"{worst} lacks {counted(n_missing, 'reading')} that the survey planned: the verdict"
            " rests on the others"
        )
