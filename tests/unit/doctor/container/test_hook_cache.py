"""The cache that a hook of CDI makes: the names and files that a real ldconfig writes into one."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from random import Random

import pytest
from tests.needs import need
from tests.unit.doctor.container.container_cases import judged, need_gcc
from tests.unit.doctor.container.container_trees import (
    PLUGIN_SOURCE,
    SlingshotNode,
    compile_library,
)

from weft.core.finding import Severity
from weft.doctor.container.image.tree import FolderTree
from weft.doctor.container.image.view import View
from weft.doctor.container.loader.directories import Directories

FOLDER = "/opt/hook"
facts = View.facts
SYSTEM = "/usr/sbin:/sbin:/usr/bin:/bin"
NAMES = ("liba.so", "liba.so.1", "liba.so.1.2", "liba.so.1.10", "liba-x.so", "libb.so.1", "b.so",
         "ld-a.so", "libc.so.1a")  # fmt: skip
_ENTRY = re.compile(r"^\t(\S+) \(libc6,x86-64\) => (/\S+)$", re.M)


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One by each SONAME, "" for none."""
    need_gcc()
    folder = tmp_path_factory.mktemp("libraries")
    named = {one: compile_library(folder / one, "int a;", soname=one) for one in NAMES}
    argv = ["gcc", "-shared", "-nostdlib", "-x", "c", "/dev/null", "-o", str(folder / "bare.so")]
    subprocess.run(argv, check=True)
    return {**named, "": folder / "bare.so"}


def root_with(folder: Path) -> Path:
    """A root whose ldconfig looks into FOLDER."""
    root = folder / "root"
    (root / "etc/ld.so.conf.d").mkdir(parents=True)
    (root / "etc/ld.so.conf").write_text("include /etc/ld.so.conf.d/*.conf\n")
    (root / "etc/ld.so.conf.d/00-nvcr-1.conf").write_text(f"{FOLDER}\n")
    (root / "etc/ld.so.cache").write_bytes(b"")
    (root / FOLDER.lstrip("/")).mkdir(parents=True)
    return root


def real_cache(root: Path) -> dict[str, str]:
    """By name, the file that a library of FOLDER is found in, links followed. Everything that
    ldconfig reads and writes is below the root: its cache, its links, its own notes."""
    need("ldconfig", package="libc-bin", path=SYSTEM)
    tool = shutil.which("ldconfig", path=SYSTEM)
    argv = [str(tool), "-r", str(root), "-f", "/etc/ld.so.conf", "-C", "/etc/ld.so.cache"]
    subprocess.run(argv, check=True, capture_output=True)
    listed = subprocess.run([*argv, "-p"], check=True, capture_output=True, text=True).stdout
    found = {name: path for name, path in _ENTRY.findall(listed) if path.startswith(FOLDER)}
    return {
        name: os.path.realpath(f"{root}{path}").removeprefix(str(root))
        for name, path in found.items()
    }


def our_cache(root: Path, names: set[str]) -> dict[str, str]:
    """The same by weft, before ldconfig has run."""
    view = View(FolderTree(root))
    directories = Directories(view, "x86_64", linker_folders=(FOLDER,))
    found = {}
    for name in sorted(names):
        path = directories.cached(name)
        at = view.resolve(path) if path is not None else None
        if at is not None:
            found[name] = at.path
    return found


def plant(chance: Random, folder: Path, libraries: dict[str, Path]) -> None:
    """Files and links by names that ldconfig takes and others, each with a SONAME by chance."""
    for name in chance.sample(NAMES, chance.randint(1, 6)):
        kind = chance.random()
        if kind < 0.6:
            shutil.copy(libraries[chance.choice([*libraries, name])], folder / name)
        elif kind < 0.9:
            (folder / name).symlink_to(chance.choice([*NAMES, "nowhere", "/etc"]))
        else:
            (folder / name).write_bytes(chance.choice((b"", b"INPUT(-la)\n" * 99)))


@pytest.mark.parametrize("seed", range(60))
def test_names_and_files_are_those_of_ldconfig(
    tmp_path: Path, libraries: dict[str, Path], seed: int
) -> None:
    root = root_with(tmp_path)
    plant(Random(seed), root / FOLDER.lstrip("/"), libraries)
    names = {*libraries, *os.listdir(root / FOLDER.lstrip("/"))} - {""}
    own = our_cache(root, names)
    assert own == real_cache(root)


def test_a_plugin_is_in_the_cache_by_its_soname_only(
    tmp_path: Path, libraries: dict[str, Path]
) -> None:
    """A plug-in in a file libnccl-net-ofi.so that calls itself libnccl-net.so."""
    root = root_with(tmp_path)
    path = root / FOLDER.lstrip("/") / "libnccl-net-ofi.so"
    compile_library(path, "int a;", soname="libnccl-net.so")
    own = our_cache(root, {"libnccl-net.so", "libnccl-net-ofi.so"})
    assert own == {"libnccl-net.so": f"{FOLDER}/libnccl-net-ofi.so"} == real_cache(root)


@pytest.mark.parametrize("lost", ["etc/ld.so.cache", "etc/ld.so.conf"])
def test_a_root_whose_cache_the_hook_may_not_make_gives_no_path(
    tmp_path: Path, libraries: dict[str, Path], lost: str
) -> None:
    """Releases differ: some skip a root without a cache, none reads the folder without a line
    that includes the hook's own file."""
    root = root_with(tmp_path)
    shutil.copy(libraries["libb.so.1"], root / FOLDER.lstrip("/"))
    assert our_cache(root, {"libb.so.1"})
    (root / lost).unlink()
    assert not our_cache(root, {"libb.so.1"})


def test_a_link_that_ldconfig_would_write_into_a_mounted_folder_is_no_evidence(
    tmp_path: Path, libraries: dict[str, Path]
) -> None:
    root, other = root_with(tmp_path), tmp_path / "other"
    (other / "own").mkdir(parents=True)
    shutil.copy(libraries["liba.so.1"], other / "own/liba.so.1.2")
    shutil.copy(libraries["libb.so.1"], other / "own/libb.so.1")
    view = View(FolderTree(root))
    assert view.mount(FolderTree(other), "/own", FOLDER, "/own of the host")
    directories = Directories(view, "x86_64", linker_folders=(FOLDER,))
    assert directories.cached("libb.so.1") == f"{FOLDER}/libb.so.1"
    assert directories.cached("liba.so.1") is None
    assert any("a link in /opt/hook" in one for one in directories.doubts)


def test_of_a_folder_of_the_loader_itself_only_mounted_files_are_read(
    tmp_path: Path, libraries: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The image's own cache has the others, and an image may have gigabytes of them there."""
    root, other = root_with(tmp_path), tmp_path / "other"
    (root / "usr/lib").mkdir(parents=True)
    other.mkdir()
    shutil.copy(libraries["liba.so.1"], root / "usr/lib/liba.so.1.2")
    shutil.copy(libraries["libb.so.1"], other / "libb.so.1.2")
    view = View(FolderTree(root))
    assert view.mount(FolderTree(other), "/libb.so.1.2", "/usr/lib/libb.so.1.2", "the host")
    read = []
    monkeypatch.setattr(View, "facts", lambda own, one: read.append(one.path) or facts(own, one))
    directories = Directories(view, "x86_64", linker_folders=("/usr/lib",))
    assert directories.cached("libb.so.1") == "/usr/lib/libb.so.1.2"
    assert directories.cached("liba.so.1") is None
    assert read == ["/usr/lib/libb.so.1.2"]


@pytest.mark.parametrize(
    ("has_cache", "verdict"), [(True, Severity.GOOD), (False, Severity.UNKNOWN)]
)
def test_a_hook_that_may_do_nothing_leaves_an_absence_open(
    node: SlingshotNode, tmp_path: Path, has_cache: bool, verdict: Severity
) -> None:
    """The image of a hook that updates a cache which the image does not have."""
    if has_cache:
        SlingshotNode.add_file(node.image / "etc/ld.so.cache")
        SlingshotNode.add_file(node.image / "etc/ld.so.conf", "include /etc/ld.so.conf.d/*.conf\n")
    plugin, folders = node.host / "opt/ofi/libnccl-net-ofi.so", ("/opt/ofi", "/opt/libfabric")
    fabric = node.host / "opt/libfabric/libfabric.so.1"
    compile_library(plugin, PLUGIN_SOURCE % 6, needs=[fabric])
    args = ["nvidia-cdi-hook", "update-ldcache", *(f"--folder={one}" for one in folders)]
    edits = {
        "env": ["NCCL_NET_PLUGIN=ofi"],
        "deviceNodes": [{"path": "/dev/cxi0"}],
        "mounts": [{"hostPath": one, "containerPath": one} for one in folders],
        "hooks": [{"hookName": "createContainer", "path": f"/usr/bin/{args[0]}", "args": args}],
    }
    path = tmp_path / "cdi.json"
    device = {"name": "all", "containerEdits": edits}
    path.write_text(json.dumps({"cdiVersion": "0.6.0", "kind": "a/b", "devices": [device]}))
    _, chain = judged(node.image, node.host, cdi=path)
    assert chain.verdict() is verdict
    doubt = "unless ldconfig of the hook (no /etc/ld.so.cache in the image) mends it"
    assert any(doubt in one.unknown for one in chain.gaps) is not has_cache
