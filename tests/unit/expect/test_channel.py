"""The way of a message: what each condition changes, and what it must not."""

from typing import Any

import pytest

from weft.catalog.load import platform
from weft.core.errors import InputError
from weft.expect.channel import Channel, channel_of, tapered
from weft.expect.model import Conditions, largest

MIB = 1 << 20


def way(name: str, **more: Any) -> Channel:
    return channel_of(platform(name), Conditions("bandwidth", MIB, **more))


def total(found: Channel, size: int) -> float:
    return sum(term.time_ns for term in found.latency_terms(size))


def test_ranks_of_one_node_do_not_touch_the_adapter() -> None:
    found = way("azure-hbv3", n_nodes=1)
    assert found.inside
    assert found.rate_gb_s is None
    assert {term.name for term in found.latency_terms(8)} == {"shared memory", "copy"}
    assert not way("azure-hbv3", n_nodes=1, transport="network").inside


def test_two_gpus_of_a_node_talk_over_nvlink_at_the_published_rate() -> None:
    # SOURCE: eth-cscs/cscs-docs 80abed1: 115215 MB/s between two GPUs of a GH200 node.
    slowest = largest(way("alps-gh200", n_nodes=1, memory="gpu").stages(64 * MIB))
    assert slowest.name == "NVLink between two GPUs"
    assert slowest.low_ns <= 64 * MIB / 115.215 <= slowest.high_ns


@pytest.mark.parametrize("senders", [1, 2, 16])
def test_the_wire_is_shared_by_the_ranks_beyond_the_adapters(senders: int) -> None:
    one = largest(way("azure-hbv3").stages(4 * MIB)).time_ns
    assert largest(way("azure-hbv3").stages(4 * MIB, senders)).time_ns == pytest.approx(
        senders * one
    )
    eight = way("azure-ndv4", tasks_per_node=8)
    assert largest(eight.stages(4 * MIB, 8)).time_ns == pytest.approx(
        largest(eight.stages(4 * MIB, 1)).time_ns
    )


def test_verbs_have_no_mpi_in_them() -> None:
    assert total(way("azure-hbv3", library="verbs"), 8) < total(way("azure-hbv3"), 8)


def test_gpu_memory_costs_a_small_message_more() -> None:
    assert total(way("azure-ndv4", memory="gpu"), 8) > total(way("azure-ndv4"), 8)


def test_tcp_costs_every_message_more() -> None:
    for size in (8, MIB):
        assert total(way("azure-hbv3", transport="sockets"), size) > total(way("azure-hbv3"), size)


def test_another_machines_host_is_trusted_less_than_ones_own() -> None:
    def width(name: str) -> float:
        terms = way(name).latency_terms(8)
        return sum(term.high_ns for term in terms) / sum(term.low_ns for term in terms)

    assert width("generic-hdr") > 3 * width("azure-hbv3")


def test_a_taper_adds_a_stage_only_where_there_is_one() -> None:
    wide, narrow = way("fat-tree", n_nodes=4000), way("frontera", n_nodes=4000)
    assert len(tapered(wide, wide.stages(MIB))) == len(wide.stages(MIB))
    assert "taper" in largest(tapered(narrow, narrow.stages(4 * MIB))).name


def test_a_least_time_counts_every_adapter_a_library_may_use() -> None:
    mpi, verbs = way("azure-ndv4"), way("azure-ndv4", library="verbs")
    assert verbs.least_ns(8 * MIB) > mpi.least_ns(8 * MIB)
    assert way("azure-ndv4", n_hcas=2).least_ns(0) == verbs.least_ns(0)


def test_more_adapters_than_a_node_has_is_an_input_error() -> None:
    with pytest.raises(InputError, match="9 HCAs of a node of platform 'azure-ndv4'"):
        way("azure-ndv4", n_hcas=9)


@pytest.mark.parametrize("n_switches", [1, 3, 5])
def test_where_the_switches_on_the_path_are_known_they_count_once_each(n_switches: int) -> None:
    of = platform("fat-tree")
    assert of.links is not None
    assert of.switch is not None
    found = {t.name: t.time_ns for t in way("fat-tree", n_switches=n_switches).latency_terms(8)}
    assert found["switch delay"] == pytest.approx(n_switches * of.switch.delay.value)
    cables = 2 * of.links.host.delay.value + (n_switches - 1) * of.links.switch.delay.value
    assert found["cable delay"] == pytest.approx(cables)


def test_an_unknown_path_may_be_the_shortest_or_the_longest() -> None:
    def width(**more: Any) -> float:
        found = way("fat-tree", **more).latency_terms(8)
        term = next(t for t in found if t.name == "switch delay")
        return term.high_ns / term.low_ns

    assert width(n_nodes=16, n_switches=3) < width(n_nodes=16)


def test_gpus_that_nvlink_joins_over_nodes_are_limited_by_no_adapter() -> None:
    assert way("azure-ndv6", memory="gpu").rate_gb_s is None
    assert way("azure-ndv6", memory="gpu", transport="rdma").rate_gb_s is not None
    assert way("azure-ndv6").rate_gb_s is not None


def test_a_link_that_was_assumed_or_fitted_limits_nothing() -> None:
    # SOURCE of the class: the document of azure-a9, links.host.rate: assumed.
    found = way("azure-a9")
    assert found.rate_gb_s is None
    assert found.least_ns(MIB) == 0
