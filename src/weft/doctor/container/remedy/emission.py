"""An emission: additions as the text of one format, and the launch that its own reader finds."""

import re
from dataclasses import dataclass, replace

from weft.doctor.container.case import ContainerCase
from weft.doctor.container.launch.cdi import edits_of
from weft.doctor.container.launch.environment import (
    EnvironmentLayers,
    Values,
    VariableValue,
)
from weft.doctor.container.launch.oci_hook import hook_edits
from weft.doctor.container.launch.plan import ContainerPlan, plans_of
from weft.doctor.container.launch.runtime import PLAIN, RUNTIMES
from weft.doctor.container.remedy.additions import Additions
from weft.doctor.container.remedy.documents import DOCUMENTS
from weft.doctor.container.remedy.emission_forms import EmissionForm
from weft.doctor.container.remedy.texts import TEXTS, ContainerStart
from weft.doctor.job import JobKind
from weft.doctor.readers.file import read_job

GIVEN = "--mount"
"""The origin of mounts of the command line."""
_WRITABLE = re.compile(r"[/~][\w.+@%/~-]*", re.ASCII)
"""Paths that no format and no shell takes apart."""


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
        if form.name not in DOCUMENTS:
            return plan
        name = f"--emit {form.name}"
        read = hook_edits if form.name == "sarus" else edits_of
        return plan.with_edits(read(self.text, name))


def emission_of(form: EmissionForm, added: Additions, engine: str) -> Emission:
    """The text of additions, for a launch by an engine."""
    start = ContainerStart(engine=engine)
    if form.name in TEXTS:
        return Emission(form, TEXTS[form.name](added, start))
    write, command = DOCUMENTS[form.name]
    return Emission(form, write(added, start), command(added, start))


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


def replaced_values(base: ContainerPlan, added: ContainerPlan) -> Values:
    """Values of a launch that would win over added ones, or stand where they go: who adds them,
    deletes these."""
    one, two = base.layers, added.layers
    names: set[str] = set()
    found: list[VariableValue] = []
    # The winner comes last.
    for own, more in ((one.host, two.host), (one.options, two.options), (one.edits, two.edits)):
        names |= {each.name for each in more}
        found += [each for each in own if each.name in names]
    return tuple(found)


def joined_plan(base: ContainerPlan, added: ContainerPlan) -> ContainerPlan:
    """One launch with the mounts, variables and devices of both, without `replaced_values`, and
    without added variables of the job where the launch hands them not on."""
    one, two = base.layers, added.layers
    replaced = replaced_values(base, added)

    def kept(values: Values) -> Values:
        return tuple(each for each in values if each not in replaced)

    layers = EnvironmentLayers(
        (*kept(one.host), *(two.host if base.hands_on else ())),
        (*kept(one.options), *two.options),
        (*kept(one.edits), *two.edits),
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
