"""Transports: what is switched off, demanded or allowed, and how channels are cut."""

from collections.abc import Iterator

from weft.doctor.case import Case, Found
from weft.doctor.numbers import strtoll
from weft.doctor.rules.values import LEVEL_OF_NUMBER, LEVELS, edit

LOST = {
    "NCCL_P2P_DISABLE": "NVLink and direct PCIe between GPUs",
    "NCCL_SHM_DISABLE": "shared memory between GPUs of a host",
}
NEED_PHB = ("PHB", "SYS")


def rules(case: Case) -> Iterator[Found]:
    """All of this family."""
    yield from _off(case)
    yield from _nvls(case)
    yield from _gdr(case)
    yield from _infiniband(case)
    yield from _channels(case)


def _number(case: Case, name: str) -> int | None:
    value = case.value(name)
    return None if value is None or not value.strip() else strtoll(value)[0]


def _off(case: Case) -> Iterator[Found]:
    several = case.nodes is None or case.nodes > 1
    setting = case.in_force("NCCL_IB_DISABLE")
    if setting and case.is_on("NCCL_IB_DISABLE") and case.fabric == "infiniband" and several:
        yield Found("infiniband-off", {"value": setting.known or ""}, setting.at, setting)
    if all(case.is_on(name) for name in LOST) and not (case.nodes or 1) > 1:
        # Both at once on one node: the test of adapters over loopback.
        return
    for name, lost in LOST.items():
        setting = case.in_force(name)
        wanted = case.recipe is not None and any(
            one.name == name and one.value != "0" and "loopback" not in one.when
            for one in case.recipe.settings
        )
        if setting is not None and case.is_on(name) and not wanted:
            words = {"name": name, "value": setting.known or "", "lost": lost}
            yield Found("debug-switch-left-on", words, setting.at, setting)


def _nvls(case: Case) -> Iterator[Found]:
    setting = case.in_force("NCCL_NVLS_ENABLE")
    value = _number(case, "NCCL_NVLS_ENABLE")
    if setting is None or setting.known is None:
        return
    platform = case.recipe.title if case.recipe is not None else "a node with NVSwitches of H100"
    loopback = all(case.is_on(name) for name in LOST)
    if value == 1 and case.since("2.18.1"):
        yield Found("nvls-demanded", {"value": setting.known}, setting.at, setting)
    elif value == 0 and not loopback:
        yield Found("nvls-off", {"platform": platform}, setting.at, setting)


def _gdr(case: Case) -> Iterator[Found]:
    setting = case.in_force("NCCL_NET_GDR_LEVEL")
    if setting is None or not setting.known:
        return
    value, rest = strtoll(setting.known)
    level = setting.known
    if not rest and value is not None and value >= 0:
        level = LEVEL_OF_NUMBER[min(value, len(LEVEL_OF_NUMBER) - 1)]
    words = {"name": setting.name, "value": setting.known}
    slingshot = case.recipe if case.fabric == "slingshot" else None
    if level == "LOC":
        yield Found("gdr-off", words, setting.at, setting)
    elif level in LEVELS and level not in NEED_PHB and slingshot:
        found = {**words, "platform": slingshot.title}
        yield Found("gdr-too-near", found, setting.at, setting, edit(setting, "PHB"))


def _infiniband(case: Case) -> Iterator[Found]:
    setting = case.in_force("NCCL_IB_GID_INDEX")
    value = _number(case, "NCCL_IB_GID_INDEX")
    if setting is not None and value is not None and value >= 0 and case.fabric == "infiniband":
        yield Found("gid-on-infiniband", {}, setting.at, setting)
    setting = case.in_force("NCCL_IB_QPS_PER_CONNECTION")
    value = _number(case, "NCCL_IB_QPS_PER_CONNECTION")
    if setting is not None and value is not None and 8 < value <= 128:
        yield Found("many-queue-pairs", {"value": str(value)}, setting.at, setting)
    setting = case.in_force("NCCL_PXN_DISABLE")
    recommended = case.recipe is not None and any(
        one.name == "NCCL_PXN_DISABLE" for one in case.recipe.settings
    )
    if setting is not None and case.is_on("NCCL_PXN_DISABLE") and not recommended:
        yield Found("pxn-off", {}, setting.at, setting)


def _channels(case: Case) -> Iterator[Found]:
    for kind in ("NCHANNELS", "CTAS", "P2P_NCHANNELS"):
        names = (f"NCCL_MIN_{kind}", f"NCCL_MAX_{kind}")
        least, most = (_number(case, name) for name in names)
        setting = case.in_force(names[0])
        if setting is not None and least is not None and most is not None and 0 < most < least:
            words = {
                "least_name": names[0],
                "most_name": names[1],
                "least": str(least),
                "most": str(most),
            }
            yield Found("channels-crossed", words, setting.at, setting)
    setting = case.in_force("NCCL_BUFFSIZE")
    size = _number(case, "NCCL_BUFFSIZE")
    if setting is not None and size is not None and 0 < size < 1 << 20:
        text = setting.known or ""
        if not strtoll(text)[1]:
            yield Found("small-buffers", {"value": str(size)}, setting.at, setting)
    setting = case.in_force("NCCL_RAS_ENABLE")
    if setting is not None and _number(case, "NCCL_RAS_ENABLE") == 0 and case.since("2.24.3"):
        yield Found("watcher-off", {}, setting.at, setting)
