"""A check in which hosts go: planned and measured again over those that are left."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from weft.bench.live.lost_hosts import Lost, lost_of, lost_of_record
from weft.cli.backend import BackendChoice
from weft.cli.check.evidence import Evidence
from weft.cli.check.measurement import Keeping, measure
from weft.cli.output import talk
from weft.core.errors import BenchmarkError, InputError
from weft.core.words import counted

if TYPE_CHECKING:
    from weft.study.run.store import StudyRun

MOST_TIMES = 4
"""A check is measured no more often than this: where hosts go on going, something else is wrong."""

FEWEST = 2
"""Hosts that make a pair."""

Plan = Callable[[BackendChoice], Evidence]


def lost_before(run_dir: Path) -> tuple[Lost, ...]:
    """The hosts that an interrupted check is measured without. Raises InputError where the
    directory is no run."""
    from weft.study.run.store import LOST, read_meta

    lost = lost_of_record(read_meta(run_dir).get(LOST))
    return tuple(one for one in lost if not one.surveyed)


def measure_the_rest(
    plan: Plan,
    choice: BackendChoice,
    evidence: Evidence,
    keeping: Keeping,
    lost: tuple[Lost, ...] = (),
) -> "tuple[Evidence, StudyRun]":
    """Measure; where hosts are gone before there is a survey, the others, as long as two are left.
    `lost` are those that `evidence` is planned without. What was measured in vain is kept below the
    run directory. Raises BenchmarkError."""
    for _ in range(1, MOST_TIMES):
        try:
            return evidence, measure(evidence.setup, keeping, lost)
        except BenchmarkError as failure:
            left = set(evidence.setup.nodes) - set(failure.lost)
            if not failure.lost or len(left) < FEWEST or keeping.is_in_a_hurry:
                raise
            gone = lost_of(failure.lost, evidence.setup.backend.lost_hosts)
            lost = (*lost, *gone)
            rest = _rest(plan, without(choice, lost))
            if rest is None:
                raise
            evidence = rest
        keeping = _begun_anew(keeping, gone, evidence)
    return evidence, measure(evidence.setup, keeping, lost)


def without(choice: BackendChoice, lost: Iterable[Lost]) -> BackendChoice:
    """The hosts that are left."""
    return replace(choice, without=tuple(one.host for one in lost))


def _rest(plan: Plan, left: BackendChoice) -> Evidence | None:
    """What is left to measure; None where that is not what the options ask for."""
    try:
        return plan(left)
    except InputError:
        return None


def _begun_anew(keeping: Keeping, gone: tuple[Lost, ...], evidence: Evidence) -> Keeping:
    from weft.study.run.store import RunStore

    kept = RunStore.set_aside(keeping.directory)
    nodes = counted(len(evidence.setup.nodes), "node")
    where = "" if kept is None else f" (what was measured until then: {kept})"
    talk(f"{'; '.join(one.sentence for one in gone)}: measuring the other {nodes}{where}")
    talk(evidence.setup.plan.text)
    return replace(keeping, resume=False)
