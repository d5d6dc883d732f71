"""`weft study run --sensitivity`: the study again at half and at twice each assumed constant."""

import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.bench.model import Backend, Launch
from weft.cli.output import talk
from weft.cli.progress import shown_progress
from weft.core.errors import InputError
from weft.core.words import counted

if TYPE_CHECKING:
    from weft.bench.twin.backend import TwinBackend
    from weft.catalog.machine.platform import Platform

FACTORS = (0.5, 2.0)


def require_sensible(backend: Backend) -> "TwinBackend":
    """The twin whose constants are to be varied. Raises InputError for a machine."""
    from weft.bench.twin.backend import TwinBackend

    if not isinstance(backend, TwinBackend):
        raise InputError(
            "--sensitivity needs a twin: a machine has no assumed constant",
            expected="--twin PLATFORM with it",
        )
    return backend


def try_other_values(
    twin: "TwinBackend", launches: Sequence[Launch], meta: dict[str, Any], run_dir: Path
) -> None:
    """Run the launches with each assumed constant at half and at twice its value, in a folder that
    is removed, and keep the outcomes of their arms in the run directory, a line each as they come.
    What was tried before, or leaves all scenarios as they are, is left out."""
    from weft.study.comparison.comparison import compare_arms
    from weft.study.comparison.sensitivity import SENSITIVITY_FILE, tried, variant_record
    from weft.study.run.loop import execute
    from weft.study.run.store import RunStore, read_run

    known = {(record["constant"], record["factor"]) for record in tried(run_dir)}
    firsts = list({launch.trial.id: launch for launch in launches}.values())
    before = [twin.scenario(launch) for launch in firsts]
    variants = [
        (name, factor, machine)
        for name, factor, machine in _variants(twin.platform)
        if (name, factor) not in known
        and any(
            varied != scenario
            for varied, scenario in zip(
                map(twin.with_platform(machine).scenario, firsts), before, strict=True
            )
        )
    ]
    talk(f"other values: {counted(len(variants), 'run')} more, each as long as the first")
    for number, (name, factor, machine) in enumerate(variants, 1):
        talk(f"{number} of {len(variants)}: {name} x {factor:g}")
        with tempfile.TemporaryDirectory() as folder:
            where = Path(folder) / "run"
            with RunStore.create(where, meta) as store, shown_progress() as progress:
                execute(launches, twin.with_platform(machine), store, progress=progress)
            rows = compare_arms(read_run(where)).rows
        with (run_dir / SENSITIVITY_FILE).open("a", encoding="utf-8") as out:
            out.write(json.dumps(variant_record(name, factor, rows)) + "\n")


def _variants(machine: "Platform") -> Iterator[tuple[str, float, "Platform"]]:
    from pydantic import ValidationError

    from weft.catalog.machine.scaling import unsure_figures

    for name, scaled in unsure_figures(machine):
        for factor in FACTORS:
            try:
                yield name, factor, scaled(factor)
            except ValidationError:
                continue  # No machine can have it.
