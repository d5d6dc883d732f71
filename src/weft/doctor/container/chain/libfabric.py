"""The chain of a job over libfabric: NCCL, plug-in, libfabric, provider, adapter."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from weft.doctor.container.case import ContainerCase
from weft.doctor.container.chain.gdrcopy import follow_gdrcopy
from weft.doctor.container.chain.loads import report_loads
from weft.doctor.container.chain.plugin import (
    PluginSearch,
    interfaces_of,
    plugin_names,
    report_nccl,
    takes,
    uses_libfabric,
)
from weft.doctor.container.chain.process_lines import is_excluded, provider_log
from weft.doctor.container.chain.providers import Provider, ProviderSearch
from weft.doctor.container.chain.report import Chain, ChainLink, is_known, origin_of
from weft.doctor.container.loader.closure import Closure, LoadedFile

LIBFABRIC = "libfabric.so.1"
OFI_NETWORKS = ("aws libfabric", "libfabric", "ofi")
"""SOURCE: aws/aws-ofi-nccl 2daf7d3: names that the plug-in's network has had."""


@dataclass
class LibfabricChain:
    """The search along the chain, and what it finds."""

    case: ContainerCase
    chain: Chain
    provider: Provider
    search: PluginSearch = field(init=False)

    def follow(self) -> PluginSearch:
        """Every link, each on its own: a fault of one does not hide that of the next. The search
        of NCCL for its plug-in."""
        nccl = report_nccl(self.case, self.chain)
        self.search = PluginSearch(self.case, nccl).run()
        plugin = self._plugin()
        library = self._libfabric(plugin)
        self._provider(library)
        self._devices()
        report_network(self.case, self.chain, OFI_NETWORKS, '"AWS Libfabric"')
        follow_gdrcopy(self.case, self.chain, nccl, library)
        return self.search

    def _plugin(self) -> LoadedFile | None:
        """The plug-in that NCCL should open, wherever it is."""
        search, chain = self.search, self.chain
        if not search.is_known:
            chain.gap(
                "which plug-in NCCL_NET_PLUGIN selects (only the job knows its value)",
                "--env NCCL_NET_PLUGIN=VALUE",
            )
        opened = search.opened
        if opened is not None and uses_libfabric(opened):
            report_loads(self.chain, opened, search.closure, LIBFABRIC)
            self._interface(opened)
            chain.link("net plug-in", opened, is_broken=not search.closure.is_whole)
            return opened
        there = search.for_libfabric
        if not there:
            chain.fault("plugin-not-mounted")
        named = next((one for one in there if search.asks_for(one)), None)
        best = named or (there[0] if there else None)
        is_asked = named is not None or (not there and bool(search.value))
        if search.is_known and not is_asked:
            self._not_selected(best)
        if best is not None and (named is not None or not self._is_reached(best)):
            self._not_reached("plugin-not-on-path", best, file=best.opened.rpartition("/")[2])
        chain.link("net plug-in", opened or best, self._passed_by(), is_broken=True)
        if best is not None:
            report_loads(self.chain, best, self._closure_of(best), LIBFABRIC)
            self._interface(best)
        return best

    def _passed_by(self) -> str:
        names = " or ".join(self.search.names) or "no file"
        return f"NCCL asks for {names}"

    def _not_selected(self, best: LoadedFile | None) -> None:
        search = self.search
        version = search.nccl.library.version if search.nccl is not None else ""
        file = best.opened.rpartition("/")[2] if best is not None else "libnccl-net-ofi.so"
        name = file.removeprefix("libnccl-net-").removesuffix(".so")
        better = name if file in plugin_names(name, version) else (best or search).opened or file
        opened = search.opened.opened if search.opened is not None else "no plug-in"
        if search.opened is None and search.names:
            opened = f"no plug-in, for {' and '.join(search.names)} is not there"
        is_other = search.opened is not None
        self.chain.fault(
            "plugin-not-selected",
            opened=opened,
            detail=", which does not use libfabric" if is_other else "",
            value=f"{search.value or 'empty'} ({self._origin('NCCL_NET_PLUGIN')})"
            if search.is_set
            else "not set",
            better=str(better),
        )

    def _origin(self, name: str) -> str:
        found = self.case.variables.get(name)
        return found.origin if found is not None else ""

    def _is_reached(self, file: LoadedFile) -> bool:
        """Whether a path leads to a file by its own name."""
        name = file.opened.rpartition("/")[2]
        closure = self.case.loader.dlopen(name, self._caller())
        return any(one.located.path == file.located.path for one in closure.files)

    def _caller(self) -> LoadedFile:
        nccl = self.search.nccl
        return nccl.file if nccl is not None else self.case.program

    def _not_reached(self, rule: str, at: LoadedFile, /, **words: str) -> None:
        path = self.case.variables.get("LD_LIBRARY_PATH")
        if path is None:
            why = "LD_LIBRARY_PATH is not set, and ld.so.cache does not have it"
        else:
            why = f"LD_LIBRARY_PATH is {path.text}, from {path.origin}"
            if path.beaten:
                why += f", which wins over {path.beaten[0].origin}"
        folder = at.opened.rpartition("/")[0]
        self.chain.fault(rule, path=at.opened, why=why, folder=folder, **words)

    def _closure_of(self, file: LoadedFile) -> Closure:
        """What a file loads, if it is opened by its whole path."""
        return self.case.loader.dlopen(file.opened, self._caller())

    def _interface(self, plugin: LoadedFile) -> None:
        nccl = self.search.nccl
        if nccl is not None and not takes(nccl, plugin):
            self.chain.fault(
                "plugin-interface",
                file=plugin.opened,
                offered=_versions(interfaces_of(plugin)),
                version=nccl.library.version,
                taken=_versions(sorted(nccl.library.interfaces)),
            )

    def _libfabric(self, plugin: LoadedFile | None) -> LoadedFile | None:
        """The libfabric that the plug-in gets."""
        asking = plugin or self._caller()
        closure = self._closure_of(asking) if plugin is not None else Closure()
        found = next((one for one in closure.files if one.answers(LIBFABRIC)), None)
        if found is None:
            closure = self.case.loader.dlopen(LIBFABRIC, asking)
            found = next((one for one in closure.files if one.name == LIBFABRIC), None)
        if found is not None:
            report_loads(self.chain, found, closure, LIBFABRIC)
            self.chain.link("libfabric", found, is_broken=not closure.is_whole)
            return found
        there = [
            one
            for one in self.case.libraries("libfabric.so")
            if one.facts.soname in ("", LIBFABRIC)
        ]
        if there:
            self._not_reached("libfabric-not-on-path", there[0])
            self.chain.link("libfabric", there[0], "no path leads there", is_broken=True)
            return there[0]
        self.chain.fault("libfabric-absent")
        self.chain.link("libfabric", None)
        return None

    def _provider(self, library: LoadedFile | None) -> None:
        name = self.provider.name
        filters = self.case.variables.get("FI_PROVIDER")
        if filters is not None and is_known(filters.value) and is_excluded(name, filters.value):
            words = {"value": filters.value or "''", "place": filters.origin}
            self.chain.fault("provider-excluded", provider=name, **words)
        if library is None:
            return
        search = ProviderSearch(self.case, library, self.provider)
        if self._is_reached_by_nccl:
            self.chain.provider_log = provider_log(search)
        file = search.file
        if file is not None:
            loaded = next(iter(file.closure.files), None)
            report_loads(self.chain, loaded or library, file.closure, LIBFABRIC)
            if loaded is not None and not file.has_entry:
                self._provider_missing(library, f"{file.path} has no function fi_prov_ini")
            self.chain.link(f"provider {name}", loaded, is_broken=not file.is_whole)
        elif search.is_inside:
            self.chain.link(f"provider {name}", library, "built in")
        else:
            if is_known(self.case.value("FI_PROVIDER_PATH")):
                folders = ", ".join(search.folders) or "a folder that it searches"
                self._provider_missing(library, f"no lib{name}-fi.so is in {folders}")
            self.chain.link(f"provider {name}", None)

    def _provider_missing(self, library: LoadedFile, lacks: str) -> None:
        file = f"{library.opened} ({origin_of(library.located)})"
        words = {"file": file, "provider": self.provider.name, "lacks": lacks}
        self.chain.fault("provider-missing", **words)

    @property
    def _is_reached_by_nccl(self) -> bool:
        """Whether NCCL takes a plug-in that loads libfabric, and no other network is demanded."""
        demanded = self.case.variables.get("NCCL_NET")
        names_it = demanded is None or demanded.value.lower() in OFI_NETWORKS
        search = self.search
        uses_it = search.opened is not None and uses_libfabric(search.opened)
        return search.is_taken and uses_it and names_it

    def _devices(self) -> None:
        begin, case, chain = self.provider.devices, self.case, self.chain
        found = case.devices(begin)
        if found:
            chain.links.append(ChainLink("adapter", ", ".join(found), "in the container"))
            return
        report_device(case, chain, begin)


def report_network(
    case: ContainerCase,
    chain: Chain,
    names: Sequence[str],
    wanted: str,
    *,
    may_be_plugin: bool = False,
) -> None:
    """The network that NCCL_NET demands, against the `names` of the one that is meant; it may be
    that of a plug-in that NCCL takes. No network has an empty name."""
    found = case.variables.get("NCCL_NET")
    chain.network = "use NET/Socket"
    if found is None or not is_known(found.value):
        return
    value = found.value
    if may_be_plugin and value.lower() not in (*names, "socket", ""):
        chain.gap(
            f"whether {value} is the network of the plug-in (NCCL_NET, {found.origin})",
            "`weft doctor log` of a run with NCCL_DEBUG=INFO",
        )
        return
    if value.lower() not in names:
        words = {"value": value, "place": found.origin, "wanted": wanted}
        chain.fault("other-network-demanded", **words)
    if value.lower() != "socket":
        chain.network = f"end: network {value or repr(value)} is not found"


def report_device(case: ContainerCase, chain: Chain, begin: str) -> None:
    """The fault or the open question of an adapter's device that no evidence shows."""
    runtime, host = case.plan.runtime, case.host_devices(begin)
    shown = f"{begin}*"
    if not host and not case.host_is_given and not case.image.is_running:
        chain.gap(
            f"whether {shown} is in the container (this machine has no such device)",
            "the same command on a compute node, or --host ROOT",
        )
    elif runtime.has_devices is None and host:
        chain.gap(
            f"whether {runtime.name} brings {shown} into the container",
            "--script, --edf or --cdi that names it",
        )
    else:
        lacks = not host and not case.image.is_running
        detail = ", and the host has none" if lacks else f": {runtime.name} passes none on"
        detail = "" if case.image.is_running else detail
        better = (
            "run the job on nodes that have the adapter"
            if lacks
            else f"start the container with --device for each {shown}, or with a CDI device"
        )
        chain.fault("device-missing", devices=shown, detail=detail, better=better)


def _versions(numbers: Sequence[int]) -> str:
    return ", ".join(f"v{one}" for one in numbers) or "no version"
