"""The plan of a launch: an image, a runtime, mounts, variables and devices, from any document."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from posixpath import normpath

from weft.catalog.libraries.launch_recipe import LaunchRecipe
from weft.doctor.container.launch.cdi import ContainerEdits
from weft.doctor.container.launch.devices import passed_device
from weft.doctor.container.launch.environment import (
    EnvironmentLayers,
    Values,
    VariableValue,
)
from weft.doctor.container.launch.inside import InnerSettings, inner_settings
from weft.doctor.container.launch.isolation import Isolation, isolation_of
from weft.doctor.container.launch.job_variables import job_variables
from weft.doctor.container.launch.mounts import BindMount, emptied_folders, mounts_of
from weft.doctor.container.launch.mpi_hook import MpiHook
from weft.doctor.container.launch.runtime import PLAIN, RUNTIMES, Runtime, runtime_of
from weft.doctor.container.launch.startup import RankStartup, folder_of, makes_files, startup_of
from weft.doctor.job import (
    HOLE,
    Job,
    JobLaunch,
    number_of,
)
from weft.doctor.slurm_export import SlurmExport, export_of
from weft.launch.command_words import NODES, RANK_LAUNCHERS, RANKS, SLURM, TASKS_PER_NODE
from weft.launch.engine_options import ENGINES, STARTS, is_on

BINDS = ("APPTAINER_BIND", "APPTAINER_BINDPATH", "SINGULARITY_BIND", "SINGULARITY_BINDPATH")
_OF_IMAGE = re.compile(r"im(?:a)?g|container|ctr|sif|sqsh|oci", re.I)
"""In the name of a variable that holds an image, not options."""
_KNOWN_KINDS = ("nvidia.com/", "amd.com/")
"""Of devices that bring GPUs only."""
_CDI = "--cdi FILE, the specification that has the device"
_IN_PLACE = "the script with the values in place"
_MODULES = ("module", "modules", "nccl", "cxi", "mpi")
_COUNTS = (RANKS, NODES, TASKS_PER_NODE)
_NO_DEVICES = ("contain", "containall", "c", "C")


@dataclass(frozen=True, slots=True)
class ContainerPlan:
    """`devices` are those that options name, folders with a slash at the end; `hooks` are
    annotations that switch hooks on; `unknown` are parts that the document leaves open, each with
    what would tell, and might mend; `doubts` such parts that might also break what holds.
    `cdi_devices` are names of CDI that options ask for. `hands_on` is False where srun hands on
    chosen variables of the job only. `least_ranks`: as many ranks there are at least, by what
    options tell; `n_ranks` is None where they do not tell the number. `makes_files`: commands of
    the script may make files before the launch."""

    runtime: Runtime = PLAIN
    place: str = ""
    mounts: tuple[BindMount, ...] = ()
    layers: EnvironmentLayers = field(default_factory=EnvironmentLayers)
    devices: tuple[str, ...] = ()
    linker_folders: tuple[str, ...] = ()
    hooks: tuple[str, ...] = ()
    unknown: tuple[tuple[str, str], ...] = ()
    doubts: tuple[tuple[str, str], ...] = ()
    cdi_devices: tuple[str, ...] = ()
    n_ranks: int | None = None
    least_ranks: int = 1
    hands_on: bool = True
    isolation: Isolation = field(default_factory=Isolation)
    startup: RankStartup = field(default_factory=RankStartup)
    mpi_hooks: tuple[MpiHook, ...] = ()
    emptied: tuple[str, ...] = ()
    """Folders that a tmpfs or a volume covers."""
    working_folder: str | None = None
    """As an option names it; a HOLE where the command may change it."""
    keeps_entry_point: bool = True
    """Whether the image's own one starts, where it has one."""
    makes_files: bool = False

    @property
    def unanswered(self) -> Iterator[tuple[str, str]]:
        """Devices of CDI that no file brought, without those of GPUs, as `unknown`."""
        for one in self.cdi_devices:
            if not one.startswith(_KNOWN_KINDS):
                yield f"what the CDI device {one} brings", _CDI

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
            mpi_hooks=(*self.mpi_hooks, *edits.mpi_hooks),
            unknown=(
                *self.unknown,
                *((f"what the hook {one} of the file brings", told) for one in edits.hooks),
            ),
            doubts=(
                *self.doubts,
                *((f"what {one}, which the file lacks, brings", _CDI) for one in edits.lost),
            ),
            cdi_devices=tuple(
                one for one in self.cdi_devices if one not in (*edits.answered, *edits.lost)
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
            if launch.container is not None and _starts_image(launch):
                found.append(_plan(part, index, launch))
    return tuple({(one.place, one.mounts, one.layers): one for one in found}.values())


def _starts_image(launch: JobLaunch) -> bool:
    """Whether it takes an image: `podman exec` takes a container, which another command began."""
    command = launch.options.get("command")
    if command is None or launch.launcher not in ENGINES:
        return True
    return command.text in STARTS


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
    chain = [index, *above]
    exports = [one for at in chain if (one := export_of(job, at)) is not None]
    host, options = job_variables(job, chain, exports)
    container = launch.container
    assert container is not None
    words = [one.text for one in container.mounts]
    words += [one.value for one in host if one.name in BINDS and runtime.name == "apptainer"]
    at = f"{job.name}:{launch.at.line}" if job.text else job.name
    entry = [launch.options["entrypoint"]] if "entrypoint" in launch.options else []
    inner = inner_settings([*entry, *launch.program], at)
    mounts = tuple(_mounts(words, at, launch))
    starts = [one for one in (*(job.launches[at] for at in above), launch) if _is_of_ranks(one)]
    n_ranks = _n_ranks(job, starts)
    return ContainerPlan(
        _as_started(runtime, launch),
        at,
        mounts,
        EnvironmentLayers(
            tuple(host),
            tuple(options),
            passes=frozenset(_passes(launch, host)),
            drops=_drops(launch),
            inside=inner.values,
            drops_inside=inner.drops,
        ),
        tuple(_devices(launch)),
        hooks=tuple(sorted(_hooks(launch))),
        unknown=tuple(_unknown(job, launch)),
        doubts=tuple(_doubts(job, launch, inner, exports)),
        emptied=tuple(normpath(one) for one in emptied_folders(launch)),
        working_folder=folder_of(launch),
        keeps_entry_point="entrypoint" not in launch.options,
        makes_files=makes_files(job),
        cdi_devices=tuple(_cdi_devices(launch)),
        n_ranks=n_ranks,
        least_ranks=n_ranks if n_ranks is not None else _least_ranks(job, starts),
        hands_on=not any(one.is_closed for one in exports),
        startup=startup_of(job, chain),
        isolation=isolation_of(job, launch, mounts, n_ranks),
    )


def _as_started(runtime: Runtime, launch: JobLaunch) -> Runtime:
    """The runtime as options of the launch change it."""
    options = launch.options
    if "privileged" in options and is_on(options["privileged"].text):
        runtime = replace(runtime, has_devices=True)
    if runtime.name == "apptainer" and options.keys() & set(_NO_DEVICES):
        runtime = replace(runtime, has_devices=False)
    if runtime.name == "apptainer" and options.keys() & {"cleanenv", "e"}:
        runtime = replace(runtime, passes=False)
    return runtime


def _mounts(words: Sequence[str], at: str, launch: JobLaunch) -> Iterator[BindMount]:
    for one in mounts_of(words, at):
        # SOURCE: podman 4.3.1, pkg/specgen/volumes.go: filepath.Clean of the target.
        is_cleaned = launch.launcher in ENGINES and one.target.startswith("/")
        yield replace(one, target="/" + normpath(one.target).lstrip("/")) if is_cleaned else one


def _passes(launch: JobLaunch, host: Sequence[VariableValue]) -> Iterator[str]:
    """Names whose value an option takes from the host. SOURCE: podman-run(1), --env: NAME without a
    value, and NAME* for all that begin so; --env-host."""
    assert launch.container is not None
    names = launch.container.passes or ()
    yield from names
    if launch.launcher not in ENGINES - {"docker"}:
        return
    every = _has(launch, "env-host")
    begins = [one for one in names if one.endswith("*")]
    for one in host:
        if every or any(fnmatchcase(one.name, begin) for begin in begins):
            yield one.name


def _has(launch: JobLaunch, option: str) -> bool:
    return option in launch.options and is_on(launch.options[option].text)


def _drops(launch: JobLaunch) -> frozenset[str] | None:
    """Variables of the image that options of podman unset, None for all."""
    if launch.launcher not in ENGINES:
        return frozenset()
    if _has(launch, "unsetenv-all"):
        return None
    found = launch.options.get("unsetenv")
    return frozenset(re.split(r"[,\n]", found.text) if found is not None else ())


def _devices(launch: JobLaunch) -> Iterator[str]:
    assert launch.container is not None
    for word in launch.container.devices:
        path = passed_device(word.text)
        if path and HOLE not in path:
            yield path
            # SOURCE: podman-run(1), docker run(1): --device takes a folder of devices, too.
            if launch.launcher in ENGINES:
                yield f"{path}/"


def _cdi_devices(launch: JobLaunch) -> Iterator[str]:
    assert launch.container is not None
    for word in launch.container.devices:
        if not word.text.startswith("/") and "=" in word.text and HOLE not in word.text:
            yield word.text


def _above(job: Job, index: int) -> list[int]:
    """The launches that start this one."""
    found: list[int] = []
    above = job.launches[index].inside
    while above is not None and above not in found:
        found.append(above)
        above = job.launches[above].inside
    return found


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
    container = launch.container
    for word in container.devices if container is not None else ():
        if HOLE in word.text:
            yield f"the device {_shown(word.text)}, which only the job knows,", _IN_PLACE
    if launch.launcher in ENGINES:
        for one in job.launches:
            command = one.options.get("command")
            if command is not None and command.text == "exec" and one.launcher in ENGINES:
                yield f"what {one.launcher} exec of line {one.at.line} sets", _IN_PLACE


def _doubts(
    job: Job, launch: JobLaunch, inner: InnerSettings, exports: Sequence[SlurmExport]
) -> Iterator[tuple[str, str]]:
    """Parts of a launch that may bring something, or take it away."""
    for one in exports:
        if not one.is_known:
            yield f"which variables {_shown(one.what)} of line {one.at.line} hands on", _IN_PLACE
    for option in launch.doubts:
        yield f"what the option {_shown(option)} brings", "`weft doctor log` of a run"
    if inner.is_open:
        yield "what the command in the container sets", "--env NAME=VALUE of each that they set"
    if launch.launcher not in ENGINES:
        return
    for name in ("env-file", "env-merge", "volumes-from"):
        if name in launch.options:
            shown = f"--{name} {_shown(launch.options[name].text)}"
            yield f"what {shown} brings", "--env NAME=VALUE, or --mount HOST:CONTAINER, of each"
    words = _unknown_words(job, launch)
    if words:
        yield f"what {words} brings", _IN_PLACE


def _unknown_words(job: Job, launch: JobLaunch) -> str:
    """The word in the place of the image that may be options, "" where there is none."""
    container = launch.container
    if container is None or container.image != HOLE or container.image_at is None:
        return ""
    written = job.text[container.image_at.start : container.image_at.end]
    return "" if _OF_IMAGE.search(written) else written.strip("\"'") or "a word"


def _shown(text: str) -> str:
    return text.replace(HOLE, "...")


def _is_of_ranks(launch: JobLaunch) -> bool:
    return launch.launcher in RANK_LAUNCHERS | SLURM


def _n_ranks(job: Job, launches: Sequence[JobLaunch]) -> int | None:
    for one in launches:
        if any(name in one.options and number_of(one.options, name) is None for name in _COUNTS):
            # The job's own number is not that of this launch.
            return None
    own = [one.options for one in launches]
    # srun takes the job's number of tasks before it multiplies; an mpirun with one a node does not.
    multiplies = any(
        TASKS_PER_NODE in one.options and one.launcher not in SLURM for one in launches
    )
    of_job = [] if multiplies else [job.options]
    for options in (*own, *of_job):
        for name in (RANKS, "ntasks"):
            if (number := number_of(options, name)) is not None:
                return number
    for options in (*own, job.options):
        each, nodes = number_of(options, TASKS_PER_NODE), number_of(options, NODES)
        each = each if each is not None else number_of(job.options, TASKS_PER_NODE)
        nodes = nodes if nodes is not None else number_of(job.options, NODES)
        if each is not None and nodes is not None:
            return each * nodes
    return number_of(job.options, "ntasks")


def _least_ranks(job: Job, launches: Sequence[JobLaunch]) -> int:
    """Of a launch whose number is not known. SOURCE: srun(1): one task by default, and one on each
    node of -N; --ntasks wins over both."""
    every = (*(one.options for one in launches), job.options)

    def first(name: str) -> int:
        options = next((one for one in every if name in one), {})
        return number_of(options, name) or 1

    wins = next((name for name in (RANKS, "ntasks") if any(name in one for one in every)), "")
    return first(wins) if wins else first(NODES) * first(TASKS_PER_NODE)
