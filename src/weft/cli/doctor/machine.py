"""`weft doctor` without a verb: this machine's path to its fabric, in a few lines."""

from pathlib import Path

from weft.cli.fail_on import exit_code_of
from weft.cli.output import emit
from weft.doctor.machine.checks import problems
from weft.doctor.machine.coverage import coverage_of
from weft.doctor.machine.machine import SCHEMA, read_machine
from weft.doctor.machine.summary import machine_lines, machine_verdict
from weft.doctor.machine.sysroot import Sysroot


def show(sysroot: Path, format_: str) -> int:
    """Print it. Raises InputError where the root is no directory."""
    machine = read_machine(Sysroot(sysroot))
    found = problems(machine)
    worst = machine_verdict(machine, found)
    coverage = coverage_of(machine)
    emit(
        format_,
        text=lambda: "\n".join(machine_lines(machine, found)),
        record={
            "schema": SCHEMA,
            "sysroot": str(sysroot),
            "verdict": worst.value,
            "would_show": list(coverage.would_show),
            "unknown": [{"unknown": gap, "would_tell": files} for gap, files in coverage.gaps],
            "findings": [one.to_finding().to_record() for one in found],
            "machine": machine.to_record(),
        },
        rows=[
            {
                "severity": one.severity.value,
                "rule": one.rule.id,
                "about": one.about,
                "happens": one.happens,
                "fix": one.fix,
                "source": one.rule.cited,
            }
            for one in found
        ],
    )
    return exit_code_of(worst)
