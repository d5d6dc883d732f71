"""Slowdowns predicted against the packet engine: the same shifts, message by message."""

import json
import random
from typing import Any

import numpy as np
import pytest
from tests.seeds import drawn

from weft import _engine as engine
from weft.audit.change_risk.change import FabricChange, read_changes
from weft.audit.change_risk.reach import changed
from weft.audit.change_risk.slowdown import MOST_SHIFTS, JobRisk, job_risks, shifts_of
from weft.audit.change_risk.tables import Routing
from weft.core.errors import InputError
from weft.topology.subnet.subnet import Subnet

BYTES = 1 << 20
GBPS = 100
WITHIN = 0.10
REGIME = {"send_overhead_ns": 100, "recv_overhead_ns": 100}
TREE = {
    "generate": "fat_tree",
    "levels": 2,
    "host_bits_per_s": GBPS * 10**9,
    "switch_bits_per_s": GBPS * 10**9,
    "host_delay_ps": 5000,
    "switch_delay_ps": 5000,
}


def fabric(draw: random.Random) -> Subnet:
    """A tree of a random shape, routed as OpenSM would."""
    per_leaf = draw.randint(2, 5)
    shape = {
        "nodes": per_leaf * draw.randint(3, 5),
        "nodes_per_leaf": per_leaf,
        "spines": draw.randint(2, 5),
        "hcas_per_node": 1,
    }
    return Subnet.of_fabric({**TREE, **shape}).route(draw.choice(["minhop", "updn", "ftree"]))


def drawn_changes(subnet: Subnet, draw: random.Random) -> tuple[FabricChange, ...]:
    """One or two cables, or a spine."""
    inner = [
        f"{subnet.name(cable.a.node, cable.a.port)}"
        for cable in subnet.cables
        if all(subnet.nodes[end.node].is_switch for end in cable.ends)
    ]
    if draw.random() < 0.4:
        spines = [node.description for node in subnet.nodes if "spine" in node.description]
        return read_changes(subnet, [draw.choice(spines)], (), ())
    return read_changes(subnet, (), draw.sample(inner, draw.choice([1, 2])), ())


def simulated_ps(subnet: Subnet, hosts: list[str], shift: int) -> int:
    """The time of the last message of a shift on the packet engine."""
    document, _ = subnet.fabric_document("net", GBPS * 10**9, 5000)
    n = len(hosts)
    messages = [{"src": i, "dst": (i + shift) % n, "size_bytes": BYTES} for i in range(n)]
    scenario = {
        "schema": "weft.scenario/1",
        "fabric": document,
        "host": {"regimes": [REGIME]},
        "placement": {"nodes": hosts, "tasks_per_node": 1},
        "work": [{"benchmark": "messages", "messages": messages}],
        "routing": {"allow_credit_loops": True},
    }
    outcome: dict[str, Any] = engine.simulate(json.dumps(scenario))
    assert outcome["status"] == "complete", outcome["message"]
    return int(outcome["duration_ps"].max())


def hosts_of(subnet: Subnet) -> list[str]:
    """Names of hosts, in the order in which a person counts them."""
    return sorted(node.description.split()[0] for node in subnet.nodes if not node.is_switch)


def predicted(
    before: Subnet, changes: tuple[FabricChange, ...], jobs: dict[str, list[str]]
) -> tuple[Subnet, dict[str, JobRisk]]:
    """The fabric after the changes, and what weft says of the jobs."""
    found = changed(before, changes)
    after, _ = Routing(before, "minhop", "given").after(found)
    gone = frozenset(guid for change in changes for guid in change.gone)
    risks = job_risks(before, after, jobs, found.cut_off, gone)
    return after, {risk.name: risk for risk in risks}


@pytest.mark.parametrize("seed", drawn(range(60), 6))
def test_a_job_gets_slower_by_what_the_packet_engine_measures(seed: int) -> None:
    draw = random.Random(seed)
    before = fabric(draw)
    every = hosts_of(before)
    job = sorted(draw.sample(every, draw.randint(4, min(10, len(every)))))
    for _ in range(20):
        after, risks = predicted(before, drawn_changes(before, draw), {"1": job})
        risk = risks["1"]
        if not risk.cut_off:
            break
    assert risk.mean is not None
    assert risk.worst is not None
    times = np.array(
        [[simulated_ps(net, job, shift) for net in (before, after)] for shift in range(1, len(job))]
    )
    took = times.sum(axis=0)
    assert took[1] / took[0] == pytest.approx(1 + risk.mean, rel=WITHIN)
    assert risk.worst_shift is not None
    then, now = times[risk.worst_shift - 1]
    assert now / then == pytest.approx(1 + risk.worst, rel=WITHIN)


def small() -> Subnet:
    """Three leaves of two hosts below two spines."""
    shape = {"nodes": 6, "nodes_per_leaf": 2, "spines": 2, "hcas_per_node": 1}
    return Subnet.of_fabric({**TREE, **shape}).route("minhop")


def test_half_of_the_spines_take_twice_the_time_where_all_leaves_send_over_them() -> None:
    before = small()
    _, risks = predicted(
        before, read_changes(before, ["spine-02"], (), ()), {"all": hosts_of(before)}
    )
    # Shifts 2 and 4 take both hosts of a leaf to one other leaf, over one cable instead of two.
    assert risks["all"].worst == pytest.approx(1.0)


def test_a_job_of_one_leaf_is_not_slower() -> None:
    before = small()
    job = hosts_of(before)[:2]
    _, risks = predicted(before, read_changes(before, ["spine-02"], (), ()), {"leaf": job})
    assert (risks["leaf"].mean, risks["leaf"].worst) == (0.0, 0.0)


def test_a_job_whose_host_goes_is_cut_off_and_a_strange_host_is_unknown() -> None:
    before = small()
    hosts = hosts_of(before)
    jobs = {"a": hosts[:3], "b": [hosts[3], "login1"], "c": [hosts[5]]}
    _, risks = predicted(before, read_changes(before, [hosts[0]], (), ()), jobs)
    assert risks["a"].cut_off == (hosts[0],)
    assert "no file names login1" in str(risks["b"].unknown)
    assert risks["c"].mean == 0.0


def test_the_shifts_of_a_large_job_are_spread_over_all() -> None:
    assert shifts_of(5) == [1, 2, 3, 4]
    many = shifts_of(1000)
    assert (len(many), many[0], many[-1]) == (MOST_SHIFTS, 1, 999)
    assert sorted(set(many)) == many


def test_a_name_that_nothing_has_is_refused() -> None:
    with pytest.raises(InputError, match="no switch and no host in these files is called"):
        read_changes(small(), ["spine-09x"], (), ())
