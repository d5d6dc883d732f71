"""What tools printed of a real subnet, as the fabric that the twin simulates."""

import json
import re
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from weft.topology.engine import engine_module
from weft.topology.fabric import Fabric
from weft.topology.subnet.subnet import Subnet

SAMPLES = Path(__file__).resolve().parents[3] / "fixtures" / "fabric"
CABLES = SAMPLES / "small" / "ibnetdiscover.out"
TABLES = SAMPLES / "opensm" / "opensm-lfts.dump"


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    subnet = Subnet.read([str(CABLES), str(TABLES)])
    exported, changed = subnet.fabric_document("small", 10**11, 15_000)
    assert changed == []
    return exported


def tables_as_printed() -> dict[str, dict[str, int]]:
    """By switch and adapter, both by description, the port that OpenSM's dump names."""
    tables: dict[str, dict[str, int]] = {}
    row: dict[str, int] = {}
    for line in TABLES.read_text().splitlines():
        if found := re.match(r"Unicast lids .* \('(.*)'\):$", line):
            row = tables.setdefault(found.group(1), {})
        elif found := re.match(r"0x\w+ (\d+) # Channel Adapter .*: '(.*)'$", line):
            row[found.group(2)] = int(found.group(1))
    return tables


def test_hosts_cables_and_rates_are_those_that_were_read(document: dict[str, Any]) -> None:
    assert document["nodes"][0]["hcas"] == ["c101-001/HCA-1"]
    assert (len(document["nodes"]), len(document["switches"]), len(document["links"])) == (
        16,
        6,
        32,
    )
    # HDR100 to hosts, HDR between switches.
    assert sorted({link["bits_per_s"] for link in document["links"]}) == [10**11, 2 * 10**11]
    levels = {switch["name"]: switch["level"] for switch in document["switches"]}
    assert (levels["MF0;leaf000:MQM8700/U1"], levels["MF0;spine01:MQM8700/U1"]) == (1, 2)
    assert document["assumed"] == ["every cable's delay: 15000 ps"]


def test_packets_take_the_paths_of_opensms_own_tables(document: dict[str, Any]) -> None:
    fabric, printed = Fabric.from_document(document), tables_as_printed()
    pairs = list(permutations(fabric.nodes, 2))
    assert len(pairs) == 240
    for (_, destination), path in zip(pairs, fabric.paths(pairs), strict=True):
        for port in path[1:]:
            switch, number = port.rstrip("]").rsplit("[", 1)
            assert printed[switch][f"{destination} HCA-1"] == int(number), port


def test_a_collective_runs_on_it(document: dict[str, Any]) -> None:
    nodes = [node["name"] for node in document["nodes"]]
    regime = {"protocol": "eager", "send_overhead_ns": 300, "recv_overhead_ns": 300}
    scenario = {
        "schema": "weft.scenario/1",
        "fabric": document,
        "host": {"regimes": [regime]},
        "placement": {"nodes": nodes, "tasks_per_node": 1},
        "work": [{"benchmark": "alltoall", "size_bytes": 4096, "iterations": 1, "warmup": 0}],
    }
    outcome = engine_module().simulate(json.dumps(scenario))
    assert outcome["status"] == "complete"
    # 15 blocks leave every host at 100 Gb/s: 15 x 4096 B take 4.9 us and more with headers.
    assert outcome["duration_ps"][0] > 15 * 4096 * 8 * 10
