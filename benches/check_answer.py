"""One case from measurement to answer: what the product says, and what it took."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benches.check_case import Case, Thing
from benches.check_ground import Ground, NoisyBackend, disturbed
from benches.check_score import Score, Seen, scatter, score, seen_of, slowness, things_of
from weft.bench.model import Backend, Launch, Sample, Trial
from weft.diagnose.check.crossing import Crossings
from weft.diagnose.check.explain import Explainer
from weft.diagnose.check.network import Network
from weft.diagnose.check.norms import normed
from weft.diagnose.check.readings import Floats, readings_of
from weft.diagnose.check.thresholds import thresholds
from weft.diagnose.schedule import estimate_s, rail_rounds

N_ROUNDS = 12


@dataclass(frozen=True, slots=True)
class Answer:
    """`accused`: the things of each finding that makes the verdict bad. Seconds of this process's
    time that the analysis took, and of fabric time that the schedule is estimated to take."""

    accused: tuple[frozenset[Thing], ...]
    analysis_s: float
    fabric_s: float
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a case."""

    case: Case
    score: Score
    analysis_s: float
    fabric_s: float
    seconds: float
    notes: tuple[str, ...]


def run_case(ground: Ground, case: Case) -> Result:
    """Measure, judge and score one case. Raises WeftError where the twin cannot be measured."""
    started = time.perf_counter()
    launch = survey_launch(ground)
    healthy = ground.healthy(launch)
    inner: Backend = ground.twin_with(case.planted) if case.planted else healthy
    seen: list[Seen] = []
    draws = np.random.default_rng([ord(letter) for letter in case.seed])
    if case.planted:
        faulty = list(inner.measure(launch))
        seen = effects(ground, case, healthy.samples, faulty)
        survey = disturbed(faulty, case.noise, draws)
    else:
        survey = disturbed(healthy.samples, case.noise, draws)
    noisy = NoisyBackend(inner, case.noise, f"{case.seed}/follow-up")
    answer = answer_of(ground, launch, survey, noisy)
    scored = score(case.planted, seen, answer.accused)
    took = time.perf_counter() - started
    return Result(case, scored, answer.analysis_s, answer.fabric_s, took, answer.notes)


def effects(
    ground: Ground, case: Case, healthy: Sequence[Sample], faulty: Sequence[Sample]
) -> list[Seen]:
    """How far each planted fault shows in the survey, without noise."""
    crossings = ground.crossings(healthy)
    metric = crossings.readings.metric
    before = slowness(metric, crossings.readings.value)
    after = slowness(metric, readings_of(faulty).value)
    standard_errors = np.sqrt(case.noise.sigma**2 + _scatter(ground, crossings, before) ** 2)
    return seen_of(crossings, case.planted, (after - before) / standard_errors)


def _scatter(ground: Ground, crossings: Crossings, before: Floats) -> Floats:
    """What adaptive routing's own choices add to the noise."""
    metric = crossings.readings.metric
    if not ground.adaptive:
        return np.zeros(metric.size)
    nudged = ground.kept("nudged", lambda: _slowness_of(ground))
    return scatter(metric, before, nudged)


def _slowness_of(ground: Ground) -> Floats:
    readings = readings_of(ground.nudged.measure(survey_launch(ground)))
    return slowness(readings.metric, readings.value)


def survey_launch(ground: Ground) -> Launch:
    """The survey of a check, by the product's schedule."""
    every = rail_rounds(len(ground.nodes), ground.n_rails)
    step = max(1, len(every) // N_ROUNDS)
    rounds = ground.kept("rounds", lambda: ground.split(every[1::step][:N_ROUNDS]))
    options = {**ground.options, "rounds": rounds}
    trial = Trial(
        "t001-survey", "pairs", ground.sizes_bytes, ground.nodes, ground.n_rails, options=options
    )
    return Launch(trial, repeat=1, order=0)


def answer_of(
    ground: Ground, launch: Launch, survey: Sequence[Sample], noisy: NoisyBackend
) -> Answer:
    """The product's answer."""
    started = time.process_time()
    readings = readings_of(survey)
    crossings = Crossings(readings, Network(ground.wiring), adaptive=ground.adaptive)
    limits = thresholds()
    explainer = Explainer(readings, crossings.candidates, normed(crossings, limits), limits)
    found = explainer.explain()
    analysis_s = time.process_time() - started
    accused, notes = [], []
    for suspect in found.suspects:
        members = [m for c in suspect.candidates for m in crossings.candidates.members[c]]
        components = [crossings.component(member) for member in members]
        if suspect.evidence >= limits.named_evidence:
            accused.append(things_of(components))
        notes.append(f"{components[0].name} {suspect.evidence:.1f} {suspect.slower}")
    rate = min(int(link["bits_per_s"]) for link in ground.document["links"])
    fabric_s = estimate_s(
        len(launch.trial.options["rounds"]), size_bytes=2**20, window=8, bits_per_s=rate
    )
    return Answer(tuple(accused), analysis_s, fabric_s, tuple(notes))
