"""Algorithms, protocols, CollNet and SHARP."""

from collections.abc import Iterator

from weft.doctor.case import DoctorCase, Found
from weft.doctor.job import JobSetting
from weft.doctor.numbers import whole
from weft.doctor.rules.values import edit

FOR_COLLECTIVES = "2.24.3"
"""From this NCCL on a list may name collectives and is checked; before, what stands between two
commas is one name, with its spaces. SOURCE: tried on libnccl 2.18.3."""
FUNCTIONS = {"broadcast", "reduce", "allgather", "reducescatter", "allreduce", "sendrecv"}
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
    listed = _algorithms(text)
    if not case.since(FOR_COLLECTIVES):
        listed = [one.lower() for one in text.removeprefix("^").split(",") if one]
    unknown = [part for part in listed if part not in known]
    for part in unknown:
        effect = (
            "communicators fail with invalid usage"
            if case.since(FOR_COLLECTIVES)
            else "it is left out"
        )
        words = {"value": part, "choices": ", ".join(choices), "effect": effect}
        yield Found("unknown-algorithm", words, setting.at, setting)
    if unknown:
        return
    if setting.name == "NCCL_ALGO" and (found := _leaves_none(case, setting)) is not None:
        yield found
        return
    if case.fabric == "slingshot" and setting.name == "NCCL_PROTO" and text == "^LL128":
        return
    words = {"name": setting.name, "value": text}
    yield Found("algorithm-fixed", words, setting.at, setting)


def _algorithms(text: str) -> list[str]:
    """Names in all parts of `ring;allreduce:tree,nvls`, in small letters."""
    names = []
    for part in text.split(";"):
        listed = part.rpartition(":")[2]
        names += [one.strip().lower() for one in listed.removeprefix("^").split(",")]
    return [one for one in names if one]


def _leaves_none(case: DoctorCase, setting: JobSetting) -> Found | None:
    """Whether broadcast, which knows ring alone, is left with nothing."""
    text = setting.known or ""
    parts = text.split(";")
    for_all = [part for part in parts if ":" not in part]
    named = {part.partition(":")[0].strip().lower() for part in parts if ":" in part}
    if not for_all:
        if case.since("2.31.0") and not named >= FUNCTIONS - {"sendrecv"}:
            words = {"value": text, "better": f"NCCL_ALGO=ring;{text}"}
            return Found(
                "algorithms-of-named-only",
                words,
                setting.at,
                setting,
                edit(setting, f"ring;{text}"),
            )
        return None
    listed = for_all[-1].removeprefix("^")
    names = {one.strip().lower() for one in listed.split(",")}
    has_ring = ("ring" in names) != for_all[-1].startswith("^")
    if has_ring or "broadcast" in named:
        return None
    better = f"NCCL_ALGO=ring;allreduce:{listed.lower()}"
    effect = (
        "a job that calls them fails"
        if case.since("2.24.3")
        else "ring is taken there, whatever the list says"
    )
    if not case.since("2.24.3"):
        return None
    words = {"value": text, "effect": effect, "better": better}
    return Found("algorithms-leave-none", words, setting.at, setting)


def _collnet(case: DoctorCase) -> Iterator[Found]:
    algorithms = case.in_force("NCCL_ALGO")
    enabled = case.in_force("NCCL_COLLNET_ENABLE")
    if algorithms is not None and algorithms.known and not case.is_on("NCCL_COLLNET_ENABLE"):
        listed = not algorithms.known.startswith("^")
        if listed and any(one.startswith("collnet") for one in _algorithms(algorithms.known)):
            words = {"value": algorithms.known}
            yield Found("collnet-not-enabled", words, algorithms.at, algorithms)
    if enabled is None or not case.is_on("NCCL_COLLNET_ENABLE"):
        return
    platform = case.recipe.title if case.recipe is not None else "this machine"
    plugin = (case.value("NCCL_NET") or "").lower()
    suffix = (case.value("NCCL_NET_PLUGIN") or "").lower()
    if case.fabric in ("slingshot", "efa", "roce"):
        words = {"platform": platform, "name": "NCCL_COLLNET_ENABLE"}
        yield Found("sharp-on-other-fabric", words, enabled.at, enabled)
    elif plugin in NO_COLLNET or suffix == "ofi":
        words = {"plugin": case.value("NCCL_NET") or "aws-ofi-nccl"}
        yield Found("collnet-without-plugin", words, enabled.at, enabled)
    else:
        yield from _streaming(case, enabled)
    threshold = whole(case.value("NCCL_COLLNET_NODE_THRESHOLD") or "2")
    if case.nodes is not None and threshold is not None and case.nodes < threshold:
        words = {"threshold": str(threshold), "nodes": str(case.nodes)}
        yield Found("collnet-few-nodes", words, enabled.at, enabled)


def _streaming(case: DoctorCase, enabled: JobSetting) -> Iterator[Found]:
    if not case.is_on("SHARP_COLL_ENABLE_SAT"):
        yield Found("collnet-without-streaming", {}, enabled.at, enabled)
    recipe = case.recipe
    if recipe is None:
        return
    wanted = next((one for one in recipe.settings if one.name == "SHARP_SMX_UCX_INTERFACE"), None)
    if wanted is not None and case.in_force(wanted.name) is None:
        words = {"platform": recipe.title, "device": wanted.value}
        yield Found("sharp-no-interface", words, enabled.at, enabled)


def _sharp(case: DoctorCase) -> Iterator[Found]:
    platform = case.recipe.title if case.recipe is not None else "this machine"
    mpi_uses = case.is_on("MV2_ENABLE_SHARP") or case.is_on("HCOLL_ENABLE_SHARP")
    for setting in case.job.settings:
        if not setting.name.startswith("SHARP_COLL_"):
            continue
        if case.fabric in ("slingshot", "efa", "roce"):
            words = {"platform": platform, "name": setting.name}
            yield Found("sharp-on-other-fabric", words, setting.at, setting)
        elif (
            setting.name == "SHARP_COLL_ENABLE_SAT"
            and case.uses_nccl()
            and not mpi_uses
            and not case.is_on("NCCL_COLLNET_ENABLE")
        ):
            words = {"name": setting.name}
            yield Found("sharp-without-collnet", words, setting.at, setting)
    enabled = case.in_force("MV2_ENABLE_SHARP")
    if enabled is None or not case.is_on("MV2_ENABLE_SHARP"):
        return
    tasks = [one.number("ntasks-per-node") for one in case.job.launches]
    asked = case.job.options.get("ntasks-per-node")
    if asked is not None:
        tasks.append(whole(asked.text))
    most = max((one for one in tasks if one is not None), default=0)
    if most >= 28:
        yield Found("sharp-full-nodes", {"tasks": str(most)}, enabled.at, enabled)
