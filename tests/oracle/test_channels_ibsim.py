"""`weft fabric channels` on networks that real OpenSM routed: every cable as ibtracert has it."""

import json
import random
from pathlib import Path

import pytest
from tests.oracle.ibsim import (
    Ibsim,
    Net,
    frontera_like,
    require_tools,
    torus,
    traced_by_ibtracert,
)
from tests.unit.audit.channels.job_logs import DrawnJob

from weft.cli import run
from weft.topology.subnet.place_names import Places
from weft.topology.subnet.subnet import Subnet

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
Cables = list[tuple[int, int, int, int]]


@pytest.fixture(autouse=True)
def _tools() -> None:
    require_tools()


def node_tree(leaves: int, hosts: int, spines: int, n_hcas: int) -> Net:
    """Two levels; all adapters of a host are on its leaf."""
    net = Net()
    for host in range(leaves * hosts):
        for hca in range(n_hcas):
            net.add(f"n{host + 1:03d} mlx5_{hca}", "Ca", 1)
    for leaf in range(leaves):
        net.add(f"MF0;leaf{leaf:03d}:MQM8700/U1", "Switch", hosts * n_hcas + spines)
    for spine in range(spines):
        net.add(f"MF0;spine{spine:02d}:MQM8700/U1", "Switch", leaves)
    for leaf in range(leaves):
        name = f"MF0;leaf{leaf:03d}:MQM8700/U1"
        for port in range(hosts * n_hcas):
            host, hca = leaf * hosts + port // n_hcas, port % n_hcas
            net.link((name, port + 1), (f"n{host + 1:03d} mlx5_{hca}", 1))
        for spine in range(spines):
            there = (f"MF0;spine{spine:02d}:MQM8700/U1", leaf + 1)
            net.link((name, hosts * n_hcas + spine + 1), there)
    return net


def rail_tree(units: int, hosts: int, n_hcas: int, spines: int) -> Net:
    """Adapter i of all hosts of a unit is on the unit's leaf of rail i."""
    net = Net()
    for host in range(units * hosts):
        for hca in range(n_hcas):
            net.add(f"n{host + 1:03d} mlx5_{hca}", "Ca", 1)
    leaves = [(unit, hca) for unit in range(units) for hca in range(n_hcas)]
    for unit, hca in leaves:
        net.add(f"leaf-{unit}-{hca}", "Switch", hosts + spines)
    for spine in range(spines):
        net.add(f"spine-{spine}", "Switch", len(leaves))
    for number, (unit, hca) in enumerate(leaves, start=1):
        for at in range(hosts):
            there = (f"n{unit * hosts + at + 1:03d} mlx5_{hca}", 1)
            net.link((f"leaf-{unit}-{hca}", at + 1), there)
        for spine in range(spines):
            there = (f"spine-{spine}", number)
            net.link((f"leaf-{unit}-{hca}", hosts + spine + 1), there)
    return net


NETS = {
    "tree": (node_tree(4, 3, 8, 4), 4),
    "tapered": (node_tree(4, 4, 3, 2), 2),
    "rails": (rail_tree(2, 4, 4, 3), 4),
    "directors": (frontera_like(6, hosts=8, total=48), 1),
    "torus": (torus([3, 3, 2]), 1),
}


def hosts_of(net: Net) -> list[str]:
    """Each once."""
    names = [name for name, (kind, *_) in net.nodes.items() if kind == "Ca"]
    return list(dict.fromkeys(name.split(" ", maxsplit=1)[0] for name in names))


@pytest.mark.parametrize("pattern", ["ring", "tree"])
@pytest.mark.parametrize(
    ("name", "engine"),
    [
        *((name, engine) for name in ("tree", "tapered") for engine in ("minhop", "updn", "ftree")),
        *((name, engine) for name in ("rails", "directors") for engine in ("minhop", "updn")),
        ("torus", "minhop"),
        ("torus", "dor"),
    ],
)
def test_cables_of_every_channel_are_those_of_ibtracert(
    name: str, engine: str, pattern: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    net, n_hcas = NETS[name]
    hosts = hosts_of(net)
    random.Random(7).shuffle(hosts)
    nets = [(channel % n_hcas, channel % n_hcas) for channel in range(2 * n_hcas)]
    job = DrawnJob(hosts[:12], 4, nets, [f"mlx5_{hca}:1" for hca in range(n_hcas)])
    log = tmp_path / "nccl.log"
    log.write_text(job.text())
    with Ibsim(net.text()) as sim:
        dumps = sim.opensm(engine)
        files = [str(dumps / one) for one in ("opensm-subnet.lst", "opensm-lfts.dump")]
        argv = ["fabric", "channels", *files, "--log", str(log), "--pattern", pattern]
        code = run([*argv, "--tries", "0", "--format", "json"])
        assert code in (0, 1)
        found = json.loads(capsys.readouterr().out)
        assert found["unknown"] == []
        subnet = Subnet.read(files)
        places = Places(subnet)
        check_hops(job, pattern, found["hops"])
        traced: dict[tuple[str, str], Cables] = {}
        for hop in found["hops"]:
            ends = [
                f"{hop[end]} mlx5_{hop[f'{end}_net']}" if n_hcas > 1 else hop[end]
                for end in ("src", "dst")
            ]
            src, dst = (places.find(end)[0] for end in ends)
            if (ends[0], ends[1]) not in traced:
                text = sim.run("ibtracert", str(src.lid), str(dst.lid))
                traced[ends[0], ends[1]] = traced_by_ibtracert(text)
            assert numbered(subnet, hop["cables"]) == by_node(subnet, traced[ends[0], ends[1]])


def check_hops(job: DrawnJob, pattern: str, hops: list[dict[str, object]]) -> None:
    """Those that were drawn, each once."""
    keys = ("channel", "src", "src_net", "dst", "dst_net")
    found = sorted(tuple(hop[key] for key in keys) for hop in hops)
    assert found == sorted(job.ring_hops if pattern == "ring" else job.tree_hops)


def numbered(subnet: Subnet, cables: list[dict[str, object]]) -> Cables:
    """Cables with the GUIDs of their ends."""
    guid = {node.description: node.guid for node in subnet.nodes}
    assert len(guid) == len(subnet.nodes)
    return [
        (guid[one["egress"]], one["egress_port"], guid[one["ingress"]], one["ingress_port"])
        for one in cables
    ]


def by_node(subnet: Subnet, cables: Cables) -> Cables:
    """ibtracert names adapters by the GUID of their port."""
    node = {guid: subnet.nodes[at].guid for at, _, _, guid in subnet.port_guids}
    return [(node.get(a, a), out, node.get(b, b), into) for a, out, b, into in cables]
