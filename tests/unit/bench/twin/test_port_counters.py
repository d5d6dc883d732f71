"""What a twin's ports counted is read as any fabric's counters are."""

import json
from pathlib import Path
from typing import Any

import pytest

from weft.bench.model import Launch, Trial
from weft.bench.twin.backend import TwinBackend
from weft.bench.twin.fault import parse_fault
from weft.bench.twin.port_counters import COLUMNS, COUNTERS_FILE, MOST_PORTS, PortCounters
from weft.catalog.load import benchmark, platform
from weft.topology.subnet.subnet import Subnet

pytest.importorskip("weft._engine", reason="the engine is not built")


def outcome(ports: list[str], **columns: list[int]) -> dict[str, Any]:
    zeros = {name: [0] * len(ports) for name in COLUMNS.values()}
    return {"port_name": ports, **zeros, **columns}


def document(n_nodes: int = 2) -> dict[str, Any]:
    nodes = [{"name": f"n{i}", "hcas": [f"n{i}/hca0"]} for i in range(n_nodes)]
    return {"nodes": nodes, "switches": [{"name": "leaf"}], "links": []}


def twin_run(where: Path, *faults: str) -> TwinBackend:
    twin = TwinBackend(platform("fat-tree"), 8, faults=[parse_fault(f) for f in faults])
    twin.prepare([], where)
    options = {**benchmark("pairs").options, "rounds": [[[0, 4], [1, 5]], [[2, 6], [3, 7]]]}
    trial = Trial("t1", "pairs", (8, 65536), twin.nodes, 1, options=options)
    for repeat in (1, 2):
        list(twin.measure(Launch(trial, repeat, repeat)))
    twin.close()
    return twin


def test_counters_of_simulations_add_up() -> None:
    counters = PortCounters(document())
    counters.add(outcome(["n0/hca0[1]", "leaf[2]"], symbol_error_counter=[1, 20]))
    counters.add(outcome(["n0/hca0[1]", "leaf[2]"], symbol_error_counter=[2, 30]))
    # The engine leaves out ports of very large fabrics: not always the same.
    counters.add(outcome(["leaf[2]", "leaf[1]"], symbol_error_counter=[400, 5]))
    lines = counters.text.splitlines()
    found = {
        head.split("(")[0]: symbols.rpartition(".")[2]
        for head, symbols in zip(lines[::12], lines[2::12], strict=True)
    }
    # HCAs first, then switches: the leaf of two hosts has LID 3.
    assert found == {
        "# Port counters: Lid 1 port 1 ": "3",
        "# Port counters: Lid 3 port 1 ": "5",
        "# Port counters: Lid 3 port 2 ": "450",
    }


def test_of_a_large_fabric_only_ports_with_errors_are_written() -> None:
    n = MOST_PORTS + 1
    ports = [f"n{i}/hca0[1]" for i in range(n)]
    counters = PortCounters(document(n))
    counters.add(outcome(ports, port_rcv_errors=[0] * (n - 1) + [7], port_xmit_data=[9] * n))
    assert counters.text.count("# Port counters") == 1
    assert f"Lid {n} port 1" in counters.text


def test_weft_reads_them_at_the_right_ports_next_to_the_fabric(tmp_path: Path) -> None:
    twin = twin_run(tmp_path, "n003/hca0[1] corrected=0.5,300")
    fabric = tmp_path / "fabric.json"
    fabric.write_text(json.dumps(twin.fabric_document))
    subnet = Subnet.read([str(fabric), str(tmp_path / COUNTERS_FILE)])
    assert subnet.description["misfits"] == []
    errors = {
        subnet.name(reading["end"]["node"], reading["end"]["port"])
        for reading in subnet.description["readings"]
        if reading["counters"]["SymbolErrorCounter"]
    }
    assert errors == {"n003 hca0[1]", "leaf-01[3]"}
    sent = {
        subnet.name(reading["end"]["node"], reading["end"]["port"]): reading["counters"]
        for reading in subnet.description["readings"]
    }
    # Both ends of a cable agree, and 2 launches x window 8 x 64 KiB and more left each host.
    assert sent["n001 hca0[1]"]["PortXmitData"] == sent["leaf-01[1]"]["PortRcvData"]
    assert sent["n001 hca0[1]"]["PortXmitData"] * 4 > 2 * 8 * 65536


def test_a_twin_of_a_real_fabric_writes_none(tmp_path: Path) -> None:
    made = TwinBackend(platform("fat-tree"), 8).fabric_document
    twin = TwinBackend(platform("fat-tree"), 8, fabric=made)
    twin.prepare([], tmp_path)
    twin.close()
    assert not (tmp_path / COUNTERS_FILE).exists()
