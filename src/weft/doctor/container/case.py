"""The subject of the checks: an image as a launch shows it to a program, on a host."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from weft.catalog.libraries.launch_recipe import LaunchRecipe
from weft.doctor.container.image.image import CONFIGURATION, ContainerImage
from weft.doctor.container.image.tree import NodeKind, Tree
from weft.doctor.container.image.view import Located, View
from weft.doctor.container.launch.enroot import (
    enroot_hooks,
    enroot_mounts,
    enroot_variables,
)
from weft.doctor.container.launch.environment import (
    EnvironmentLayers,
    VariableValue,
    environment,
    read_pairs,
)
from weft.doctor.container.launch.isolation import LockedMemory
from weft.doctor.container.launch.mounts import BindMount
from weft.doctor.container.launch.plan import ContainerPlan
from weft.doctor.container.loader.closure import LoadedFile, Loader
from weft.doctor.container.loader.directories import INTERPRETERS, Directories, Processor
from weft.doctor.container.loader.elf import ElfError, ElfFacts
from weft.doctor.job import HOLE
from weft.launch.engine_options import ENGINES

MOST_CPUINFO_BYTES = 1 << 20
NCCL_CONF = "/etc/nccl.conf"
CONFIGURED = ("OCI layout", "archive", "image of podman")
"""Kinds of images whose configuration tells the working folder, by default /."""
_MEMORY = re.compile(rb"^MemTotal:\s+(\d{1,15}) kB$", re.MULTILINE)
MPI_FILES = ("libmpi", "mca_pmix_")
"""Begins of the names of MPI libraries, and of parts of Open MPI 4 that speak a PMI."""


@dataclass(frozen=True)
class ContainerCase:
    """`host_is_given`: the user named the host, so that a file missing there is missing.
    `own_mounts` are folders of the container with the program alone: NCCL and libfabric there are
    none of the job."""

    image: ContainerImage
    plan: ContainerPlan
    host_tree: Tree
    host_is_given: bool = False
    recipe: LaunchRecipe | None = None
    own_mounts: tuple[str, ...] = ()

    @cached_property
    def host(self) -> View:
        """The files of the host."""
        return View(self.host_tree)

    @cached_property
    def mounts(self) -> tuple[BindMount, ...]:
        """Those of the launch, behind those that the host's configuration adds."""
        configured = enroot_mounts(self.host) if self._uses_enroot else ()
        return (*configured, *self.plan.mounts)

    @property
    def _uses_enroot(self) -> bool:
        return self.plan.runtime.name in ("pyxis", "enroot")

    @cached_property
    def site_hooks(self) -> tuple[str, ...]:
        """Hooks whose work no file tells."""
        return enroot_hooks(self.host) if self._uses_enroot else ()

    @cached_property
    def _placed(self) -> tuple[View, tuple[BindMount, ...]]:
        view, absent = View(self.image.tree), []
        for one in self.mounts:
            if one.is_known and not view.mount(
                self.host_tree, one.source, one.target, f"{one.source} of the host"
            ):
                absent.append(one)
        return view, tuple(absent)

    @property
    def view(self) -> View:
        """The image with its mounts."""
        return self._placed[0]

    @property
    def absent_mounts(self) -> tuple[BindMount, ...]:
        """Mounts whose source is not on the host."""
        return self._placed[1]

    @property
    def unknown_mounts(self) -> tuple[BindMount, ...]:
        """Mounts with parts that only the running job knows."""
        return tuple(one for one in self.mounts if not one.is_known)

    @cached_property
    def variables(self) -> Mapping[str, VariableValue]:
        """Those that a program gets, by name."""
        layers = self.plan.layers
        if self._uses_enroot:
            configured = tuple(enroot_variables(self.host))
            layers = EnvironmentLayers(
                layers.host,
                (*layers.options, *configured),
                layers.edits,
                layers.given,
                layers.passes,
            )
        of_image = self.image.variables
        if not self.plan.runtime.reads_files:
            of_image = tuple(one for one in of_image if one.origin == CONFIGURATION)
        found = environment(self.plan.runtime, of_image, layers)
        # SOURCE: NVIDIA/nccl v2.30.7, src/misc/param.cc: the environment wins over the file.
        text = self.view.content(NCCL_CONF, MOST_CPUINFO_BYTES).decode("utf-8", "replace")
        pairs = read_pairs((line.strip() for line in text.splitlines()), NCCL_CONF)
        return {**{one.name: one for one in pairs}, **found}

    def value(self, name: str) -> str:
        """The value of a variable, "" where it is not set; HOLEs stand for unknown parts."""
        found = self.variables.get(name)
        return "" if found is None else found.value

    @cached_property
    def architecture(self) -> str:
        """The image's, "" where it has no loader of glibc."""
        if self.image.architecture:
            return self.image.architecture
        view = View(self.image.tree)
        for name, path in INTERPRETERS.items():
            found = view.resolve(path)
            if found is None or found.node.kind is not NodeKind.FILE:
                continue
            try:
                if view.facts(found).architecture == name:
                    return name
            except ElfError:
                continue
        return ""

    @cached_property
    def directories(self) -> Directories:
        """The folders that its loader searches."""
        cpuinfo = self.host.content("/proc/cpuinfo", MOST_CPUINFO_BYTES)
        processor = Processor.of_cpuinfo(cpuinfo.decode("ascii", "replace"))
        return Directories(
            self.view, self.architecture, processor, linker_folders=self.plan.linker_folders
        )

    @cached_property
    def library_path(self) -> str:
        """LD_LIBRARY_PATH without its unknown folders."""
        folders = self.value("LD_LIBRARY_PATH").split(":")
        if not self._has_known_folder:
            folders = [one for one in folders if not _is_named_relative(one)]
        known = ":".join(one for one in folders if HOLE not in one and "${" not in one)
        return known.removeprefix(":") if len(folders) > 1 else known

    @cached_property
    def doubts(self) -> tuple[tuple[str, str], ...]:
        """Those of the plan, and where relative folders of LD_LIBRARY_PATH begin."""
        return (*self.plan.doubts, *self._folder_doubts)

    @property
    def _folder_doubts(self) -> Iterator[tuple[str, str]]:
        """Podman and docker begin in the folder of the image, others in that of the job."""
        folders = re.split("[:;]", self.value("LD_LIBRARY_PATH"))
        option = self.plan.working_folder
        is_relative = any(not one.startswith("/") for one in folders) and folders != [""]
        if is_relative and option is not None and HOLE not in option:
            place = option
        elif any(map(_is_named_relative, folders)) and not self._has_known_folder:
            place = "the working directory"
        else:
            return
        yield (
            f"what the relative part of LD_LIBRARY_PATH, which begins at {place}, brings",
            "--env LD_LIBRARY_PATH=VALUE of absolute folders",
        )

    @property
    def _has_known_folder(self) -> bool:
        """Whether the program starts in the folder that an image's configuration names: an entry
        point may go to another one."""
        image, plan = self.image, self.plan
        is_told = bool(image.working_folder) or image.kind in CONFIGURED
        may_move = image.has_entry_point and plan.keeps_entry_point
        is_engine = plan.runtime.name in ENGINES
        return is_told and not may_move and plan.working_folder is None and is_engine

    @cached_property
    def has_unknown_folders(self) -> bool:
        """Whether LD_LIBRARY_PATH names folders that only the running job knows."""
        value = self.value("LD_LIBRARY_PATH")
        return HOLE in value or "${" in value or "LD_LIBRARY_PATH" in value

    @cached_property
    def loader(self) -> Loader:
        """The image's loader with the variables of the launch."""
        preload = self.value("LD_PRELOAD")
        return Loader(
            self.view,
            self.directories,
            self.library_path,
            "" if HOLE in preload else preload,
            self.image.working_folder or "/",
        )

    @property
    def locked_memory(self) -> LockedMemory:
        """The most that a process of the container may lock."""
        running = self.image.is_running
        return self.image.locked_memory if running else self.plan.isolation.locked_memory

    @cached_property
    def host_memory_bytes(self) -> int | None:
        """The memory of the host, None where its files do not tell."""
        found = _MEMORY.search(self.host.content("/proc/meminfo", MOST_CPUINFO_BYTES))
        return None if found is None else int(found[1]) << 10

    @cached_property
    def loader_damage(self) -> str:
        """The fault of the file of the image's loader, "" without one."""
        interpreter = self.directories.interpreter
        assert interpreter is not None
        try:
            return self.view.facts(interpreter).damage
        except ElfError as error:
            return str(error)

    @cached_property
    def has_usable_loader(self) -> bool:
        """Whether there is a loader of glibc, and it is whole."""
        return self.directories.interpreter is not None and not self.loader_damage

    @cached_property
    def program(self) -> LoadedFile:
        """A program without paths of its own, in whose name libraries are opened."""
        interpreter = self.directories.interpreter
        assert interpreter is not None
        facts = self.view.facts(interpreter)
        return LoadedFile(
            "program", "/program", interpreter, ElfFacts(facts.bits, facts.machine), "the program"
        )

    @cached_property
    def walked(self) -> tuple[Located, ...]:
        """Files of the container with the names of NCCL, its plug-ins, libfabric and MPI, mounts
        first: where they are, whether a path leads there or not."""
        names = ("libnccl", "libfabric.so", *MPI_FILES)
        tops = [self.view.settled(one.target) for one in self.mounts if one.is_known]
        found = [one for top in tops for one in self._below(top, names)]
        found += self.view.walk("/", names)
        return tuple({one.path: one for one in found if not self._is_own(one.path)}.values())

    def _is_own(self, path: str) -> bool:
        is_mpi = path.rpartition("/")[2].startswith(MPI_FILES)
        return not is_mpi and path.startswith(tuple(f"{one}/" for one in self.own_mounts))

    def _below(self, top: str, names: tuple[str, ...]) -> list[Located]:
        found = self.view.resolve(top)
        if found is None or found.node.kind is NodeKind.FOLDER:
            return list(self.view.walk(top, names))
        own = top.rpartition("/")[2].startswith(names)
        return [found] if own else []

    def library_at(self, found: Located) -> LoadedFile:
        """A library that stands at a path, as if a program had opened it there. Raises ElfError."""
        real = self.view.resolve(found.path)
        if real is None:
            raise ElfError("a link without a target")
        facts = self.view.facts(real)
        if facts.damage:
            raise ElfError(facts.damage)
        return LoadedFile(found.path, found.path, real, facts, "its path", self.program)

    def library_or_none(self, found: Located) -> LoadedFile | None:
        """As `library_at`, None for a file that is no library."""
        try:
            return self.library_at(found)
        except ElfError:
            return None

    def libraries(self, begin: str) -> tuple[LoadedFile, ...]:
        """The libraries of the container whose names begin so, wherever they are."""
        named = (one for one in self.walked if one.path.rpartition("/")[2].startswith(begin))
        found = map(self.library_or_none, named)
        return tuple(one for one in found if one is not None)

    def devices(self, begin: str) -> tuple[str, ...]:
        """Device files of the container below /dev whose paths begin so."""
        plan = self.plan
        host = self.host_devices(begin)
        folders = tuple(one for one in plan.devices if one.endswith("/"))
        found = [one for one in host if one in plan.devices or one.startswith(folders)]
        folder, _, name = begin.rpartition("/")
        inside = [f"{folder}/{one}" for one in self.view.names(folder) if one.startswith(name)]
        # What an image keeps below /dev is hidden by the /dev of the runtime.
        there = [(one, self.view.resolve(one)) for one in inside]
        found += [
            one
            for one, file in there
            if file is not None and (file.origin or self.image.is_running)
        ]
        if plan.runtime.has_devices:
            found += self.host_devices(begin)
        return tuple(sorted(set(found)))

    def host_devices(self, begin: str) -> tuple[str, ...]:
        """Device files of the host whose paths begin so."""
        folder, _, name = begin.rpartition("/")
        return tuple(f"{folder}/{one}" for one in self.host.names(folder) if one.startswith(name))


def _is_named_relative(folder: str) -> bool:
    return bool(folder) and not folder.startswith(("/", "$", HOLE))
