"""Variables of a job that reach a container's launch: through Slurm's lists, and by prefixes."""

from collections.abc import Sequence

from weft.doctor.container.launch.environment import VariableValue
from weft.doctor.container.launch.runtime import runtime_of
from weft.doctor.job import CONTAINER_PREFIXES, Job, JobSetting, SettingOrigin
from weft.doctor.slurm_export import SlurmExport, export_of
from weft.launch.command_words import SLURM

_NOT_EXPORTED = (SettingOrigin.ASSIGNED, SettingOrigin.WRITTEN)


def job_variables(
    job: Job, chain: Sequence[int], exports: Sequence[SlurmExport]
) -> tuple[list[VariableValue], list[VariableValue]]:
    """Variables of the job that a launch sees, and those that go into the container itself. `chain`
    has the launch and those above it, by their indices; `exports` their lists."""
    index = chain[0]
    launch = job.launches[index]
    host: list[VariableValue] = []
    options: list[VariableValue] = []
    lists = [at for at in chain if job.launches[at].launcher in SLURM]
    is_document = launch.launcher == "edf"
    is_apptainer = runtime_of(launch.launcher).name == "apptainer"
    for one in job.settings:
        is_before = one.launch is None and one.order <= launch.order
        is_seen = is_before or one.launch in chain
        if one.value is None or one.origin in _NOT_EXPORTED or not (is_seen or is_document):
            continue
        if one.launch == index and one.origin is SettingOrigin.EXPORT:
            # By the shell in the container: `inner_settings` has it.
            continue
        if one.origin is SettingOrigin.LAUNCHER and one.launch in lists:
            continue
        is_prefixed = one.origin is SettingOrigin.PREFIXED
        if (is_prefixed and not is_apptainer) or not _is_handed_on(job, chain, one):
            continue
        place = f"{job.name}:{one.at.line}" if job.text else job.name
        value = VariableValue(one.name, one.value, place)
        own = one.launch == index and one.origin is SettingOrigin.LAUNCHER
        is_inside = own and runtime_of(launch.launcher).name not in ("pyxis",)
        into = is_inside or is_document or is_prefixed
        (options if into else host).append(value)
    weak, strong = _listed(job, exports)
    return [*weak, *host, *strong], options


def _listed(
    job: Job, exports: Sequence[SlurmExport]
) -> tuple[list[VariableValue], list[VariableValue]]:
    """Values of Slurm's lists that variables of the job replace, and those that replace them."""
    asked = SlurmExport.of_option(job.options)
    weak = [] if asked is None else _values(job, asked)
    for one in exports:
        weak = [value for value in weak if not one.is_closed or value.name in one.names]
    strong: list[VariableValue] = []
    for one in exports:
        (weak if one.hands_on_all else strong).extend(_values(job, one))
    return weak, strong


def _values(job: Job, export: SlurmExport) -> list[VariableValue]:
    place = f"{job.name}:{export.at.line}"
    return [VariableValue(name, value, place) for name, value in export.values]


def _is_handed_on(job: Job, chain: Sequence[int], setting: JobSetting) -> bool:
    """Whether the launches of a chain, the inner ones first, let a variable through."""
    through = chain if setting.launch is None else chain[: chain.index(setting.launch) + 1]
    is_prefixed = setting.origin is SettingOrigin.PREFIXED
    names = {f"{one}{setting.name}" for one in (CONTAINER_PREFIXES if is_prefixed else ("",))}
    exports = (export_of(job, one) for one in through)
    return all(names & one.names for one in exports if one is not None and one.is_closed)
