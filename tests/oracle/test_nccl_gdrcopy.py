"""GDRCopy in NCCL's own words: which file its libraries open, and what they say without it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.oracle.test_nccl_plugins import VERSIONS, library
from tests.unit.doctor.container.container_cases import need_gcc
from tests.unit.doctor.container.container_trees import compile_library
from tests.unit.doctor.container.test_registration import NEW, OLD

from weft.doctor.container.case import ContainerCase
from weft.doctor.container.chain.gdrcopy import follow_gdrcopy
from weft.doctor.container.chain.plugin import find_nccl
from weft.doctor.container.chain.report import Chain
from weft.doctor.container.image.image import ContainerImage
from weft.doctor.container.image.tree import FolderTree
from weft.doctor.container.launch.environment import EnvironmentLayers, read_pairs
from weft.doctor.container.launch.plan import ContainerPlan
from weft.doctor.libnccl import read_libnccl

CALL = "import ctypes, sys; ctypes.CDLL(sys.argv[1]).ncclGetUniqueId(bytes(128))"
FUNCTIONS = (
    *("close", "pin_buffer", "unpin_buffer", "get_info", "map", "unmap"),
    *("copy_to_mapping", "copy_from_mapping"),
)
SOURCE = """
int open(const char *, int, ...); static int handle;
void *gdr_open(void) { return %s ? &handle : (void *)0; }
void gdr_runtime_get_version(int *a, int *b) { *a = 2; *b = %d; }
int gdr_driver_get_version(void *g, int *a, int *b) { *a = 2; *b = %d; return 0; }
"""
OPENED, BY_DEVICE = "1", 'open("/dev/gdrdrv", 2) >= 0'
MISSING, OLD_RULE = "gdrcopy-library-missing", "gdrcopy-too-old"


def add_library(folder: Path, name: str, minor: int, opened: str) -> None:
    """A GDRCopy of version 2.minor by a name; its functions that no GPU is needed for."""
    source = SOURCE % (opened, minor, minor)
    source += "".join(f"int gdr_{one}(void) {{ return 1; }}\n" for one in FUNCTIONS)
    real = folder / f"libgdrapi.so.2.{minor}"
    compile_library(real, source, soname="libgdrapi.so.2")
    (folder / name).symlink_to(real.name)


def printed(path: Path, folder: Path) -> str:
    env = {**os.environ, "NCCL_DEBUG": "INFO", "NCCL_GDRCOPY_ENABLE": "1"}
    env["LD_LIBRARY_PATH"] = str(folder)
    argv = [sys.executable, "-c", CALL, str(path)]
    end = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=60, check=True)
    return end.stdout


def warned(path: Path, folder: Path) -> set[str]:
    pairs = [f"LD_LIBRARY_PATH={folder}:{path.parent}", "NCCL_GDRCOPY_ENABLE=1"]
    tree = FolderTree(Path("/"))
    plan = ContainerPlan(layers=EnvironmentLayers(given=read_pairs(pairs, "test")))
    image = ContainerImage("/", "root file system", tree)
    case = ContainerCase(image, plan, tree, host_is_given=True)
    chain = Chain("infiniband")
    follow_gdrcopy(case, chain, find_nccl(case))
    return {one.rule.id for one in chain.warnings}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "minor", "expected"),
    [
        ("libgdrapi.so", 4, set()),
        ("libgdrapi.so", 1, set()),
        ("libgdrapi.so", 0, {OLD_RULE}),
        ("libgdrapi.so.2", 4, {MISSING}),
        ("other.so", 4, {MISSING}),
    ],
)
@pytest.mark.parametrize("version", VERSIONS)
def test_the_file_that_nccl_opens(
    version: str, name: str, minor: int, expected: set[str], tmp_path: Path
) -> None:
    need_gcc()
    path = library(version)
    add_library(tmp_path, name, minor, OPENED)
    said = printed(path, tmp_path)
    has_own = "falling back to NCCL internal DMA-BUF mmap backend" in said
    assert has_own == (version == "2.32.3" and expected == {MISSING})
    assert ("GDRCOPY enabled library" in said) == (expected == set())
    if not has_own:
        assert ("NCCL WARN Failed to open libgdrapi.so" in said) == (expected == {MISSING})
    own = warned(path, tmp_path) - {"gdrcopy-device-missing"}
    assert own == (set() if has_own else expected)


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS[:2])
def test_a_device_that_is_missing_leaves_no_line(version: str, tmp_path: Path) -> None:
    need_gcc()
    if Path("/dev/gdrdrv").exists():
        pytest.skip("this machine has GDRCopy's device")
    path = library(version)
    add_library(tmp_path, "libgdrapi.so", 4, BY_DEVICE)
    lines = [line for line in printed(path, tmp_path).splitlines() if "gdr" in line.lower()]
    assert len(lines) == 1
    assert "NCCL_GDRCOPY_ENABLE set by environment to 1." in lines[0]
    assert warned(path, tmp_path) == {"gdrcopy-device-missing"}


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_where_nccl_looks_for_peer_memory(version: str) -> None:
    signs = read_libnccl(library(version)).peer_signs
    wanted = OLD if version == "2.18.3" else (*NEW, "kernel/mm/memory_peers/nv_mem_nc")
    assert signs == {f"/sys/{one}/version" for one in wanted}
