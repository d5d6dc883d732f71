"""Libraries of a host that a container may get: plug-ins, libfabric, and what they load there."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from weft.doctor.container.case import ContainerCase
from weft.doctor.container.chain.libfabric import (
    LIBFABRIC,
    Provider,
    has_inside,
    provider_folders,
)
from weft.doctor.container.chain.plugin import BEGIN, uses_libfabric
from weft.doctor.container.image.image import ContainerImage
from weft.doctor.container.launch.environment import VariableValue
from weft.doctor.container.launch.plan import ContainerPlan
from weft.doctor.container.loader.closure import LoadedFile

SEARCHED = ("/opt", "/usr/local", "/usr/lib64", "/usr/lib")
"""Folders of a host where its libraries are looked for; home and project folders are not walked."""
_GLIBC = re.compile(
    r"(?:ld-linux[\w-]*|ld64|lib(?:c|m|pthread|dl|rt|resolv|util|anl|nsl|mvec|BrokenLocale"
    r"|thread_db|nss_\w+|c_malloc_debug))\.so(?:\.\d+)*"
)
"""SOURCE: glibc 2.36, shlib-versions: libraries that belong to one loader."""


def is_of_glibc(name: str) -> bool:
    """Whether a library belongs to glibc: a container keeps its own."""
    return _GLIBC.fullmatch(name) is not None


@dataclass(frozen=True)
class HostLibraries:
    """The libraries of the host of a case."""

    case: ContainerCase

    @cached_property
    def architecture(self) -> str:
        """The host's, "" where it has no loader of glibc."""
        return self._bare.architecture

    @cached_property
    def _bare(self) -> ContainerCase:
        return self._host()

    def _host(self, library_path: str = "") -> ContainerCase:
        """The host as if it were an image, for its own loader."""
        tree = self.case.host_tree
        variables = (VariableValue("LD_LIBRARY_PATH", library_path, "the host"),)
        plan = ContainerPlan().with_given((), variables if library_path else ())
        return ContainerCase(ContainerImage(tree.name, "host", tree), plan, tree)

    @cached_property
    def _walked(self) -> tuple[LoadedFile, ...]:
        host = self._bare
        system = host.directories.system if host.directories.interpreter is not None else ()
        found: dict[object, LoadedFile] = {}
        for top in dict.fromkeys((*SEARCHED, *system)):
            for one in host.view.walk(host.view.settled(top), (BEGIN, "libfabric.so")):
                library = host.library_or_none(one)
                if library is not None and library.facts.architecture == self.case.architecture:
                    found.setdefault(library.located.node.identity, library)
        return tuple(sorted(found.values(), key=lambda one: _newest_first(one.opened)))

    @cached_property
    def plugins(self) -> tuple[LoadedFile, ...]:
        """NCCL's plug-ins for libfabric, those of newer folders first."""
        named = (one for one in self._walked if _base(one).startswith(BEGIN))
        return tuple(one for one in named if uses_libfabric(one))

    def fabrics(self, provider: Provider) -> tuple[LoadedFile, ...]:
        """Libraries of libfabric with the provider: the one that ld.so finds, then by folder."""
        there = [one for one in self._walked if one.facts.soname == LIBFABRIC]
        own = self._bare.loader.dlopen(LIBFABRIC, self._bare.program).files[:1]
        first = {one.located.node.identity for one in own}
        there.sort(key=lambda one: one.located.node.identity not in first)
        return tuple(one for one in there if provider_file(self._bare, one, provider) is not None)

    def provider_of(self, fabric: LoadedFile, provider: Provider) -> LoadedFile | None:
        """The provider of a libfabric where it is a file of its own."""
        found = provider_file(self._bare, fabric, provider)
        return None if found is fabric else found

    def system_library(self, name: str) -> LoadedFile | None:
        """The library that the host's ld.so finds for a name."""
        files = self._bare.loader.dlopen(name, self._bare.program).files
        return next((one for one in files if one.name == name), None)

    def driver_folders(self, library: LoadedFile) -> Sequence[str]:
        """The folders where libibverbs of the host finds its drivers."""
        own = [one.rpartition("/")[0] for one in (library.opened, library.located.path)]
        folders = [*own, *self._bare.directories.system]
        return list(dict.fromkeys([*(f"{one}/libibverbs" for one in folders), *folders]))

    def has(self, path: str) -> bool:
        """Whether the host has a file or folder."""
        return self._bare.view.resolve(path) is not None

    def named(self, folder: str, begin: str) -> Sequence[LoadedFile]:
        """Libraries of one folder whose names begin so."""
        host = self._bare
        paths = (f"{folder}/{one}" for one in host.view.names(folder) if one.startswith(begin))
        located = (
            host.view.node(host.view.settled(folder) + path[len(folder) :]) for path in paths
        )
        found = (host.library_or_none(one) for one in located if one is not None)
        return [one for one in found if one is not None]

    def loaded_by(self, roots: Sequence[LoadedFile]) -> dict[str, LoadedFile]:
        """By name, all that the roots load on the host, with their folders first."""
        folders = dict.fromkeys(one.opened.rpartition("/")[0] for one in roots)
        host = self._host(":".join(folders))
        found: dict[str, LoadedFile] = {}
        for root in roots:
            for one in host.loader.dlopen(root.opened, host.program).files:
                if one.by != "the loader":
                    found.setdefault(_base(one) if "/" in one.name else one.name, one)
        return found


def provider_file(case: ContainerCase, fabric: LoadedFile, provider: Provider) -> LoadedFile | None:
    """The file with the provider: one of its own, or libfabric itself; None without it."""
    for folder in provider_folders(case, fabric):
        found = case.view.resolve(f"{folder}/lib{provider.name}-fi.so")
        own = case.library_or_none(found) if found is not None else None
        if own is not None:
            return own
    return fabric if has_inside(fabric, provider) else None


def _base(file: LoadedFile) -> str:
    return file.opened.rpartition("/")[2]


def _newest_first(path: str) -> tuple[list[tuple[int, str]], str]:
    """Numbers in a path count as numbers, the greater ones first."""
    parts: Iterator[str] = iter(re.split(r"(\d+)", path))
    return [(-int(one), "") if one.isdecimal() else (0, one) for one in parts], path
