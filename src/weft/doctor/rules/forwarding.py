"""Variables that a script exports and that a launcher or a container leaves behind."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from weft.core.finding import Severity
from weft.doctor.case import DoctorCase, Edit, Found, mistake
from weft.doctor.job import (
    CONTAINER_PREFIXES,
    HOLE,
    JobKind,
    JobLaunch,
    JobSetting,
    SettingOrigin,
)
from weft.doctor.rules.names import is_of_a_log
from weft.doctor.slurm_export import export_of
from weft.launch.command_words import APPTAINER, DOCKER_LIKE, OPEN_MPI
from weft.launch.engine_options import is_on

FABRIC_PREFIXES = ("NCCL_", "UCX_", "SHARP_", "HCOLL_", "FI_", "CXI_", "OFI_NCCL_", "TORCH_NCCL_")
_OPEN_MPI = OPEN_MPI - {"mpiexec"}
"""`mpiexec` may be any MPI's."""
OTHER_HOSTS = ("hostfile", "host", "H")
CLEAN = ("cleanenv", "e", "containall", "C", "compat")
"""Options of Apptainer that leave the host's environment outside."""


def rules(case: DoctorCase) -> Iterator[Found]:
    """All of this family."""
    for index, launch in enumerate(case.job.launches):
        yield from _left_behind(case, index, launch)
        yield from _image_wins(case, index, launch)
        yield from _values_for_names(case, launch)


def exported(case: DoctorCase, index: int) -> list[JobSetting]:
    """Variables of the fabric's libraries that a launch finds in its environment: the script's, and
    those of the commands in front of it (NAME=VALUE srun docker)."""
    launch = case.job.launches[index]
    found: dict[str, JobSetting] = {}
    for setting in case.job.settings:
        if setting.launch is None:
            exports = (SettingOrigin.EXPORT, SettingOrigin.DOCUMENT)
            mine = setting.order < launch.order and setting.origin in exports
        elif setting.launch == index:
            mine = setting.origin in (SettingOrigin.BEFORE, SettingOrigin.DOCUMENT)
        else:
            mine = setting.launch == launch.inside and setting.value is not None
            mine = mine and setting.origin is not SettingOrigin.PREFIXED
        if mine and setting.name.startswith(FABRIC_PREFIXES):
            found[setting.name] = setting
    return list(found.values())


@dataclass(frozen=True, slots=True)
class _Gap:
    """The reason for which a launcher leaves variables behind, and the correction: `option` of
    names, to be put behind the launcher, or `fix` in words."""

    detail: str
    source: str
    option: Callable[[Sequence[str]], str] | None = None
    fix: str = ""


def _gap(case: DoctorCase, index: int) -> _Gap | None:
    launch = case.job.launches[index]
    name, options = launch.launcher, launch.options
    several = any(one in options for one in OTHER_HOSTS) or case.job.kind is JobKind.KUBERNETES
    several = several or (name in _OPEN_MPI and not case.job.options and (case.nodes or 1) > 1)
    if name in _OPEN_MPI and several:
        return _Gap(
            " to other hosts: Open MPI takes only OMPI_ and what -x names",
            "Open MPI, mpirun(1): -x",
            lambda names: "".join(f" -x {one}" for one in names),
        )
    if name not in (*_OPEN_MPI, "srun", "sbatch") and not launch.container:
        left = " to the ranks: -genvlist and -genvnone leave everything else behind"
        source = "MPICH, Using the Hydra Process Manager: environment settings"
        return None if launch.hands_on_all else _Gap(left, source, fix="take -genvall")
    if name in ("srun", "sbatch"):
        return _gap_of_slurm(case, index)
    every = "env-host" in options and is_on(options["env-host"].text)
    if name in DOCKER_LIKE and launch.container and not every:
        source = {"enroot": "NVIDIA/enroot 8ea147d, doc/cmd/start.md: --env"}.get(
            name, "docker run(1): --env"
        )
        return _Gap(
            ": a container begins with the image's environment",
            source,
            lambda names: "".join(f" -e {one}" for one in names),
        )
    if name in APPTAINER and any(one in options for one in CLEAN):
        return _Gap(
            ": --cleanenv begins it with a clean environment",
            "Apptainer user guide, Environment and Metadata: --cleanenv",
            fix="leave --cleanenv out, or name them with --env NAME=VALUE",
        )
    return None


def _gap_of_slurm(case: DoctorCase, index: int) -> _Gap | None:
    """A batch script's own --export counts for the srun inside, too, unless it says otherwise."""
    launch = case.job.launches[index]
    found = export_of(case.job, index)
    if found is None or not found.is_closed:
        return None
    if "export" in launch.options:
        return _Gap(
            ": --export without ALL leaves everything else behind",
            "Slurm, srun(1): --export",
            fix="begin the list with ALL",
        )
    whose = "the job's " if found.what.startswith("--") else ""
    return _Gap(
        f": {whose}{found.what} holds for srun, too",
        "Slurm, sbatch(1): --export and SLURM_EXPORT_ENV",
        lambda _: " --export=ALL",
        fix="write srun --export=ALL",
    )


def _left_behind(case: DoctorCase, index: int, launch: JobLaunch) -> Iterator[Found]:
    gap = _gap(case, index)
    if gap is None or _hands_on_more(launch):
        return
    listed_by = export_of(case.job, index)
    passes = {*launch.passes, *(listed_by.names if listed_by is not None else ())}
    left = [one for one in exported(case, index) if one.name not in passes]
    if launch.launcher in APPTAINER:
        handed = {one.name for one in case.job.settings}
        left = [
            one
            for one in left
            if not any(f"{own}{one.name}" in handed for own in CONTAINER_PREFIXES)
        ]
    if not left:
        return
    names = [one.name for one in left]
    added = gap.option(names) if gap.option is not None else ""
    words = {
        "name": listed(names),
        "launcher": launch.launcher,
        **_number(names),
        "detail": gap.detail,
        "source": gap.source,
        "fix": gap.fix or f"add{added}",
    }
    edits = _behind_launcher(case, launch, added) if added else ()
    severity = _severity(case, launch, left)
    yield Found("not-forwarded", words, launch.at, left[0], edits, severity=severity)


def _severity(case: DoctorCase, launch: JobLaunch, left: Sequence[JobSetting]) -> Severity | None:
    """WARNING where only levels of a log are lost, where all stand in a branch, the container began
    before, or a scheduler may start Open MPI's daemons with the environment; None for that of the
    rule. SOURCE: open-mpi/ompi, orte/mca/odls: ranks get their daemon's environment, which srun
    hands on."""
    if all(is_of_a_log(one.name) for one in left):
        return Severity.WARNING
    command = launch.options.get("command")
    began_before = launch.launcher in DOCKER_LIKE and command is not None and command.text == "exec"
    is_scheduled = launch.launcher in _OPEN_MPI and bool(case.job.options)
    is_open = began_before or is_scheduled or all(one.is_optional for one in left)
    return Severity.WARNING if is_open else None


def _hands_on_more(launch: JobLaunch) -> bool:
    """Whether only the running job knows which variables a launch hands on."""
    first = launch.program[0].text if launch.program else ""
    # Podman's NAME* hands on all that begin so.
    unknown = HOLE in first or any(HOLE in name or name.endswith("*") for name in launch.passes)
    return unknown or "env-file" in launch.options


def listed(names: Sequence[str]) -> str:
    """Names in a sentence."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _number(names: Sequence[str]) -> dict[str, str]:
    one = len(names) == 1
    return {"is": "is" if one else "are", "it": "it" if one else "them"}


def _behind_launcher(case: DoctorCase, launch: JobLaunch, text: str) -> tuple[Edit, ...]:
    """An edit that puts options right behind the launcher's name (and its `run` or `start`), where
    it begins the command."""
    start = launch.at.start + len(launch.launcher)
    if case.job.text[launch.at.start : start] != launch.launcher or not launch.at.exact:
        return ()
    command = launch.options.get("command")
    if command is not None:
        start = command.at.end
    return (Edit(replace(launch.at, start=start, end=start), text),)


def _image_wins(case: DoctorCase, index: int, launch: JobLaunch) -> Iterator[Found]:
    """If the image sets a variable, too, its value counts unless the launcher names it."""
    container = launch.container
    if container is None or not container.image:
        return
    pyxis = launch.launcher == "srun"
    passed = (container.passes or ()) if pyxis else launch.passes
    if any(HOLE in name for name in passed) or "env-file" in launch.options:
        return
    left = [
        one
        for one in exported(case, index)
        if one.name not in passed and case.variable(one.name) is not None
    ]
    if not left:
        return
    names = [one.name for one in left]
    words = {"name": listed(names), "names": ",".join(names), **_number(names)}
    if pyxis and _gap(case, index) is None:
        edits = _add_to_list(case, launch, ",".join(names))
        yield Found("image-wins", words, launch.at, left[0], edits)
    elif launch.launcher in ("sarus", *APPTAINER) and _gap(case, index) is None:
        of_sarus = launch.launcher == "sarus"
        fix = "name them with -e" if of_sarus else "name them with --env NAME=VALUE"
        source = "Sarus user guide: Environment" if of_sarus else "Apptainer user guide"
        words |= {"launcher": launch.launcher, "fix": fix, "source": source}
        yield Found("image-may-win", words, launch.at, left[0])


def _values_for_names(case: DoctorCase, launch: JobLaunch) -> Iterator[Found]:
    """`--container-env=NAME=VALUE`, of which Pyxis takes the whole for a name."""
    for word in launch.container.not_names if launch.container is not None else ():
        name, _, value = word.text.partition("=")
        if case.library(name) is None:
            continue
        severity = Severity.NOTE if is_of_a_log(name) else None
        setting = JobSetting(name, value, SettingOrigin.LAUNCHER, word.at)
        shown = value.replace(HOLE, "...")
        yield mistake("value-for-a-name", setting, (), severity, value=shown)


def _add_to_list(case: DoctorCase, launch: JobLaunch, names: str) -> tuple[Edit, ...]:
    at = launch.container.passes_at if launch.container is not None else None
    if at is None:
        return _behind_launcher(case, launch, f" --container-env={names}")
    if not at.exact:
        return ()
    end = at.end - (1 if case.job.text[at.end - 1 : at.end] in "'\"" else 0)
    return (Edit(replace(at, start=end, end=end), f",{names}"),)
