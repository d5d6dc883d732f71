"""The plan of a launch: an image, a runtime, mounts, variables and devices, from any document."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from weft.catalog.libraries.launch_recipe import LaunchRecipe
from weft.doctor.container.launch.cdi import ContainerEdits
from weft.doctor.container.launch.devices import passed_device
from weft.doctor.container.launch.environment import (
    EnvironmentLayers,
    Values,
    VariableValue,
)
from weft.doctor.container.launch.mounts import BindMount, mounts_of
from weft.doctor.container.launch.runtime import PLAIN, RUNTIMES, Runtime, runtime_of
from weft.doctor.job import (
    CONTAINER_PREFIXES,
    HOLE,
    Job,
    JobLaunch,
    JobSetting,
    SettingOrigin,
    number_of,
)
from weft.launch.command_words import NODES, RANKS, SLURM, TASKS_PER_NODE

BINDS = ("APPTAINER_BIND", "APPTAINER_BINDPATH", "SINGULARITY_BIND", "SINGULARITY_BINDPATH")
_NOT_EXPORTED = (SettingOrigin.ASSIGNED, SettingOrigin.WRITTEN)
_DEVICE = re.compile(r"--device(?:=|\s+)['\"]?(/[^\s'\"]+)")
_TAKE_FOLDERS = ("podman", "docker", "podman-hpc")
"""Runtimes whose --device takes a folder of devices, too. SOURCE: podman-run(1); docker run(1)."""
_MODULES = ("module", "modules", "nccl", "cxi", "mpi")
_NO_DEVICES = ("contain", "containall", "c", "C")


@dataclass(frozen=True, slots=True)
class ContainerPlan:
    """`devices` are those that options name, folders with a slash at the end; `hooks` are
    annotations that switch hooks on; `unknown` are parts that the document leaves open, each with
    what would tell. `hands_on` is False where srun hands on chosen variables of the job only."""

    runtime: Runtime = PLAIN
    place: str = ""
    mounts: tuple[BindMount, ...] = ()
    layers: EnvironmentLayers = field(default_factory=EnvironmentLayers)
    devices: tuple[str, ...] = ()
    linker_folders: tuple[str, ...] = ()
    hooks: tuple[str, ...] = ()
    unknown: tuple[tuple[str, str], ...] = ()
    n_ranks: int | None = None
    hands_on: bool = True

    def with_edits(self, edits: ContainerEdits, runtime: str = "podman") -> "ContainerPlan":
        """With what a CDI specification or an OCI hook adds; without another runtime, by this
        one."""
        told = "the program that the hook runs"
        return replace(
            self,
            runtime=RUNTIMES[runtime] if self.runtime is PLAIN else self.runtime,
            mounts=(*self.mounts, *edits.mounts),
            layers=replace(self.layers, edits=(*self.layers.edits, *edits.variables)),
            devices=(*self.devices, *edits.devices),
            linker_folders=(*self.linker_folders, *edits.linker_folders),
            unknown=(
                *self.unknown,
                *((f"what the hook {one} of the file brings", told) for one in edits.hooks),
            ),
        )

    def with_given(self, mounts: Sequence[BindMount], variables: Values) -> "ContainerPlan":
        """With what the command line of weft adds, which wins."""
        layers = replace(self.layers, given=(*self.layers.given, *variables))
        return replace(self, mounts=(*self.mounts, *mounts), layers=layers)


def plans_of(job: Job) -> tuple[ContainerPlan, ...]:
    """One for each launch of an image, of the branches too; none without such a launch."""
    found = []
    for part in (job, *job.parts):
        for index, launch in enumerate(part.launches):
            command = launch.options.get("command")
            is_other = command is not None and command.text not in ("run", "exec", "shell", "start")
            if launch.container is not None and not is_other:
                found.append(_plan(part, index, launch))
    return tuple({(one.place, one.mounts, one.layers): one for one in found}.values())


def recipe_values(recipe: LaunchRecipe) -> Values:
    """The variables of a platform's recipe for several nodes and a container."""
    wanted = {"always", "multi-node", "container"}
    origin = f"the recipe {recipe.name}"
    return tuple(
        VariableValue(one.name, one.value, origin)
        for one in recipe.settings
        if one.via == "env" and wanted & set(one.when)
    )


def _plan(job: Job, index: int, launch: JobLaunch) -> ContainerPlan:
    runtime = runtime_of(launch.launcher)
    above = _above(job, index)
    host, options = _settings(job, index, above, launch)
    container = launch.container
    assert container is not None
    words = [one.text for one in container.mounts]
    words += [one.value for one in host if one.name in BINDS and runtime.name == "apptainer"]
    at = f"{job.name}:{launch.at.line}" if job.text else job.name
    text = job.text[launch.at.start : launch.at.end]
    devices = tuple(_devices(text, runtime))
    if "privileged" in launch.options:
        runtime = replace(runtime, has_devices=True)
    if runtime.name == "apptainer" and launch.options.keys() & set(_NO_DEVICES):
        runtime = replace(runtime, has_devices=False)
    if launch.options.keys() & {"cleanenv", "e"} and runtime.name == "apptainer":
        runtime = replace(runtime, passes=False)
    passes = frozenset(container.passes or ())
    return ContainerPlan(
        runtime,
        at,
        tuple(mounts_of(words, at)),
        EnvironmentLayers(tuple(host), tuple(options), passes=passes),
        devices,
        hooks=tuple(sorted(_hooks(launch))),
        unknown=tuple(_unknown(job, launch)),
        n_ranks=_n_ranks(job, [job.launches[one] for one in above] + [launch]),
        hands_on=not _closed(job, [*above, index]),
    )


def _devices(text: str, runtime: Runtime) -> Iterator[str]:
    for word in _DEVICE.findall(text):
        path = passed_device(word)
        if path:
            yield path
            if runtime.name in _TAKE_FOLDERS:
                yield f"{path}/"


def _above(job: Job, index: int) -> list[int]:
    """The launches that start this one."""
    found: list[int] = []
    above = job.launches[index].inside
    while above is not None and above not in found:
        found.append(above)
        above = job.launches[above].inside
    return found


def _settings(
    job: Job, index: int, above: Sequence[int], launch: JobLaunch
) -> tuple[list[VariableValue], list[VariableValue]]:
    """Variables of the job that the launch sees, and those that go into the container itself."""
    host: list[VariableValue] = []
    options: list[VariableValue] = []
    is_document = launch.launcher == "edf"
    is_apptainer = runtime_of(launch.launcher).name == "apptainer"
    for one in job.settings:
        is_before = one.launch is None and one.order <= launch.order
        is_seen = is_before or one.launch in (index, *above)
        if one.value is None or one.origin in _NOT_EXPORTED or not (is_seen or is_document):
            continue
        is_prefixed = one.origin is SettingOrigin.PREFIXED
        if (is_prefixed and not is_apptainer) or not _is_handed_on(job, [index, *above], one):
            continue
        place = f"{job.name}:{one.at.line}" if job.text else job.name
        value = VariableValue(one.name, one.value, place)
        own = one.launch == index and one.origin is SettingOrigin.LAUNCHER
        is_inside = own and runtime_of(launch.launcher).name not in ("pyxis",)
        into = is_inside or is_document or is_prefixed
        (options if into else host).append(value)
    return host, options


def _closed(job: Job, chain: Sequence[int]) -> list[JobLaunch]:
    """Launches by Slurm that hand on some variables only. SOURCE: srun(1), --export."""
    found = [job.launches[one] for one in chain if job.launches[one].launcher in SLURM]
    return [
        one
        for one in found
        if "export" in one.options and not (one.hands_on_all or HOLE in one.options["export"].text)
    ]


def _is_handed_on(job: Job, chain: Sequence[int], setting: JobSetting) -> bool:
    """Whether the launches of a chain, the inner ones first, let a variable through."""
    through = chain if setting.launch is None else chain[: chain.index(setting.launch) + 1]
    is_prefixed = setting.origin is SettingOrigin.PREFIXED
    names = {f"{one}{setting.name}" for one in (CONTAINER_PREFIXES if is_prefixed else ("",))}
    return all(names & set(one.passes) for one in _closed(job, through))


def _hooks(launch: JobLaunch) -> Iterator[str]:
    for name, word in launch.options.items():
        if name.startswith("com.hooks.") and name.endswith(".enabled") and word.text == "true":
            yield name.removesuffix(".enabled")
        elif launch.launcher in ("shifter", "sarus", "podman-hpc") and name in _MODULES:
            yield f"--{name}={word.text}" if word.text else f"--{name}"


def _unknown(job: Job, launch: JobLaunch) -> Iterator[tuple[str, str]]:
    if "base_environment" in launch.options:
        yield "what the base environment of the EDF sets and mounts", "one EDF with all of it"
    for name in job.sourced:
        yield f"what {name} sets", "the script with its lines in place"


def _n_ranks(job: Job, launches: Sequence[JobLaunch]) -> int | None:
    for options in (*(one.options for one in launches), job.options):
        number = number_of(options, RANKS)
        if number is not None:
            return number
        each, nodes = number_of(options, TASKS_PER_NODE), number_of(options, NODES)
        each = each if each is not None else number_of(job.options, TASKS_PER_NODE)
        nodes = nodes if nodes is not None else number_of(job.options, NODES)
        if each is not None and nodes is not None:
            return each * nodes
    return None
