"""One case judged again and again, by the diagnosis as it is and with a rule left out."""

import hashlib
import json
import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from importlib import import_module
from pathlib import Path
from random import Random
from time import process_time
from typing import Any

import numpy as np
from benches.ablation_boards import OtherGround, Stratum
from benches.ablation_rules import Ablation, Patch
from benches.ablation_table import ABLATIONS
from benches.check_answer import accused_in, effects
from benches.check_case import Case, Noise
from benches.check_ground import NoisyBackend, disturbed
from benches.check_plan import launches_of, size_of
from benches.check_score import Seen, score

from weft.bench.model import Launch, Sample
from weft.bench.twin.backend import TwinBackend
from weft.check import launches as launches_module
from weft.check.suspects.crowding import partner_test as other_partners
from weft.check.suspects.follow_up import _Finder
from weft.check.suspects.out_of_use.reroute import Rerouted
from weft.check.suspects.survey import Survey, survey_of
from weft.check.thresholds import CheckThresholds, thresholds
from weft.check.trials import ALONE, SURVEY
from weft.check.verdict import verdict as verdict_module
from weft.core.errors import WeftError
from weft.core.finding import Severity

FAILURES = (WeftError, ArithmeticError, LookupError, ValueError, AssertionError)


@dataclass(frozen=True, slots=True)
class Answered:
    """`named`: of each planted fault that shows, whether it was named; `wrong`: accusations that
    hold nothing planted; `failure`: why there is no verdict."""

    named: tuple[bool, ...]
    wrong: tuple[str, ...]
    seconds: float
    failure: str | None = None

    @property
    def result(self) -> tuple[Any, ...]:
        """Without the time it took."""
        return self.named, self.wrong, self.failure


class Traced(CheckThresholds):
    """The thresholds, which note what they are asked for."""

    __slots__ = ()
    asked: set[str] = set()  # noqa: RUF012

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("_"):
            Traced.asked.add(name)
        return object.__getattribute__(self, name)


Things = frozenset[tuple[str, tuple[str, ...]]]


class Judge:
    """A case; what is simulated is kept in a folder, what is measured and surveyed in memory.

    A check has two parts: it measures (the survey, and what that makes it measure again), then it
    judges. A rule is left out of the parts that ask for it; what is measured alike and judged by
    the same rules is judged alike.
    """

    def __init__(self, ground: OtherGround, stratum: Stratum, case: Case, folder: Path) -> None:
        self._ground, self._stratum, self._case, self._folder = ground, stratum, case, folder
        self._twin: TwinBackend | None = None
        self._measured: dict[tuple[str, ...], tuple[list[Sample], Any]] = {}
        self._surveys: dict[tuple[int, ...], Survey] = {}
        self._predicted: dict[Any, Any] = {}
        self._seen: list[Seen] | None = None
        self._draws: dict[Any, Any] = {}
        self._asked: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())
        self._base: tuple[list[Sample], Answered] | None = None

    @property
    def twin(self) -> TwinBackend:
        """The fabric that is measured."""
        if self._twin is None:
            self._twin = self._ground.twin_with(self._case.planted, seed=self._case.seed)
        return self._twin

    def is_chosen(self, one_in: int) -> bool:
        """Whether the case is one of so many, by its name."""
        return hashlib.sha256(self._case.seed.encode()).digest()[-1] % one_in == 0

    @property
    def asked(self) -> frozenset[str]:
        """What the diagnosis as it is was asked for."""
        return self._asked[0] | self._asked[1]

    def base(self) -> Answered:
        """What the check says as it is."""
        with self._memory(True):
            with _traced() as measuring:
                samples = self._samples()
            with _traced() as judging:
                answered = self._answered(samples)
        self._asked = (frozenset(measuring), frozenset(judging))
        self._base = (samples, answered)
        return answered

    def without(self, ablation: Ablation) -> Answered:
        """What it says without a rule."""
        assert self._base is not None
        samples, answered = self._base
        measuring, judging = map(ablation.is_asked, self._asked)
        with (
            left_out(ablation),
            self._memory(not ablation.changes_survey, not ablation.changes_draws),
        ):
            try:
                again = self._samples() if measuring else samples
            except FAILURES as error:
                return Answered((), (), 0.0, f"{type(error).__name__}: {error}")
            if not judging and list(map(id, again)) == list(map(id, samples)):
                return answered
            return self._answered(again)

    def _samples(self) -> list[Sample]:
        ground = self._ground
        backend = launches_module.FollowUpBackend(
            _Noisy(self, self._case),
            ground.wiring,
            adaptive=ground.adaptive,
            size=size_of(ground),
        )
        return [s for launch in launches_of(ground) for s in backend.measure(launch)]

    def _answered(self, samples: list[Sample]) -> Answered:
        ground, started = self._ground, process_time()
        try:
            verdict = verdict_module.judge_check(samples, ground.wiring, adaptive=ground.adaptive)
        except FAILURES as error:
            return Answered((), (), 0.0, f"{type(error).__name__}: {error}")
        took = process_time() - started
        accused = [accused_in(one) for one in verdict.findings if one.severity is Severity.BAD]
        scored = score(self._case.planted, self._effects(), accused)
        named = tuple(one.named for one in scored.outcomes if one.seen.identifiable)
        return Answered(named, scored.wrong, took)

    def _effects(self) -> list[Seen]:
        if self._seen is None:
            self._seen = self._kept(f"seen {self._case.seed} {self._stratum.name}", self._look)
        return self._seen

    def _look(self) -> list[Seen]:
        if not self._case.planted:
            return []
        ground, survey = self._ground, launches_of(self._ground)[0]
        healthy = ground.kept("healthy samples", lambda: self.simulated(survey, ground._healthy))
        noise = Noise(self._case.noise.sigma, 0.0, 1.0)
        case = replace(self._case, noise=noise)
        return effects(ground, case, healthy, self.simulated(survey, self.twin))

    def simulated(self, launch: Launch, twin: TwinBackend) -> list[Sample]:
        """The samples of a launch, from the folder if it was simulated before."""
        document = json.dumps([launch.trial.id, twin.scenario(launch)], sort_keys=True)
        return list(self._kept(document, lambda: list(twin.measure(launch))))

    def _kept(self, name: str, make: Callable[[], Any]) -> Any:
        path = self._folder / f"{hashlib.sha256(name.encode()).hexdigest()[:32]}.pickle"
        if not path.exists():
            made = make()
            unfinished = path.with_suffix(".new")
            unfinished.write_bytes(pickle.dumps(made, protocol=5))
            unfinished.rename(path)
            return made
        return pickle.loads(path.read_bytes())  # noqa: S301

    def measured(
        self, known: Sequence[str], launch: Launch, draws: np.random.Generator, noise: Any
    ) -> list[Sample]:
        """The samples of a launch after those `known`, disturbed; the same ones each time."""
        rounds = json.dumps(launch.trial.options["rounds"])
        key = (*known, hashlib.sha256(f"{launch.trial.id}{rounds}".encode()).hexdigest())
        if key not in self._measured:
            samples = noise(self.simulated(launch, self.twin))
            of_trial = ALONE if self._stratum.time == "alone" else SURVEY
            if launch.trial.id == of_trial and self._stratum.time:
                when = Random(f"time/{self._case.seed}")  # noqa: S311
                samples = over_time(samples, self._stratum.time, when)
            self._measured[key] = (samples, draws.bit_generator.state)
        samples, state = self._measured[key]
        draws.bit_generator.state = state
        return samples

    def _drawn(
        self, key: Any, draws: Random, make: Callable[[], Any], copied: Callable[[Any], Any]
    ) -> Any:
        """What was drawn once from the same state of the same draws."""
        full = (key, hash(draws.getstate()))
        if full not in self._draws:
            self._draws[full] = (make(), draws.getstate())
        made, state = self._draws[full]
        draws.setstate(state)
        return copied(made)

    @contextmanager
    def _memory(self, keeps_surveys: bool, keeps_draws: bool = True) -> Iterator[None]:
        """Surveys, and what an engine says without a cable, are worked out once."""
        predict = Rerouted._predict

        def known(samples: Sequence[Sample], *args: Any, **options: Any) -> Survey:
            if not keeps_surveys:
                return survey_of(samples, *args, **options)
            key = tuple(map(id, samples))
            if key not in self._surveys:
                self._surveys[key] = survey_of(samples, *args, **options)
            of = self._surveys[key]
            return Survey(
                of.readings, of.crossings, of.normed, of.explainer, of.explanation, of.alone
            )

        def predicted(self_: Rerouted, cables: Sequence[int]) -> Any:
            if type(self_) is not Rerouted or not keeps_surveys:
                return predict(self_, cables)
            key = (id(self_._crossings), self_._engine, tuple(cables))
            if key not in self._predicted:
                self._predicted[key] = predict(self_, cables)
            return self._predicted[key]

        flows, others = _Finder._flows, other_partners._with_others

        def flows_of(self_: _Finder, suspect: Any, candidate: int) -> Any:
            suspects = repr([(s.candidates, s.slower, s.evidence) for s in self_._suspects])
            key = (id(self_._survey.readings), suspects, suspect.best, candidate)
            return self._drawn(key, self_._draws, lambda: flows(self_, suspect, candidate), list)

        def with_others(survey: Survey, rows: Any, n: int, draws: Random, *, whole: bool) -> Any:
            key = (id(survey.readings), rows.tobytes(), n, whole)
            return self._drawn(
                key, draws, lambda: others(survey, rows, n, draws, whole=whole), list
            )

        modules = (launches_module, verdict_module)
        try:
            if keeps_draws:
                _Finder._flows = flows_of  # type: ignore[method-assign]
                other_partners._with_others = with_others
            Rerouted._predict = predicted  # type: ignore[method-assign]
            for module in modules:
                module.survey_of = known  # type: ignore[attr-defined]
            yield
        finally:
            _Finder._flows = flows  # type: ignore[method-assign]
            other_partners._with_others = others
            Rerouted._predict = predict  # type: ignore[method-assign]
            for module in modules:
                module.survey_of = survey_of  # type: ignore[attr-defined]


class _Noisy(NoisyBackend):
    """The scoreboard's noise upon what a judge remembers."""

    def __init__(self, judge: Judge, case: Case) -> None:
        self._judge = judge
        self._noise = case.noise
        self._draws = np.random.default_rng(Random(case.seed).getrandbits(64))  # noqa: S311
        self._known: list[str] = []
        self.name, self.fabric_document = "twin", {}
        self.faults, self.lost_hosts = (), {}

    def measure(self, launch: Launch) -> Iterator[Sample]:
        """The samples, disturbed."""
        samples = self._judge.measured(
            self._known, launch, self._draws, lambda of: disturbed(of, self._noise, self._draws)
        )
        rounds = json.dumps(launch.trial.options["rounds"])
        self._known.append(hashlib.sha256(rounds.encode()).hexdigest())
        return iter(samples)


def over_time(samples: Sequence[Sample], what: str, draws: Random) -> list[Sample]:
    """Samples of which a stretch of rounds is slower, or each more than the last, or all are."""
    if not samples:
        return []
    last = max(1, *(sample.pair.round for sample in samples if sample.pair is not None))
    n = max(2, round((last + 1) * draws.uniform(0.1, 0.3)))
    first, most = draws.randrange(last + 2 - n), draws.uniform(1.15, 1.6)
    found = []
    for sample in samples:
        assert sample.pair is not None
        number = sample.pair.round
        factor = 1 + (most - 1) * number / last / 2
        if what == "stretch":
            factor = most if first <= number < first + n else 1.0
        if what == "alone":
            factor = 1 + (most - 1) / 4
        metrics = {
            name: value * factor if name.endswith("_us") else value / factor
            for name, value in sample.metrics.items()
        }
        found.append(replace(sample, metrics=metrics))
    return found


@contextmanager
def _traced() -> Iterator[set[str]]:
    """Notes which figures, and which functions that an ablation replaces, a run asks for."""
    limits = thresholds()
    Traced.asked = asked = set()
    before = []
    for ablation in ABLATIONS:
        for patch in ablation.patches:
            holder, name = _place(patch.target)
            original = holder.__dict__[name]
            before.append((holder, name, original))
            setattr(holder, name, _noting(original, patch, f"rule {ablation.name}", asked))
    object.__setattr__(limits, "__class__", Traced)
    try:
        yield asked
    finally:
        object.__setattr__(limits, "__class__", CheckThresholds)
        for holder, name, original in reversed(before):
            setattr(holder, name, original)


def _noting(function: Any, patch: Patch, name: str, asked: set[str]) -> Any:
    """The function, which notes the ablation where what stands in for it says something else."""
    if hasattr(function, "attrname"):

        def asked_for(self: Any) -> Any:
            asked.add(name)
            return function.func(self)

        return property(asked_for)

    @wraps(function)
    def noting(*args: Any, **options: Any) -> Any:
        said = function(*args, **options)
        if name not in asked:
            known = set(asked)
            alike = not patch.wraps and _alike(said, patch.instead(*args, **options))
            # What stands in for it asks for the others' sake.
            asked.intersection_update(known)
            asked.update(() if alike else {name})
        return said

    return noting


def _alike(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    try:
        return bool(one == other)
    except ValueError:
        return False


def _place(target: str) -> tuple[Any, str]:
    """The module or class that holds 'package.module:Class.name', and the name."""
    module, _, path = target.partition(":")
    outer, _, name = path.rpartition(".")
    holder: Any = import_module(module)
    return (getattr(holder, outer) if outer else holder), name


@contextmanager
def left_out(ablation: Ablation) -> Iterator[None]:
    """The diagnosis without a rule."""
    limits = thresholds()
    figures = {name: getattr(limits, name) for name in ablation.limits}
    places = [(*_place(patch.target), patch) for patch in ablation.patches]
    before = [(holder, name, holder.__dict__[name]) for holder, name, _ in places]
    try:
        for name, value in ablation.limits.items():
            object.__setattr__(limits, name, value)
        for holder, name, patch in places:
            setattr(holder, name, _instead(patch, holder.__dict__[name]))
        yield
    finally:
        for name, value in figures.items():
            object.__setattr__(limits, name, value)
        for holder, name, original in before:
            setattr(holder, name, original)


def _instead(patch: Patch, original: Any) -> Any:
    made = patch.instead(original) if patch.wraps else patch.instead
    if isinstance(original, property) or hasattr(original, "attrname"):
        return property(made)
    return made
