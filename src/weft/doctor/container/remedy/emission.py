"""An emission: additions as the text of one format, and the launch that its own reader finds."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from weft.doctor.container.case import ContainerCase
from weft.doctor.container.launch.cdi import edits_of
from weft.doctor.container.launch.environment import EnvironmentLayers
from weft.doctor.container.launch.oci_hook import hook_edits
from weft.doctor.container.launch.plan import ContainerPlan, plans_of
from weft.doctor.container.launch.runtime import PLAIN, RUNTIMES
from weft.doctor.container.remedy.additions import Additions
from weft.doctor.container.remedy.documents import (
    CDI_PLACE,
    SARUS_PLACE,
    cdi_command,
    cdi_text,
    sarus_command,
    sarus_text,
)
from weft.doctor.container.remedy.texts import TEXTS, ContainerStart
from weft.doctor.job import JobKind
from weft.doctor.readers.file import read_job

GIVEN = "--mount"
"""The origin of mounts of the command line."""
_WRITABLE = re.compile(r"[/~][\w.+@%/~-]*", re.ASCII)
"""Paths that no format and no shell takes apart."""


@dataclass(frozen=True, slots=True)
class EmissionForm:
    """A format. `runtimes` are those that it is for, the first by default; `option` is that of
    `weft doctor container` which reads it; `command` is a line that the text needs beside it, and
    `place` is where its runtime looks for such a file."""

    name: str
    runtimes: tuple[str, ...]
    option: str
    write: Callable[[Additions, ContainerStart], str]
    command: Callable[[Additions, ContainerStart], str] | None = None
    place: str = ""


FORMS: Mapping[str, EmissionForm] = {
    one.name: one
    for one in (
        EmissionForm("edf", ("CE",), "--edf", TEXTS["edf"]),
        EmissionForm("pyxis", ("pyxis",), "--script", TEXTS["pyxis"]),
        EmissionForm("sarus", ("sarus",), "--hook", sarus_text, sarus_command, SARUS_PLACE),
        EmissionForm("apptainer", ("apptainer",), "--script", TEXTS["apptainer"]),
        EmissionForm("podman", ("podman",), "--script", TEXTS["podman"]),
        EmissionForm("cdi", ("podman", "docker"), "--cdi", cdi_text, cdi_command, CDI_PLACE),
        EmissionForm("docker", ("docker",), "--script", TEXTS["docker"]),
    )
}


@dataclass(frozen=True, slots=True)
class Emission:
    """The text, and the command that goes with it, "" where the text has it."""

    form: EmissionForm
    text: str
    command: str = ""

    def plan(self) -> ContainerPlan:
        """The launch that the readers of weft find in it."""
        form = self.form
        script = self.command or self.text
        kind = JobKind.EDF if form.name == "edf" else JobKind.SCRIPT
        (plan,) = plans_of(read_job(f"--emit {form.name}", script, kind))
        if form.command is None:
            return plan
        name = f"--emit {form.name}"
        read = hook_edits if form.name == "sarus" else edits_of
        return plan.with_edits(read(self.text, name))


def emission_of(form: EmissionForm, added: Additions, engine: str) -> Emission:
    """The text of additions, for a launch by an engine."""
    start = ContainerStart(engine=engine)
    command = "" if form.command is None else form.command(added, start)
    return Emission(form, form.write(added, start), command)


def is_writable(path: str) -> bool:
    """Whether each format can name a path."""
    return _WRITABLE.fullmatch(path) is not None


def base_plan(case: ContainerCase, form: EmissionForm) -> ContainerPlan:
    """The launch as its document has it, without options of the command line. Without a document,
    a bare one of the format's runtime."""
    plan = case.plan
    layers = replace(plan.layers, given=())
    if not plan.place:
        layers = replace(layers, options=())
    mounts = tuple(one for one in plan.mounts if one.origin != GIVEN)
    runtime = RUNTIMES[form.runtimes[0]] if plan.runtime is PLAIN else plan.runtime
    return replace(plan, runtime=runtime, layers=layers, mounts=mounts)


def joined_plan(base: ContainerPlan, added: ContainerPlan) -> ContainerPlan:
    """One launch with the mounts, variables and devices of both; those of the second win."""
    one, two = base.layers, added.layers
    layers = EnvironmentLayers(
        (*one.host, *two.host),
        (*one.options, *two.options),
        (*one.edits, *two.edits),
        (*one.given, *two.given),
        one.passes | two.passes,
    )
    return replace(
        base,
        layers=layers,
        mounts=(*base.mounts, *added.mounts),
        devices=(*base.devices, *added.devices),
        linker_folders=(*base.linker_folders, *added.linker_folders),
        unknown=(*base.unknown, *added.unknown),
    )
