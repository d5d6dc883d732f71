"""The chain of a job over InfiniBand or RoCE: NCCL, libibverbs, its driver, the adapter."""

import re

from weft.doctor.container.case import ContainerCase
from weft.doctor.container.chain.gdrcopy import follow_gdrcopy
from weft.doctor.container.chain.libfabric import report_device, report_network
from weft.doctor.container.chain.loads import content_of, report_loads
from weft.doctor.container.chain.plugin import PluginSearch, report_nccl
from weft.doctor.container.chain.registration import report_registration
from weft.doctor.container.chain.report import Chain, ChainLink, is_switch_on
from weft.doctor.container.loader.closure import Closure, LoadedFile

NAMES = ("libibverbs.so", "libibverbs.so.1")
"""SOURCE: NVIDIA/nccl v2.30.7, src/misc/ibvsymbols.cc: dlopen in this order."""
CONFIGURATION = "/etc/libibverbs.d"
MOST_CONFIGURATION_BYTES = 1 << 16
_PRIVATE = re.compile(r"IBVERBS_PRIVATE_(\d+)")
_FORMAT = re.compile(rb"(?<![!-~])(/[!-$&-~]{1,400})/lib%s-rdmav\d+\.so\0")
_BARE_FORMAT = b"lib%s-rdmav"
"""SOURCE: linux-rdma/rdma-core, libibverbs/dynamic_driver.c: load_driver, VERBS_PROVIDER_DIR."""
DRIVER = "mlx5"
DEVICES = "/dev/infiniband/uverbs"


def follow_verbs(case: ContainerCase, chain: Chain) -> PluginSearch:
    """Every link, for adapters of NVIDIA. The search of NCCL for a plug-in."""
    nccl = report_nccl(case, chain)
    caller = nccl.file if nccl is not None else case.program
    library, closure = None, Closure()
    for name in NAMES:
        closure = case.loader.dlopen(name, caller)
        library = next((one for one in closure.files if one.name == name), None)
        if library is not None and closure.is_whole:
            break
    if library is None:
        chain.fault("verbs-absent", detail="")
    chain.link("libibverbs", library)
    if library is not None:
        report_loads(chain, library, closure)
        _driver(case, chain, library)
    found = case.devices(DEVICES)
    if found:
        chain.links.append(ChainLink("adapter", ", ".join(found), "in the container"))
    else:
        report_device(case, chain, DEVICES)
    plugin = PluginSearch(case, nccl).run()
    report_network(case, chain, ("ib",), "IB", may_be_plugin=plugin.is_taken)
    disabled = case.variables.get("NCCL_IB_DISABLE")
    if disabled is not None and is_switch_on(disabled.value):
        chain.fault("verbs-disabled", value=disabled.value, place=disabled.origin)
    if plugin.opened is not None or not plugin.is_known:
        file = plugin.opened.opened if plugin.opened is not None else "a plug-in"
        chain.gap(
            f"whether {file} takes this network in place of NCCL's own code",
            "`weft doctor log` of a run with NCCL_DEBUG=INFO",
        )
    report_registration(case, chain, nccl, library)
    follow_gdrcopy(case, chain, nccl)
    return plugin


def _driver(case: ContainerCase, chain: Chain, library: LoadedFile) -> None:
    """libibverbs opens libmlx5-rdmavN.so, N being its own private interface, if a file of its
    configuration names the driver. SOURCE: linux-rdma/rdma-core, libibverbs/dynamic_driver.c."""
    adapters = [
        one for one in case.host.names("/sys/class/infiniband") if not one.startswith(DRIVER)
    ]
    if adapters:
        chain.gap(
            f"whether libibverbs has the driver of {', '.join(adapters)} (weft knows {DRIVER}'s)",
            "ibv_devices in the container, on a compute node",
        )
        return
    listed = f"{case.value('RDMAV_DRIVERS')}:{case.value('IBV_DRIVERS')}"
    texts = [
        case.view.content(f"{CONFIGURATION}/{one}", MOST_CONFIGURATION_BYTES)
        for one in case.view.names(CONFIGURATION)
    ]
    if DRIVER not in listed and not any(DRIVER.encode() in text for text in texts):
        chain.gap(
            f"whether libibverbs loads its driver {DRIVER} (no file of {CONFIGURATION} names it)",
            "ibv_devices in the container, on a compute node",
        )
    opened, closure = open_driver(case, library, DRIVER)
    chain.link(f"driver {DRIVER}", opened, is_broken=not closure.is_whole)
    if closure.files or any(one.reason for one in closure.missing):
        report_loads(chain, opened or library, closure)
        return
    pattern, folder = driver_file(library, DRIVER), provider_folder(library)
    if folder is None:
        chain.gap(
            f"where {library.opened} looks for {pattern} (its code names no folder)",
            "ibv_devices in the container, on a compute node",
        )
        return
    others = sorted(
        {
            name
            for one in (folder, *case.directories.system)
            for name in case.view.names(one)
            if name.startswith(f"lib{DRIVER}-rdmav")
        }
    )
    detail = f" ({', '.join(others)} is of another rdma-core)" if others else ""
    chain.fault("driver-missing", library=library.opened, pattern=pattern, detail=detail)


def driver_file(library: LoadedFile, driver: str) -> str:
    """The name of the file that a libibverbs opens for a driver."""
    numbers = [_PRIVATE.fullmatch(one) for one in library.facts.versions or ()]
    number = max((one[1] for one in numbers if one is not None), key=int, default="")
    return f"lib{driver}-rdmav{number}.so"


def provider_folder(library: LoadedFile) -> str | None:
    """The folder of drivers that is compiled into a libibverbs, "" where there is none; None where
    its code does not show it."""
    content = content_of(library)
    found = _FORMAT.search(content)
    if found is not None:
        return found[1].decode("utf-8", "surrogateescape")
    return "" if _BARE_FORMAT in content else None


def open_driver(
    case: ContainerCase, library: LoadedFile, driver: str
) -> tuple[LoadedFile | None, Closure]:
    """The file that a libibverbs opens for a driver, and what that loads: in its own folder, else
    where ld.so finds the name. The first that loads, else the first that is there."""
    name, folder = driver_file(library, driver), provider_folder(library)
    paths = [*([f"{folder}/{name}"] if folder else []), name]
    tried = [case.loader.dlopen(one, library, there=[library]) for one in paths]
    there = [one for one in tried if one.files or any(x.reason for x in one.missing)]
    closure = next((one for one in there if one.is_whole), (*there, tried[-1])[0])
    return (closure.files[0] if closure.files else None), closure
