"""Parts that a remedy may be made of: which plug-in with which libfabric, or which rdma-core."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from weft.core.errors import MissingError
from weft.doctor.container.case import ContainerCase
from weft.doctor.container.chain.libfabric import LIBFABRIC, OFI_NETWORKS
from weft.doctor.container.chain.plugin import (
    BEGIN,
    DEFAULT,
    find_nccl,
    plugin_names,
    takes,
    uses_libfabric,
)
from weft.doctor.container.chain.providers import PROVIDERS, Provider
from weft.doctor.container.chain.report import MOST_DENIED, is_known
from weft.doctor.container.chain.verbs import CONFIGURATION, DEVICES, DRIVER, driver_file
from weft.doctor.container.judge import fabric_of
from weft.doctor.container.loader.closure import LoadedFile
from weft.doctor.container.remedy.additions import (
    FOLDER,
    AddedDevice,
    AddedMount,
    AddedVariable,
)
from weft.doctor.container.remedy.host_libraries import HostLibraries, provider_file

VERBS = "libibverbs.so.1"
EFA = "efa"
CONNECTION = "/dev/infiniband/rdma_cm"
_ALSO = {
    CONNECTION: "connections over RDMA",
    "/dev/gdrdrv": "GDRCopy: the processor writes into memory of GPUs",
    "/dev/xpmem": "memory shared between processes",
}
"""Devices beside the adapters', which libraries use where they are there."""


@dataclass(frozen=True)
class Parts:
    """`files` are libraries of the host by their names in FOLDER, with their `reasons`; `inner` are
    libraries of the container, and `folders` those of them that no path leads to. `plugin` is the
    plug-in's path in the container. `together` begins names of libraries that go with `files`."""

    files: Mapping[str, LoadedFile] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    inner: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    mounts: tuple[AddedMount, ...] = ()
    plugin: str = ""
    together: str = ""

    def with_library(self, name: str, file: LoadedFile, reason: str) -> "Parts":
        """With one library of the host more."""
        return replace(
            self, files={**self.files, name: file}, reasons={**self.reasons, name: reason}
        )

    def with_inner(self, case: ContainerCase, file: LoadedFile) -> "Parts":
        """With a library that is in the container, by its folder where no path leads there."""
        folder, _, name = file.opened.rpartition("/")
        closure = case.loader.dlopen(name, case.program)
        is_reached = any(one.located.path == file.located.path for one in closure.files)
        folders = self.folders if is_reached or folder in self.folders else (*self.folders, folder)
        return replace(self, inner=(*self.inner, file.opened), folders=folders)


def parts_of(case: ContainerCase, host: HostLibraries) -> Iterator[Parts]:
    """The choices, those with the fewest libraries of the host first. Raises MissingError where
    neither the image nor the host has a part."""
    if not case.has_usable_loader:
        yield Parts()
        return
    fabric = fabric_of(case)
    if fabric in PROVIDERS:
        yield from _over_libfabric(case, host, PROVIDERS[fabric])
        return
    has_verbs = bool(case.loader.dlopen(VERBS, case.program).files)
    if has_verbs:
        yield Parts()
    whole = with_rdma_core(Parts(), host, DRIVER)
    if whole is not None:
        yield whole
    elif not has_verbs:
        expected = "libibverbs and its driver of one rdma-core"
        raise _lacks(case, host, f"{VERBS} with its driver {DRIVER}", expected)


def _over_libfabric(
    case: ContainerCase, host: HostLibraries, provider: Provider
) -> Iterator[Parts]:
    plugins = [one for one in case.libraries(BEGIN) if uses_libfabric(one)]
    fabrics = [
        one
        for one in case.libraries("libfabric.so")
        if one.facts.soname == LIBFABRIC and provider_file(case, one, provider) is not None
    ]
    with_own = [(one, _plugin_of_image(case, one)) for one in plugins]
    yield from (one.with_inner(case, fabric) for _, one in with_own for fabric in fabrics)
    of_host = [(one, _plugin_of_host(one)) for one in host.plugins]
    if not with_own and not of_host:
        raise _lacks(
            case, host, "NCCL's plug-in for libfabric", f"{BEGIN}*.so that needs {LIBFABRIC}"
        )
    n_choices = 0
    for parts in _taken(case, [*with_own, *of_host]):
        both = [parts.with_inner(case, one) for one in fabrics] if parts.files else []
        with_host = (_with_fabric(parts, host, provider, one) for one in host.fabrics(provider))
        both += [one for one in with_host if one is not None]
        n_choices += len(both)
        yield from both
    if not n_choices and not fabrics:
        name = provider.name
        also = f", and the driver {EFA} of the host's libibverbs" if name == EFA else ""
        expected = f"{LIBFABRIC} with it{also}"
        raise _lacks(case, host, f"libfabric with the provider {name}", expected)


def _taken(case: ContainerCase, choices: Sequence[tuple[LoadedFile, Parts]]) -> Sequence[Parts]:
    """Those whose plug-in the image's NCCL takes; where it takes none, the first, to say so."""
    nccl = find_nccl(case)
    taken = [parts for plugin, parts in choices if takes(nccl, plugin)]
    return taken or [parts for _, parts in choices[:1]]


def _plugin_of_image(case: ContainerCase, plugin: LoadedFile) -> Parts:
    return replace(Parts().with_inner(case, plugin), plugin=plugin.opened)


def _plugin_of_host(plugin: LoadedFile) -> Parts:
    name = plugin.opened.rpartition("/")[2]
    # Under its own name it would hide, or be hidden by, the plug-in of the image.
    target = f"{BEGIN}-ofi.so" if name == DEFAULT or not name.endswith(".so") else name
    parts = Parts(plugin=f"{FOLDER}/{target}")
    return parts.with_library(target, plugin, "NCCL's plug-in for libfabric")


def _with_fabric(
    parts: Parts, host: HostLibraries, provider: Provider, fabric: LoadedFile
) -> Parts | None:
    name = provider.name
    whole = parts.with_library(LIBFABRIC, fabric, f"libfabric with the provider {name}")
    own = host.provider_of(fabric, provider)
    if own is not None:
        whole = whole.with_library(f"lib{name}-fi.so", own, f"libfabric's provider {name}")
    whole = replace(whole, together=provider.library)
    return with_rdma_core(whole, host, EFA) if name == EFA else whole


def with_rdma_core(parts: Parts, host: HostLibraries, driver: str) -> Parts | None:
    """With the host's libibverbs, a driver of the same build, and their configuration; None where
    the host lacks one of them."""
    library = host.system_library(VERBS)
    if library is None:
        return None
    found = host.driver(library, driver)
    if found is None:
        return None
    whole = parts.with_library(VERBS, library, "libibverbs; it goes with its drivers")
    if driver == DRIVER:
        whole = whole.with_library("libibverbs.so", library, "the name that NCCL tries first")
    name = driver_file(library, driver)
    whole = whole.with_library(name, found, f"the driver {driver} of this libibverbs")
    if not host.has(CONFIGURATION):
        return whole
    mount = AddedMount(CONFIGURATION, CONFIGURATION, "the drivers that libibverbs loads")
    return replace(whole, mounts=(*whole.mounts, mount))


def variables_of(case: ContainerCase, parts: Parts) -> Iterator[AddedVariable]:
    """Variables that select the parts, where the case has other values."""
    provider = PROVIDERS.get(fabric_of(case))
    names = OFI_NETWORKS if provider is not None else ("ib",)
    network = case.value("NCCL_NET")
    if network and network.lower() not in names:
        wanted = "AWS Libfabric" if provider is not None else "IB"
        yield AddedVariable("NCCL_NET", wanted, _in_place_of(case, "NCCL_NET"))
    if provider is None:
        if case.value("NCCL_IB_DISABLE").strip() not in ("", "0"):
            yield AddedVariable("NCCL_IB_DISABLE", "0", "InfiniBand and RoCE were switched off")
        return
    value = case.value("FI_PROVIDER")
    listed = [one.partition(";")[0] for one in value.removeprefix("^").split(",")]
    if value and (provider.name in listed) == value.startswith("^"):
        yield AddedVariable("FI_PROVIDER", provider.name, _in_place_of(case, "FI_PROVIDER"))
    if f"lib{provider.name}-fi.so" in parts.files:
        yield AddedVariable("FI_PROVIDER_PATH", FOLDER, "libfabric looks for its provider there")
    if parts.plugin:
        yield from _selection(case, parts.plugin)


def _in_place_of(case: ContainerCase, name: str) -> str:
    return f"in place of {case.variables[name].text}"


def _selection(case: ContainerCase, plugin: str) -> Iterator[AddedVariable]:
    nccl = find_nccl(case)
    version = nccl.library.version if nccl is not None else ""
    value, name = case.value("NCCL_NET_PLUGIN"), plugin.rpartition("/")[2]
    if is_known(value) and {name, plugin} & set(plugin_names(value, version)):
        return
    better = name.removeprefix(f"{BEGIN}-").removesuffix(".so")
    if name == DEFAULT:
        better = ""
    elif name not in plugin_names(better, version):
        better = plugin
    yield AddedVariable("NCCL_NET_PLUGIN", better, f"selects {name}")


def devices_of(case: ContainerCase) -> tuple[AddedDevice, ...]:
    """Device files that the runtime does not pass on by itself. Raises MissingError where the host
    has no adapter's."""
    if case.plan.runtime.has_devices or not case.has_usable_loader:
        return ()
    provider = PROVIDERS.get(fabric_of(case))
    begin = provider.devices if provider is not None else DEVICES
    adapters = case.host_devices(begin)
    if not adapters:
        expected = f"{begin}* of the host"
        unseen = [f"the host's {one}" for one in case.host.unseen]
        raise lacks_of(case, unseen, f"a device {begin}*", expected)
    is_infiniband = begin.startswith("/dev/infiniband/")
    others = [
        one for one in _ALSO if (one == CONNECTION) == is_infiniband and case.host_devices(one)
    ]
    found = [
        *(AddedDevice(one, "the adapter") for one in adapters),
        *(AddedDevice(one, _ALSO[one]) for one in others),
    ]
    there = set(case.devices("/dev/"))
    return tuple(one for one in found if one.path not in there)


def _lacks(case: ContainerCase, host: HostLibraries, what: str, expected: str) -> MissingError:
    inside = (f"the container's {one}" for one in case.view.unseen)
    return lacks_of(case, [*inside, *(f"the host's {one}" for one in host.unseen)], what, expected)


def lacks_of(case: ContainerCase, unseen: Sequence[str], what: str, expected: str) -> MissingError:
    """The error where neither the image nor the host shows a part; `unseen` may hold it."""
    named = "; ".join(dict.fromkeys(unseen[:MOST_DENIED]))
    return MissingError(
        f"{what} was not found, neither in the image nor on the host"
        + (f"; not seen whole: {named}" if named else ""),
        where=case.host_tree.name,
        expected=expected,
        hint="--mount HOST:CONTAINER of its folder, or --host ROOT of a compute node",
    )
