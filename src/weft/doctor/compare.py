"""A script compared with a recipe: settings that differ or that one of them lacks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from weft.doctor.job import HOLE, Job, JobSetting, SettingOrigin
from weft.doctor.numbers import strtoll
from weft.doctor.rules.devices import names_of
from weft.launch.prescription import Prescription, handed_on

OURS = (
    *("NCCL_", "UCX_", "SHARP_", "HCOLL_", "FI_", "CXI_", "OFI_NCCL_"),
    *("MV2_", "OMPI_MCA_", "MPICH_"),
)
UNKNOWN = "the value of the shell"


@dataclass(frozen=True, slots=True)
class Difference:
    """One name. None stands for not set."""

    name: str
    script: str | None
    recipe: str | None
    why: str
    line: int | None


def compare(job: Job, prescription: Prescription) -> Iterator[Difference]:
    """Names of the recipe first, then those that only the script sets, then options of srun."""
    own = {
        setting.name: setting
        for setting in job.settings
        if setting.origin is not SettingOrigin.ASSIGNED and setting.value is not None
    }
    recipe = prescription.recipe
    devices = (*recipe.hcas, *recipe.ethernet_hcas)
    passed = handed_on(prescription.settings)
    for setting in prescription.settings:
        if setting.name in passed:
            continue
        found = own.get(setting.name)
        if found is None:
            why = f"the recipe sets it: {setting.reason}"
            yield Difference(setting.name, None, setting.value, why, None)
        elif found.known is None or not _same(setting.name, found.known, setting.value, devices):
            why = f"the recipe: {setting.reason}"
            yield Difference(setting.name, _shown(found), setting.value, why, found.at.line)
    wanted = {setting.name for setting in prescription.settings}
    for name, found in own.items():
        if name not in wanted and name.startswith(OURS):
            remark = next(
                (one.remark for one in recipe.errata if name in one.printed),
                "the recipe leaves it to the library",
            )
            yield Difference(name, _shown(found), None, remark, found.at.line)
    yield from _of_launches(job, prescription)


def _shown(setting: JobSetting) -> str:
    return setting.known if setting.known is not None else UNKNOWN


def _of_launches(job: Job, prescription: Prescription) -> Iterator[Difference]:
    """Options of srun that the recipe has."""
    launches = [one for one in job.launches if one.launcher == "srun"]
    for option, wanted, why in (
        ("network", prescription.recipe.network, "its settings need it of the job"),
        ("cpu-bind", prescription.cpu_bind, "each rank has the cores that the recipe gives it"),
    ):
        asked = (job.options.get(option), *(one.options.get(option) for one in launches))
        word = next((one for one in asked if one is not None), None)
        if not launches or not wanted or (word is not None and word.text == wanted):
            continue
        shown = None if word is None else UNKNOWN if HOLE in word.text else word.text
        line = word.at.line if word is not None else None
        yield Difference(f"--{option}", shown, wanted, f"the recipe: {why}", line)


def _same(name: str, a: str, b: str, devices: Sequence[str]) -> bool:
    """Whether two values do the same: numbers, levels of a log, lists of the same devices."""
    if a == b:
        return True
    if name == "NCCL_IB_HCA" and devices:
        first, second = names_of(a), names_of(b)
        return all(first.takes(one) == second.takes(one) for one in devices)
    (one, left), (other, behind) = strtoll(a), strtoll(b)
    if not left and not behind:
        return one == other
    return a.lower() == b.lower() and a.upper() in ("WARN", "INFO", "VERSION", "TRACE")
