"""Transports: what is switched off, demanded or allowed, and how channels are cut."""

from collections.abc import Iterator

from weft.catalog.libraries.nccl_topology import nccl_topology
from weft.catalog.load import platform, platform_names
from weft.doctor.case import DoctorCase, Found
from weft.doctor.numbers import strtoll
from weft.doctor.rules.values import edit

LOST = {
    "NCCL_P2P_DISABLE": "NVLink and direct PCIe between GPUs",
    "NCCL_SHM_DISABLE": "shared memory between GPUs of a host",
}
NEARER = ("NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN")
"""Than PHB."""
CHUNKS = ("NCCL_P2P_NET_CHUNKSIZE", "NCCL_P2P_NVL_CHUNKSIZE", "NCCL_P2P_PCI_CHUNKSIZE")
CHUNKS_OF_A_BUFFER = 8
"""SOURCE: NVIDIA/nccl v2.30.7, src/include/device.h NCCL_STEPS."""
BUFFER_BYTES = 1 << 22
"""SOURCE: NVIDIA/nccl v2.30.7, src/init.cc DEFAULT_BUFFSIZE."""
LEAST_TIMEOUT = 14
"""The least default of any version; the list of variables has them all."""


def rules(case: DoctorCase) -> Iterator[Found]:
    """All of this family."""
    yield from _off(case)
    yield from _nvls(case)
    yield from _gdr(case)
    yield from _infiniband(case)
    yield from _channels(case)
    yield from _chunks(case)
    yield from _timing(case)


def _number(case: DoctorCase, name: str) -> int | None:
    value = case.value(name)
    return None if value is None or not value.strip() else strtoll(value)[0]


def _off(case: DoctorCase) -> Iterator[Found]:
    several = case.nodes is None or case.nodes > 1
    setting = case.in_force("NCCL_IB_DISABLE")
    by_adapters = case.fabric in ("infiniband", "roce")
    if setting and case.is_on("NCCL_IB_DISABLE") and by_adapters and several:
        yield Found("infiniband-off", {"value": setting.known or ""}, setting.at, setting)
    if all(_number(case, name) == 1 for name in LOST) and not (case.nodes or 1) > 1:
        # Both at once on one node: the test of adapters over loopback.
        return
    for name, lost in LOST.items():
        setting = case.in_force(name)
        wanted = case.recipe is not None and any(
            one.name == name and one.value != "0" and "loopback" not in one.when
            for one in case.recipe.settings
        )
        if setting is not None and _number(case, name) == 1 and not wanted:
            words = {"name": name, "value": setting.known or "", "lost": lost}
            yield Found("debug-switch-left-on", words, setting.at, setting)


def _nvls(case: DoctorCase) -> Iterator[Found]:
    setting = case.in_force("NCCL_NVLS_ENABLE")
    value = _number(case, "NCCL_NVLS_ENABLE")
    if setting is None or setting.known is None:
        return
    platform = case.recipe.title if case.recipe is not None else "a node with NVSwitches of H100"
    loopback = all(_number(case, name) == 1 for name in LOST)
    if value == 1 and case.since("2.18.1"):
        yield Found("nvls-demanded", {"value": setting.known}, setting.at, setting)
    elif value == 0 and not loopback and _may_reduce_in_nvlink(case):
        yield Found("nvls-off", {"platform": platform}, setting.at, setting)


def _may_reduce_in_nvlink(case: DoctorCase) -> bool:
    """Whether the platform has NVSwitches that reduce, as far as its document says."""
    if case.recipe is None:
        return True
    if case.recipe.platform not in platform_names():
        return False
    gpus = platform(case.recipe.platform).gpus
    return gpus is not None and gpus.nvls


def _gdr(case: DoctorCase) -> Iterator[Found]:
    setting = case.in_force("NCCL_NET_GDR_LEVEL")
    if setting is None or not setting.known:
        return
    value, _ = strtoll(setting.known)
    level = setting.known
    if level[0].isdigit() and value is not None:
        level = nccl_topology().level(value)
    words = {"name": setting.name, "value": setting.known}
    slingshot = case.recipe if case.fabric == "slingshot" else None
    if level == "LOC":
        yield Found("gdr-off", words, setting.at, setting)
    elif level == "SYS" and not _wants(case, setting.name):
        yield Found("gdr-anywhere", words, setting.at, setting)
    elif level in NEARER and slingshot:
        found = {**words, "platform": slingshot.title}
        yield Found("gdr-too-near", found, setting.at, setting, edit(setting, "PHB"))


def _infiniband(case: DoctorCase) -> Iterator[Found]:
    setting = case.in_force("NCCL_IB_GID_INDEX")
    value = _number(case, "NCCL_IB_GID_INDEX")
    if setting is not None and value is not None and value >= 0:
        if case.fabric == "infiniband":
            yield Found("gid-on-infiniband", {}, setting.at, setting)
        elif case.fabric == "roce" and case.since("2.21.5"):
            yield Found("gid-fixed", {"value": str(value)}, setting.at, setting)
    yield from _service_level(case)
    setting = case.in_force("NCCL_IB_QPS_PER_CONNECTION")
    value = _number(case, "NCCL_IB_QPS_PER_CONNECTION")
    spread = _number(case, "NCCL_IB_ADAPTIVE_ROUTING") == 1
    if setting is not None and value is not None and value > 1 and spread:
        yield Found("queue-pairs-and-routing", {"value": str(value)}, setting.at, setting)
    if setting is not None and value is not None and 8 < value <= 128:
        yield Found("many-queue-pairs", {"value": str(value)}, setting.at, setting)
    setting = case.in_force("NCCL_PXN_DISABLE")
    recommended = case.recipe is not None and any(
        one.name == "NCCL_PXN_DISABLE" for one in case.recipe.settings
    )
    if setting is not None and case.is_on("NCCL_PXN_DISABLE") and not recommended:
        yield Found("pxn-off", {}, setting.at, setting)


def _channels(case: DoctorCase) -> Iterator[Found]:
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


def _wants(case: DoctorCase, name: str) -> bool:
    """Whether the machine's own recipe sets it."""
    return case.recipe is not None and any(one.name == name for one in case.recipe.settings)


def _service_level(case: DoctorCase) -> Iterator[Found]:
    setting = case.in_force("NCCL_IB_SL")
    if setting is None or setting.known is None or case.recipe is None:
        return
    wanted = {one.value for one in case.recipe.settings if one.name == "NCCL_IB_SL"}
    value = _number(case, "NCCL_IB_SL")
    if value is not None and 0 <= value <= 15 and wanted and str(value) not in wanted:
        words = {"platform": case.recipe.title, "wanted": min(wanted), "value": str(value)}
        yield Found("service-level", words, setting.at, setting, edit(setting, min(wanted)))


def _chunks(case: DoctorCase) -> Iterator[Found]:
    """NCCL cuts a chunk to an eighth of the buffer without a word at WARN."""
    asked = _number(case, "NCCL_BUFFSIZE")
    if case.in_force("NCCL_BUFFSIZE") is not None and asked is None:
        return
    buffer = asked if asked is not None and asked > 0 else BUFFER_BYTES
    for name in CHUNKS:
        setting, value = case.in_force(name), _number(case, name)
        if setting is None or value is None or strtoll(setting.known or "")[1]:
            continue
        if value * CHUNKS_OF_A_BUFFER > buffer:
            words = {
                "value": str(value),
                "cut": str(buffer // CHUNKS_OF_A_BUFFER),
                "buffer": str(buffer),
                "wanted": str(value * CHUNKS_OF_A_BUFFER),
            }
            yield Found("chunk-cut", words, setting.at, setting)


def _timing(case: DoctorCase) -> Iterator[Found]:
    setting, value = case.in_force("NCCL_IB_TIMEOUT"), _number(case, "NCCL_IB_TIMEOUT")
    variable = case.variable("NCCL_IB_TIMEOUT")
    if setting is None or value is None or variable is None or strtoll(setting.known or "")[1]:
        return
    if 0 < value < LEAST_TIMEOUT and not (setting.known or "").startswith("0"):
        ms = f"{4.096e-3 * 2**value:.3g}"
        words = {"value": str(value), "ms": ms, "default": variable.default_in(case.version)}
        yield Found("short-timeout", words, setting.at, setting)
