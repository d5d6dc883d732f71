"""The predicted loss by collisions against the packet engine: the same hops, each one message."""

import json

import pytest
from tests.unit.audit.channels.fabric_jobs import GBPS, job_on_fabric

from weft import _engine as engine
from weft.audit.channels.adapters import adapters_of
from weft.audit.channels.channel_map import CablePaths, ChannelMap, channel_map
from weft.audit.channels.host_order import SearchLimits, search_orders
from weft.topology.subnet.subnet import Subnet

BYTES = 8 << 20
REGIME = {"send_overhead_ns": 100, "recv_overhead_ns": 100}
CASES = {
    "tapered": {"nodes": 16, "hcas_per_node": 1, "nodes_per_leaf": 4, "spines": 2},
    "two adapters": {"nodes": 12, "hcas_per_node": 2, "nodes_per_leaf": 3, "spines": 6},
    "four adapters": {"nodes": 8, "hcas_per_node": 4, "nodes_per_leaf": 2, "spines": 4},
    "full": {"nodes": 16, "hcas_per_node": 1, "nodes_per_leaf": 4, "spines": 4},
    "slower spines": {
        "nodes": 9,
        "hcas_per_node": 2,
        "nodes_per_leaf": 3,
        "spines": 6,
        "switch_bits_per_s": 40 * 10**9,
    },
}


def simulated_s(found: ChannelMap, subnet: Subnet, *, faster: int = 1) -> float:
    """Seconds until the last hop of the packet engine is done; cables between switches `faster`."""
    document, _ = subnet.fabric_document("channels", GBPS * 10**9, 5000)
    hcas = {hca for node in document["nodes"] for hca in node["hcas"]}
    for link in document["links"]:
        if not {link[end].rpartition("[")[0] for end in ("a", "b")} & hcas:
            link["bits_per_s"] *= faster
    n_hcas = len(document["nodes"][0]["hcas"])
    messages = [
        {
            "src": hop.src * n_hcas + hop.src_net,
            "dst": hop.dst * n_hcas + hop.dst_net,
            "size_bytes": BYTES,
        }
        for hop in found.job.hops
    ]
    scenario = {
        "schema": "weft.scenario/1",
        "fabric": document,
        "host": {"regimes": [REGIME]},
        "placement": {"nodes": list(found.job.hosts), "tasks_per_node": n_hcas},
        "work": [{"benchmark": "messages", "messages": messages}],
        "routing": {"allow_credit_loops": False},
    }
    outcome = engine.simulate(json.dumps(scenario))
    assert outcome["status"] == "complete", outcome["message"]
    return float(outcome["duration_ps"].max()) / 1e12


def predicted_s(found: ChannelMap) -> float:
    """Seconds for the slowest hop at its predicted rate."""
    return BYTES * 8 / (min(found.rates_gbps) * 1e9)


@pytest.mark.parametrize("engine_name", ["minhop", "ftree"])
@pytest.mark.parametrize("name", CASES)
def test_the_slowest_hop_loses_what_the_packet_engine_takes_longer(
    name: str, engine_name: str
) -> None:
    for seed in range(3):
        job, subnet = job_on_fabric(CASES[name], engine_name, seed)
        adapters, _ = adapters_of(subnet, job, ())
        found = channel_map(job, adapters, CablePaths(subnet))
        predicted = found.busbw_gb_s / found.free_busbw_gb_s
        took = simulated_s(found, subnet)
        alone = simulated_s(found, subnet, faster=16)
        assert alone / took == pytest.approx(predicted, rel=0.03), (name, seed)
        # 30 bytes of headers and 4,096 of a message make a packet.
        assert took == pytest.approx(predicted_s(found), rel=0.015)


@pytest.mark.parametrize("name", CASES)
def test_a_tree_takes_what_is_predicted_or_up_to_a_third_longer(name: str) -> None:
    """Two messages leave an adapter, and the one that waits for a full cable holds up the other."""
    for seed in range(3):
        job, subnet = job_on_fabric(CASES[name], "minhop", seed, "tree")
        adapters, _ = adapters_of(subnet, job, ())
        found = channel_map(job, adapters, CablePaths(subnet))
        assert 1.0 <= simulated_s(found, subnet) / predicted_s(found) <= 1.3


@pytest.mark.parametrize("name", ["tapered", "two adapters", "four adapters"])
def test_the_order_that_is_printed_gains_what_is_predicted(name: str) -> None:
    job, subnet = job_on_fabric(CASES[name], "minhop", 0)
    adapters, _ = adapters_of(subnet, job, ())
    search = search_orders(job, adapters, CablePaths(subnet), SearchLimits(500, 0))
    given, best = search.orders[0].outcome, search.best.outcome
    predicted = best.busbw_gb_s / given.busbw_gb_s
    assert predicted >= 1.9
    gained = simulated_s(given, subnet) / simulated_s(best, subnet)
    assert gained == pytest.approx(predicted, rel=0.03)
