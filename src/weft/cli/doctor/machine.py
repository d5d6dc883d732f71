"""`weft doctor` without a verb: this machine's path to its fabric, in ten lines."""

from pathlib import Path

from weft.cli.output import emit
from weft.core.errors import ExitCode
from weft.core.finding import Severity, verdict_of
from weft.doctor.machine.checks import problems
from weft.doctor.machine.machine import SCHEMA, read_machine
from weft.doctor.machine.summary import ten_lines
from weft.doctor.machine.sysroot import Sysroot


def show(sysroot: Path, format_: str) -> int:
    """Print it. Raises InputError where the root is no directory."""
    machine = read_machine(Sysroot(sysroot))
    found = problems(machine)
    worst = verdict_of(found)
    emit(
        format_,
        text=lambda: "\n".join(ten_lines(machine, found)),
        record={
            "schema": SCHEMA,
            "sysroot": str(sysroot),
            "verdict": worst.value,
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
    return int(ExitCode.VERDICT_BAD if worst is Severity.BAD else ExitCode.GOOD)
