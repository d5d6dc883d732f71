"""Roots of images and hosts from small libraries that gcc compiles: NCCL, plug-in, libfabric."""

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

LIBRARY_FOLDER = "usr/lib/x86_64-linux-gnu"
NCCL_SOURCE = """
const char *text[] = {"NCCL_DEBUG", "NCCL_NET_PLUGIN", "NCCL version %s+cuda12.0",
                      "\\0ncclNetPlugin_v6", "\\0ncclNetPlugin_v5"};
"""
PLUGIN_SOURCE = (
    "int ncclNetPlugin_v%d; int fi_getinfo(void); int use(void) { return fi_getinfo(); }"
)
HPCX_SOURCE = "int ncclNetPlugin_v6; int ibv_get(void); int use(void) { return ibv_get(); }"
LIBFABRIC_SOURCE = """
int cxil_open(void); int fi_getinfo(void) { return cxil_open(); }
const char *help = "Search for providers in specific path. (default: /usr/lib64/libfabric)";
const char *own = "cxip_getinfo";
const char *said[] = {"registering provider: %s (%d.%d)", "dlopen(%s): %s"};
"""
PROVIDER_SOURCE = "int cxil_open(void); int fi_prov_ini(void) { return cxil_open(); }"
PLAIN_LIBFABRIC_SOURCE = "int fi_getinfo(void) { return 0; }"


def compile_library(
    path: Path,
    source: str,
    *,
    needs: Sequence[Path] = (),
    soname: str = "",
    versions: str = "",
    options: Sequence[str] = (),
) -> Path:
    """A shared library at a path; `versions` is a linker's version script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    script = []
    if versions:
        file = path.with_suffix(".map")
        file.write_text(versions)
        script = [f"-Wl,--version-script={file}"]
    argv = ["gcc", "-shared", "-fPIC", "-nostdlib", "-x", "c", "-", "-o", str(path)]
    argv += [f"-Wl,-soname,{soname or path.name}", "-Wl,--allow-shlib-undefined", *script, *options]
    argv += ["-x", "none", "-Wl,--no-as-needed", *map(str, needs)]
    subprocess.run(argv, input=source, text=True, check=True, capture_output=True)
    return path


@dataclass
class SlingshotNode:
    """An image as NGC's, and a host with libfabric, cxi and the plug-in, in folders of their own.

    `opt/ofi` of the host has the plug-in, `opt/libfabric` libfabric and libcxi."""

    folder: Path
    image: Path = field(init=False)
    host: Path = field(init=False)

    def __post_init__(self) -> None:
        self.image, self.host = self.folder / "image", self.folder / "host"

    def build(self, *, version: str = "2.18.3", interface: int = 6) -> "SlingshotNode":
        """Compile all of it."""
        self.add_libc(self.image)
        own = self.image / LIBRARY_FOLDER
        compile_library(own / "libnccl.so.2", NCCL_SOURCE.replace("%s", version))
        verbs = compile_library(own / "libibverbs.so.1", "int ibv_get(void) { return 0; }")
        compile_library(own / "libnccl-net.so", HPCX_SOURCE, needs=[verbs])
        self.add_libc(self.host)
        fast = self.host / "opt/libfabric"
        cxi = compile_library(fast / "libcxi.so.1", "int cxil_open(void) { return 0; }")
        fabric = compile_library(fast / "libfabric.so.1", LIBFABRIC_SOURCE, needs=[cxi])
        plugin = self.host / "opt/ofi/libnccl-net-ofi.so"
        compile_library(plugin, PLUGIN_SOURCE % interface, needs=[fabric], soname="libnccl-net.so")
        for number in range(4):
            self.add_file(self.host / f"dev/cxi{number}")
        return self

    @staticmethod
    def add_libc(root: Path) -> None:
        """The loader and the C library of this machine."""
        folder = root / LIBRARY_FOLDER
        folder.mkdir(parents=True)
        for name in ("libc.so.6", "ld-linux-x86-64.so.2", "libm.so.6"):
            shutil.copy(Path("/") / LIBRARY_FOLDER / name, folder / name)
        (root / "lib").symlink_to("usr/lib")
        (root / "lib64").mkdir()
        loader = root / "lib64/ld-linux-x86-64.so.2"
        loader.symlink_to("/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2")
        (root / "etc").mkdir()

    @staticmethod
    def add_file(path: Path, text: str = "") -> Path:
        """A file with the folders above it."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path


def build_measuring_image(root: Path) -> Path:
    """The loader and the parts of this machine's glibc, which weft's measuring program needs."""
    SlingshotNode.add_libc(root)
    for name in ("libdl.so.2", "libpthread.so.0", "librt.so.1"):
        shutil.copy(f"/{LIBRARY_FOLDER}/{name}", root / LIBRARY_FOLDER / name)
    return root
