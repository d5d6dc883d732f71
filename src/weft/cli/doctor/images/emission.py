"""`weft doctor container --emit`: what a launch adds, on standard output; its verdict apart."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from weft.cli.doctor.images.text import rule_rows, verdict_lines
from weft.cli.fail_on import exit_code_of
from weft.cli.output import emit, printable, talk
from weft.core.errors import InputError
from weft.core.finding import Severity
from weft.core.shell_line import shell_line
from weft.doctor.container.case import ContainerCase
from weft.doctor.container.chain.report import Chain
from weft.doctor.container.judge import outcome
from weft.doctor.container.launch.environment import Values
from weft.doctor.container.remedy.additions import Additions
from weft.doctor.container.remedy.documents import MOUNT_HOOK
from weft.doctor.container.remedy.emission import base_plan, replaced_values
from weft.doctor.container.remedy.emission_forms import EmissionForm
from weft.doctor.container.remedy.search import ContainerRemedy, find_remedy

CLOSED = (
    "--export or SLURM_EXPORT_ENV keeps added variables from the container: "
    "put ALL into the list of srun --export"
)


@dataclass(frozen=True, slots=True)
class TypedWords:
    """Of the command line the words for the image and its host, and the documents of the launch,
    each behind its option."""

    image: tuple[str | Path, ...]
    documents: tuple[tuple[str, Path], ...] = ()

    @property
    def has_launch(self) -> bool:
        """Whether a document has the command line of the launch."""
        return any(option in ("--script", "--edf") for option, _ in self.documents)


@dataclass(frozen=True, slots=True)
class _Shown:
    """A remedy of a case, with what the user typed."""

    case: ContainerCase
    remedy: ContainerRemedy
    typed: TypedWords

    @property
    def verdict(self) -> Severity:
        return self.remedy.chain.verdict()

    @property
    def is_right(self) -> bool:
        """Whether no fault is known to stay."""
        return self.verdict is not Severity.BAD and not self.remedy.left

    @property
    def place(self) -> str:
        """The launch that the user has, "" without one."""
        names = (str(path) for _, path in self.typed.documents)
        return self.case.plan.place or " and ".join(names)

    @property
    def is_needed(self) -> bool:
        return not (self.place and self.remedy.added.is_empty)

    @property
    def replaced(self) -> Values:
        """Values of the launch that the user deletes."""
        emission = self.remedy.emission
        added = emission.plan()
        values = {one.name: one.value for one in self.remedy.added.variables}
        found = replaced_values(base_plan(self.case, emission.form), added)
        return tuple(one for one in found if one.value != values.get(one.name))

    @property
    def notes(self) -> Sequence[str]:
        if not self.is_right:
            is_closed = not self.case.plan.hands_on and self.remedy.emission.plan().layers.host
            return (*self.remedy.left, CLOSED) if is_closed else self.remedy.left
        form = self.remedy.emission.form
        if form.name != "sarus" or self.case.host.resolve(MOUNT_HOOK) is not None:
            return ()
        return (f"{MOUNT_HOOK} is not on the host: write the path of this Sarus' mount_hook there",)


def show_emission(
    judged: Sequence[tuple[ContainerCase, Chain]],
    form: EmissionForm,
    format_: str,
    typed: TypedWords,
) -> int:
    """Print the text of a remedy, unless it leaves a fault; the exit code of its verdict.

    Raises InputError where several launches need one.
    """
    case = _only_needy(judged)
    shown = _Shown(case, find_remedy(case, form), typed)
    verdict = shown.verdict
    if format_ != "text":
        emit(format_, text=str, record=_record(shown), rows=_rows(shown.remedy.added))
        return exit_code_of(verdict)
    if shown.is_right and shown.is_needed:
        text = shown.remedy.emission.text
        click.echo(printable(text) if sys.stdout.isatty() else text, nl=False)
    for line in _verdict(shown):
        talk(line)
    return exit_code_of(verdict)


def _only_needy(judged: Sequence[tuple[ContainerCase, Chain]]) -> ContainerCase:
    """The launch that is not GOOD, the first where all are."""
    needy = [case for case, chain in judged if chain.verdict() is not Severity.GOOD]
    if len(needy) > 1:
        raise InputError(
            f"{len(needy)} of {len(judged)} launches are not GOOD: "
            + ", ".join(one.plan.place for one in needy),
            where="--emit",
            expected="one launch that needs an addition",
            hint="a copy of the script for each launch, with the other launches deleted",
        )
    return (needy or [judged[0][0]])[0]


def _verdict(shown: _Shown) -> Iterator[str]:
    remedy, emission = shown.remedy, shown.remedy.emission
    yield from verdict_lines(remedy.case, remedy.chain)
    if not shown.is_right:
        yield "not written: with all that weft found on the host, the faults above stay"
        yield from (f"note: {one}" for one in shown.notes)
        return
    if not shown.is_needed:
        yield f"nothing to add to {shown.place}"
        return
    if shown.place:
        yield f"checked as an addition to {shown.place}"
    if shown.typed.has_launch:
        yield f"add: {emission.form.merge}"
    for one in shown.replaced:
        yield f"delete: {one.name}={one.text} ({one.origin}); the addition replaces it"
    if emission.command:
        yield from (f"reason: {one}" for one in remedy.added.notes)
        yield f"place: {emission.form.place}"
        yield f"start: {emission.command}"
    yield from (f"note: {one}" for one in shown.notes)
    yield from _next(shown)


def _next(shown: _Shown) -> Iterator[str]:
    """The command that judges what was judged: the user's own documents, too."""
    form, typed = shown.remedy.emission.form, shown.typed
    is_merged = form.option in ("--script", "--edf") and typed.has_launch
    words: list[str | Path] = ["weft", "doctor", "container", *typed.image]
    for option, path in typed.documents:
        words += [option, path]
    if typed.has_launch:
        yield f"the next line checks {shown.place} after the addition"
    if not is_merged:
        words += [form.option, "FILE"]
        yield "FILE of the next line is this output"
    if form.option == "--hook" and not typed.has_launch:
        # A hook sets no variable.
        for one in shown.remedy.added.variables:
            words += ["--env", f"{one.name}={one.value}"]
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


def _record(shown: _Shown) -> dict[str, Any]:
    remedy = shown.remedy
    chain, emission = remedy.chain, remedy.emission
    return {
        "schema": "weft.container-emission/1",
        "format": emission.form.name,
        "verdict": shown.verdict.value,
        "outcome": outcome(remedy.case, chain),
        "text": emission.text if shown.is_right else None,
        "start": emission.command or None if shown.is_right else None,
        "added": _rows(remedy.added),
        "replaced": [
            {"name": one.name, "value": one.text, "origin": one.origin} for one in shown.replaced
        ],
        "notes": list(shown.notes),
        "faults": rule_rows(remedy.case, chain.faults),
        "warnings": rule_rows(remedy.case, chain.warnings),
        "unknown": [{"unknown": one.unknown, "would_tell": one.would_tell} for one in chain.gaps],
    }
