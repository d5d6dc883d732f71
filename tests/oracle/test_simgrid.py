"""The packet engine beside SimGrid's max-min fluid model, on the same paths.

Where flows share one link and come in by inputs of their own, round robin over inputs and max-min
are the same thing but for a packet. Where several flows come in by one input, the switch gives
that input one turn in the round: the parking-lot unfairness that a fluid model does not have.
Where a flow is held up further on, a fluid model lets its rivals before have what it leaves; a
switch does so only by back-pressure, which also holds up bystanders that use the same buffer.
"""

import json
import random
import statistics
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from benches.workloads import (
    Triples,
    deep_tree,
    incast,
    messages,
    random_permutation,
    scenario,
    tapered_tree,
)
from tests.needs import absent, need

from weft.topology.engine import engine_module
from weft.topology.fabric import Fabric

SOURCE = Path(__file__).parent / "simgrid" / "flows.cpp"
FLUID = ["--cfg=network/model:CM02", "--cfg=network/TCP-gamma:0", "--cfg=network/crosstraffic:0"]
WIRE_US, SWITCH_US = 0.5, 0.2
FlowPath = list[str]


@pytest.fixture(scope="session")
def simgrid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fluid model's program, compiled here."""
    need("g++")
    if not Path("/usr/include/simgrid/s4u.hpp").exists():
        absent("needs SimGrid's headers (Debian: libsimgrid-dev)")
    program = tmp_path_factory.mktemp("simgrid") / "flows"
    command = ["g++", "-O1", "-std=c++17", str(SOURCE), "-o", str(program), "-lsimgrid"]
    subprocess.run(command, check=True, timeout=300)
    return program


def paths_of(
    fabric: dict[str, Any], triples: Triples, engine: str = "dmodk"
) -> tuple[dict[str, float], list[FlowPath]]:
    """Bytes a second of every port, and the egress ports of each message's path."""
    built = Fabric.from_document({"schema": "weft.fabric/1", **fabric}, engine)
    document = built.document
    rates = {link[end]: link["bits_per_s"] / 8 for link in document["links"] for end in ("a", "b")}
    names = [node["name"] for node in document["nodes"]]
    pairs = [(names[src], names[dst]) for src, dst, _ in triples]
    return rates, [list(path) for path in built.paths(pairs)]


def fluid_us(
    program: Path,
    rates: dict[str, float],
    paths: list[FlowPath],
    triples: Triples,
    starts_ps: Sequence[int] | None = None,
) -> Any:
    """When each flow ends under max-min sharing."""
    starts = starts_ps or [0] * len(triples)
    lines = [f"link {port} {rates[port]} 0" for port in sorted({p for path in paths for p in path})]
    lines += [
        f"flow {src} {dst} {size} {start_ps / 1e12:.15g} {' '.join(path)}"
        for (src, dst, size), path, start_ps in zip(triples, paths, starts, strict=True)
    ]
    argv = [str(program), *FLUID, "--log=root.thresh:error"]
    done = subprocess.run(
        argv, input="\n".join(lines), capture_output=True, text=True, check=True, timeout=120
    )
    return [float(word) * 1e6 for word in done.stdout.split()]


def packets_us(
    fabric: dict[str, Any], paths: list[FlowPath], triples: Triples, model: str
) -> list[float]:
    """When each message ends in the packet engine, less the time of flight on its path."""
    document = scenario(fabric, messages(triples), adaptive=False)
    document["packets"] = {"headers": "none"}
    document["transport"] = {"acknowledge": False}
    document["switch"] = {**document["switch"], "model": model}
    outcome = engine_module().simulate(json.dumps(document))
    assert outcome["status"] == "complete", outcome["message"]
    flights = [len(path) * WIRE_US + (len(path) - 1) * SWITCH_US for path in paths]
    ends = [ps / 1e6 for ps in outcome["duration_ps"]]
    return [end - flight for end, flight in zip(ends, flights, strict=True)]


def alike(paths: list[FlowPath]) -> list[bool]:
    """By flow, whether round robin over inputs and max-min must agree on it.

    They must where a flow meets the same others at every port that it shares, these meet nobody
    else, and all come in by inputs of their own where they first meet.
    """
    over: dict[str, frozenset[int]] = {}
    for flow, path in enumerate(paths):
        for port in path:
            over[port] = over.get(port, frozenset()) | {flow}
    meets = [{over[port] for port in path if len(over[port]) > 1} for path in paths]

    def one_turn_each(port: str) -> bool:
        before = [paths[flow][paths[flow].index(port) - 1] for flow in over[port]]
        return len(set(before)) == len(before)

    def agrees(flow: int) -> bool:
        if len(meets[flow]) != 1:
            return not meets[flow]
        (rivals,) = meets[flow]
        first = next(port for port in paths[flow] if over[port] == rivals)
        return one_turn_each(first) and all(meets[rival] == meets[flow] for rival in rivals)

    return [agrees(flow) for flow in range(len(paths))]


@pytest.mark.parametrize("seed", range(1, 9))
def test_flows_that_come_in_by_inputs_of_their_own_share_as_max_min_says(
    simgrid: Path, seed: int
) -> None:
    fabric, triples = deep_tree(8), random_permutation(128, 2_000_000, seed)[:48]
    rates, paths = paths_of(fabric, triples)
    fluid = fluid_us(simgrid, rates, paths, triples)
    ours = packets_us(fabric, paths, triples, "infinite")
    must_agree = alike(paths)
    shared = [end > 81 for end, agrees in zip(fluid, must_agree, strict=True) if agrees]
    assert sum(shared) >= 4, "flows that share a link"
    # A packet waits for one of each of at most three rivals, at each of at most four links.
    packet_us = 4096 * 8 / 200e3
    for end, expected, agrees in zip(ours, fluid, must_agree, strict=True):
        assert not agrees or abs(end - expected) <= 12 * packet_us


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_whole_random_permutation_differs_by_the_turns_of_inputs_only(
    simgrid: Path, seed: int
) -> None:
    fabric, triples = deep_tree(8), random_permutation(128, 2_000_000, seed)
    rates, paths = paths_of(fabric, triples)
    fluid = fluid_us(simgrid, rates, paths, triples)
    ours = packets_us(fabric, paths, triples, "infinite")
    ratios = [a / b for a, b in zip(ours, fluid, strict=True)]
    assert statistics.median(ratios) == pytest.approx(1, rel=0.01)
    assert max(ours) == pytest.approx(max(fluid), rel=0.01)
    # Some flows of an input that shares its turn lose what the others win: the mean hardly moves.
    efficiency = [sum(80 / end for end in ends) / len(ends) for ends in (ours, fluid)]
    assert efficiency[0] == pytest.approx(efficiency[1], rel=0.05)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_finite_buffers_only_cost(simgrid: Path, seed: int) -> None:
    fabric, triples = deep_tree(8), random_permutation(128, 2_000_000, seed)
    rates, paths = paths_of(fabric, triples)
    fluid = fluid_us(simgrid, rates, paths, triples)
    ours = packets_us(fabric, paths, triples, "voq")
    assert max(ours) >= max(fluid) * 0.999
    assert statistics.mean(ours) >= statistics.mean(fluid) * 0.95
    assert statistics.median(a / b for a, b in zip(ours, fluid, strict=True)) < 1.1


def test_an_incast_drains_as_fast_as_its_last_link(simgrid: Path) -> None:
    fabric, triples = deep_tree(8), incast()
    rates, paths = paths_of(fabric, triples)
    fluid = fluid_us(simgrid, rates, paths, triples)
    ours = packets_us(fabric, paths, triples, "voq")
    assert max(fluid) == pytest.approx(64 * 1e6 * 8 / 200e3, rel=1e-6)
    assert max(ours) == pytest.approx(max(fluid), rel=0.002)


def flows_us(
    fabric: dict[str, Any],
    paths: list[FlowPath],
    triples: Triples,
    starts_ps: Sequence[int] | None = None,
    engine: str = "dmodk",
) -> list[float]:
    """How long each message takes at flow level, less the time of flight on its path."""
    document = scenario(fabric, messages(triples, starts_ps), adaptive=False)
    document["routing"] = {"engine": engine}
    document["packets"] = {"headers": "none"}
    document["transport"] = {"acknowledge": False}
    outcome = engine_module().simulate(json.dumps({**document, "fidelity": "flow"}))
    assert outcome["status"] == "complete", outcome["message"]
    flights = [len(path) * WIRE_US + (len(path) - 1) * SWITCH_US for path in paths]
    ends = [ps / 1e6 for ps in outcome["duration_ps"]]
    return [end - flight for end, flight in zip(ends, flights, strict=True)]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_flow_of_a_permutation_ends_when_simgrid_says(simgrid: Path, seed: int) -> None:
    fabric, triples = deep_tree(8), random_permutation(128, 2_000_000, seed)
    rates, paths = paths_of(fabric, triples)
    fluid = fluid_us(simgrid, rates, paths, triples)
    assert flows_us(fabric, paths, triples) == pytest.approx(fluid, rel=0.0001)


def test_every_flow_of_an_incast_with_bystanders_ends_when_simgrid_says(simgrid: Path) -> None:
    fabric, triples = deep_tree(8), incast()
    rates, paths = paths_of(fabric, triples)
    fluid = fluid_us(simgrid, rates, paths, triples)
    assert flows_us(fabric, paths, triples) == pytest.approx(fluid, rel=0.0001)


@pytest.mark.parametrize("seed", [1, 2])
def test_flows_of_many_sizes_on_a_tapered_tree_end_when_simgrid_says(
    simgrid: Path, seed: int
) -> None:
    fabric, base = tapered_tree(132), random_permutation(132, 1, seed)
    triples = [(src, dst, 100_000 * (1 + (37 * src) % 50)) for src, dst, _ in base]
    rates, paths = paths_of(fabric, triples)
    fluid = fluid_us(simgrid, rates, paths, triples)
    assert len({round(end, 3) for end in fluid}) > 40, "rates change many times"
    # A packet is stored before the faster link that follows here; and times are rounded up.
    packet_us = 4096 * 8 / 100e3 + 1e-5
    assert flows_us(fabric, paths, triples) == pytest.approx(fluid, rel=0.0001, abs=packet_us)


def dragonfly() -> dict[str, Any]:
    """Nine groups of four routers with two hosts each, every cable at the hosts' rate."""
    return {
        "generate": "dragonfly",
        "nodes": 72,
        "groups": 9,
        "routers_per_group": 4,
        "nodes_per_router": 2,
        "global_ports": 2,
        "host_bits_per_s": 100_000_000_000,
        "local_bits_per_s": 100_000_000_000,
        "global_bits_per_s": 100_000_000_000,
        "host_delay_ps": 500_000,
        "local_delay_ps": 500_000,
        "global_delay_ps": 500_000,
    }


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(
    ("fabric", "n_hosts", "engine"),
    [
        (deep_tree(8), 128, "dmodk"),
        (deep_tree(8), 128, "minhop"),
        (tapered_tree(132), 132, "updn"),
        (dragonfly(), 72, "updn"),
    ],
    ids=["tree", "tree-minhop", "tapered-updn", "dragonfly-updn"],
)
def test_flows_that_begin_at_any_time_end_when_simgrid_says(
    simgrid: Path, fabric: dict[str, Any], n_hosts: int, engine: str, seed: int
) -> None:
    draw = random.Random(seed)
    pairs = draw.sample([(s, d) for s in range(n_hosts) for d in range(n_hosts) if s != d], 400)
    triples = [(src, dst, draw.randrange(50_000, 3_000_000)) for src, dst in pairs]
    starts_ps = sorted(draw.randrange(600_000_000) for _ in triples)
    rates, paths = paths_of(fabric, triples, engine)
    fluid = fluid_us(simgrid, rates, paths, triples, starts_ps)
    taken = [end - start / 1e6 for end, start in zip(fluid, starts_ps, strict=True)]
    ours = flows_us(fabric, paths, triples, starts_ps, engine)
    whole = [size / rates[path[0]] * 1e6 for (_, _, size), path in zip(triples, paths, strict=True)]
    shared = sum(time > 1.2 * alone for time, alone in zip(taken, whole, strict=True))
    assert shared > len(triples) / 4, "flows that share a link"
    # A packet as above, and SimGrid's clock, which has nanoseconds.
    packet_us = 4096 * 8 / 100e3 + 1e-2
    assert ours == pytest.approx(taken, rel=0.0001, abs=packet_us)
