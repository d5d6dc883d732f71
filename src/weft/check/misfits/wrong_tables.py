"""Tables or cabling that the readings contradict: messages that should share a cable deliver more
than it can carry."""

from dataclasses import dataclass

from weft.check.readings.norms import Norm
from weft.check.readings.readings import Metric
from weft.check.suspects.survey import Survey
from weft.core.finding import Finding, FindingFacts, FindingKind, Severity
from weft.core.words import counted

_BITS_OF_MB = 8e6
_FULL = 100


@dataclass(frozen=True, slots=True)
class WrongTablesFacts(FindingFacts):
    """A hop class by its words: its readings (MB/s), and the most that a cable could give each."""

    hop_class: str
    measured: float
    limit: float


def contradiction_of(survey: Survey) -> Finding | None:
    """The finding of the hop class that contradicts the tables most; None where none does.

    A class holds loads between two steps, so only what exceeds the limit of the next lower load is
    a contradiction.
    """
    step = 2 ** (1 / survey.limits.load_steps)
    beyond = [norm for norm in survey.normed.norms if norm.expected > step * _limit(norm)]
    if not beyond:
        return None
    worst = max(beyond, key=lambda norm: norm.expected / _limit(norm))
    sharing = f"{worst.hop_class.load / _FULL:g} : 1"
    return Finding(
        FindingKind.CONTRADICTION,
        Severity.UNKNOWN,
        f"The tables are not those in force: {counted(worst.n, 'reading')} that share a cable"
        f" {sharing} by the tables deliver {worst.expected:.0f} MB/s each, and it can give each"
        f" {_limit(worst):.0f} MB/s.",
        evidence=(
            "the fabric's files are older or newer than the cabling, or of another fabric",
            "weft left the fabric out: it names nodes and pairs, and no cable or switch",
            "to do: read ibnetdiscover and dump_lfts again, and judge the run with them (--from)",
        ),
        facts=WrongTablesFacts(worst.hop_class.words, worst.expected, _limit(worst)),
    )


def _limit(norm: Norm) -> float:
    """The most (MB/s) that each reading of a shared class can deliver; infinite of another one."""
    of = norm.hop_class
    if of.metric is not Metric.BANDWIDTH or of.load <= _FULL or of.bits_per_s <= 0:
        return float("inf")
    return of.bits_per_s / _BITS_OF_MB * _FULL / of.load
