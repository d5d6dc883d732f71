"""`weft doctor container --emit`: what a launch adds, on standard output; its verdict apart."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from weft.cli.doctor.container_text import container_rows, verdict_lines
from weft.cli.fail_on import exit_code_of
from weft.cli.output import emit, printable, talk
from weft.core.finding import Severity
from weft.core.shell_line import shell_line
from weft.doctor.container.case import ContainerCase
from weft.doctor.container.judge import outcome
from weft.doctor.container.remedy.additions import Additions
from weft.doctor.container.remedy.emission import FORMS
from weft.doctor.container.remedy.search import ContainerRemedy, find_remedy


def show_emission(case: ContainerCase, form: str, format_: str, typed: Sequence[str | Path]) -> int:
    """Print the text of a remedy, unless it leaves a fault; the exit code of its verdict. `typed`
    are the words of the command line for the image and its host."""
    remedy = find_remedy(case, FORMS[form])
    verdict = remedy.chain.verdict()
    is_needed = not (case.plan.place and remedy.added.is_empty)
    if format_ != "text":
        emit(format_, text=str, record=_record(remedy), rows=_rows(remedy.added))
        return exit_code_of(verdict)
    if verdict is not Severity.BAD and is_needed:
        text = remedy.emission.text
        click.echo(printable(text) if sys.stdout.isatty() else text, nl=False)
    for line in _verdict(case, remedy, typed, is_needed=is_needed):
        talk(line)
    return exit_code_of(verdict)


def _verdict(
    case: ContainerCase, remedy: ContainerRemedy, typed: Sequence[str | Path], *, is_needed: bool
) -> Iterator[str]:
    verdict = remedy.chain.verdict()
    yield from verdict_lines(remedy.case, remedy.chain)
    if verdict is Severity.BAD:
        yield "not written: with all that the host has, the faults above stay"
        return
    if not is_needed:
        yield f"nothing to add to {case.plan.place}"
        return
    if case.plan.place:
        yield f"checked as an addition to {case.plan.place}; add it there"
    emission = remedy.emission
    if emission.command:
        yield from (f"reason: {one}" for one in remedy.added.notes)
        yield f"place: {emission.form.place}"
        yield f"start: {emission.command}"
    words: list[str | Path] = ["weft", "doctor", "container", *typed]
    words += [emission.form.option, "FILE"]
    if emission.form.option == "--hook":
        # A hook sets no variable.
        for one in remedy.added.variables:
            words += ["--env", f"{one.name}={one.value}"]
    yield "FILE of the next line is this output"
    yield f"next: {shell_line(words)}"


def _rows(added: Additions) -> list[dict[str, str]]:
    kinds = (
        *("mount" for _ in added.mounts),
        *("device" for _ in added.devices),
        *("variable" for _ in added.variables),
    )
    return [
        {"kind": kind, "entry": entry, "reason": reason}
        for kind, (entry, reason) in zip(kinds, added.reasons, strict=True)
    ]


def _record(remedy: ContainerRemedy) -> dict[str, Any]:
    chain, is_bad = remedy.chain, remedy.chain.verdict() is Severity.BAD
    return {
        "schema": "weft.container-emission/1",
        "format": remedy.emission.form.name,
        "verdict": chain.verdict().value,
        "outcome": outcome(remedy.case, chain),
        "text": None if is_bad else remedy.emission.text,
        "start": remedy.emission.command or None,
        "added": _rows(remedy.added),
        "faults": container_rows(remedy.case, chain),
        "unknown": [{"unknown": one.unknown, "would_tell": one.would_tell} for one in chain.gaps],
    }
