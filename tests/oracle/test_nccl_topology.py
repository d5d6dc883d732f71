"""Topology files beside NVIDIA's own reader: what it refuses, what it keeps, how far apart it takes
devices to be. Its functions are called; they want no GPU.
"""

import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.oracle.job_topologies import job_topology
from tests.oracle.nccl_topology_probe import MARK
from tests.oracle.test_nccl_libraries import library
from tests.unit.doctor.topo import v100
from tests.unit.doctor.topo.cases import CASES

from weft.catalog.libraries.nccl_topology import nccl_topology
from weft.catalog.load import platform
from weft.doctor.topo.distance import GDR_DEFAULT, Distances
from weft.doctor.topo.graph import Known, PathType, Vertex, graph_of
from weft.doctor.topo.node import node_of_platform, topology_text
from weft.doctor.topo.xml import read_topology

pytestmark = pytest.mark.slow

PROBE = Path(__file__).with_name("nccl_topology_probe.py")
ROOT = Path(__file__).resolve().parents[2]
N_MUTATED = 3000
SEED = 11
_AT_ONCE = 500


def ask(version: str, mode: str, files: list[Path], **env: str) -> tuple[list[Any], str]:
    """What the library made of each file, and all that was printed. One on which it crashes, as it
    does on some odd graphs, has no code."""
    answers: list[Any] = []
    printed = ""
    while len(answers) < len(files):
        names = [str(file) for file in files[len(answers) : len(answers) + _AT_ONCE]]
        done = subprocess.run(
            [sys.executable, str(PROBE), str(library(version)), version, mode, *names],
            env={**os.environ, "NCCL_DEBUG": "VERSION", "PYTHONPATH": str(ROOT), **env},
            capture_output=True,
            timeout=300,
            check=False,
        )
        assert done.returncode <= 0, done.stderr.decode("utf-8", "replace")[-2000:]
        text = done.stdout.decode("utf-8", "replace")
        printed += text
        answers += [
            json.loads(one[len(MARK) :]) for one in text.split("\n") if one.startswith(MARK)
        ]
        if done.returncode < 0:
            answers.append({"rc": None, "nodes": []})
    return answers, printed


def written(folder: Path, texts: list[bytes]) -> list[Path]:
    files = [folder / f"{i}.xml" for i in range(len(texts))]
    for file, text in zip(files, texts, strict=True):
        file.write_bytes(text)
    return files


def mutated() -> list[bytes]:
    """Files of platforms and of the rules' cases, damaged."""
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        from fuzz_mutations import mutated_text
    finally:
        sys.path.remove(str(ROOT / "scripts"))
    names = ("azure-ndv2", "azure-ndv4", "azure-ndv5")
    pieces = [topology_text(node_of_platform(platform(name))) for name in names]
    pieces += [
        (ROOT / "tests/fixtures/topology/dump.xml").read_text(),
        *(one.right for one in CASES),
    ]
    rng = random.Random(SEED)
    lines = [piece.split("\n") for piece in pieces]
    inputs = (mutated_text(rng, rng.choice(lines), lines) for _ in range(N_MUTATED))
    return [one for one in inputs if b"\0" not in one]


def expected(text: bytes) -> list[Any] | None:
    """The nodes that NCCL should keep; None where it should give up."""
    file = read_topology("file", text.decode("utf-8", "replace"))
    versions = [system.get("version") for system in file.systems]
    if file.is_refused or any(one is None or _number(one) != 1 for one in versions):
        return None
    elements = [element for system in file.systems for element in system.walk()]
    index = {element: i for i, element in enumerate(elements)}
    return [
        [
            element.name,
            {key: one.value for key, one in element.attributes.items()},
            index[element.parent] if element.parent is not None else None,
        ]
        for element in elements
    ]


def _number(text: str) -> int | None:
    from weft.doctor.numbers import strtoll

    return strtoll(text)[0]


def kept(answer: Any) -> list[Any] | None:
    """The nodes that NCCL keeps: of a key the first counts, one without a name is out of reach."""
    if answer["rc"] != 0:
        return None
    return [
        [name, {key: value for key, value in reversed(pairs) if key}, parent]
        for name, pairs, parent in answer["nodes"]
    ]


def compare(version: str, folder: Path, texts: list[bytes]) -> list[bytes]:
    """The texts that weft reads otherwise than NCCL."""
    answers, _ = ask(version, "xml", written(folder, texts))
    pairs = zip(texts, answers, strict=True)
    return [text for text, answer in pairs if kept(answer) != expected(text)]


def test_cases_of_the_rules(tmp_path: Path) -> None:
    texts = [text.encode() for one in CASES for text in (one.text, one.right)]
    assert compare("2.32.3", tmp_path, texts) == []


def test_damaged_files(tmp_path: Path) -> None:
    texts = mutated()
    assert sum(expected(text) is None for text in texts) > len(texts) / 10
    assert sum(expected(text) is not None for text in texts) > len(texts) / 10
    assert compare("2.32.3", tmp_path, texts) == []


# --- how far apart

N_JOBS = 400
LINE = re.compile(r"NCCL INFO (GPU|NET)/0-(\w+) :(.*)")
PATH = re.compile(r"(GPU|NET)/0-(\w+) \(\d+/([\d.]+)/(\w+)\)")
LEVELS: dict[str, PathType] = {
    "": GDR_DEFAULT,
    **{name: PathType[name] for name in ("LOC", "PIX", "PXB", "P2C", "PHB", "SYS")},
    **{str(i): PathType[nccl_topology().level(i)] for i in range(7)},
}
Ends = tuple[str, str]


def said_of_each(printed: str) -> list[dict[Ends, tuple[str, str]]]:
    """(end, end) -> (way, GB/s), for each file in turn."""
    found: list[dict[Ends, tuple[str, str]]] = []
    for part in printed.split("Loading topology file ")[1:]:
        pairs: dict[Ends, tuple[str, str]] = {}
        for kind, name, rest in LINE.findall(part):
            for other_kind, other, gb_s, way in PATH.findall(rest):
                pairs[f"{kind} {name}", f"{other_kind} {other}"] = (way, gb_s)
        found.append(pairs)
    return found


def computed(text: str, level: PathType) -> dict[Ends, tuple[str, str]]:
    """The same by weft."""
    system = read_topology("file", text).system
    assert system is not None
    graph = graph_of(system, Known())
    distances = Distances(graph, gdr_level=level)

    def name(vertex: Vertex) -> str:
        if vertex.kind == "NET":
            return f"NET {vertex.number:x}"
        return f"GPU {int(re.sub('[:.]', '', vertex.name), 16):x}"

    ends = [(gpu, end) for gpu in graph.gpus for end in (*graph.gpus, *graph.nets)]
    ends += [(net, gpu) for net in graph.nets for gpu in graph.gpus]
    paths = {(name(a), name(b)): distances.path(a, b) for a, b in ends}
    return {pair: (path.type.name, f"{path.gb_s:.1f}") for pair, path in paths.items()}


def ways_of(texts: list[str], level: str, folder: Path) -> set[str]:
    """All ways in the files, as NCCL and weft compute them alike."""
    env = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "GRAPH", "NCCL_IGNORE_DISABLED_P2P": "2"}
    if level:
        env["NCCL_NET_GDR_LEVEL"] = level
    files = written(folder, [text.encode() for text in texts])
    answers, printed = ask("2.32.3", "paths", files, **env)
    seen = set()
    n_compared = 0
    for text, answer, said in zip(texts, answers, said_of_each(printed), strict=True):
        if answer["rc"] != 0:  # as where there is no GPU
            continue
        n_compared += 1
        ours = computed(text, LEVELS[level])
        assert {pair: said.get(pair) for pair in ours} == ours, text
        seen |= {way for way, _ in ours.values()}
    assert n_compared > len(texts) * 0.9
    return seen


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level or "unset")
def test_distances_of_random_jobs(level: str, tmp_path: Path) -> None:
    """Trees, NVLink through switches and in meshes, C2C, odd links, and GPUDirect switched off."""
    texts = [job_topology(f"{level} {i}") for i in range(N_JOBS if level == "" else 60)]
    seen = ways_of(texts, level, tmp_path)
    if level == "":
        assert {"LOC", "NVL", "NVB", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS"} <= seen


@pytest.mark.parametrize("level", ["", "PIX", "SYS"])
def test_distances_of_eight_v100s(level: str, tmp_path: Path) -> None:
    texts = [v100.with_switches(), v100.without_switches()]
    assert {"NVL", "NVB"} <= ways_of(texts, level, tmp_path)
