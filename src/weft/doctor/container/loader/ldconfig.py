"""The names under which ldconfig enters the libraries of a folder into ld.so.cache.

SOURCE: glibc 2.36, elf/ldconfig.c: search_dir and create_links.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from weft.doctor.container.image.tree import NodeKind
from weft.doctor.container.image.view import MOST_LINKS, View
from weft.doctor.container.loader.elf import ElfError

_BEGINS = ("lib", "ld-")


@dataclass(frozen=True, slots=True)
class _Candidate:
    name: str
    is_link: bool

    @property
    def rank(self) -> tuple[bool, list[tuple[bool, int]]]:
        """A file beats a link, then the newer name wins: numbers count as numbers, and beat other
        characters. SOURCE: glibc 2.36, elf/dl-cache.c: _dl_cache_libcmp."""
        parts = re.findall(r"[0-9]+|[^0-9]", self.name)
        keys = [(one.isdecimal(), int(one) if one.isdecimal() else ord(one)) for one in parts]
        return not self.is_link, keys


def cached_libraries(
    view: View, folder: str, architecture: str, *, only_mounted: bool = False
) -> Mapping[str, str | None]:
    """By the name in the cache, which is the SONAME of a library, the path that it leads to; of
    all files, or of those that mounts bring.

    None where that takes a link which ldconfig has yet to write: into a folder that is the host's,
    or in place of a link that another one of them leads through.
    """
    found: dict[str, _Candidate] = {}
    for soname, one in _candidates(view, folder, architecture, only_mounted=only_mounted):
        before = found.get(soname)
        if before is None or before.rank < one.rank:
            found[soname] = one
    # ldconfig replaces a link that leads elsewhere, and never a file.
    written = {
        soname
        for soname, one in found.items()
        if not _is_same(view, f"{folder}/{soname}", f"{folder}/{one.name}")
        and (_link(view, folder, soname) or view.resolve(f"{folder}/{soname}") is None)
    }
    at = view.resolve(folder)
    is_mounted = at is not None and at.origin != ""
    paths: dict[str, str | None] = {}
    for soname, one in found.items():
        name = one.name if soname in written else soname
        passed = {*_passed(view, folder, name), *_passed(view, folder, one.name)}
        is_open = bool(written & passed) or (soname in written and is_mounted)
        paths[soname] = None if is_open else f"{folder}/{name}"
    return paths


def _candidates(
    view: View, folder: str, architecture: str, *, only_mounted: bool
) -> Iterator[tuple[str, _Candidate]]:
    for name in view.names(folder):
        path = f"{folder}/{name}"
        found = view.resolve(path) if name.startswith(_BEGINS) and ".so" in name else None
        if found is None or found.node.kind is not NodeKind.FILE:
            continue
        if only_mounted and not found.origin:
            continue
        try:
            facts = view.facts(found)
        except ElfError:
            continue
        if facts.damage or facts.architecture != architecture:
            continue
        soname = facts.soname or name
        # A link is entered by its own name where that is the SONAME, or the one for a linker.
        is_own = name == soname or (name.endswith(".so") and soname.startswith(name))
        is_link = _link(view, folder, name) != "" and is_own
        yield (name if is_link else soname), _Candidate(name, is_link)


def _is_same(view: View, path: str, other: str) -> bool:
    one, two = view.resolve(path), view.resolve(other)
    return one is not None and two is not None and one.path == two.path


def _link(view: View, folder: str, name: str) -> str:
    """The target of a link in a folder, "" of anything else."""
    found = view.node(f"{view.settled(folder).rstrip('/')}/{name}")
    return found.node.target if found is not None else ""


def _passed(view: View, folder: str, name: str) -> Iterator[str]:
    """The links of a folder that a name in it leads through."""
    for _ in range(MOST_LINKS):
        target = _link(view, folder, name)
        if not target:
            return
        yield name
        name = target
