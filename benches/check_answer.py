"""One case from measurement to answer: the product's verdict, and its cost."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from benches.check_case import Case
from benches.check_files import named_by_file
from benches.check_ground import Ground, Recorded, Twin
from benches.check_kinds import Planted, Thing
from benches.check_noise import NoisyBackend
from benches.check_score import FaultRecord, Score, score
from benches.check_visibility import Seen, scatter, seen_of, slowness

from weft.bench.model import Sample
from weft.check.facts import PairFacts
from weft.check.launches import FollowUpBackend
from weft.check.readings.crossing import Crossings
from weft.check.readings.readings import Floats, readings_of
from weft.check.verdict.intermittent import IntermittentFacts, StallPlaceFacts
from weft.check.verdict.verdict import judge_check
from weft.check.wording.headline import things_of
from weft.core.finding import Finding, Severity

CLEAR_ERRORS = 10.0
"""Standard errors beyond which the other of two faults does not explain an effect on a fault's own
readings."""

NUDGES = 3
"""Times that a fault must show the same, however the switches choose: what one simulation shows may
be their choice alone."""


@dataclass(frozen=True, slots=True)
class Answer:
    """`accused`: the things of each finding that makes the verdict bad; `suspected`: those of each
    warning about components. Seconds of this process's
    time that the analysis took, and of fabric time that the schedule is estimated to take."""

    accused: tuple[frozenset[Thing], ...]
    analysis_s: float
    fabric_s: float
    notes: tuple[str, ...] = ()
    suspected: tuple[frozenset[Thing], ...] = ()
    exit_code: int = 0
    samples: tuple[Sample, ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """The score of a case, and its cost."""

    score: Score
    answer: Answer
    seconds: float


def run_case(ground: Ground, case: Case) -> Result:
    """Measure, judge and score one case. Raises WeftError where the twin cannot be measured."""
    started = time.perf_counter()
    inner, seen = ground.healthy, list[Seen]()
    if case.planted:
        inner = Recorded(ground.twin_with(case.planted, case.seed), ground.launches[0])
        seen = effects(ground, case, inner.samples)
    answer = answer_of(ground, NoisyBackend(inner, case.noise, case.seed))
    scored = score(case.planted, seen, answer.accused, answer.suspected)
    scored = replace(scored, outcomes=_with_files(ground, case, scored.outcomes, answer.samples))
    return Result(scored, answer, time.perf_counter() - started)


def _with_files(
    ground: Ground, case: Case, outcomes: Sequence[FaultRecord], samples: Sequence[Sample]
) -> tuple[FaultRecord, ...]:
    """The outcomes, and of each fault that timing did not name whether its file does."""
    left = [
        not of.named and not one.is_load for one, of in zip(case.planted, outcomes, strict=True)
    ]
    if not any(left):
        return tuple(outcomes)
    found = ground.found(case.planted)
    return tuple(
        replace(
            of,
            by_file=named_by_file(one, ground.document, found, samples, adaptive=ground.adaptive),
        )
        if is_left
        else of
        for one, of, is_left in zip(case.planted, outcomes, left, strict=True)
    )


def effects(ground: Ground, case: Case, faulty: Sequence[Sample]) -> list[Seen]:
    """How far each planted fault shows in the survey, without noise.

    Of two faults, what shows little is simulated once more by itself: what then is gone was the
    other's. Under adaptive routing an effect is what is there each time, however the switches
    chose: a fault of a path, or that shows little, is simulated NUDGES times more, each time with
    another node's cables a little longer, in the faulty fabric and the healthy one alike.
    """
    crossings = ground.crossings
    metric = crossings.readings.metric
    before = slowness(metric, crossings.readings.value)
    standard_errors = np.sqrt(case.noise.sigma**2 + _scatter(ground, crossings, before) ** 2)
    errors = (slowness(metric, readings_of(faulty).value) - before) / standard_errors
    found = seen_of(crossings, case.planted, errors, case.noise.outliers)
    rerouted = [one.is_dead or one.swapped is not None for one in case.planted]
    for i, one in enumerate(case.planted):
        # Where another fault sends messages elsewhere, what is slow may be its doing.
        by_others = any(rerouted[:i] + rerouted[i + 1 :])
        nudges: list[int | None] = [None] * (len(case.planted) > 1)
        if ground.adaptive and not one.is_sporadic:
            nudges = list(range(NUDGES))
        lasting = errors
        for nudged in nudges:
            clear = found[i].errors >= CLEAR_ERRORS and (nudged is None or one.node is not None)
            if (clear and not by_others) or not found[i].identifiable:
                break
            after = _slowness_of(ground, ground.twin_with([one], case.seed, nudged=nudged))
            usual = before if nudged is None else _nudged(ground, nudged)
            lasting = np.minimum(lasting, (after - usual) / standard_errors)
            found[i] = seen_of(crossings, [one], lasting, case.noise.outliers)[0]
    if ground.wiring is None:
        found = [_without_fabric(one, how) for one, how in zip(case.planted, found, strict=True)]
    return found


def _without_fabric(one: Planted, how: Seen) -> Seen:
    """Without a fabric a verdict can name nodes."""
    return how if one.node is not None else replace(how, is_located=False)


@lru_cache(maxsize=NUDGES)
def _nudged(ground: Ground, nudged: int) -> Floats:
    """How slow the readings of the healthy fabric are, a node's cables a little longer."""
    return _slowness_of(ground, ground.twin_with([], "", nudged=nudged))


def _scatter(ground: Ground, crossings: Crossings, before: Floats) -> Floats:
    """The noise that adaptive routing's own choices add."""
    moment = crossings.readings.moment
    if not ground.adaptive:
        return np.zeros(moment.size)
    return scatter(moment, before, _nudged(ground, 0))


def _slowness_of(ground: Ground, twin: Twin) -> Floats:
    readings = readings_of(twin.measure(ground.launches[0]))
    return slowness(readings.metric, readings.value)


def answer_of(ground: Ground, noisy: NoisyBackend) -> Answer:
    """The verdict of `weft check` after its three launches; the time to measure is not counted."""
    started = time.process_time()
    backend = FollowUpBackend(
        noisy,
        ground.wiring,
        adaptive=ground.adaptive,
        most_rounds=ground.plan.most_follow_up_rounds,
    )
    samples = [sample for launch in ground.launches for sample in backend.measure(launch)]
    verdict = judge_check(samples, ground.wiring, adaptive=ground.adaptive)
    analysis_s = time.process_time() - started - noisy.process_s
    bad = [finding for finding in verdict.findings if finding.severity is Severity.BAD]
    return Answer(
        accused=tuple(accused_in(finding) for finding in bad),
        exit_code=int(verdict.exit_code),
        samples=tuple(samples),
        analysis_s=analysis_s,
        fabric_s=ground.fabric_s(noisy.launches),
        suspected=tuple(filter(None, map(suspected_in, verdict.findings))),
        notes=tuple(f"{finding.severity}: {finding.sentence}" for finding in verdict.findings),
    )


def suspected_in(finding: Finding) -> frozenset[Thing]:
    """The things that a warning names, none of any other finding."""
    if finding.severity is not Severity.WARNING:
        return frozenset()
    if isinstance(finding.facts, IntermittentFacts | StallPlaceFacts):
        return frozenset(component.thing for component in finding.facts.components)
    return things_of(finding)


def accused_in(finding: Finding) -> frozenset[Thing]:
    """The things that a finding accuses; its pairs where it names no component."""
    things = things_of(finding)
    if things:
        return things
    pairs = finding.facts.pairs if isinstance(finding.facts, PairFacts) else ()
    return frozenset(("pair", tuple(sorted(pair))) for pair in pairs) or frozenset({("fabric", ())})
