"""NCCL's own words about its net plug-in: each predicted line is the line that it prints.

The library chooses a network for an empty communicator, without a GPU. It prints all of these lines
itself but for "Using network": of that one the format is the library's, and the name is what the
library wrote into the communicator.
"""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from tests.unit.doctor.container.container_cases import need_gcc
from tests.unit.doctor.container.container_trees import compile_library
from tests.unit.doctor.container.loader_plants import HEADER_32, HEADER_ARM

from weft.bench.logs.log_facts import read_logs
from weft.bench.logs.ranks import job_log
from weft.doctor.container.case import ContainerCase
from weft.doctor.container.chain.log_lines import predicted_lines
from weft.doctor.container.chain.plugin import PluginSearch, find_nccl
from weft.doctor.container.image.image import ContainerImage
from weft.doctor.container.image.tree import FolderTree
from weft.doctor.container.launch.environment import EnvironmentLayers, read_pairs
from weft.doctor.container.launch.plan import ContainerPlan
from weft.doctor.log.plugin_lines import read_plugin_lines
from weft.doctor.log.prediction import PartingFacts, judge_prediction, predicted_log

VERSIONS = ("2.18.3", "2.26.5", "2.32.3")
PROBE = Path(__file__).with_name("nccl_plugin_probe.py")
LINE = re.compile(
    r"^(?:\[[^]]+\] )?\S+:\d+:\d+ \[-?\d+\] (?:\S+:\d+ (?:\(\w+\) )?)?(NCCL [A-Z]{4} .*)$", re.M
)
OTHER = re.compile(
    r"NCCL INFO (?:(?:NCCL_NET|NCCL_SOCKET_IFNAME|NCCL_IB_DISABLE) set by environment to "
    r"|Bootstrap ?: |ENV/Plugin: |nvlsCTAs |NET/IB : |NET/Socket : "
    r"|[\w/]+\.cc:\d+ (?:\(\w+\) )?-> \d|(?:Initialized|Assigned) NET plugin "
    r"|Disabling external plugins: )"
    r"|NCCL ATTN Failed to initialize NET plugin IB$"
)
"""Lines that are not predicted: other variables and plug-ins, adapters and addresses of this
machine, and what a plug-in starts with; the network then says which one started."""
SOURCE = """
#include <string.h>
static int start(void) { return %d; }
static int devices(int *n) { *n = 1; return 0; }
#define PROPERTIES(version, n_bytes) \\
    static int properties_##version(int device, void *all) { memset(all, 0, n_bytes); return 0; }
PROPERTIES(6, 48) PROPERTIES(7, 56) PROPERTIES(8, 60) PROPERTIES(9, 84)
typedef struct { const char *name; void *calls[40]; } Interface;
#define CALLS(properties) {(void *)start, (void *)devices, (void *)properties}
"""
"""The sizes are those of NCCL's structures up to what it looks at."""
CHOSEN = "CHOSEN"
"""Of the probe: the networks that the library took stand behind it."""
FILE = "libnccl-net-ofi.so"
NEWEST = 13
Plant = Callable[[Path], Mapping[str, str]]


def source(*versions: int, collnet: Sequence[int] = (), result: int = 0) -> str:
    """A plug-in with these versions of NCCL's interfaces; `result` is that of its start."""
    kinds = [("Net", one) for one in versions] + [("CollNet", one) for one in collnet]
    return SOURCE % result + "".join(
        f"Interface nccl{kind}Plugin_v{one} = "
        f'{{"Stub", CALLS(properties_{min(max(one, 6), 9)})}};\n'
        for kind, one in kinds
    )


def asks(value: str = "ofi", **others: str) -> Mapping[str, str]:
    return {"NCCL_NET_PLUGIN": value, **others}


def right(folder: Path) -> Mapping[str, str]:
    compile_library(folder / FILE, source(6))
    return asks()


def default_name(folder: Path) -> Mapping[str, str]:
    compile_library(folder / "libnccl-net.so", source(6))
    return {}


def default_unfit(folder: Path) -> Mapping[str, str]:
    compile_library(folder / "libnccl-net.so", source(3))
    return {}


def empty_value(folder: Path) -> Mapping[str, str]:
    compile_library(folder / "libnccl-net.so", source(6))
    return asks("")


def none(_: Path) -> Mapping[str, str]:
    return asks("none")


def absent(_: Path) -> Mapping[str, str]:
    return asks()


def absent_default(_: Path) -> Mapping[str, str]:
    return {}


def dependency(folder: Path) -> Mapping[str, str]:
    gone = compile_library(folder / "libgone.so.3", "int gone;")
    compile_library(folder / FILE, source(6), needs=[gone])
    gone.unlink()
    return asks()


def newer_glibc(folder: Path) -> Mapping[str, str]:
    libc = folder / "new/libc.so.6"
    compile_library(libc, "int newer(void) { return 1; }", versions="GLIBC_2.99 { newer; };")
    use = "int newer(void); int use(void) { return newer(); }"
    compile_library(folder / FILE, use + source(6), needs=[libc])
    libc.unlink()
    return asks()


def no_interface(folder: Path) -> Mapping[str, str]:
    compile_library(folder / FILE, "int other;")
    return asks()


def several_interfaces(folder: Path) -> Mapping[str, str]:
    compile_library(folder / FILE, source(5, 8, 10, 13, collnet=(5, 7, 9)))
    return asks()


def only_collnet(folder: Path) -> Mapping[str, str]:
    compile_library(folder / FILE, source(collnet=(6,)))
    return asks()


def class_32(folder: Path) -> Mapping[str, str]:
    (folder / FILE).write_bytes(HEADER_32 + bytes(1000))
    return asks()


def other_machine(folder: Path) -> Mapping[str, str]:
    (folder / FILE).write_bytes(HEADER_ARM + bytes(1000))
    return asks()


def no_elf(folder: Path) -> Mapping[str, str]:
    (folder / FILE).write_bytes(b"version https://git-lfs\n" * 50)
    return asks()


def empty(folder: Path) -> Mapping[str, str]:
    (folder / FILE).write_bytes(b"")
    return asks()


def two_candidates(folder: Path) -> Mapping[str, str]:
    compile_library(folder / "libnccl-net.so", "int hpcx;")
    compile_library(folder / FILE, source(6))
    return asks()


def by_path(folder: Path) -> Mapping[str, str]:
    compile_library(folder / "libown.so", source(6))
    return asks(f"{folder}/libown.so")


def by_absent_path(folder: Path) -> Mapping[str, str]:
    return asks(f"{folder}/libnone.so")


def by_file_name(folder: Path) -> Mapping[str, str]:
    compile_library(folder / FILE, source(6))
    return asks(FILE)


def listed(folder: Path) -> Mapping[str, str]:
    """A list: two that are not there, a broken one, two that are refused, and two that fit."""
    (folder / "libnccl-net-cut.so").write_bytes(b"")
    compile_library(folder / "libnccl-net-old.so", source(5))
    compile_library(folder / "libnccl-net-coll.so", source(collnet=(8,)))
    compile_library(folder / FILE, source(6, 9))
    compile_library(folder / "libnccl-net-late.so", source(12))
    return asks(f"gone,,{folder}/libgone.so,cut,old,coll,ofi,late")


def listed_lost(folder: Path) -> Mapping[str, str]:
    compile_library(folder / "libnccl-net-old.so", source(5))
    return asks("gone,old")


def demanded(folder: Path) -> Mapping[str, str]:
    compile_library(folder / FILE, source(6))
    return asks(NCCL_NET="Stub")


def sockets_demanded(folder: Path) -> Mapping[str, str]:
    compile_library(folder / FILE, source(6))
    return asks(NCCL_NET="SOCKET")


def demanded_absent(_: Path) -> Mapping[str, str]:
    return asks(NCCL_NET="AWS Libfabric")


def no_name_demanded(_: Path) -> Mapping[str, str]:
    return asks(NCCL_NET="")


def switched_off(_: Path) -> Mapping[str, str]:
    return asks(NCCL_IB_DISABLE="1")


def of_interface(version: int) -> Plant:
    def plant(folder: Path) -> Mapping[str, str]:
        compile_library(folder / FILE, source(version))
        return asks()

    plant.__name__ = f"interface_v{version}"
    return plant


STARTING: tuple[Plant, ...] = (
    right, default_name, default_unfit, empty_value, none, absent, absent_default, dependency,
    newer_glibc, no_interface, several_interfaces, only_collnet, class_32, other_machine, no_elf,
    empty, two_candidates, by_path, by_absent_path, by_file_name, listed, listed_lost, demanded,
    sockets_demanded, switched_off,
)  # fmt: skip
CASES: tuple[Plant, ...] = (
    *STARTING, demanded_absent, no_name_demanded, *map(of_interface, range(3, NEWEST + 1)),
)  # fmt: skip
"""Behind the jobs that start: those that NCCL_NET ends, and each version of the interface."""


def library(version: str) -> Path:
    path = Path(sys.prefix) / f"opt/nccl-{version}/nvidia/nccl/lib/libnccl.so.2"
    if not path.exists():
        pytest.skip(f"no NCCL {version} (make nccl)")
    if Path("/sys/class/infiniband").exists() and os.listdir("/sys/class/infiniband"):
        pytest.skip("this machine has adapters: NCCL's own code may take one")
    return path


@cache
def texts(path: Path) -> bytes:
    with path.open("rb") as file:
        return bytes(ELFFile(file).get_section_by_name(".rodata").data())


def output(path: Path, folder: Path, env: Mapping[str, str]) -> str:
    """The log, and behind it the line of the network that the library took."""
    base = {"PATH": os.environ["PATH"], "NCCL_DEBUG": "INFO", "NCCL_SOCKET_IFNAME": "lo"}
    argv = [sys.executable, str(PROBE), str(path)]
    own = {**base, "LD_LIBRARY_PATH": str(folder), **env}
    end = subprocess.run(argv, env=own, capture_output=True, text=True, timeout=60, check=True)
    # Without a GPU, 2.18.3 logs as its number what happens to be there.
    log, _, names = re.sub(r" \[-?\d+\] ", " [0] ", end.stdout).rpartition(CHOSEN)
    head = LINE.search(log)
    assert head is not None
    before = log[head.start() : head.start(1)]
    assert b"\0Using network %s\0" in texts(path)
    return log + "".join(f"{before}NCCL INFO Using network {name}\n" for name in names.split())


def printed(log: str) -> list[str]:
    found = [one.rstrip() for one in LINE.findall(log) if not OTHER.match(one)]
    return [re.sub(r"plugin Stub (?=\()", "plugin ... ", one) for one in found]


def predicted(path: Path, folder: Path, env: Mapping[str, str]) -> list[str]:
    paths = f"LD_LIBRARY_PATH={folder}:{path.parent}"
    pairs = [paths, *(f"{name}={value}" for name, value in env.items())]
    tree = FolderTree(Path("/"))
    plan = ContainerPlan(layers=EnvironmentLayers(given=read_pairs(pairs, "test")))
    image = ContainerImage("/", "root file system", tree)
    case = ContainerCase(image, plan, tree, host_is_given=True)
    search = PluginSearch(case, find_nccl(case)).run()
    assert search.nccl is not None
    assert search.nccl.file.opened == str(path)
    return list(predicted_lines(search, is_good=True) or ())


def without_name(lines: Sequence[str], env: Mapping[str, str]) -> list[str]:
    """The name of a plug-in's network is predicted only where NCCL_NET has it."""
    name = "Using network ..." if "NCCL_NET" not in env else "Using network Stub"
    return [one.replace("Using network Stub", name) for one in lines]


@pytest.mark.slow
@pytest.mark.parametrize("plant", CASES, ids=lambda one: one.__name__)
@pytest.mark.parametrize("version", VERSIONS)
def test_the_predicted_lines_are_the_printed_ones(
    version: str, plant: Plant, tmp_path: Path
) -> None:
    need_gcc()
    path = library(version)
    env = plant(tmp_path)
    lines = without_name(printed(output(path, tmp_path, env)), env)
    assert predicted(path, tmp_path, env) == lines
    assert lines


def partings(name: Path, lines: Sequence[str], version: str) -> list[PartingFacts]:
    """Where `weft doctor log` finds that a log is not as predicted."""
    prediction = predicted_log("\n".join(lines), version)
    found = judge_prediction(
        job_log(read_logs([str(name)])), read_plugin_lines([str(name)]), prediction
    )
    return [one.facts for one in found if isinstance(one.facts, PartingFacts)]


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_a_log_parts_from_every_prediction_but_its_own(version: str, tmp_path: Path) -> None:
    """Each plant's real log beside each plant's prediction, by `weft doctor log --predicted`."""
    need_gcc()
    path = library(version)
    predictions: dict[Path, list[str]] = {}
    for plant in STARTING:
        folder = tmp_path / plant.__name__
        folder.mkdir()
        env = plant(folder)
        log = tmp_path / f"{plant.__name__}.log"
        log.write_text(output(path, folder, env))
        predictions[log] = predicted(path, folder, env)
    n_parted = 0
    for log, own in predictions.items():
        for other in predictions.values():
            is_same = without_name(other, {}) == without_name(own, {})
            parts = partings(log, other, version)
            assert bool(parts) == (not is_same), (log, other, parts)
            n_parted += bool(parts)
    assert n_parted > 20 * len(STARTING)


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_a_plugin_that_does_not_start_parts_from_its_prediction(
    version: str, tmp_path: Path
) -> None:
    need_gcc()
    path = library(version)
    compile_library(tmp_path / FILE, source(6, result=2))
    log = tmp_path / "job.log"
    log.write_text(output(path, tmp_path, asks()))
    links = {one.link for one in partings(log, predicted(path, tmp_path, asks()), version)}
    own_line = {"the start of the plug-in"} if version == "2.32.3" else set()
    assert links == {"the network", *own_line}
    failed = {fact.words[0] for fact in read_logs([str(log)]).of("plugin_failed")}
    assert failed == ({"Stub", "IB"} if version == "2.32.3" else set())


@pytest.mark.slow
def test_the_level_attn_of_a_refusal_is_read(tmp_path: Path) -> None:
    need_gcc()
    path = library("2.32.3")
    log = tmp_path / "job.log"
    log.write_text(output(path, tmp_path, no_interface(tmp_path)))
    assert "NCCL ATTN External network plugin" in log.read_text()
    facts = read_logs([str(log)])
    assert [fact.words for fact in facts.of("plugin_refused")] == [(f"{tmp_path}/{FILE}",)]
    assert not facts.of("warning")
