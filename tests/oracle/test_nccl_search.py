"""weft's own search for channels beside the search of NVIDIA's libraries: all graphs are equal.

WEFT_TRIALS random nodes are asked of each version, 25 where it is not set.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.oracle.job_topologies import job_topology as random_job
from tests.oracle.nccl_search_probe import MARK
from tests.oracle.node_topologies import KINDS, kind_of, node_topology
from tests.oracle.test_nccl_libraries import library

from weft.core.errors import InputError
from weft.doctor.nccl_plan.asking import library_request, nodes_request
from weft.doctor.nccl_plan.job_topology import JobTopology, job_topology
from weft.doctor.nccl_plan.nodes import topology_of
from weft.doctor.nccl_plan.own_search import known_version, search_graphs
from weft.doctor.topo.graph import Known
from weft.doctor.topo.xml import read_topology

pytestmark = pytest.mark.slow

VERSIONS = ("2.26.5", "2.28.3")
N_TRIALS = int(os.environ.get("WEFT_TRIALS", "25"))
PLATFORMS = ("azure-ndv4", "azure-ndv5")
ROOT = Path(__file__).resolve().parents[2]
_LIMIT_S = 60 + 20 * N_TRIALS
Job = tuple[str, JobTopology, int]
"""What it is, the node, and the number of nodes."""


def asked(version: str, jobs: list[Job], folder: Path, **env: str) -> list[Any]:
    """The graphs of each job by the library, None where it gives up."""
    asks = []
    for i, (_, job, n_nodes) in enumerate(jobs):
        file = folder / f"{i}.xml"
        file.write_text(job.text)
        asks.append(nodes_request(job, file) | {"n_nodes": n_nodes})
    clean = {key: value for key, value in os.environ.items() if not key.startswith("NCCL_")}
    done = subprocess.run(
        [sys.executable, "-m", "tests.oracle.nccl_search_probe"],
        input=json.dumps(library_request(library(version)) | {"jobs": asks}).encode(),
        env={**clean, "NCCL_IGNORE_DISABLED_P2P": "2", "PYTHONPATH": f"{ROOT}/src:{ROOT}", **env},
        capture_output=True,
        timeout=_LIMIT_S,
        check=True,
        cwd=ROOT,
    )
    lines = done.stdout.decode("utf-8", "replace").split("\n")
    found = [json.loads(one[len(MARK) :]) for one in lines if one.startswith(MARK)]
    assert len(found) == len(jobs)
    return [one.get("graphs") for one in found]


def differences(
    version: str, jobs: list[Job], answers: list[Any], cross_nic: int = 2
) -> Counter[str]:
    """How many graphs are equal, and how many differ in something, by name and number of nodes."""
    table: Counter[str] = Counter()
    for (what, job, n_nodes), said in zip(jobs, answers, strict=True):
        if said is None:
            table["the library gives up"] += 1
            continue
        own = search_graphs(job, known_version(version), n_nodes, cross_nic=cross_nic)
        assert list(own) == list(said)
        for name, graph in said.items():
            one = own[name]
            pairs = {
                "channels": (one.n_channels, graph["n_channels"]),
                "inside": (one.gb_s_inside, round(graph["gb_s_inside"], 3)),
                "between": (one.gb_s_between, round(graph["gb_s_between"], 3)),
                "path inside": (one.path_inside, graph["path_inside"]),
                "path between": (one.path_between, graph["path_between"]),
                "gpus": ([list(gpus) for gpus in one.gpus], graph["gpus"]),
                "nets": ([list(nets) for nets in one.nets], graph["nets"]),
            }
            wrong = [key for key, (ours, theirs) in pairs.items() if ours != theirs]
            table[f"{name}, {n_nodes} nodes: {', '.join(wrong) or 'equal'}"] += 1
            if wrong:
                print(f"NCCL {version}, {what}, {n_nodes} nodes, {name}: {', '.join(wrong)}")
    print(f"NCCL {version}: {dict(sorted(table.items()))}")
    return table


def are_equal(table: Counter[str]) -> bool:
    return all(key.endswith("equal") or key == "the library gives up" for key in table)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("cross_nic", [0, 1, 2])
def test_platforms(version: str, cross_nic: int, tmp_path: Path) -> None:
    jobs = [(name, topology_of(name, None), n) for name in PLATFORMS for n in (1, 2, 4)]
    answers = asked(version, jobs, tmp_path, NCCL_CROSS_NIC=str(cross_nic))
    table = differences(version, jobs, answers, cross_nic)
    assert are_equal(table)
    # Ring and tree of both, NVLink SHARP of one.
    assert sum(table.values()) == 3 * (2 * 2 + 1)


@pytest.mark.parametrize("version", VERSIONS)
def test_random_nodes(version: str, tmp_path: Path) -> None:
    """Nodes as they are built: NVSwitches, meshes, PCI Express alone, rails that are missing."""
    seeds = [str(i) for i in range(N_TRIALS)]
    if N_TRIALS >= 25:
        assert {kind_of(seed).name for seed in seeds} == {kind.name for kind in KINDS}
    jobs = [
        (f"node {seed}", job_topology(read_topology(seed, node_topology(seed)), Known()), n)
        for seed in seeds
        for n in (1, 2)
    ]
    table = differences(version, jobs, asked(version, jobs, tmp_path))
    assert are_equal(table)
    assert table["the library gives up"] < len(jobs) / 10


@pytest.mark.parametrize("version", VERSIONS)
def test_random_trees_of_devices(version: str, tmp_path: Path) -> None:
    """Nodes as nobody builds them."""
    jobs: list[Job] = []
    for seed in map(str, range(N_TRIALS)):
        try:
            job = job_topology(read_topology(seed, random_job(seed)), Known())
        except InputError:  # as where there is no GPU
            continue
        jobs += [(f"job {seed}", job, n) for n in (1, 2)]
    assert are_equal(differences(version, jobs, asked(version, jobs, tmp_path)))
