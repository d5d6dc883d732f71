"""NCCL's own words about its net plug-in: each predicted line is the line that it prints."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.unit.doctor.container.container_cases import need_gcc
from tests.unit.doctor.container.container_trees import compile_library
from tests.unit.doctor.container.loader_plants import HEADER_32, HEADER_ARM

from weft.bench.logs.log_facts import read_logs
from weft.bench.logs.ranks import job_log
from weft.core.finding import FindingKind
from weft.doctor.container.case import ContainerCase
from weft.doctor.container.chain.log_lines import predicted_lines
from weft.doctor.container.chain.plugin import PluginSearch, find_nccl
from weft.doctor.container.image.image import ContainerImage
from weft.doctor.container.image.tree import FolderTree
from weft.doctor.container.launch.environment import EnvironmentLayers, read_pairs
from weft.doctor.container.launch.plan import ContainerPlan
from weft.doctor.log.plugin_lines import read_plugin_lines
from weft.doctor.log.prediction import PredictedLog, judge_prediction

VERSIONS = ("2.18.3", "2.26.5", "2.32.3")
PROBE = Path(__file__).with_name("nccl_plugin_probe.py")
PREFIX = re.compile(r"^.*?NCCL INFO ((?:NET/)?Plugin.*)$", re.M)
NET = 'struct { const char *name; void *rest[40]; } ncclNetPlugin_v%d = {"Stub"};'
AFTER_OPENING = (
    "Successfully loaded",
    "External network",
    "NET/Plugin: Failed",
    "NET/Plugin: Loaded",
)
"""Lines that newer libraries print behind the function that the probe calls."""
FILE = "libnccl-net-ofi.so"


def right(folder: Path) -> str:
    compile_library(folder / FILE, NET % 6)
    return "ofi"


def default_name(folder: Path) -> str:
    compile_library(folder / "libnccl-net.so", NET % 6)
    return ""


def absent(_: Path) -> str:
    return "ofi"


def absent_default(_: Path) -> str:
    return ""


def dependency(folder: Path) -> str:
    gone = compile_library(folder / "libgone.so.3", "int gone;")
    compile_library(folder / FILE, NET % 6, needs=[gone])
    gone.unlink()
    return "ofi"


def newer_glibc(folder: Path) -> str:
    libc = folder / "new/libc.so.6"
    compile_library(libc, "int newer(void) { return 1; }", versions="GLIBC_2.99 { newer; };")
    source = "int newer(void); int use(void) { return newer(); }" + NET % 6
    compile_library(folder / FILE, source, needs=[libc])
    libc.unlink()
    return "ofi"


def no_interface(folder: Path) -> str:
    compile_library(folder / FILE, "int other;")
    return "ofi"


def older_interface(folder: Path) -> str:
    compile_library(folder / FILE, NET % 5)
    return "ofi"


def class_32(folder: Path) -> str:
    (folder / FILE).write_bytes(HEADER_32 + bytes(1000))
    return "ofi"


def other_machine(folder: Path) -> str:
    (folder / FILE).write_bytes(HEADER_ARM + bytes(1000))
    return "ofi"


def no_elf(folder: Path) -> str:
    (folder / FILE).write_bytes(b"version https://git-lfs\n" * 50)
    return "ofi"


def empty(folder: Path) -> str:
    (folder / FILE).write_bytes(b"")
    return "ofi"


def two_candidates(folder: Path) -> str:
    compile_library(folder / "libnccl-net.so", "int hpcx;")
    compile_library(folder / FILE, NET % 6)
    return "ofi"


def by_path(folder: Path) -> str:
    compile_library(folder / "libown.so", NET % 6)
    return f"{folder}/libown.so"


def by_absent_path(folder: Path) -> str:
    return f"{folder}/libnone.so"


def by_file_name(folder: Path) -> str:
    compile_library(folder / FILE, NET % 6)
    return FILE


CASES: tuple[Callable[[Path], str], ...] = (
    right, default_name, absent, absent_default, dependency, newer_glibc, no_interface,
    older_interface, class_32, other_machine, no_elf, empty, two_candidates, by_path,
    by_absent_path, by_file_name,
)  # fmt: skip


def library(version: str) -> Path:
    path = Path(sys.prefix) / f"opt/nccl-{version}/nvidia/nccl/lib/libnccl.so.2"
    if not path.exists():
        pytest.skip(f"no NCCL {version} (make nccl)")
    return path


def output(path: Path, folder: Path, plugin: str) -> str:
    env = {**os.environ, "NCCL_DEBUG": "INFO", "LD_LIBRARY_PATH": str(folder)}
    env |= {"NCCL_NET_PLUGIN": plugin} if plugin else {}
    argv = [sys.executable, str(PROBE), str(path)]
    end = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=60, check=True)
    return end.stdout


def printed(path: Path, folder: Path, plugin: str) -> list[str]:
    found = PREFIX.findall(output(path, folder, plugin))
    return [re.sub("plugin Stub ", "plugin ... ", one) for one in found]


def predicted(path: Path, folder: Path, plugin: str) -> list[str]:
    pairs = [f"LD_LIBRARY_PATH={folder}:{path.parent}"]
    pairs += [f"NCCL_NET_PLUGIN={plugin}"] if plugin else []
    tree = FolderTree(Path("/"))
    plan = ContainerPlan(layers=EnvironmentLayers(given=read_pairs(pairs, "test")))
    case = ContainerCase(ContainerImage("/", "root file system", tree), plan, tree)
    search = PluginSearch(case, find_nccl(case)).run()
    assert search.nccl is not None
    assert search.nccl.file.opened == str(path)
    return list(predicted_lines(search))


@pytest.mark.slow
@pytest.mark.parametrize("plant", CASES, ids=lambda one: one.__name__)
@pytest.mark.parametrize("version", VERSIONS)
def test_the_predicted_lines_are_the_printed_ones(
    version: str, plant: Callable[[Path], str], tmp_path: Path
) -> None:
    need_gcc()
    path = library(version)
    plugin = plant(tmp_path)
    own = predicted(path, tmp_path, plugin)
    if version != "2.18.3":
        own = [one for one in own if not one.startswith(AFTER_OPENING)]
    assert own == printed(path, tmp_path, plugin)


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_a_log_parts_from_every_prediction_but_its_own(version: str, tmp_path: Path) -> None:
    """Each plant's real log beside each plant's prediction, by `weft doctor log --predicted`."""
    need_gcc()
    path = library(version)
    lines, names = [], []
    for plant in CASES:
        folder = tmp_path / plant.__name__
        folder.mkdir()
        plugin = plant(folder)
        own = predicted(path, folder, plugin)
        if version != "2.18.3":
            own = [one for one in own if not one.startswith(AFTER_OPENING)]
        log = tmp_path / f"{plant.__name__}.log"
        log.write_text(output(path, folder, plugin))
        lines.append(own)
        names.append(str(log))
    n_parted = 0
    for name, own in zip(names, lines, strict=True):
        if not own:
            continue
        log = job_log(read_logs([name]))
        seen = read_plugin_lines([name])
        for other in filter(None, lines):
            found = judge_prediction(log, seen, PredictedLog(tuple(other), version))
            parts = [one for one in found if one.kind is FindingKind.CONTRADICTION]
            assert bool(parts) == (other != own), (name, other)
            n_parted += bool(parts)
    assert n_parted > len(CASES)
