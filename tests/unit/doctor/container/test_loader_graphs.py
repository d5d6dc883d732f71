"""Graphs of libraries with paths of their own, in roots with a cache: as ld.so in a chroot."""

import os
import shutil
import subprocess
from pathlib import Path
from random import Random

import pytest
from tests.unit.doctor.container.container_cases import need_gcc
from tests.unit.doctor.container.container_trees import SlingshotNode, compile_library
from tests.unit.doctor.container.real_loader import found_loads, real_loads
from tests.unit.doctor.container.test_loader import processor

from weft.doctor.container.image.tree import FolderTree
from weft.doctor.container.image.view import View
from weft.doctor.container.loader.closure import Loader
from weft.doctor.container.loader.directories import Directories

FOLDERS = ("a", "b", "opt/x/lib", "usr/local/lib", "usr/lib/x86_64-linux-gnu", "lib64", "c")
PATHS = (
    "/a", "/b:/c", "$ORIGIN", "$ORIGIN/../b", "${ORIGIN}/../../../c", "/opt/x/lib:/a",
    "/opt/x/$LIB", "/link", "/nowhere:/opt/x/../x/lib/", "relative", "/usr/$LIB/$PLATFORM",
)  # fmt: skip
N_LIBRARIES = 7


class LibraryGraph:
    """A root with libraries lib0 to lib6, each needing some of those behind it."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root, self.chance = root, Random(seed)
        SlingshotNode.add_libc(root)
        (root / "link").symlink_to("opt/x/lib")
        for folder in FOLDERS:
            (root / folder).mkdir(parents=True, exist_ok=True)
        for number in reversed(range(N_LIBRARIES)):
            self._compile(number)
        conf = self.chance.sample([f"/{one}" for one in FOLDERS], 2)
        (root / "etc/ld.so.conf").write_text("include /etc/ld.so.conf.d/*.conf\n")
        (root / "etc/ld.so.conf.d").mkdir()
        (root / "etc/ld.so.conf.d/own.conf").write_text("\n".join(conf) + "\n")
        if self.chance.random() < 0.8:
            argv = ["/sbin/ldconfig", "-r", str(root)]
            subprocess.run(argv, check=True, capture_output=True)
        if self.chance.random() < 0.3:
            # A file that went after the cache was made.
            victim = self.chance.choice(sorted(root.glob("**/lib[1-6].so")))
            victim.unlink()

    def _compile(self, number: int) -> None:
        chance, name = self.chance, f"lib{number}.so"
        later = [f"lib{one}.so" for one in range(number + 1, N_LIBRARIES)]
        stock = self.root.parent / f"stock-{self.root.name}"
        needs = [stock / one for one in later if chance.random() < 0.5]
        options = []
        if chance.random() < 0.6:
            options += [f"-Wl,-rpath,{chance.choice(PATHS)}"]
            options += [chance.choice(("-Wl,--enable-new-dtags", "-Wl,--disable-new-dtags"))]
        if chance.random() < 0.1:
            options += ["-Wl,-z,nodefaultlib"]
        versions = "V_1 { global: *; };" if chance.random() < 0.3 else ""
        source = f"int own_{number}_{chance.randrange(9)};"
        compile_library(stock / name, source, needs=needs, versions=versions, options=options)
        for folder in chance.sample(FOLDERS, chance.choice((0, 1, 1, 2))):
            shutil.copy(stock / name, self.root / folder / name)
        if number == 0:
            shutil.copy(stock / name, self.root / "opt/x/lib" / name)


@pytest.fixture(scope="module", autouse=True)
def _tools() -> None:
    need_gcc()
    if os.geteuid() != 0:
        pytest.skip("chroot needs root")


@pytest.mark.parametrize("seed", range(12))
def test_a_graph_loads_as_in_a_chroot(tmp_path: Path, seed: int) -> None:
    root = tmp_path / "root"
    graph = LibraryGraph(root, seed)
    main = "/opt/x/lib/lib0.so"
    if not (root / main[1:]).exists():
        pytest.skip("the drawn victim was the first library")
    directories = Directories(View(FolderTree(root)), "x86_64", processor())
    for path in ("", "/c", "/b::/a", "/link:/usr/local/lib"):
        env = {"LD_LIBRARY_PATH": path} if path else {}
        loader = Loader(directories.view, directories, path)
        own, real = found_loads(loader.run(main)), real_loads(main, env, root)
        assert own == real, f"LD_LIBRARY_PATH={path}, {graph.root}"
