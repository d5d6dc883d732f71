"""A check that loses hosts: it is planned and measured again over the remaining ones."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from weft.bench.live.lost_hosts import LostHost, lost_hosts_of, lost_hosts_of_record
from weft.cli.backend.choice import BackendChoice
from weft.cli.check.evidence import PlannedCheck
from weft.cli.check.measurement import Keeping, measure
from weft.cli.output import talk
from weft.core.errors import BenchmarkError, InputError
from weft.core.words import counted
from weft.study.run.store import LOST, RunStore, StudyRun, read_meta

MOST_TIMES = 4
"""A check is measured at most this often: hosts that keep failing have another cause."""

FEWEST = 2
"""Hosts that make a pair."""

Plan = Callable[[BackendChoice], PlannedCheck]


def lost_before(run_dir: Path) -> tuple[LostHost, ...]:
    """The hosts that an interrupted check is measured without. Raises InputError where the
    directory is no run."""
    lost = lost_hosts_of_record(read_meta(run_dir).get(LOST))
    return tuple(one for one in lost if not one.surveyed)


def measure_remaining(
    plan: Plan,
    choice: BackendChoice,
    check: PlannedCheck,
    keeping: Keeping,
    lost: tuple[LostHost, ...] = (),
) -> tuple[PlannedCheck, StudyRun]:
    """Measure. Where hosts are lost before the survey ends, measure the remaining ones, at least
    two. `lost`: hosts that `check` is planned without. Earlier attempts are kept below the run
    directory. Raises BenchmarkError."""
    for _ in range(1, MOST_TIMES):
        try:
            return check, measure(check.setup, keeping, lost)
        except BenchmarkError as failure:
            remaining_hosts = set(check.setup.nodes) - set(failure.lost)
            if not failure.lost or len(remaining_hosts) < FEWEST or keeping.is_in_a_hurry:
                raise
            gone = lost_hosts_of(failure.lost, check.setup.backend.lost_hosts)
            lost = (*lost, *gone)
            remaining = _replanned(plan, without(choice, lost))
            if remaining is None:
                raise
            check = remaining
        keeping = _begun_anew(keeping, gone, check)
    return check, measure(check.setup, keeping, lost)


def without(choice: BackendChoice, lost: Iterable[LostHost]) -> BackendChoice:
    """The choice without the lost hosts."""
    return replace(choice, without=tuple(one.host for one in lost))


def _replanned(plan: Plan, left: BackendChoice) -> PlannedCheck | None:
    """The check of the remaining hosts; None where the options do not allow it."""
    try:
        return plan(left)
    except InputError:
        return None


def _begun_anew(keeping: Keeping, gone: tuple[LostHost, ...], check: PlannedCheck) -> Keeping:
    kept = RunStore.set_aside(keeping.directory)
    nodes = counted(len(check.setup.nodes), "node")
    where = "" if kept is None else f" (earlier readings: {kept})"
    talk(f"{'; '.join(one.sentence for one in gone)}: measuring the remaining {nodes}{where}")
    talk(check.setup.plan.text)
    return replace(keeping, resume=False)
