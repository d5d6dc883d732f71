"""Libraries of a host that a container may get: plug-ins, libfabric, and what they load there."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from weft.core.errors import InputError, MissingError
from weft.doctor.container.case import ContainerCase
from weft.doctor.container.chain.libfabric import LIBFABRIC
from weft.doctor.container.chain.plugin import BEGIN, uses_libfabric
from weft.doctor.container.chain.providers import Provider, ProviderSearch
from weft.doctor.container.chain.verbs import open_driver
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
    _skipped: dict[str, str] = field(default_factory=dict)

    @property
    def skipped(self) -> Sequence[str]:
        """Libraries that were passed over, each with the reason."""
        return [f"{path} ({reason})" for path, reason in self._skipped.items()]

    @cached_property
    def _bare(self) -> ContainerCase:
        """Raises MissingError where no loader tells how the host finds its libraries."""
        host = self._host()
        if not host.has_usable_loader:
            raise MissingError(
                "the host has no loader of glibc that is whole",
                where=host.image.name,
                expected="the root of a compute node with its ld.so",
                hint="--host ROOT of a compute node's whole root",
            )
        return host

    def _host(self, library_path: str = "") -> ContainerCase:
        """The host as if it were an image, for its own loader."""
        tree = self.case.host_tree
        variables = (VariableValue("LD_LIBRARY_PATH", library_path, "the host"),)
        plan = ContainerPlan().with_given((), variables if library_path else ())
        return ContainerCase(ContainerImage(tree.name, "host", tree), plan, tree)

    @cached_property
    def _walked(self) -> tuple[LoadedFile, ...]:
        host = self._bare
        system = host.directories.system
        found: dict[object, LoadedFile] = {}
        for top in dict.fromkeys((*SEARCHED, *system)):
            for one in host.view.walk(host.view.settled(top), (BEGIN, "libfabric.so")):
                try:
                    library = host.library_or_none(one)
                except InputError as error:
                    self._skipped[one.path] = error.what
                    continue
                if library is not None and library.facts.architecture == self.case.architecture:
                    found.setdefault(library.located.node.identity, library)
        return tuple(sorted(found.values(), key=lambda one: _newest_first(one.opened)))

    @property
    def unseen(self) -> Sequence[str]:
        """What may hold a library that was not found, in words."""
        return [*self._bare.view.unseen, *self.skipped]

    @cached_property
    def plugins(self) -> tuple[LoadedFile, ...]:
        """NCCL's plug-ins for libfabric, those of newer folders first."""
        named = (one for one in self._walked if _base(one).startswith(BEGIN))
        return tuple(one for one in named if uses_libfabric(one))

    def fabrics(self, provider: Provider) -> tuple[LoadedFile, ...]:
        """Libraries of libfabric with the provider: the one that ld.so finds, then by folder."""
        there = [one for one in self._walked if one.facts.soname == LIBFABRIC]
        own = self._opened(LIBFABRIC)[:1]
        first = {one.located.node.identity for one in own}
        there.sort(key=lambda one: one.located.node.identity not in first)
        return tuple(one for one in there if provider_file(self._bare, one, provider) is not None)

    def provider_of(self, fabric: LoadedFile, provider: Provider) -> LoadedFile | None:
        """The provider of a libfabric where it is a file of its own."""
        found = provider_file(self._bare, fabric, provider)
        return None if found is fabric else found

    def system_library(self, name: str) -> LoadedFile | None:
        """The library that the host's ld.so finds for a name."""
        return next((one for one in self._opened(name) if one.name == name), None)

    def _opened(self, name: str) -> Sequence[LoadedFile]:
        """What the host's ld.so opens for a name; none where weft takes a file of it for odd."""
        try:
            return self._bare.loader.dlopen(name, self._bare.program).files
        except InputError as error:
            self._skipped[error.where or name] = error.what
            return ()

    def driver(self, library: LoadedFile, name: str) -> LoadedFile | None:
        """The driver that a libibverbs of the host loads, None where it loads none."""
        try:
            opened, closure = open_driver(self._bare, library, name)
        except InputError as error:
            self._skipped[error.where or library.opened] = error.what
            return None
        return opened if closure.is_whole else None

    def has(self, path: str) -> bool:
        """Whether the host has a file or folder."""
        return self._bare.view.resolve(path) is not None

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
    search = ProviderSearch(case, fabric, provider)
    file = search.file
    if file is not None and file.closure.files:
        return file.closure.files[0]
    return fabric if search.is_inside else None


def _base(file: LoadedFile) -> str:
    return file.opened.rpartition("/")[2]


def _newest_first(path: str) -> tuple[list[tuple[int, str]], str]:
    """Numbers in a path count as numbers, the greater ones first."""
    parts: Iterator[str] = iter(re.split(r"(\d+)", path))
    return [(-int(one), "") if one.isdecimal() else (0, one) for one in parts], path
