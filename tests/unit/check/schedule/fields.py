"""Fabrics and ranks to make schedules for."""

import pytest

from weft.check.readings.network import Network
from weft.check.schedule.cost import Cost, effort_of
from weft.check.schedule.paths import FlowPaths
from weft.check.schedule.ranks import ranks_of_nodes
from weft.check.schedule.schedule import Field


def generated(*, nodes, per_leaf, spines, hcas=1, host=100, switch=100, **more):
    """A fabric of the engine's, rates in Gb/s."""
    pytest.importorskip("weft._engine", reason="the engine is not built")
    from weft.topology.fabric import Fabric

    spec = {"schema": "weft.fabric/1", "generate": "fat_tree", "name": "tree", "nodes": nodes}
    spec |= {"hcas_per_node": hcas, "routing": {"engine": "dmodk"}}
    spec |= more or {
        "levels": 2,
        "nodes_per_leaf": per_leaf,
        "spines": spines,
        "cables_per_spine": 1,
    }
    spec |= {"host_bits_per_s": host * 10**9, "switch_bits_per_s": switch * 10**9}
    spec |= {"host_delay_ps": 5000, "switch_delay_ps": 5000}
    return Fabric.from_document(spec)


def rails(*, nodes, per_unit, spines, n_rails=2):
    """Leaves of one rail each, every leaf with a cable to every spine; 100 Gb/s."""
    pytest.importorskip("weft._engine", reason="the engine is not built")
    from weft.topology.fabric import Fabric

    spec = {"generate": "rails", "levels": 2, "nodes": nodes, "hcas_per_node": n_rails}
    spec |= {"nodes_per_unit": per_unit, "spines": spines}
    spec |= {"host_bits_per_s": 10**11, "switch_bits_per_s": 10**11}
    spec |= {"host_delay_ps": 5000, "switch_delay_ps": 5000}
    return Fabric.from_document(spec)


def planes(*, n_planes=2, **spec):
    """Fabrics that never meet: HCA i of a node is on the i-th; without tables."""
    from weft.topology.fabric import Fabric

    one = generated(**spec).document

    def renamed(port, plane):
        return port.replace("/hca0", f"/hca{plane}") if "/" in port else f"plane-{plane}-{port}"

    every = range(n_planes)
    hcas = [[f"{node['name']}/hca{plane}" for plane in every] for node in one["nodes"]]
    document = {
        "schema": one["schema"],
        "name": "planes",
        "nodes": [{**node, "hcas": of} for node, of in zip(one["nodes"], hcas, strict=True)],
        "switches": [
            {**switch, "name": renamed(switch["name"], plane)}
            for plane in every
            for switch in one["switches"]
        ],
        "links": [
            {**link, "a": renamed(link["a"], plane), "b": renamed(link["b"], plane)}
            for plane in every
            for link in one["links"]
        ],
    }
    return Fabric.from_document(document)


def field_of(wiring, n_rails=1, *, adaptive=False, only=None, seed=1, nodes=None):
    """All nodes of a fabric, or some."""
    network = Network(wiring)
    ranks = ranks_of_nodes(nodes or wiring.nodes, n_rails, network)
    return Field(ranks, FlowPaths(network, ranks.hca, adaptive=adaptive), only, seed)


OPTIONS = {"window": 8}


def cost_of(field, **options):
    """What rounds cost there, by the kernel's defaults but for these options."""
    return Cost(field.ranks, field.paths, effort_of({**OPTIONS, **options}, 2**20))


def worst_load(field, pairs):
    """The fullest port of a round, both directions sending, as a share of its rate: counted flow by
    flow along the fabric's own paths, each at the rate of its slowest cable."""
    network = field.ranks.network
    ends = [(field.ranks.endpoint(a), field.ranks.endpoint(b)) for a, b in pairs.tolist()]
    flows = [(network.hca_of(x), network.hca_of(y)) for a, b in ends for x, y in ((a, b), (b, a))]
    load = {}
    for path in network.wiring.paths(flows):
        rates = [network.rate[network.port_id[port]] for port in path]
        for port in path:
            load[port] = load.get(port, 0.0) + min(rates)
    return max(sent / network.rate[network.port_id[port]] for port, sent in load.items())


def is_disjoint(pairs):
    """Whether nobody is in two pairs."""
    ranks = [rank for pair in pairs.tolist() for rank in pair]
    return len(ranks) == len(set(ranks))
