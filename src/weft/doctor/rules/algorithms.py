"""Algorithms, protocols, CollNet and SHARP."""

from collections.abc import Iterator

from weft.core.finding import Severity
from weft.doctor.case import DoctorCase, Found, mistake
from weft.doctor.job import JobSetting
from weft.doctor.numbers import whole
from weft.doctor.rules.values import edit

FOR_COLLECTIVES = "2.24.3"
"""From this NCCL on a list may name collectives and is checked; before, the text between
two commas is one name, with its spaces. SOURCE: tried on libnccl 2.18.3."""
FUNCTIONS = {"broadcast", "reduce", "allgather", "reducescatter", "allreduce", "sendrecv"}
NO_SHARP = ("slingshot", "efa", "roce")
NO_COLLNET = ("aws libfabric", "libfabric", "ofi", "socket")


def rules(case: DoctorCase) -> Iterator[Found]:
    """All of this family."""
    for name in ("NCCL_ALGO", "NCCL_PROTO"):
        setting = case.in_force(name)
        if setting is not None and setting.known:
            yield from _list(case, setting)
    yield from _collnet(case)
    yield from _sharp(case)


def _list(case: DoctorCase, setting: JobSetting) -> Iterator[Found]:
    variable = case.variable(setting.name)
    text = setting.known or ""
    choices = variable.choices_in(case.version) if variable is not None else ()
    known = {one.lower() for one in choices}
    if case.since(FOR_COLLECTIVES):
        listed, effect = _algorithms(text), "communicators fail with invalid usage"
    else:
        listed = [one.lower() for one in text.removeprefix("^").split(",") if one]
        effect = "it is left out"
    unknown = [part for part in listed if part not in known]
    for part in unknown:
        words = {"value": part, "choices": ", ".join(choices), "effect": effect}
        yield mistake("unknown-algorithm", setting, **words)
    if unknown:
        return
    if setting.name == "NCCL_ALGO" and (found := _leaves_none(case, setting)) is not None:
        yield found
    elif case.fabric != "slingshot" or setting.name != "NCCL_PROTO" or text != "^LL128":
        yield mistake("algorithm-fixed", setting)


def _algorithms(text: str) -> list[str]:
    """Names in all parts of `ring;allreduce:tree,nvls`, in small letters."""
    names = []
    for part in text.split(";"):
        listed = part.rpartition(":")[2]
        names += [one.strip().lower() for one in listed.removeprefix("^").split(",")]
    return [one for one in names if one]


def _leaves_none(case: DoctorCase, setting: JobSetting) -> Found | None:
    """Whether broadcast, which has only ring, is left without an algorithm."""
    text = setting.known or ""
    parts = text.split(";")
    for_all = [part for part in parts if ":" not in part]
    named = {part.partition(":")[0].strip().lower() for part in parts if ":" in part}
    if not for_all:
        if not case.since("2.31.0") or named >= FUNCTIONS - {"sendrecv"}:
            return None
        better = f"ring;{text}"
        edits = edit(setting, better)
        return mistake("algorithms-of-named-only", setting, edits, better=f"NCCL_ALGO={better}")
    listed = for_all[-1].removeprefix("^")
    names = {one.strip().lower() for one in listed.split(",")}
    has_ring = ("ring" in names) != for_all[-1].startswith("^")
    if has_ring or "broadcast" in named or not case.since(FOR_COLLECTIVES):
        return None
    better = f"NCCL_ALGO=ring;allreduce:{listed.lower()}"
    effect = f"since {FOR_COLLECTIVES} a job that calls them fails"
    # A script that names no version may run with one that takes ring by itself.
    severity = None if case.nccl else Severity.WARNING
    return mistake("algorithms-leave-none", setting, (), severity, effect=effect, better=better)


def _collnet(case: DoctorCase) -> Iterator[Found]:
    algorithms = case.in_force("NCCL_ALGO")
    enabled = case.in_force("NCCL_COLLNET_ENABLE")
    if algorithms is not None and algorithms.known and not case.is_on("NCCL_COLLNET_ENABLE"):
        listed = not algorithms.known.startswith("^")
        if listed and any(one.startswith("collnet") for one in _algorithms(algorithms.known)):
            yield mistake("collnet-not-enabled", algorithms)
    if enabled is None or not case.is_on("NCCL_COLLNET_ENABLE"):
        return
    plugin = (case.value("NCCL_NET") or "").lower()
    suffix = (case.value("NCCL_NET_PLUGIN") or "").lower()
    if case.fabric in NO_SHARP:
        yield mistake("sharp-on-other-fabric", enabled, platform=case.machine())
    elif plugin in NO_COLLNET or suffix == "ofi":
        yield mistake(
            "collnet-without-plugin", enabled, plugin=case.value("NCCL_NET") or "aws-ofi-nccl"
        )
    else:
        yield from _streaming(case, enabled)
    threshold = whole(case.value("NCCL_COLLNET_NODE_THRESHOLD") or "2")
    if case.nodes is not None and threshold is not None and case.nodes < threshold:
        yield mistake("collnet-few-nodes", enabled, threshold=str(threshold), nodes=str(case.nodes))


def _streaming(case: DoctorCase, enabled: JobSetting) -> Iterator[Found]:
    if not case.is_on("SHARP_COLL_ENABLE_SAT"):
        yield mistake("collnet-without-streaming", enabled)
    recipe = case.recipe
    if recipe is None:
        return
    wanted = next((one for one in recipe.settings if one.name == "SHARP_SMX_UCX_INTERFACE"), None)
    if wanted is not None and case.in_force(wanted.name) is None:
        yield mistake("sharp-no-interface", enabled, platform=recipe.title, device=wanted.value)


def _sharp(case: DoctorCase) -> Iterator[Found]:
    mpi_uses = case.is_on("MV2_ENABLE_SHARP") or case.is_on("HCOLL_ENABLE_SHARP")
    for setting in case.job.settings:
        if not setting.name.startswith("SHARP_COLL_"):
            continue
        if case.fabric in NO_SHARP:
            yield mistake("sharp-on-other-fabric", setting, platform=case.machine())
        elif (
            setting.name == "SHARP_COLL_ENABLE_SAT"
            and case.uses_nccl()
            and not mpi_uses
            and not case.is_on("NCCL_COLLNET_ENABLE")
        ):
            yield mistake("sharp-without-collnet", setting)
    enabled = case.in_force("MV2_ENABLE_SHARP")
    if enabled is None or not case.is_on("MV2_ENABLE_SHARP"):
        return
    most = max(case.job.numbers("ntasks-per-node"), default=0)
    if most >= 28:
        yield mistake("sharp-full-nodes", enabled, tasks=str(most))
