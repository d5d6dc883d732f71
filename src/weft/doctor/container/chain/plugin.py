"""NCCL's net plug-in: the file that this NCCL opens, and whether it can take it."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from weft.catalog.libraries.variables import version_key
from weft.core.errors import InputError
from weft.doctor.container.case import ContainerCase
from weft.doctor.container.chain.loads import report_loads
from weft.doctor.container.chain.report import Chain
from weft.doctor.container.image.tree import DamagedImageError
from weft.doctor.container.image.view import Located, View
from weft.doctor.container.loader.closure import Closure, LoadedFile
from weft.doctor.container.loader.elf import ElfError, interface_versions
from weft.doctor.job import HOLE
from weft.doctor.libnccl import Libnccl, libnccl_of

NCCL_FILE = "libnccl.so.2"
BEGIN = "libnccl-net"
DEFAULT = "libnccl-net.so"
_WHEELS = (
    "/usr/local/lib/{python}/dist-packages",
    "/usr/lib/{python}/dist-packages",
    "/usr/lib/python3/dist-packages",
    "/usr/local/lib/{python}/site-packages",
    "/opt/conda/lib/{python}/site-packages",
    "/opt/venv/lib/{python}/site-packages",
)
_FILES_SINCE, _LISTS_SINCE = "2.21.5", "2.27.3"
MOST_LISTED = 14
"""Plug-ins of a list that NCCL keeps, though its line about the others names one less."""
LONGEST, LONGEST_BEFORE = 254, 127
"""Bytes of a name, the second before _FILES_SINCE: NCCL cuts a longer one, and leaves it out of a
list. SOURCE, for all of these: tried on libnccl 2.18.3, 2.26.5 and 2.32.3; NVIDIA/nccl v2.27.3,
src/plugin/net.cc."""


@dataclass(frozen=True, slots=True)
class ImageNccl:
    """The NCCL of an image, and others that it also has."""

    file: LoadedFile
    library: Libnccl
    others: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    """Files of that name before it that are no NCCL weft can read."""
    is_reached: bool = True
    """Whether a path or a wheel of Python leads to it."""


def find_nccl(case: ContainerCase) -> ImageNccl | None:
    """The NCCL that a program loads: by LD_LIBRARY_PATH, else the wheel of a Python, else by the
    cache; None where no file is one."""
    closure = case.loader.dlopen(NCCL_FILE, case.program)
    loaded = [one for one in closure.files if one.name == NCCL_FILE]
    wheels = [one for one in map(case.library_or_none, _wheels(case.view)) if one is not None]
    if not loaded or loaded[0].by != "LD_LIBRARY_PATH":
        loaded = [*wheels, *loaded]
    else:
        loaded += wheels
    is_reached = bool(loaded)
    if not loaded:
        loaded = list(case.libraries("libnccl.so"))
    found, unread = [], []
    for one in loaded:
        try:
            with one.located.reader() as file:
                found.append((one, libnccl_of(file, one.opened)))
        except DamagedImageError:
            raise
        except (InputError, OSError):
            unread += [] if found else [one.opened]
    if not found:
        return None
    first = found[0]
    others = [f"{one.opened} ({lib.version})" for one, lib in found[1:]]
    return ImageNccl(*first, tuple(dict.fromkeys(others)), tuple(unread), is_reached)


def report_nccl(case: ContainerCase, chain: Chain) -> ImageNccl | None:
    """The link of NCCL: which one, whether it loads, what stays open about it."""
    log = "`weft doctor log` of a run with NCCL_DEBUG=INFO"
    nccl = find_nccl(case)
    if nccl is None:
        chain.gap("which NCCL the image has (no libnccl.so is in it; a program may hold it)", log)
        chain.link("NCCL", None, "no libnccl.so in the image")
        return None
    closure = case.loader.dlopen(nccl.file.opened, case.program)
    report_loads(chain, nccl.file, closure)
    chain.link(f"NCCL {nccl.library.version}", nccl.file, is_broken=not closure.is_whole)
    if nccl.others:
        chain.gap(
            f"which NCCL the program loads: {nccl.file.opened} ({nccl.library.version}) "
            f"or {', '.join(nccl.others)}",
            "an image with one of them, or `weft doctor log` of a run",
        )
    for path in nccl.unread:
        chain.gap(f"which NCCL {path} is (weft cannot read it)", log)
    if not nccl.is_reached:
        chain.gap(f"how a program finds {nccl.file.opened} (no path leads there)", log)
    return nccl


def _wheels(view: View) -> Iterator[Located]:
    for form in _WHEELS:
        above = form.partition("/{python}")[0]
        pythons = [one for one in view.names(above) if one.startswith("python")]
        for python in pythons if "{python}" in form else [""]:
            folder = form.format(python=python)
            found = view.resolve(f"{folder}/nvidia/nccl/lib/{NCCL_FILE}")
            if found is not None:
                yield found


def plugin_names(value: str, version: str) -> tuple[str, ...]:
    """The names that NCCL gives to dlopen, in order, for a value of NCCL_NET_PLUGIN."""
    return tuple(name for names in plugin_choices(value, version) for name in names)


def plugin_choices(value: str, version: str) -> tuple[tuple[str, ...], ...]:
    """Those names, for each plug-in that the value lists."""
    if not value:
        return ((DEFAULT,),)
    if value.lower() == "none":
        return ()
    is_new = not version or version_key(version) >= version_key(_FILES_SINCE)
    if not is_new:
        return ((_cut(f"{BEGIN}-{value}.so", LONGEST_BEFORE),),)
    if takes_list(version):
        kept = [one for one in listed(value) if _cut(one) == one][:MOST_LISTED]
    else:
        kept = [_cut(value)]
    return tuple(
        (one,)
        if "/" in one or (one.startswith("lib") and one.endswith(".so"))
        else (one, _cut(f"{BEGIN}-{one}.so"))
        for one in kept
    )


def listed(value: str) -> list[str]:
    """The entries of a value that is a list."""
    return [one for one in value.split(",") if one]


def _cut(name: str, most_bytes: int = LONGEST) -> str:
    return os.fsdecode(os.fsencode(name)[:most_bytes])


def takes_list(version: str) -> bool:
    """Whether NCCL_NET_PLUGIN is a list, which may be empty; "" for a version not known."""
    return not version or version_key(version) >= version_key(_LISTS_SINCE)


@dataclass
class PluginSearch:
    """What NCCL's search for its plug-in meets. `opened` is the file that it loads or fails at.
    `tried` has the names that it opens and what each loads, for each plug-in that is listed."""

    case: ContainerCase
    nccl: ImageNccl | None
    names: tuple[str, ...] = ()
    closure: Closure = field(default_factory=Closure)
    opened: LoadedFile | None = None
    tried: list[list[tuple[str, Closure]]] = field(default_factory=list)

    @property
    def value(self) -> str:
        """NCCL_NET_PLUGIN."""
        return self.case.value("NCCL_NET_PLUGIN")

    @property
    def is_set(self) -> bool:
        """Whether NCCL_NET_PLUGIN is set, be it empty."""
        return "NCCL_NET_PLUGIN" in self.case.variables

    @property
    def is_taken(self) -> bool:
        """Whether NCCL takes the file that it opened."""
        opened = self.opened
        return opened is not None and self.closure.is_whole and takes(self.nccl, opened)

    @property
    def is_known(self) -> bool:
        """Whether the documents tell the value."""
        return HOLE not in self.value and "$" not in self.value

    def run(self) -> "PluginSearch":
        """Open each name as NCCL does, until it takes what it loads."""
        version = self.nccl.library.version if self.nccl is not None else ""
        is_empty = self.is_set and not self.value and bool(version) and takes_list(version)
        choices = plugin_choices(self.value, version) if self.is_known and not is_empty else ()
        self.names = tuple(name for names in choices for name in names)
        for names in choices:
            self.tried.append([])
            if self._opens_one(names):
                break
        return self

    def _opens_one(self, names: Sequence[str]) -> bool:
        """Open a plug-in by its names; whether NCCL takes it, so that it opens no other."""
        caller = self.nccl.file if self.nccl is not None else self.case.program
        for name in names:
            closure = self.case.loader.dlopen(name, caller)
            self.tried[-1].append((name, closure))
            first = next((one for one in closure.files if one.name == name), None)
            if first is not None:
                self.closure, self.opened = closure, first
                if closure.is_whole:
                    return takes(self.nccl, first)
        return False

    @cached_property
    def for_libfabric(self) -> tuple[LoadedFile, ...]:
        """All plug-ins of the container that use libfabric, wherever they are."""
        found = (self.opened, *self.case.libraries(BEGIN))
        return tuple(one for one in found if one is not None and uses_libfabric(one))

    def asks_for(self, plugin: LoadedFile) -> bool:
        """Whether one of the names is that of a file."""
        own = {plugin.opened, plugin.opened.rpartition("/")[2]}
        return any(name in own for name in self.names)


def uses_libfabric(plugin: LoadedFile) -> bool:
    """Whether a plug-in is for libfabric; HPC-X's needs libibverbs instead."""
    return any(name.startswith("libfabric.so") for name in plugin.facts.needed)


def takes(nccl: ImageNccl | None, plugin: LoadedFile) -> bool:
    """Whether an NCCL has an interface of a plug-in; where none is known of it, it may."""
    known = nccl.library.interfaces if nccl is not None else frozenset()
    return not known or not known.isdisjoint(interfaces_of(plugin))


def interfaces_of(plugin: LoadedFile, begin: str = "ncclNetPlugin") -> Sequence[int]:
    """The versions of NCCL's interface that a plug-in has."""
    try:
        with plugin.located.reader() as file:
            return interface_versions(file, begin)
    except (ElfError, OSError):
        return ()
