"""Every cable so many times: counted along the fabric's own paths."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.check.schedule.fields import field_of, generated, is_disjoint, worst_load

from weft.bench.model import Pair, Sample
from weft.check.readings.crossing import Crossings
from weft.check.readings.norms import load_percent
from weft.check.readings.readings import readings_of
from weft.check.schedule.coverage_plan import planned_coverage
from weft.check.schedule.node_group import group_of
from weft.check.schedule.rounds.cable_cover import first_of_each, once_each
from weft.check.schedule.schedule import Field, schedule_of
from weft.check.schedule.scheme import Scheme, SchemeKind


def times_filled(field, rounds, flows_that_fill):
    """By port between switches: rounds in which so many messages cross it while the first of each
    pair sends, or while the second does."""
    network = field.ranks.network
    filled = dict.fromkeys(network.ports, 0)
    for pairs in rounds:
        there = [(field.ranks.endpoint(a), field.ranks.endpoint(b)) for a, b in pairs.tolist()]
        crossed = []
        for flows in (there, [(b, a) for a, b in there]):
            paths = network.wiring.paths([(network.hca_of(a), network.hca_of(b)) for a, b in flows])
            crossed.append([port for path in paths for port in path])
        for port in set(crossed[0] + crossed[1]):
            filled[port] += max(c.count(port) for c in crossed) >= flows_that_fill
    inner = np.flatnonzero(network.between_switches)
    return {network.ports[p]: filled[network.ports[p]] for p in inner}


def crossable(field):
    """Ports between switches on the way of any two nodes, rail by rail or not."""
    network = field.ranks.network
    ends = [
        (a, b) for a in network.hcas for b in network.hcas if a.split("/")[0] != b.split("/")[0]
    ]
    return {port for path in network.wiring.paths(ends) for port in path[1:-1]}


@settings(deadline=None, max_examples=15)
@given(
    st.integers(2, 5), st.integers(1, 5), st.integers(1, 5), st.integers(1, 3), st.integers(1, 9)
)
def test_every_cable_that_a_pair_can_cross_is_covered(leaves, per_leaf, spines, times, seed):
    field = field_of(
        generated(nodes=leaves * per_leaf, per_leaf=per_leaf, spines=spines), seed=seed
    )
    rounds = schedule_of(Scheme(SchemeKind.COVER, times), field).rounds
    filled = times_filled(field, rounds, 1)
    assert min(filled[port] for port in crossable(field)) >= times
    assert all(is_disjoint(pairs) for pairs in rounds)
    assert max(worst_load(field, pairs) for pairs in rounds) <= 1.0
    coverage = planned_coverage(rounds, field.ranks, field.paths, field.reach)
    assert coverage.to_record()["cables_filled_at_least"] >= times


def test_a_cable_of_twice_a_host_s_rate_counts_when_two_hosts_fill_it():
    field = field_of(generated(nodes=24, per_leaf=8, spines=4, host=100, switch=200))
    rounds = schedule_of(Scheme(SchemeKind.COVER, 2), field).rounds
    filled = times_filled(field, rounds, 2)
    assert min(filled[port] for port in crossable(field)) >= 2
    assert max(worst_load(field, pairs) for pairs in rounds) <= 1.0


def test_cables_that_only_other_rails_cross_are_covered_too():
    """Two rails, two nodes a leaf, three spines: some up-port leads to rails of one kind only."""
    field = field_of(generated(nodes=8, per_leaf=2, spines=4, hcas=2), 2)
    rounds = schedule_of(Scheme(SchemeKind.COVER, 1), field).rounds
    filled = times_filled(field, rounds, 1)
    assert min(filled[port] for port in crossable(field)) >= 1


def test_pairs_under_a_leaf_are_measured_so_that_it_is_distinguished_from_its_cables_up():
    field = field_of(generated(nodes=16, per_leaf=4, spines=4))
    rounds = schedule_of(Scheme(SchemeKind.COVER, 1), field).rounds
    local = {n for pairs in rounds for a, b in pairs.tolist() if a // 4 == b // 4 for n in (a, b)}
    assert local == set(range(16))


def test_with_a_group_only_its_pairs_and_the_cables_they_can_cross():
    fabric = generated(nodes=16, per_leaf=4, spines=4)
    whole = field_of(fabric)
    field = Field(whole.ranks, whole.paths, group_of("leaf-02", whole.ranks, whole.paths), 1)
    schedule = schedule_of(Scheme(SchemeKind.COVER, 2), field)
    of_group = [pairs_touch(pairs, range(4, 8)) for pairs in schedule.rounds]
    assert of_group == sorted(of_group, reverse=True), "others come last"
    filled = times_filled(field, schedule.rounds, 1)
    ends = [(f"n{a:03d}", f"n{b:03d}") for a in range(5, 9) for b in (*range(1, 5), *range(9, 17))]
    flows = [(f"{x}/hca0", f"{y}/hca0") for a, b in ends for x, y in ((a, b), (b, a))]
    mine = {port for path in fabric.paths(flows) for port in path[1:-1]}
    assert min(filled[port] for port in mine) >= 2
    coverage = planned_coverage(schedule.rounds, field.ranks, field.paths, field.reach)
    assert coverage.by_cable.min() >= 2


def pairs_touch(pairs, ranks):
    return all(set(pair) & set(ranks) for pair in pairs.tolist())


def test_under_adaptive_routing_each_port_of_a_stage_gets_its_share():
    """Four hosts and two spines a leaf, two messages up at a time: one a port a round."""
    field = field_of(generated(nodes=16, per_leaf=4, spines=2), adaptive=True)
    rounds = schedule_of(Scheme(SchemeKind.COVER, 3), field).rounds
    coverage = planned_coverage(rounds, field.ranks, field.paths, field.reach)
    assert coverage.by_cable.min() >= 3


def test_cables_out_of_reach_are_counted():
    """Four of 16 nodes, all under one leaf: no pair goes up."""
    fabric = generated(nodes=16, per_leaf=4, spines=4)
    field = field_of(fabric, nodes=fabric.nodes[:4])
    rounds = schedule_of(Scheme(SchemeKind.FULL), field).rounds
    coverage = planned_coverage(rounds, field.ranks, field.paths, field.reach)
    assert coverage.n_beyond_reach == 16
    assert coverage.cables_text.startswith("no cable between switches can be crossed")


@pytest.mark.parametrize(
    "kind",
    [SchemeKind.FULL, SchemeKind.RANDOM, SchemeKind.REFLECTIONS, SchemeKind.LEAF, SchemeKind.RAILS],
)
def test_every_schedule_is_disjoint_and_loads_nothing_above_its_rate(kind):
    field = field_of(generated(nodes=12, per_leaf=4, spines=2, hcas=2), 2)
    rounds = schedule_of(Scheme(kind, 3), field).rounds
    assert all(is_disjoint(pairs) for pairs in rounds)
    assert max(worst_load(field, pairs) for pairs in rounds) <= 1.0


@pytest.mark.parametrize(
    "scheme", [Scheme(SchemeKind.COVER, 2), Scheme(SchemeKind.FULL), Scheme(SchemeKind.LEAF)]
)
def test_the_diagnosis_finds_no_cable_shared_beyond_its_rate(scheme):
    """What was planned without overload is judged as measured without any."""
    field = field_of(generated(nodes=16, per_leaf=8, spines=3, host=100, switch=200))
    samples = []
    for number, pairs in enumerate(schedule_of(scheme, field).rounds):
        for a, b in pairs.tolist():
            pair = Pair(field.ranks.endpoint(a), field.ranks.endpoint(b), number, len(pairs))
            metrics = {
                "bandwidth_ab_mb_s": 1.0,
                "bandwidth_ba_mb_s": 1.0,
                "bidirectional_mb_s": 2.0,
            }
            samples.append(Sample("t", 1, "pairs", 2**20, metrics, 1, 0.0, pair=pair))
    crossings = Crossings(readings_of(samples), field.ranks.network, adaptive=False)
    assert set(load_percent(crossings).tolist()) == {100}


@pytest.mark.parametrize(("switch", "filled"), [(100, 100), (150, 100), (200, 200), (800, 400)])
def test_a_cable_is_filled_by_whole_messages(switch, filled):
    """Hosts of 100 Gb/s, four under a leaf: one message in 150 Gb/s, no more than four anywhere."""
    field = field_of(generated(nodes=16, per_leaf=4, spines=1, host=100, switch=switch))
    inner = field.ranks.network.between_switches
    assert set(field.reach.full[inner].tolist()) == {filled * 1e9}


@pytest.mark.parametrize("adaptive", [False, True])
def test_only_cables_between_switches_that_a_pair_crosses_are_to_be_covered(adaptive):
    fabric = generated(nodes=8, per_leaf=4, spines=2)
    field = field_of(fabric, adaptive=adaptive)
    assert np.array_equal(field.reach.ports, field.ranks.network.between_switches)
    one_leaf = field_of(fabric, adaptive=adaptive, nodes=fabric.nodes[:4])
    assert not one_leaf.reach.ports.any()


@st.composite
def drawn_flows(draw):
    """Flows of a bundle between few ranks, so that many share one; which are valid; how many."""
    flows = draw(st.lists(st.tuples(*[st.integers(0, 5)] * 2), min_size=1, max_size=7))
    valid = draw(st.lists(st.booleans(), min_size=len(flows), max_size=len(flows)))
    return flows, valid, draw(st.integers(1, 4))


@given(drawn_flows())
def test_a_bundle_takes_flows_in_turn_that_share_no_rank_with_one_before(drawn):
    flows, valid, k = drawn
    taken: list[int] = []
    for place, flow in enumerate(flows):
        apart = all(not set(flow) & set(flows[other]) for other in taken)
        taken += [place] if valid[place] and apart else []
    start, to = np.array([flows]).transpose(2, 0, 1)
    kept = first_of_each(np.array([valid]), start, to, k)
    assert np.flatnonzero(kept[0]).tolist() == taken[:k]


@given(
    st.integers(1, 3).flatmap(
        lambda rows: st.lists(
            st.lists(st.integers(0, 4), min_size=6, max_size=6), min_size=rows, max_size=rows
        )
    )
)
def test_a_place_that_a_bundle_crosses_twice_stands_once_with_all_of_its_load(places):
    """The last place is nowhere."""
    nowhere = 4
    uses = np.array(places)
    load = np.arange(1.0, uses.size + 1).reshape(uses.shape)
    once, summed = once_each(uses.copy(), load.copy(), nowhere)
    for before, loads, after, sums in zip(uses, load, once, summed, strict=True):
        somewhere = [place for place in after.tolist() if place != nowhere]
        assert len(somewhere) == len(set(somewhere))
        expected = {p: loads[before == p].sum() for p in set(before.tolist()) - {nowhere}}
        assert dict(zip(somewhere, sums[after != nowhere].tolist(), strict=True)) == expected
        assert not sums[after == nowhere].any()
