"""The run loop: launches in, samples kept, failures recorded, completed launches never lost."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from weft.bench.live.failure import HangError
from weft.bench.model import Backend, Launch, Sample, State
from weft.core.clock import Clock, system_clock
from weft.core.errors import BenchmarkError, WeftError
from weft.core.work.progress import WorkUnderWay, by_time, working
from weft.study.run.store import Failure, RunStore

GIVE_UP_AFTER = 3
A_CORE, MOST_A_CORE, MOST_TOGETHER = 8, 64, 4096
"""Launches for each core that a backend takes together: so many that a long one of them leaves few
cores idle. A killed run loses at most as many, so they are more only where these take a moment."""
SHORT_S, LONG_S = 15.0, 45.0
"""What launches together take: twice as many follow those of less, half as many those of more."""


ByHand = Mapping[str, Mapping[str, str]]
"""By factor and setting, what a person does to switch it; "" where that is not known."""


def launches_together(backend: Backend) -> int:
    """How many launches a backend takes together: a machine has one at a time."""
    from weft.bench.twin.backend import TwinBackend

    return A_CORE * backend.simulator.n_cores if isinstance(backend, TwinBackend) else 1


def to_switch(launch: Launch, by_hand: ByHand, before: Launch | None = None) -> str:
    """What a person has to switch before a launch, after the one before; "" for nothing."""
    told = []
    for factor, settings in by_hand.items():
        setting = launch.trial.setting(factor)
        if before is None or before.trial.setting(factor) != setting:
            how = settings.get(setting, "")
            told.append(f"{factor} has to be {setting}" + (f" ({how})" if how else ""))
    return "; ".join(told)


class Progress:
    """Receives each event of a run; shows none of them. `unit` is what the work of a run counts."""

    unit = "launch"

    def weight(self, launch: Launch) -> float:  # noqa: ARG002
        """The part of the work that a launch is, compared with others."""
        return 1.0

    def working(self, work: WorkUnderWay, launch: Launch) -> None:
        """A launch becomes the step under way of the run's work."""
        work.what, work.step = cell_name(launch), self.weight(launch)

    def started(self, todo: Sequence[Launch], n_before: int) -> None:
        """The run begins with the launches to do: `n_before` others were over before."""

    def launching(self, launch: Launch) -> None:
        """A launch begins."""

    def measured(self, launch: Launch, samples: Sequence[Sample]) -> None:
        """A launch is complete."""

    def failed(self, launch: Launch, failure: Failure) -> None:
        """A launch is over without a result."""


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """The result of this call. `stopped` is the reason of an early end, or None."""

    n_launches: int
    n_before: int
    n_done: int
    failures: tuple[Failure, ...]
    stopped: str | None = None

    @property
    def lost(self) -> dict[str, int]:
        """Hosts that stopped answering, each with its number of failed or hung launches."""
        hosts = sorted({host for failure in self.failures for host in failure.lost})
        return {host: sum(host in one.lost for one in self.failures) for host in hosts}

    @property
    def n_over(self) -> int:
        """The launches that are over, before this call or in it."""
        return self.n_before + self.n_done + len(self.failures)

    @property
    def complete(self) -> bool:
        """Whether every launch of the plan is over."""
        return self.n_over == self.n_launches


def cell_name(launch: Launch) -> str:
    """'alltoall 512 x 1': benchmark, nodes and ranks a node."""
    trial = launch.trial
    return f"{trial.benchmark} {len(trial.nodes)} x {trial.tasks_per_node}"


def execute(
    launches: Sequence[Launch],
    backend: Backend,
    store: RunStore,
    *,
    progress: Progress | None = None,
    clock: Clock = system_clock,
    by_hand: ByHand | None = None,
    together: int = 1,
) -> RunOutcome:
    """Run every unfinished launch, in order, the backend taking so many `together`, or more that
    are short; close the backend, not the store.

    Where a factor of `by_hand` has to be switched, the run stops: going on with it is the word that
    it was.

    A launch that fails or hangs is recorded as the result of its cell and the run continues, until
    three launches in a row fail unexpectedly. Raises InputError if the store holds another plan,
    MissingError if the machine lacks something, StorageError if the disk refuses or the directory
    is lost; these and an interrupt leave a run that can be resumed.
    """
    store.set_plan(launches)
    todo = [launch for launch in launches if launch.key not in store.finished]
    progress = progress or Progress()
    tally = _Tally(worked=set(store.worked))
    total = sum(map(progress.weight, todo))
    try:
        with working("preparing", unit=progress.unit, total=total) as work:
            _prepare(backend, launches, store)
            progress.started(todo, len(launches) - len(todo))
            for number, launch in enumerate(_in_batches(todo, backend, work, together, clock)):
                before = todo[number - 1] if number else launch
                tally.switch = to_switch(launch, by_hand or {}, before)
                if tally.switch:
                    break
                progress.launching(launch)
                work.ask, began = by_time(tally.took_s.get(launch.trial.id, 0.0)), clock()
                progress.working(work, launch)
                result = _run_one(launch, backend, store, clock)
                tally.took_s[launch.trial.id] = clock() - began
                work.advance()
                tally.add(launch, result)
                if isinstance(result, Failure):
                    progress.failed(launch, result)
                else:
                    progress.measured(launch, result)
                if tally.in_a_row >= GIVE_UP_AFTER:
                    break
    finally:
        backend.close()
    return RunOutcome(
        n_launches=len(launches),
        n_before=len(launches) - len(todo),
        n_done=tally.n_done,
        failures=tuple(tally.failures),
        stopped=tally.why_stopped(),
    )


def _in_batches(
    todo: Sequence[Launch], backend: Backend, work: WorkUnderWay, together: int, clock: Clock
) -> Iterator[Launch]:
    """The launches, each batch begun ahead."""
    n, first = together, 0
    while first < len(todo):
        batch = todo[first : first + n]
        began = clock()
        # What the last launch took says nothing of a batch.
        work.what, work.step, work.ask = cell_name(batch[0]), float(len(batch)), None
        backend.ahead(batch)
        yield from batch
        first += len(batch)
        took = clock() - began
        if took > LONG_S:
            n = max(n // 2, together)
        elif took < SHORT_S and together > 1:
            most = min(together // A_CORE * MOST_A_CORE, max(together, MOST_TOGETHER))
            n = min(2 * n, most)


def _prepare(backend: Backend, launches: Sequence[Launch], store: RunStore) -> None:
    trials = {launch.trial.id: launch.trial for launch in launches}
    try:
        store.folder.refuse_lost()
        backend.prepare(tuple(trials.values()), store.run_dir)
    except WeftError:
        store.folder.abandon()
        raise
    if backend.fabric_document is not None:
        store.set_fabric(backend.fabric_document)


def _run_one(
    launch: Launch, backend: Backend, store: RunStore, clock: Clock
) -> list[Sample] | Failure:
    started = clock()
    samples: list[Sample] = []
    store.folder.refuse_lost()
    try:
        for sample in backend.measure(launch):
            store.append(sample, started_unix_s=started)
            samples.append(sample)
    except BenchmarkError as error:
        # A launch whose output found no room has no result that counts: it runs again.
        store.folder.refuse_full()
        state = State.HUNG if isinstance(error, HangError) else State.FAILED
        return store.failed(launch, state, error.describe(), error.lost)
    store.done(launch, n_samples=len(samples), seconds=clock() - started)
    return samples


@dataclass(slots=True)
class _Tally:
    """Counts unexpected failures: of trials that worked before, or while none has worked
    yet. A trial that has never worked while others do is a result, however often it fails; so is
    one that needs a lost host. `took_s`: of each trial what its last launch took."""

    n_done: int = 0
    in_a_row: int = 0
    failures: list[Failure] = field(default_factory=list)
    worked: set[str] = field(default_factory=set)
    switch: str = ""
    took_s: dict[str, float] = field(default_factory=dict)

    def add(self, launch: Launch, result: list[Sample] | Failure) -> None:
        if not isinstance(result, Failure):
            self.n_done += 1
            self.in_a_row = 0
            self.worked.add(launch.trial.id)
            return
        self.failures.append(result)
        if result.lost:
            return
        if not self.worked or result.trial in self.worked:
            self.in_a_row += 1

    def why_stopped(self) -> str | None:
        if self.switch:
            return f"from here on {self.switch}; switch it, then go on with --resume"
        if self.in_a_row < GIVE_UP_AFTER:
            return None
        last = self.failures[-1].message.splitlines()[0]
        return f"{GIVE_UP_AFTER} launches in a row failed; the last: {last}"
