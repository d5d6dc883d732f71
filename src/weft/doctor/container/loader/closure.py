"""Libraries loaded as ld.so does: breadth first, each name once, versions checked at the end.

SOURCE: glibc 2.36, elf/dl-load.c (_dl_map_object, open_path, open_verify), elf/dl-deps.c and
elf/dl-version.c.
"""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from weft.core.errors import InputError
from weft.doctor.container.image.tree import NodeKind
from weft.doctor.container.image.view import Located, View
from weft.doctor.container.loader.directories import Directories
from weft.doctor.container.loader.elf import ElfError, ElfFacts

MOST_LOADED = 1024
"""Libraries of one process: of 1,400 files of a Debian machine, one loads 69 at most (measured)."""
MOST_TRIED = 1_000_000
"""Paths that are tried for all of them: of the same files, 315 at most, 60 us each (measured). So a
file that would have weft search for more than a minute is refused."""


@dataclass
class LoadedFile:
    """A file that one process loads. `opened` is the path as ld.so puts it together; `by` is what
    led there in words; `loader` is the file that asked for it first."""

    name: str
    opened: str
    located: Located
    facts: ElfFacts
    by: str
    loader: "LoadedFile | None" = None
    aliases: set[str] = field(default_factory=set)

    @property
    def is_program(self) -> bool:
        """Whether nothing asked for it: the first file."""
        return self.loader is None

    def answers(self, name: str) -> bool:
        """Whether a later request of this name takes it."""
        return name in self.aliases or name in (self.opened, self.facts.soname)


@dataclass(frozen=True, slots=True)
class MissingFile:
    """A name that no folder holds. `reason` is "" or the error of a file that ld.so ends at;
    `passed` are files of that name for another architecture."""

    name: str
    asked_by: LoadedFile | None
    path: str = ""
    reason: str = ""
    passed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MissingVersion:
    """A version of symbols that a loaded file lacks; `is_fatal` unless it has no table at all."""

    version: str
    asked_by: LoadedFile
    offered_by: LoadedFile
    is_fatal: bool = True

    @property
    def newest(self) -> str:
        """The newest version of the same name that it has."""
        family = self.version.partition("_")[0] + "_"
        own = [one for one in self.offered_by.facts.versions or () if one.startswith(family)]
        return max(own, key=_version_key, default="none")


@dataclass
class Closure:
    """All that a program or a library loads, in order, and what is missing."""

    files: list[LoadedFile] = field(default_factory=list)
    missing: list[MissingFile] = field(default_factory=list)
    versions: list[MissingVersion] = field(default_factory=list)
    n_tried: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether it would load."""
        return not self.missing and not any(one.is_fatal for one in self.versions)


@dataclass(frozen=True)
class Loader:
    """ld.so of a view with an environment. `here` is the working folder."""

    view: View
    directories: Directories
    library_path: str = ""
    preload: str = ""
    here: str = "/"

    def run(self, program: str) -> Closure:
        """Everything that a program loads at its start."""
        found = self.view.resolve(program)
        closure = Closure()
        if found is None:
            closure.missing.append(MissingFile(program, None))
            return closure
        try:
            facts = self.view.facts(found)
            if facts.damage:
                raise ElfError(facts.damage)
        except ElfError as error:
            closure.missing.append(MissingFile(program, None, found.path, str(error)))
            return closure
        main = LoadedFile(program, found.path, found, facts, "the program", aliases={program})
        closure.files.append(main)
        self._add_interpreter(closure, main)
        for name in re.split(r"[ :]+", self.preload):
            if name:
                self._load(closure, name, main, "LD_PRELOAD", is_preload=True)
        self._follow(closure, [one for one in closure.files if one.by != "the loader"])
        return closure

    def dlopen(
        self,
        name: str,
        caller: LoadedFile,
        main: LoadedFile | None = None,
        there: Sequence[LoadedFile] = (),
    ) -> Closure:
        """Everything that dlopen(name) loads when a file calls it, in a process that has the files
        `there`; the first one is its result."""
        closure = Closure(list(there))
        loaded = self._load(closure, name, caller, "dlopen", main=main)
        if loaded is not None:
            self._add_interpreter(closure, loaded)
            self._follow(closure, [loaded], main)
        del closure.files[: len(there)]
        return closure

    def _add_interpreter(self, closure: Closure, of: LoadedFile) -> None:
        found = self.directories.interpreter
        if of.facts.interpreter:
            found = self.view.resolve(of.facts.interpreter) or found
        if found is None:
            return
        try:
            facts = self.view.facts(found)
        except ElfError:
            return
        opened = of.facts.interpreter or found.path
        closure.files.append(
            LoadedFile(facts.soname, opened, found, facts, "the loader", of, {facts.soname})
        )

    def _follow(
        self, closure: Closure, first: Sequence[LoadedFile], main: LoadedFile | None = None
    ) -> None:
        """Load what the files need, breadth first, then check the versions of all."""
        left = list(first)
        for asking in left:
            for name in asking.facts.needed:
                before = len(closure.files)
                loaded = self._load(closure, name, asking, "NEEDED", main=main)
                if loaded is not None and len(closure.files) > before:
                    left.append(loaded)
        closure.versions += _missing_versions(closure.files)

    def _load(
        self,
        closure: Closure,
        name: str,
        asking: LoadedFile,
        how: str,
        *,
        main: LoadedFile | None = None,
        is_preload: bool = False,
    ) -> LoadedFile | None:
        for one in closure.files:
            if one.answers(name):
                one.aliases.add(name)
                return one
        passed: list[str] = []
        candidates = self._candidates(name, asking, main or closure.files[:1])
        for path, by in candidates:
            closure.n_tried += 1
            if closure.n_tried > MOST_TRIED or len(closure.files) > MOST_LOADED:
                most = f"at most {MOST_LOADED:,} libraries and {MOST_TRIED:,} paths tried for them"
                where = f"{self.view.root.name}, {asking.opened}"
                raise InputError("it needs too many libraries", where=where, expected=most)
            found = self.view.resolve(path if path.startswith("/") else f"{self.here}/{path}")
            if found is None:
                continue
            try:
                facts = self.view.facts(found)
            except ElfError as error:
                if not is_preload:
                    closure.missing.append(MissingFile(name, asking, path, str(error)))
                return None
            if not facts.fits(asking.facts):
                passed.append(path)
                continue
            if facts.damage:
                if not is_preload:
                    closure.missing.append(MissingFile(name, asking, path, facts.damage))
                return None
            same = next((one for one in closure.files if _is_same(one, found)), None)
            if same is not None:
                same.aliases.add(name)
                return same
            loaded = LoadedFile(name, path, found, facts, by or how, asking, {name})
            closure.files.append(loaded)
            return loaded
        if not is_preload:
            closure.missing.append(MissingFile(name, asking, passed=tuple(passed)))
        return None

    def _candidates(
        self, name: str, asking: LoadedFile, main: "LoadedFile | Sequence[LoadedFile]"
    ) -> Iterator[tuple[str, str]]:
        """Paths in the order in which they are tried, each with what leads there."""
        directories = self.directories
        if "/" in name:
            yield directories.expanded(name, os.path.dirname(asking.opened))[0], ""
            return
        mains = [main] if isinstance(main, LoadedFile) else list(main)
        for folder, by in self._folders(asking, mains):
            for below in directories.below:
                yield f"{folder}/{below}/{name}" if below else f"{folder}/{name}", by
        uses_defaults = not asking.facts.without_default_directories
        cached = directories.cached(name)
        if cached is not None and (uses_defaults or not _is_below(cached, directories.system)):
            yield cached, "ld.so.cache"
        if uses_defaults:
            for folder in directories.system:
                for below in directories.below:
                    yield f"{folder}/{below}/{name}" if below else f"{folder}/{name}", "default"

    def _folders(
        self, asking: LoadedFile, mains: Sequence[LoadedFile]
    ) -> Iterator[tuple[str, str]]:
        """Folders that files and variables name, before the cache."""
        if asking.facts.runpath is None:
            above: LoadedFile | None = asking
            seen = []
            while above is not None:
                yield from self._own(above, above.facts.rpath, "RPATH")
                seen.append(above)
                above = above.loader
            for one in mains:
                if one not in seen and one.is_program:
                    yield from self._own(one, one.facts.rpath, "RPATH")
        if self.library_path:
            # SOURCE: glibc 2.36, elf/dl-load.c: fillin_rpath splits it at colons and semicolons.
            for text in re.split("[:;]", self.library_path):
                (folder,) = self.directories.expanded(text, self._origin(mains, asking))
                yield self._folder(folder), "LD_LIBRARY_PATH"
        yield from self._own(asking, asking.facts.runpath, "RUNPATH")

    def _origin(self, mains: Sequence[LoadedFile], asking: LoadedFile) -> str:
        return os.path.dirname((mains[0] if mains else asking).opened)

    def _own(self, file: LoadedFile, text: str | None, tag: str) -> Iterator[tuple[str, str]]:
        if not text:
            return
        for folder in self.directories.expanded(text, os.path.dirname(file.opened)):
            yield self._folder(folder), f"{tag} of {os.path.basename(file.opened)}"

    def _folder(self, folder: str) -> str:
        if not folder.startswith("/"):
            return f"{self.here.rstrip('/')}/{folder}".rstrip("/")
        return folder.rstrip("/")


def _is_same(one: LoadedFile, found: Located) -> bool:
    if found.node.kind is NodeKind.FILE and found.node.identity is not None:
        return one.located.node.identity == found.node.identity
    return one.located.path == found.path


def _is_below(path: str, folders: Sequence[str]) -> bool:
    return any(path.startswith(f"{folder}/") for folder in folders)


def _missing_versions(files: Sequence[LoadedFile]) -> Iterator[MissingVersion]:
    by_name: dict[str, LoadedFile] = {}
    for one in files:
        for name in (*one.aliases, one.facts.soname):
            by_name.setdefault(name, one)
    for asking in files:
        for need in asking.facts.needs:
            offered = by_name.get(need.file)
            if offered is None or need.is_weak:
                continue
            if offered.facts.versions is None:
                yield MissingVersion(need.version, asking, offered, is_fatal=False)
            elif need.version not in offered.facts.versions:
                yield MissingVersion(need.version, asking, offered)


def _version_key(version: str) -> list[int]:
    return [int(one) for one in re.findall(r"\d+", version)]
