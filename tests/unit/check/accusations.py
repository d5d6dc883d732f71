"""Facts of an accusation, without a check."""

from weft.check.facts import AccusationFacts, SuspectComponent
from weft.check.readings.components import Component, Part
from weft.check.readings.norms import HopClass, Norm
from weft.check.readings.readings import Metric
from weft.check.suspects.accusation import Count, Standing


def suspect(part: str, *ends: str, node: str | None = None) -> SuspectComponent:
    return SuspectComponent(Component(Part(part), ends), node)


def facts_of(
    *suspects: SuspectComponent,
    metric: str = "bandwidth_mb_s",
    measured: float = 12_000.0,
    expected: float = 24_750.0,
    standing: str = "confirmed",
    n: int = 41,
    n_others: int = 5599,
) -> AccusationFacts:
    """All `n` readings over the suspects are slow, and none of `n_others`."""
    kind = HopClass(Metric(metric), 8, 4, 4, 200_000_000_000, 100, same_host=False)
    count = Count(Metric(metric), Norm(kind, n, n, expected, 0.01), measured, n, n, n_others, 0)
    return AccusationFacts(
        suspects, Standing(standing), (Metric(metric),), count, 20.0, (), (count,)
    )
