"""NCCL's own words about its net plug-in: each predicted line is the line that it prints.

The library chooses a network for an empty communicator, without a GPU. It prints all of these lines
itself but for "Using network": of that one the format is the library's, and the name is what the
library wrote into the communicator.
"""

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from tests.oracle.nccl_plugin_plants import (
    CASES,
    FILE,
    STARTING,
    Plant,
    absent,
    asks,
    default_name,
    demanded_absent,
    listed_too_many,
    no_interface,
    right,
    source,
)
from tests.unit.doctor.container.container_cases import need_gcc
from tests.unit.doctor.container.container_trees import compile_library

from weft.bench.logs.log_facts import read_logs
from weft.bench.logs.ranks import job_log
from weft.doctor.container.case import ContainerCase
from weft.doctor.container.chain.log_lines import predicted_lines
from weft.doctor.container.chain.plugin import (
    LONGEST,
    LONGEST_BEFORE,
    PluginSearch,
    find_nccl,
    plugin_names,
)
from weft.doctor.container.image.image import ContainerImage
from weft.doctor.container.image.tree import FolderTree
from weft.doctor.container.launch.environment import EnvironmentLayers, read_pairs
from weft.doctor.container.launch.plan import ContainerPlan
from weft.doctor.facts import PartingFacts
from weft.doctor.log.plugin_lines import read_plugin_lines
from weft.doctor.log.prediction import judge_prediction, predicted_log

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
CHOSEN = "CHOSEN"
"""Of the probe: the networks that the library took stand behind it."""


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


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_names_that_nccl_cuts_or_leaves_out(version: str, tmp_path: Path) -> None:
    """The longest name is loaded, as judged; a longer one is not, and its lines are not known."""
    need_gcc()
    path = library(version)
    is_old = version == VERSIONS[0]
    most = LONGEST_BEFORE - len("libnccl-net-.so") if is_old else LONGEST
    below = tmp_path if is_old else tmp_path / ("d" * 100)
    for n_more in (0, 1):
        if is_old:
            value = "q" * (most + n_more)
            file = below / f"libnccl-net-{value}.so"
        else:
            begin = f"{below}/"
            value = f"{begin}{'q' * (most + n_more - len(begin) - len('.so'))}.so"
            file = Path(value)
        compile_library(file, source(6))
        log = output(path, tmp_path, asks(value))
        assert ("Using network Stub" in log) == (n_more == 0)
        assert any(str(file).endswith(one) for one in plugin_names(value, version)) == (n_more == 0)
        file.unlink()
    assert predicted(path, tmp_path, asks("q" * 300)) == []
    assert predicted(path, tmp_path, asks("q" * (100 if is_old else 170))) != []


def partings(name: Path, lines: Sequence[str], version: str) -> list[PartingFacts]:
    """Where `weft doctor log` finds that a log is not as predicted."""
    prediction = predicted_log("\n".join(lines), version)
    found = judge_prediction(
        job_log(read_logs([str(name)])), read_plugin_lines([str(name)]), prediction
    )
    return [one.facts for one in found if isinstance(one.facts, PartingFacts)]


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_a_log_parts_from_every_prediction_but_its_own(
    version: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Each plant's real log beside each plant's prediction, by `weft doctor log --predicted`."""
    need_gcc()
    # Of an error with a long path, which NCCL cuts, nothing is predicted.
    top = tmp_path_factory.mktemp("p")
    path = library(version)
    predictions: dict[Path, list[str]] = {}
    for number, plant in enumerate(STARTING):
        folder = top / str(number)
        folder.mkdir()
        env = plant(folder)
        log = top / f"{plant.__name__}.log"
        log.write_text(output(path, folder, env))
        predictions[log] = predicted(path, folder, env)
    assert all(predictions.values())
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
@pytest.mark.parametrize("version", VERSIONS)
def test_a_job_that_ends_parts_from_one_that_runs(version: str, tmp_path: Path) -> None:
    need_gcc()
    path = library(version)
    log = tmp_path / "job.log"
    ends = predicted(path, tmp_path, demanded_absent(tmp_path))
    log.write_text(output(path, tmp_path, demanded_absent(tmp_path)))
    assert "NCCL WARN" in log.read_text()
    assert partings(log, ends, version) == []
    log.write_text(output(path, tmp_path, absent(tmp_path)))
    (parting,) = partings(log, ends, version)
    assert (parting.link, f"NCCL WARN {parting.predicted}") == ("the network", ends[-1])


@pytest.mark.slow
@pytest.mark.parametrize("subsystems", ["INIT", "NET", "INIT,NET"])
@pytest.mark.parametrize("version", VERSIONS)
def test_a_log_of_few_subsystems_is_no_other_one(
    version: str, subsystems: str, tmp_path: Path
) -> None:
    need_gcc()
    path = library(version)
    log = tmp_path / "job.log"
    for plant in (right, absent, default_name, no_interface, listed_too_many):
        folder = tmp_path / plant.__name__
        folder.mkdir()
        env = plant(folder)
        log.write_text(output(path, folder, {**env, "NCCL_DEBUG_SUBSYS": subsystems}))
        assert partings(log, predicted(path, folder, env), version) == [], plant


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
