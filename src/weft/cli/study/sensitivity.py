"""`weft study run --sensitivity`: the study again at half and at twice each assumed constant."""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.bench.model import Backend, Launch
from weft.cli.output import talk
from weft.cli.progress.steps import LaunchLines
from weft.core.errors import InputError
from weft.core.words import counted

if TYPE_CHECKING:
    from weft.bench.twin.backend import TwinBackend
    from weft.catalog.machine.platform import Platform
    from weft.study.plan.model import Study

FACTORS = (0.5, 2.0)


def require_sensible(backend: Backend, study: "Study") -> "TwinBackend":
    """The twin whose constants are to be varied. Raises InputError for a machine, and for a study
    without arms."""
    from weft.bench.twin.backend import TwinBackend

    if not isinstance(backend, TwinBackend):
        raise InputError(
            "--sensitivity needs a twin: a machine has no assumed constant",
            expected="--twin PLATFORM with it",
        )
    if not study.factors:
        raise InputError(
            f"--sensitivity: study '{study.name}' has one arm, and so no verdict to test",
            expected="a study with a factor",
        )
    return backend


def try_other_values(
    twin: "TwinBackend", launches: Sequence[Launch], meta: dict[str, Any], run_dir: Path
) -> None:
    """Run the launches with each assumed constant at half and at twice its value, in a folder that
    is removed, and keep the outcomes of their arms in the run directory, a line each as they come.
    Left out is what was tried before, leaves all scenarios as they are, or cannot be run."""
    from weft.study.comparison.sensitivity import keep, tried

    records = tried(run_dir)
    known = {(record["constant"], record["factor"]) for record in records}
    firsts = list({launch.trial.id: launch for launch in launches}.values())
    before = [twin.scenario(launch) for launch in firsts]
    variants = [
        (name, factor, machine)
        for name, factor, machine in _variants(twin.platform)
        if (name, factor) not in known and _differs(twin, machine, firsts, before)
    ]
    runs = counted(len(variants), "more run")
    talk(f"sensitivity: {runs} (constants at half and at twice), each as long as the first")
    for number, (name, factor, machine) in enumerate(variants, 1):
        talk(f"{number} of {len(variants)}: {name} x {factor:g}")
        varied = twin.with_platform(machine)
        varied.simulator = twin.simulator
        record = _record(name, factor, varied, launches, meta)
        if record is None:
            talk(f"{name} x {factor:g}: not every launch completed; not kept")
            continue
        records.append(record)
        keep(run_dir, records)


def _record(
    name: str,
    factor: float,
    varied: "TwinBackend",
    launches: Sequence[Launch],
    meta: dict[str, Any],
) -> dict[str, Any] | None:
    """The outcomes of a variant; None where a launch failed."""
    from weft.study.comparison.comparison import compare_arms
    from weft.study.comparison.rows import MARGIN, TOLERANCE
    from weft.study.comparison.sensitivity import VerdictRules, variant_record
    from weft.study.run.loop import execute, launches_together
    from weft.study.run.store import RunStore, read_run

    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder) / "run"
        together = launches_together(varied)
        with RunStore.create(where, meta) as store:
            lines = LaunchLines()
            outcome = execute(launches, varied, store, progress=lines, together=together)
        if not outcome.complete or outcome.failures:
            return None
        result = compare_arms(read_run(where))
    rules = VerdictRules(result.arms[0][0], MARGIN, TOLERANCE)
    return variant_record(name, factor, result.rows, rules)


def _differs(
    twin: "TwinBackend",
    machine: "Platform",
    firsts: Sequence[Launch],
    before: Sequence[dict[str, Any]],
) -> bool:
    """Whether any scenario differs; not where one cannot be had with this value."""
    try:
        varied = twin.with_platform(machine)
        return any(
            varied.scenario(launch) != scenario
            for launch, scenario in zip(firsts, before, strict=True)
        )
    except InputError:
        return False


def _variants(machine: "Platform") -> Iterator[tuple[str, float, "Platform"]]:
    from pydantic import ValidationError

    from weft.catalog.machine.scaling import unsure_figures

    for name, scaled in unsure_figures(machine):
        for factor in FACTORS:
            try:
                yield name, factor, scaled(factor)
            except ValidationError:
                continue  # No machine can have it.
