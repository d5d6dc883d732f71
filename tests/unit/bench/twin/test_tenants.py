"""Another job beside the one that is measured."""

import json
from typing import Any

import pytest

from weft.bench.model import Launch, Trial
from weft.bench.twin.backend import TwinBackend
from weft.catalog.load import platform
from weft.core.errors import InputError

BESIDE = "alltoall:64K@job"


@pytest.fixture(scope="module")
def twin() -> TwinBackend:
    return TwinBackend(platform("fat-tree"), 64)


def launch(twin: TwinBackend, name: str = "alltoall", n_nodes: int = 16, **options: Any) -> Launch:
    nodes = twin.nodes[: 2 * n_nodes : 2]
    options = {"iterations": 1, "warmup": 0, **options}
    if name == "pairs":
        options["rounds"] = [[[0, 1]]]
    return Launch(Trial("t", name, (32768,), nodes, 1, options=options), 0, 0)


def times_us(twin: TwinBackend, **options: Any) -> float:
    (sample,) = twin.measure(launch(twin, routing="minhop", **options))
    return sample.metrics["latency_us_p50"]


def test_the_neighbour_has_as_many_other_nodes_the_same_for_all_launches_of_the_job(
    twin: TwinBackend,
) -> None:
    one = twin.scenario(launch(twin, aggressors=[BESIDE]))
    job, other = one["tenants"]
    assert len(other["placement"]["nodes"]) == 16
    assert not set(other["placement"]["nodes"]) & set(job["placement"]["nodes"])
    on = twin.scenario(launch(twin, aggressors=[BESIDE], adaptive_routing="on"))
    assert on["tenants"][1] == other


def test_a_neighbour_slows_the_job_and_a_lane_of_its_own_helps_it(twin: TwinBackend) -> None:
    hot = ["alltoall:1M@48"]
    alone, beside = times_us(twin), times_us(twin, aggressors=hot)
    assert beside > 1.1 * alone
    assert times_us(twin, aggressors=hot, service_level=1) < 0.95 * beside
    assert times_us(twin, aggressors=[f"{hot[0]},sl=1"]) < 0.95 * beside
    assert times_us(twin, aggressors=[], service_level=1) == alone


def test_an_aggressor_is_of_its_partition_and_its_puts_cost_no_processor(
    twin: TwinBackend,
) -> None:
    asked = ["put_incast@8,pkey=0x21", "alltoall:64K@job,start=1ms"]
    document = twin.scenario(launch(twin, aggressors=asked))
    job, put, other = document["tenants"]
    assert (put["one_sided"], put["partition_key"]) == (True, 0x21)
    assert document["partitions"] == [{"key": 0x21, "nodes": put["placement"]["nodes"]}]
    assert job["start_ns"] > other["start_ns"] == 1_000_000
    assert "one_sided" not in other


@pytest.mark.parametrize(
    ("asked", "options", "control", "adaptive"),
    [
        (",sl=1,law=rtt", {}, {"rtt": {}, "service_levels": [1]}, None),
        (",sl=1,law=off", {"congestion_control": "rtt"}, {"rtt": {}, "service_levels": [0]}, None),
        (",sl=1,law=rtt", {"congestion_control": "rtt"}, {"rtt": {}}, None),
        (",sl=1,routing=adaptive", {}, None, [1]),
        (",sl=1,routing=static", {"adaptive_routing": "on"}, None, [0]),
        (",law=off,routing=static", {}, None, None),
    ],
)
def test_an_aggressor_has_a_law_and_routing_of_its_own(
    twin: TwinBackend,
    asked: str,
    options: dict[str, str],
    control: dict[str, Any] | None,
    adaptive: list[int] | None,
) -> None:
    document = twin.scenario(launch(twin, aggressors=[BESIDE + asked], **options))
    assert document.get("congestion_control") == control
    assert document["routing"].get("adaptive", {}).get("service_levels") == adaptive
    # The engine has lanes for these levels.
    twin.measure(launch(twin, aggressors=[BESIDE + asked], **options))


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ([",law=rtt"], "another job on its service level 0 has law=off"),
        ([",routing=adaptive"], "another job on its service level 0 has routing=static"),
        ([",sl=1,law=rtt", ",sl=1"], "another job on its service level 1 has law=rtt"),
        ([",sl=1,law=rtt", ",sl=2,law=dcqcn"], "jobs have the laws dcqcn and rtt"),
        ([",sl=1,law=fast"], "has law=fast"),
    ],
)
def test_jobs_that_no_fabric_tells_apart_are_refused(
    twin: TwinBackend, asked: list[str], text: str
) -> None:
    aggressors = [f"alltoall:64K@8{one}" for one in asked]
    with pytest.raises(InputError) as caught:
        twin.scenario(launch(twin, aggressors=aggressors))
    assert text in str(caught.value)


@pytest.mark.parametrize("more", [{}, {"adaptive_routing": "on"}, {"congestion_control": "dcqcn"}])
def test_a_partition_says_who_may_talk_not_who_shares_a_cable(
    more: dict[str, str], twin: TwinBackend
) -> None:
    hot = "alltoall:1M@48"
    together = times_us(twin, aggressors=[hot], **more)
    assert times_us(twin, aggressors=[f"{hot},pkey=5"], **more) == together
    assert together > times_us(twin, aggressors=[], **more)


def test_puts_over_sockets_are_the_processors(twin: TwinBackend) -> None:
    mpi = twin.platform.mpi.model_copy(update={"one_sided": "processor"})
    over_sockets = twin.with_platform(twin.platform.model_copy(update={"mpi": mpi}))
    document = over_sockets.scenario(launch(over_sockets, aggressors=["put_incast@8"]))
    assert "one_sided" not in document["tenants"][1]


def test_only_the_job_is_measured_together_or_alone(twin: TwinBackend) -> None:
    loads: list[list[str]] = [[], [BESIDE]]
    both = [launch(twin, aggressors=one, routing="minhop") for one in loads]
    twin.ahead(both)
    ahead = [list(twin.measure(one)) for one in both]
    twin.ahead([])
    assert [list(twin.measure(one)) for one in both] == ahead
    assert [len(samples) for samples in ahead] == [1, 1]
    assert ahead[1][0].evidence["aggressors"] == BESIDE


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"aggressors": ["storm@job"]}, "no pattern 'storm' for an aggressor"),
        ({"aggressors": "alltoall@job"}, "option 'aggressors' is 'alltoall@job'"),
        ({"aggressors": [BESIDE], "service_level": 15}, "option 'service_level' is 15"),
        ({"aggressors": [BESIDE], "n_nodes": 32, "name": "pairs"}, "'aggressors' with pairs"),
        ({"service_level": 1}, "option 'service_level' without 'aggressors'"),
        ({"aggressors": [BESIDE], "gpu_network": "ofi"}, "with gpu_network = 'ofi'"),
    ],
)
def test_what_no_twin_has_is_refused(
    twin: TwinBackend, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        twin.scenario(launch(twin, **options))


def test_a_job_on_all_nodes_has_no_neighbour() -> None:
    small = TwinBackend(platform("fat-tree"), 4)
    trial = Trial("t", "alltoall", (8,), small.nodes, 1, options={"aggressors": [BESIDE]})
    with pytest.raises(
        InputError, match="too few nodes are left for aggressors: the job has 4 of 4"
    ):
        small.scenario(Launch(trial, 0, 0))


def test_lanes_of_a_dragonfly_are_all_taken() -> None:
    dragonfly = TwinBackend(platform("alps-a100"), 16)
    trial = Trial(
        "t",
        "alltoall",
        (8,),
        dragonfly.nodes[:4],
        1,
        options={"service_level": 1, "aggressors": [BESIDE]},
    )
    with pytest.raises(InputError, match="option 'service_level' on a dragonfly"):
        json.dumps(dragonfly.scenario(Launch(trial, 0, 0)))


def test_flows_know_no_lanes() -> None:
    """Both settings would be equal, and look proved."""
    flows = TwinBackend(platform("fat-tree"), 64, fidelity="flow")
    with pytest.raises(InputError, match="'service_level' with --fidelity flow"):
        flows.scenario(launch(flows, aggressors=[BESIDE], service_level=1))
