"""The adapters of slow nodes one by one: which of n is slow."""

from collections.abc import Collection, Iterator, Sequence
from statistics import median

import numpy as np

from weft.bench.model import Sample
from weft.bench.nccl.backend import ADAPTER_PASS
from weft.check.nccl.outcomes import GroupOutcome, of_pass, outcomes_of
from weft.check.nccl.thresholds import nccl_thresholds
from weft.check.readings.components import PARTS, Part
from weft.check.suspects.survey import Survey
from weft.core.units import format_significant
from weft.core.words import counted

OF_NODES = (Part.NODE, Part.NODE_SENDING, Part.NODE_RECEIVING)


def adapter_tests(
    survey: Survey, samples: Sequence[Sample]
) -> tuple[list[list[tuple[str, str]]], list[str]]:
    """Rounds of pairs of hosts, and the one adapter of each round: each slow node with a good one,
    and two good ones for comparison. Nothing where no node is slow, or adapters are not known."""
    suspects = suspect_nodes(survey)[: nccl_thresholds().nodes_by_adapter]
    outcomes = outcomes_of(samples)
    adapters = known_adapters(outcomes)
    bad = {host for one in outcomes if not one.is_ok for host in one.hosts}
    good = [host for host in survey.crossings.hosts if host not in {*suspect_nodes(survey), *bad}]
    if not suspects or len(adapters) < 2 or len(good) < len(suspects) + 2:
        return [], []
    pairs = list(zip(suspects, good, strict=False))
    control = (good[len(suspects)], good[len(suspects) + 1])
    return [[*pairs, control] for _ in adapters], list(adapters)


def suspect_nodes(survey: Survey) -> list[str]:
    """The nodes that the survey suspects, the strongest first."""
    found = []
    for suspect in survey.slow_or_out_of_use:
        part, index = survey.candidates.members[suspect.best][0]
        if PARTS[part] in OF_NODES:
            found.append(survey.crossings.hosts[index])
    return list(dict.fromkeys(found))


def known_adapters(outcomes: Sequence[GroupOutcome]) -> tuple[str, ...]:
    """The network devices that NCCL's log lists in every launch, in its order."""
    listed = [one.adapters for one in outcomes if one.adapters]
    if not listed:
        return ()
    return tuple(name for name in listed[0] if all(name in names for names in listed))


def adapter_lines(
    outcomes: Sequence[GroupOutcome], node: str, accused: Collection[str]
) -> Iterator[str]:
    """The lines of evidence about the adapters of a slow node, one of those `accused`."""
    own = {one.adapter: one for one in of_pass(outcomes, ADAPTER_PASS) if node in one.hosts}
    others: dict[str | None, list[float]] = {}
    for one in of_pass(outcomes, ADAPTER_PASS):
        if not {node, *accused} & set(one.hosts) and one.busbw_gb_s:
            others.setdefault(one.adapter, []).append(_figure(one))
    judged = {name: one for name, one in own.items() if others.get(name) and one.busbw_gb_s}
    dead = [name for name, one in own.items() if not one.is_ok and others.get(name)]
    for name in dead:
        yield f"adapter {name}: its launch {own[name].reason}; others work through theirs"
    if not judged:
        return
    share = {name: _figure(one) / median(others[name]) for name, one in judged.items()}
    slow = [name for name, value in share.items() if value < nccl_thresholds().slow_adapter_share]
    n = len(own)
    if not slow and not dead:
        yield f"none of its {counted(n, 'adapter')} is slow by itself: {_range(share)} of others"
    elif len(slow) == len(judged):
        yield f"all of its {counted(n, 'adapter')} are slow one by one: {_range(share)} of others"
    else:
        for name in slow:
            figures = (_figure(judged[name]), median(others[name]))
            measured, normal = (format_significant(value, 3) for value in figures)
            yield (
                f"adapter {name} (1 of {n}) is slow: {100 * share[name]:.0f} % of others"
                f" ({measured} of {normal} GB/s through it alone)"
            )


def _figure(one: GroupOutcome) -> float:
    return one.busbw_gb_s[max(one.busbw_gb_s)]


def _range(share: dict[str | None, float]) -> str:
    values = np.array(list(share.values()))
    return f"{100 * values.min():.0f} to {100 * values.max():.0f} %"
