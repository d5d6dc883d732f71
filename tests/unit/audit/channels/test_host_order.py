"""Orders of hosts: never worse, the best that there is on small fabrics, and the same again."""

import itertools
from dataclasses import replace

import pytest
from tests.unit.audit.channels.fabric_jobs import GBPS, job_on_fabric

from weft.audit.channels.adapters import adapters_of
from weft.audit.channels.channel_map import CablePaths, channel_map
from weft.audit.channels.host_order import SearchLimits, search_orders
from weft.audit.channels.job import NcclJob
from weft.topology.subnet.subnet import Subnet

FEW = {
    "one spine": {"nodes": 6, "hcas_per_node": 1, "nodes_per_leaf": 3, "spines": 1},
    "two spines": {"nodes": 6, "hcas_per_node": 1, "nodes_per_leaf": 2, "spines": 2},
    "three spines": {"nodes": 6, "hcas_per_node": 4, "nodes_per_leaf": 2, "spines": 3},
    "rails": {
        "generate": "rails",
        "nodes": 6,
        "hcas_per_node": 2,
        "nodes_per_unit": 3,
        "spines": 1,
        "switch_bits_per_s": 60 * 10**9,
    },
}
WIDE = {"nodes": 24, "hcas_per_node": 2, "nodes_per_leaf": 4, "spines": 8}


def reordered(job: NcclJob, places: tuple[int, ...]) -> NcclJob:
    return replace(job, hosts=tuple(job.hosts[at] for at in places))


def busbw(subnet: Subnet, job: NcclJob) -> float:
    adapters, _ = adapters_of(subnet, job, ())
    return channel_map(job, adapters, CablePaths(subnet)).busbw_gb_s


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", FEW)
def test_the_search_finds_the_best_of_all_orders_and_none_passes_the_bound(
    name: str, seed: int
) -> None:
    job, subnet = job_on_fabric(FEW[name], "minhop", seed)
    best = max(
        busbw(subnet, reordered(job, (0, *tail)))
        for tail in itertools.permutations(range(1, len(job.hosts)))
    )
    adapters, _ = adapters_of(subnet, job, ())
    search = search_orders(job, adapters, CablePaths(subnet), SearchLimits(300, 0))
    assert search.best.outcome.busbw_gb_s == pytest.approx(best)
    if search.bound_busbw_gb_s is not None:
        assert search.bound_busbw_gb_s >= best * (1 - 1e-9)


def test_the_bound_is_reached_where_one_switch_is_the_bottleneck() -> None:
    """Four channels have to leave each leaf over three cables: one carries two."""
    case = {"nodes": 8, "hcas_per_node": 4, "nodes_per_leaf": 2, "spines": 3}
    job, subnet = job_on_fabric(case, "minhop", 1)
    adapters, _ = adapters_of(subnet, job, ())
    search = search_orders(job, adapters, CablePaths(subnet), SearchLimits(300, 0))
    assert search.bound is not None
    assert (search.bound.n_hops, search.bound.n_cables) == (4, 3)
    assert search.bound_busbw_gb_s == pytest.approx(4 * GBPS / 2 / 8)
    assert search.best.outcome.busbw_gb_s == pytest.approx(search.bound_busbw_gb_s)


@pytest.mark.parametrize("seed", range(4))
def test_an_order_gives_what_the_job_in_that_order_would(seed: int) -> None:
    job, subnet = job_on_fabric(WIDE, "minhop", seed)
    adapters, _ = adapters_of(subnet, job, ())
    search = search_orders(job, adapters, CablePaths(subnet), SearchLimits(300, seed))
    given = search.orders[0].outcome.busbw_gb_s
    assert given == pytest.approx(busbw(subnet, job))
    assert search.best.outcome.busbw_gb_s > given
    for order in search.orders:
        assert sorted(order.places) == list(range(len(job.hosts)))
        assert order.hosts == reordered(job, order.places).hosts
        again = busbw(subnet, reordered(job, order.places))
        assert order.outcome.busbw_gb_s == pytest.approx(again)
    same = search_orders(job, adapters, CablePaths(subnet), SearchLimits(300, seed))
    assert [one.places for one in same.orders] == [one.places for one in search.orders]


def test_hosts_with_other_devices_stay_where_they_are() -> None:
    job, subnet = job_on_fabric({**WIDE, "switch_bits_per_s": 10**10}, "minhop", 0)
    hops = tuple(
        replace(hop, src_net=0 if hop.src == 3 else hop.src_net) for hop in job.hops if hop.dst != 3
    )
    job = replace(job, hops=hops)
    adapters, _ = adapters_of(subnet, job, ())
    search = search_orders(job, adapters, CablePaths(subnet), SearchLimits(300, 0))
    assert len(search.orders) == 1
    assert "devices of the same numbers" in search.refused


def test_two_hosts_on_two_leaves_have_one_order() -> None:
    slow = {"nodes": 2, "nodes_per_leaf": 1, "spines": 1, "switch_bits_per_s": 40 * 10**9}
    job, subnet = job_on_fabric({**slow, "hcas_per_node": 1}, "minhop", 0)
    adapters, _ = adapters_of(subnet, job, ())
    search = search_orders(job, adapters, CablePaths(subnet), SearchLimits(300, 0))
    assert search.best is search.orders[0]
    assert search.best.outcome.busbw_gb_s == pytest.approx(5.0)
    assert search.best.outcome.free_busbw_gb_s == pytest.approx(12.5)
