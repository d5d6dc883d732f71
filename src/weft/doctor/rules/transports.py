"""Transports that settings switch off, demand or allow, and the cut of channels."""

from collections.abc import Iterator

from weft.catalog.libraries.nccl_topology import nccl_topology
from weft.catalog.load import platform, platform_names
from weft.core.finding import Severity
from weft.doctor.case import DoctorCase, Found, mistake
from weft.doctor.job import JobSetting
from weft.doctor.numbers import strtoll
from weft.doctor.rules.values import edit

LOST = {
    "NCCL_P2P_DISABLE": "NVLink and direct PCIe between GPUs",
    "NCCL_SHM_DISABLE": "shared memory between GPUs of a host",
}
SWITCHES = ("NCCL_NET", "NCCL_IB_DISABLE", *LOST, "NCCL_NET_GDR_LEVEL")
"""One value of each takes a transport away."""
OTHER_NETWORKS = ("NCCL_FASTRAK_", "NCCL_GPUDIRECTTCPX_", "FI_CXI_", "FI_EFA_", "OFI_NCCL_")
"""Prefixes of the settings of plug-ins."""
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
    yield from _numbers(case)
    yield from _service_level(case)
    yield from _channels(case)
    yield from _chunks(case)
    yield from _timing(case)


def _numbers(case: DoctorCase) -> Iterator[Found]:
    """Rules of one number."""
    gid, pairs = case.number("NCCL_IB_GID_INDEX"), case.number("NCCL_IB_QPS_PER_CONNECTION")
    has_gid, n_pairs = gid is not None and gid >= 0, pairs or 0
    is_routed = case.number("NCCL_IB_ADAPTIVE_ROUTING") == 1
    is_pxn_off = case.is_on("NCCL_PXN_DISABLE") and not case.prescribes("NCCL_PXN_DISABLE")
    is_unwatched = case.number("NCCL_RAS_ENABLE") == 0 and case.since("2.24.3")
    on_new_roce = case.fabric == "roce" and case.since("2.21.5")
    for name, rule, is_unwise in (
        ("NCCL_IB_GID_INDEX", "gid-on-infiniband", has_gid and case.fabric == "infiniband"),
        ("NCCL_IB_GID_INDEX", "gid-fixed", has_gid and on_new_roce),
        ("NCCL_IB_QPS_PER_CONNECTION", "queue-pairs-and-routing", n_pairs > 1 and is_routed),
        ("NCCL_IB_QPS_PER_CONNECTION", "many-queue-pairs", 8 < n_pairs <= 128),
        ("NCCL_PXN_DISABLE", "pxn-off", is_pxn_off),
        ("NCCL_RAS_ENABLE", "watcher-off", is_unwatched),
    ):
        setting = case.in_force(name)
        if setting is not None and is_unwise:
            yield mistake(rule, setting, value=str(case.number(name)))


def _off(case: DoctorCase) -> Iterator[Found]:
    yield from _sockets(case)
    if _is_loopback(case) and not (case.nodes or 1) > 1:
        return
    for name, lost in LOST.items():
        setting = case.in_force(name)
        wanted = case.recipe is not None and any(
            one.name == name and one.value != "0" and "loopback" not in one.when
            for one in case.recipe.settings
        )
        if setting is not None and case.number(name) == 1 and not wanted:
            # GPUs without NVLink may need it: only a cluster's nodes, or a platform, tell. GB200's
            # own recipe goes without shared memory, so of that only a platform tells.
            is_cluster = (case.nodes or 1) > 1 and name == "NCCL_P2P_DISABLE"
            is_sure = case.recipe is not None or is_cluster
            severity = None if is_sure and not setting.is_optional else Severity.WARNING
            yield mistake("debug-switch-left-on", setting, (), severity, lost=lost)


def _sockets(case: DoctorCase) -> Iterator[Found]:
    """Settings that force NCCL to TCP, where no other network is chosen."""
    net = case.in_force("NCCL_NET")
    if net is not None and (net.known or "").lower() == "socket":
        severity = None if case.fabric else case.across_nodes(net)
        if case.nodes != 1:
            yield mistake("sockets-demanded", net, (), severity)
        return
    setting = case.in_force("NCCL_IB_DISABLE")
    if setting is None or not case.is_on("NCCL_IB_DISABLE"):
        return
    if _has_another_network(case, net) or case.fabric not in ("infiniband", "roce", ""):
        yield mistake("infiniband-not-used", setting)
    elif not (case.fabric and case.nodes == 1):
        yield mistake("infiniband-off", setting, (), case.across_nodes(setting))


def _has_another_network(case: DoctorCase, net: JobSetting | None) -> bool:
    """Whether NCCL reaches other nodes by a plug-in, for which the switch means nothing."""
    plugin = case.in_force("NCCL_NET_PLUGIN")
    provider = case.value("FI_PROVIDER") or ""
    named = any(one.name.startswith(OTHER_NETWORKS) for one in case.job.settings)
    has_plugin = plugin is not None and (plugin.known or "").lower() != "none"
    is_net = net is not None and (net.known or "").lower() not in ("", "ib")
    return named or has_plugin or is_net or provider in ("efa", "cxi", "gni", "opx", "psm2")


def _is_loopback(case: DoctorCase) -> bool:
    """Both switches at once: the test of adapters over loopback."""
    return all(case.number(name) == 1 for name in LOST)


def _nvls(case: DoctorCase) -> Iterator[Found]:
    setting = case.in_force("NCCL_NVLS_ENABLE")
    value = case.number("NCCL_NVLS_ENABLE")
    if setting is None or setting.known is None:
        return
    if value == 1 and case.since("2.18.1"):
        yield mistake("nvls-demanded", setting)
    elif value == 0 and not _is_loopback(case) and _may_reduce_in_nvlink(case):
        yield mistake("nvls-off", setting, platform=case.machine("a node with NVSwitches of H100"))


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
    if level == "LOC":
        yield mistake("gdr-off", setting)
    elif level == "SYS" and not case.prescribes(setting.name):
        yield mistake("gdr-anywhere", setting)
    elif level in NEARER and case.fabric == "slingshot":
        yield mistake("gdr-too-near", setting, edit(setting, "PHB"), platform=case.machine())


def _channels(case: DoctorCase) -> Iterator[Found]:
    for kind in ("NCHANNELS", "CTAS", "P2P_NCHANNELS"):
        names = (f"NCCL_MIN_{kind}", f"NCCL_MAX_{kind}")
        least, most = (case.number(name) for name in names)
        setting = case.in_force(names[0])
        if setting is not None and least is not None and most is not None and 0 < most < least:
            words = {"least": str(least), "most": str(most)}
            words |= {"least_name": names[0], "most_name": names[1]}
            yield mistake("channels-crossed", setting, **words)
    setting = case.in_force("NCCL_BUFFSIZE")
    size, remaining = strtoll(setting.known or "") if setting is not None else (None, "")
    if setting is not None and size is not None and 0 < size < 1 << 20 and not remaining:
        yield mistake("small-buffers", setting, value=str(size))


def _service_level(case: DoctorCase) -> Iterator[Found]:
    setting = case.in_force("NCCL_IB_SL")
    if setting is None or setting.known is None or case.recipe is None:
        return
    wanted = {one.value for one in case.recipe.settings if one.name == "NCCL_IB_SL"}
    value = case.number("NCCL_IB_SL")
    if value is not None and 0 <= value <= 15 and wanted and str(value) not in wanted:
        words = {"platform": case.machine(), "wanted": min(wanted), "value": str(value)}
        yield mistake("service-level", setting, edit(setting, min(wanted)), **words)


def _chunks(case: DoctorCase) -> Iterator[Found]:
    """NCCL cuts a chunk to an eighth of the buffer without a line at WARN."""
    asked = case.number("NCCL_BUFFSIZE")
    if case.in_force("NCCL_BUFFSIZE") is not None and asked is None:
        return
    buffer = asked if asked is not None and asked > 0 else BUFFER_BYTES
    for name in CHUNKS:
        setting, value = case.in_force(name), case.number(name)
        if setting is None or value is None or strtoll(setting.known or "")[1]:
            continue
        if value * CHUNKS_OF_A_BUFFER > buffer:
            words = {"value": str(value), "wanted": str(value * CHUNKS_OF_A_BUFFER)}
            words |= {"cut": str(buffer // CHUNKS_OF_A_BUFFER), "buffer": str(buffer)}
            yield mistake("chunk-cut", setting, **words)


def _timing(case: DoctorCase) -> Iterator[Found]:
    setting, value = case.in_force("NCCL_IB_TIMEOUT"), case.number("NCCL_IB_TIMEOUT")
    variable = case.variable("NCCL_IB_TIMEOUT")
    if setting is None or value is None or variable is None or strtoll(setting.known or "")[1]:
        return
    if 0 < value < LEAST_TIMEOUT and not (setting.known or "").startswith("0"):
        words = {"ms": f"{4.096e-3 * 2**value:.3g}", "default": variable.default_in(case.version)}
        yield mistake("short-timeout", setting, value=str(value), **words)
