"""Providers of libfabric: where it finds them, in the library itself or in files of their own."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from weft.doctor.container.case import ContainerCase
from weft.doctor.container.chain.loads import content_of
from weft.doctor.container.chain.report import is_known
from weft.doctor.container.loader.closure import Closure, LoadedFile

_HELP = b"Search for providers in specific path."
_DEFAULT_FOLDER = re.compile(rb"[^\0\n]{0,1000}\(default: (/[^)\0]{1,400})\)")
"""Behind the begin of the help of FI_PROVIDER_PATH. SOURCE: ofiwg/libfabric, src/fabric.c."""
_PREFERS = b"loading preferred provider"
"""Of libraries to which + before a path means a file."""
_FIRST_ONLY = b"provider with the highest priority"
"""Of the libfabric of Intel MPI, which has words of its own."""
_ENTRY = b"\0fi_prov_ini\0"


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider of libfabric. `library` is the begin of the library that it is linked to, `sign`
    a name that only its code has, `devices` where its adapters' files begin."""

    name: str
    library: str
    sign: bytes
    devices: str


PROVIDERS = {
    "slingshot": Provider("cxi", "libcxi.so", b"cxip_", "/dev/cxi"),
    "efa": Provider("efa", "libefa.so", b"efa_rdm_", "/dev/infiniband/uverbs"),
}
"""SOURCE: ofiwg/libfabric af8ddbe, prov/cxi and prov/efa."""


@dataclass(frozen=True, slots=True)
class ProviderFile:
    """A file that libfabric opens as a provider, and what it loads. One `by_name` it looks for as
    ld.so does, and says nothing where that fails."""

    path: str
    closure: Closure
    by_name: bool = False

    @property
    def has_entry(self) -> bool:
        """Whether it has the function that libfabric calls."""
        return bool(self.closure.files) and _ENTRY in content_of(self.closure.files[0])

    @property
    def is_whole(self) -> bool:
        """Whether it loads, and is a provider."""
        return self.closure.is_whole and self.has_entry


@dataclass(frozen=True)
class ProviderSearch:
    """The search of one libfabric for a provider.

    SOURCE: ofiwg/libfabric, src/fabric.c: FI_PROVIDER_PATH, or else files by the names that it
    knows, then those of the built-in folder; that of Intel MPI 2021.16 opens files of the first
    folder only. Tried on four libraries: tests/oracle/test_libfabric_lines.py.
    """

    case: ContainerCase
    library: LoadedFile
    provider: Provider

    @cached_property
    def content(self) -> bytes:
        """What is in the library."""
        return content_of(self.library)

    @property
    def is_inside(self) -> bool:
        """Whether the library has the provider built in."""
        needed = self.library.facts.needed
        is_linked = any(one.startswith(self.provider.library) for one in needed)
        return is_linked or self.provider.sign in self.content

    @cached_property
    def folders(self) -> Sequence[str]:
        """The folders of providers that are files of their own, and + before the path of such a
        file."""
        value = self.case.value("FI_PROVIDER_PATH")
        if value and is_known(value):
            entries = [one for one in value.removeprefix("@").split(":") if one]
            if _PREFERS not in self.content:
                return [one for one in entries if one[0] != "+"]
            is_of_first = _FIRST_ONLY in self.content
            return [
                one for i, one in enumerate(entries) if not (is_of_first and i) or one[0] == "+"
            ]
        if not is_known(value):
            return []
        at = self.content.find(_HELP)
        found = _DEFAULT_FOLDER.match(self.content, at) if at >= 0 else None
        return [found[1].decode("utf-8", "replace")] if found is not None else []

    @cached_property
    def files(self) -> Sequence[ProviderFile]:
        """Those that are there, in the order in which libfabric opens them."""
        name = f"lib{self.provider.name}-fi.so"
        found = []
        if not self.case.value("FI_PROVIDER_PATH"):
            closure = self.case.loader.dlopen(name, self.library)
            if closure.files and f"{self.provider.name}\0".encode() in self.content:
                found.append(ProviderFile(closure.files[0].opened, closure, by_name=True))
        for folder in self.folders:
            path = f"{folder}/{name}" if folder[0] != "+" else folder[1:]
            if path.endswith(f"/{name}") and self.case.view.resolve(path) is not None:
                found.append(ProviderFile(path, self.case.loader.dlopen(path, self.library)))
        return found

    @property
    def file(self) -> ProviderFile | None:
        """The one that is used, or that fails where there is no other; None for none, and where
        the library itself has the provider."""
        usable = next((one for one in self.files if one.is_whole), None)
        if usable is not None or self.is_inside or not self.files:
            return usable
        return self.files[0]
