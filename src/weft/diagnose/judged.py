"""Each reading with the norm it was held against and how it stands."""

from collections.abc import Sequence
from dataclasses import dataclass

from weft.bench.model import Sample
from weft.diagnose.crossing import Crossings, Wiring
from weft.diagnose.hopclass import HopClass, classify
from weft.diagnose.readings import Metric, Reading, readings_of
from weft.diagnose.slow import Mark, Norm, Norms, norms
from weft.diagnose.thresholds import Thresholds


@dataclass(frozen=True, slots=True)
class Judged:
    """A reading, the norm it was held against, and how it stands. `alone` is its value measured
    again with no other pair running, where that was done; `mark` then rests on both."""

    reading: Reading
    hop_class: HopClass
    norm: Norm | None
    first_mark: Mark
    mark: Mark
    alone: float | None = None

    @property
    def collided(self) -> bool:
        """Slow beside other pairs and normal alone: traffic met, nothing is broken."""
        return self.first_mark is Mark.SLOW and self.mark is Mark.NORMAL


def judge_readings(
    samples: Sequence[Sample],
    isolated: Sequence[Sample],
    fabric: Wiring | None,
    limits: Thresholds,
) -> tuple[tuple[Judged, ...], Norms, Crossings]:
    """Every reading of `samples` judged, by its retest in `isolated` where it has one."""
    readings = readings_of(samples)
    crossings = Crossings((reading.flow for reading in readings), fabric)
    classes = classify(readings, crossings, fabric)
    found = norms(readings, classes, limits)
    alone = {reading.key: reading.value for reading in readings_of(isolated)}
    judged = tuple(
        _judge_one(reading, hop_class, found.get((reading.metric, hop_class)), alone)
        for reading, hop_class in zip(readings, classes, strict=True)
    )
    return judged, found, crossings


def _judge_one(
    reading: Reading,
    hop_class: HopClass,
    norm: Norm | None,
    alone: dict[tuple[Metric, str, str], float],
) -> Judged:
    if norm is None:
        return Judged(reading, hop_class, None, Mark.UNJUDGED, Mark.UNJUDGED)
    first = norm.mark(reading.value)
    again = alone.get(reading.key)
    if again is not None:
        mark = _settle(first, norm.mark(again))
    elif alone and first is Mark.SLOW:
        # The retest reached its limit before this pair: it may have met other traffic.
        mark = Mark.UNCLEAR
    else:
        mark = first
    return Judged(reading, hop_class, norm, first, mark, again)


def _settle(first: Mark, again: Mark) -> Mark:
    """Slow is what was slow twice: a second draw for every reading of a suspect pair must not be
    a second chance of a false alarm. Normal alone is normal."""
    if again is Mark.SLOW and first is not Mark.SLOW:
        return Mark.UNCLEAR
    return Mark.UNCLEAR if first is Mark.NORMAL and again is Mark.UNCLEAR else again
