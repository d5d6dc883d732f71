"""The folders that an image's own ld.so searches, as its file and its version say."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress, product

from weft.doctor.container.image.tree import NodeKind
from weft.doctor.container.image.view import Located, View
from weft.doctor.container.loader.cache import MOST_BYTES, LoaderCache
from weft.doctor.container.loader.elf import ElfError
from weft.doctor.container.loader.ldconfig import cached_libraries

INTERPRETERS = {
    "x86_64": "/lib64/ld-linux-x86-64.so.2",
    "aarch64": "/lib/ld-linux-aarch64.so.1",
    "ppc64le": "/lib64/ld64.so.2",
    "s390x": "/lib/ld64.so.1",
    "riscv64": "/lib/ld-linux-riscv64-lp64d.so.1",
}
"""SOURCE: glibc 2.36, the shlib-versions files of each architecture."""
MUSL = "/lib/ld-musl-"
MOST_LOADER_BYTES = 16 << 20
CACHE, CONFIGURATION = "/etc/ld.so.cache", "/etc/ld.so.conf"
MOST_CONFIGURATION_BYTES = 1 << 20
_INCLUDES = re.compile(rb"^\s*include\s+(?:/etc/)?ld\.so\.conf\.d/\*\.conf\s*$", re.M)
_SYSTEM = re.compile(rb"(?:/[\w./+-]{1,200}/\x00){2,8}")
_GLIBC = re.compile(r"GLIBC_2\.(\d{1,3})(?:\.\d+)?")
_LOADER_NAME = re.compile(r".*/ld-2\.(\d{1,3})\.so")
_RELEASE = re.compile(rb" release version 2\.(\d{1,3})\b")
"""SOURCE: glibc NEWS and elf/rtld.c: ld.so has its release in its name until 2.33, and in its text
(`ld.so --version`) since."""
_X86_LEVELS = (
    ("x86-64-v4", {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}),
    ("x86-64-v3", {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"}),
    ("x86-64-v2", {"cx16", "lahf_lm", "popcnt", "pni", "sse4_1", "sse4_2", "ssse3"}),
)
"""SOURCE: x86-64 psABI 1.0, 3.1.1: micro-architecture levels, as names in /proc/cpuinfo."""
_NAMED_SINCE, _LEGACY_UNTIL = 33, 36
"""SOURCE: glibc NEWS: glibc-hwcaps came with 2.33; the older folders went with 2.37."""
_HASWELL = {"avx2", "fma", "bmi1", "bmi2", "abm", "movbe", "popcnt"}
_XEON_PHI = {"avx512f", "avx512cd", "avx512er", "avx512pf"}
_AVX512 = {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"}
"""SOURCE: glibc 2.31 and 2.36, init_cpu_features of sysdeps/x86/cpu-features.c, by the names in
/proc/cpuinfo; of Intel's processors only."""


@dataclass(frozen=True)
class Processor:
    """What a loader knows of the processor: the folders of glibc-hwcaps that it allows, best first;
    the meaning of $PLATFORM, "" for the architecture; and `avx512_1`, a folder of older loaders."""

    levels: tuple[str, ...] = ()
    platform: str = ""
    has_avx512: bool = False

    @classmethod
    def of_cpuinfo(cls, cpuinfo: str) -> "Processor":
        """By /proc/cpuinfo; other architectures than x86-64 have none of these."""
        found = re.search(r"^flags\s*:(.*)$", cpuinfo, re.M)
        flags = set(found[1].split()) if found is not None else set()
        levels: list[str] = []
        for name, wanted in reversed(_X86_LEVELS):
            if not wanted <= flags:
                break
            levels.insert(0, name)
        if re.search(r"^vendor_id\s*:\s*GenuineIntel$", cpuinfo, re.M) is None:
            return cls(tuple(levels))
        platform = "haswell" if flags >= _HASWELL else ""
        if flags >= _XEON_PHI:
            return cls(tuple(levels), "xeon_phi")
        return cls(tuple(levels), platform, flags >= _AVX512 and "avx512er" not in flags)


@dataclass(frozen=True)
class Directories:
    """The search of one architecture in one view."""

    view: View
    architecture: str
    processor: Processor = Processor()
    linker_folders: tuple[str, ...] = ()
    """Folders that a hook gives to ldconfig when the container starts."""

    @cached_property
    def interpreter(self) -> Located | None:
        """The image's ld.so for this architecture."""
        path = INTERPRETERS.get(self.architecture, "")
        return self.view.resolve(path) if path else None

    @cached_property
    def is_musl(self) -> bool:
        """Whether the image has the loader of musl and none of glibc."""
        names = self.view.names("/lib")
        has_musl = any(f"/lib/{name}".startswith(MUSL) for name in names)
        return has_musl and self.interpreter is None

    @cached_property
    def _loader(self) -> bytes:
        if self.interpreter is None:
            return b""
        return self.view.content(self.interpreter.path, MOST_LOADER_BYTES)

    @cached_property
    def system(self) -> tuple[str, ...]:
        """Those that are compiled into it."""
        for found in _SYSTEM.finditer(self._loader):
            names = found[0].decode("ascii").rstrip("\0").split("\0")
            if any(name in ("/lib/", "/lib64/", "/usr/lib64/", "/usr/lib/") for name in names):
                return tuple(name.rstrip("/") for name in names)
        return ("/lib64", "/usr/lib64", "/lib", "/usr/lib")

    @property
    def lib(self) -> str:
        """The meaning of $LIB."""
        return self.system[0].lstrip("/").removeprefix("usr/")

    @cached_property
    def glibc(self) -> int:
        """N of glibc 2.N, 0 where the image has none.

        Not every release has symbols of its own version: libc.so.6 of 2.31 has GLIBC_2.30 at most.
        """
        for folder in self.system:
            found = self.view.resolve(f"{folder}/libc.so.6")
            if found is None or found.node.kind is not NodeKind.FILE:
                continue
            try:
                versions = self.view.facts(found).versions or ()
            except ElfError:
                continue
            numbers = (_GLIBC.fullmatch(one) for one in versions)
            symbols = [int(one[1]) for one in numbers if one is not None]
            return max(*symbols, self._release) if symbols else 0
        return 0

    @cached_property
    def _release(self) -> int:
        """As the loader says, 0 where it does not."""
        path = "" if self.interpreter is None else self.interpreter.path
        found = _LOADER_NAME.fullmatch(path) or _RELEASE.search(self._loader)
        return 0 if found is None else int(found[1])

    @cached_property
    def below(self) -> tuple[str, ...]:
        """The folders below each searched one that come first, and "" for itself."""
        levels = self.processor.levels if self.glibc >= _NAMED_SINCE else ()
        is_legacy = self.architecture == "x86_64" and self.glibc <= _LEGACY_UNTIL
        return (
            *(f"glibc-hwcaps/{one}" for one in levels),
            *(self._legacy() if is_legacy else ("",)),
        )

    def _legacy(self) -> Sequence[str]:
        """The older folders: all that are left when some of these are left out, the last first."""
        avx512 = ("avx512_1",) if self.processor.has_avx512 else ()
        parts = ("tls", self.platform, *avx512, self.architecture)
        kept = product((True, False), repeat=len(parts))
        return list(dict.fromkeys("/".join(compress(parts, those)) for those in kept))

    @property
    def platform(self) -> str:
        """The meaning of $PLATFORM."""
        return self.processor.platform or self.architecture

    @cached_property
    def cache(self) -> LoaderCache:
        """The image's own ld.so.cache."""
        content = self.view.content(CACHE, MOST_BYTES)
        return LoaderCache(content, self.architecture)

    def cached(self, name: str) -> str | None:
        """The path that the cache has for a library, folders of hooks first."""
        paths = (one.get(name) for one in self._hooked.values())
        found = next((one for one in paths if one is not None), None)
        if found is not None:
            return found
        return self.cache.find(name, self.processor.levels)

    @cached_property
    def _hooked(self) -> Mapping[str, Mapping[str, str | None]]:
        """By folder, what ldconfig of a hook enters where every release of the hook does.

        SOURCE: NVIDIA/nvidia-container-toolkit, update-ldcache: the folders go into a file of
        /etc/ld.so.conf.d that comes first; older releases make no cache where there is none.
        """
        if self._lacking:
            return {}
        # The image's own cache has the libraries of its own loader's folders: to unpack them all
        # again would take minutes.
        own = {self.view.settled(one) for one in self.system}
        return {
            folder: cached_libraries(
                self.view,
                folder,
                self.architecture,
                only_mounted=self.view.settled(folder) in own,
            )
            for folder in self.linker_folders
        }

    @cached_property
    def _lacking(self) -> str:
        """What the image lacks for a hook that calls ldconfig, "" without a hook."""
        if not self.linker_folders:
            return ""
        if self.view.resolve(CACHE) is None:
            return f"no {CACHE} in the image"
        text = self.view.content(CONFIGURATION, MOST_CONFIGURATION_BYTES)
        return "" if _INCLUDES.search(text) else f"{CONFIGURATION} does not include ld.so.conf.d"

    @property
    def doubts(self) -> Iterator[str]:
        """Things that ldconfig of a hook may do, or not."""
        if self._lacking:
            yield f"ldconfig of the hook ({self._lacking})"
        for folder, libraries in self._hooked.items():
            if None in libraries.values():
                yield f"a link in {folder} that ldconfig of the hook writes"

    def expanded(self, text: str, origin: str) -> Sequence[str]:
        """The folders of a list like `$ORIGIN/../lib:/opt/$LIB`; "" for an empty element."""
        values = {"ORIGIN": origin, "LIB": self.lib, "PLATFORM": self.platform}
        pattern = r"\$(?:\{(ORIGIN|LIB|PLATFORM)\}|(ORIGIN|LIB|PLATFORM)(?![A-Za-z0-9_]))"
        return [re.sub(pattern, lambda one: values[one[1] or one[2]], x) for x in text.split(":")]
