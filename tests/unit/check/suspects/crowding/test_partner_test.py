"""Crowded ways are filled again as they were, by messages between other partners."""
# mypy: disable-error-code="no-untyped-def"

from collections import Counter
from dataclasses import replace
from random import Random
from types import SimpleNamespace

import numpy as np
import pytest
from tests.unit.check.conftest import Fabric, Tree
from tests.unit.check.documents import fabric_document
from tests.unit.check.schedule.fields import field_of, generated
from tests.unit.check.suspects.crowding.test_crowded_bursts import (
    N_LEAVES,
    PER_LEAF,
    SPINES,
    OneSlowWay,
    leaf_of,
)

from weft.bench.model import Pair, Sample
from weft.check.readings.network import Network
from weft.check.readings.readings import readings_of
from weft.check.readings.stages import Stages
from weft.check.schedule.schedule import schedule_of
from weft.check.schedule.scheme import Scheme, SchemeKind
from weft.check.suspects.crowding.crowded_paths import Look
from weft.check.suspects.crowding.partner_test import round_of, rounds_with_others
from weft.check.suspects.survey import survey_of
from weft.check.thresholds import thresholds
from weft.check.trials import SURVEY, TOGETHER

TREE = Tree(N_LEAVES, PER_LEAF, SPINES)


class BothSlow(OneSlowWay):
    """One way of each of two leaves is slow."""

    def __init__(self, fabric, leaf, other):
        super().__init__(fabric, leaf, 0.0)
        self.other = OneSlowWay(fabric, other, 0.0)

    def _slowed(self, sample, pairs):
        return self.other._slowed(super()._slowed(sample, pairs), pairs)


def survey_with(fabric, limits=None):
    rounds = schedule_of(Scheme(SchemeKind.FULL), field_of(TREE, adaptive=True)).rounds
    samples = fabric.measure([pairs.tolist() for pairs in rounds], SURVEY)
    return survey_of(samples, TREE, limits or thresholds(), adaptive=True)


def leaves(pairs):
    index = TREE.nodes.index
    return [(leaf_of(index(a)), leaf_of(index(b))) for a, b in pairs]


def inner():
    return Fabric(TREE, noise=0.02)


@pytest.fixture(scope="module")
def one_slow():
    return survey_with(OneSlowWay(inner(), 5, 0.0))


def test_so_many_rounds_fill_the_path_that_looked_crowded(one_slow):
    rounds = rounds_with_others(one_slow, 6, Random(1))
    assert len(rounds) == 6
    for pairs in rounds:
        assert len(pairs) == SPINES
        assert all(a == 5 != b for a, b in leaves(pairs))
        assert len({name for pair in pairs for name in pair}) == 2 * SPINES


def test_the_first_of_each_pair_stays_and_the_partner_is_another(one_slow):
    (way,) = one_slow.crowded
    rows = one_slow.shared.rows_of(way)
    numbers = np.unique(one_slow.readings.round[rows])
    known = {frozenset(pair) for n in numbers for pair in round_of(one_slow, n, rows)}
    met = [pair for pairs in rounds_with_others(one_slow, 8, Random(1)) for pair in pairs]
    under = {node for node in TREE.nodes if leaf_of(TREE.nodes.index(node)) == 5}
    assert {first for first, _ in met} == under
    assert sum(frozenset(pair) not in known for pair in met) > len(met) / 2
    assert len({second for _, second in met}) > 2 * PER_LEAF, "those of several rounds"


def test_every_crowded_path_has_its_rounds_up_to_the_most_suspects():
    fabric = BothSlow(inner(), 2, 7)
    rounds = rounds_with_others(survey_with(fabric), 3, Random(1))
    assert [{a for a, _ in leaves(pairs)} for pairs in rounds] in (
        [{2}] * 3 + [{7}] * 3,
        [{7}] * 3 + [{2}] * 3,
    )
    survey = survey_with(fabric, replace(thresholds(), most_suspects=1))
    assert len(survey.crowded) == 2
    assert len(rounds_with_others(survey, 3, Random(1))) == 3


def test_what_looked_crowded_in_full_rounds_is_measured_in_full_rounds(make_slow):
    ups = frozenset(f"leaf-02[{port}]" for port in range(5, 9))
    fabric = Fabric(TREE, [make_slow(0.7, ports=ups, metrics=("bandwidth",))], noise=0.01)
    survey = survey_of(fabric.all_pairs(), TREE, thresholds(), adaptive=True)
    assert Look.ALONE not in {way.look for way in survey.crowded}
    rounds = rounds_with_others(survey, 3, Random(1))
    assert len(rounds) == 3
    n = len(TREE.nodes)
    for pairs in rounds:
        assert len(pairs) > 0.9 * n / 2 - 1
        assert len({name for pair in pairs for name in pair}) == 2 * len(pairs)


def test_nothing_crowded_is_filled_by_nothing():
    healthy = survey_with(inner())
    assert healthy.crowded == ()
    assert rounds_with_others(healthy, 3, Random(1)) == ()
    static = survey_of(inner().all_pairs(), TREE, thresholds())
    assert rounds_with_others(static, 3, Random(1)) == ()


def sample(a, b, number, metrics, trial=SURVEY):
    return Sample(trial, 1, "pairs", 8, metrics, 10, 0.0, pair=Pair(a, b, number, 2))


def test_a_round_is_reported_by_its_number_who_sent_first_before():
    both = {"bandwidth_ab_mb_s": 1.0, "bandwidth_ba_mb_s": 1.0}
    samples = [
        sample("n003", "n001", 4, {"latency_us": 1.0}),
        sample("n003", "n001", 4, both),
        sample("n002", "n004", 4, both),
        sample("n001", "n004", 5, both),
        sample("n001", "n002", 4, both, trial=TOGETHER),
    ]
    survey = survey_of(samples, Tree(2, 2, 2), thresholds())
    there = (("n003", "n001"), ("n002", "n004"))
    assert round_of(survey, 4) == there
    readings = survey.readings
    assert round_of(survey, 4, np.arange(len(readings))) == there
    assert round_of(survey, 4, np.flatnonzero(readings.backwards)) == there
    of_second = np.flatnonzero(readings.a == readings.endpoints.index("n002"))
    assert round_of(survey, 4, of_second) == (("n002", "n004"),)


def test_a_round_of_latencies_only_is_a_round():
    samples = [sample("n003", "n001", 0, {"latency_us": 1.0})]
    survey = survey_of(samples, Tree(2, 2, 2), thresholds())
    assert [frozenset(pair) for pair in round_of(survey, 0)] == [frozenset(("n001", "n003"))]


def mixed(pairs, n_hcas, seed=1):
    """A full round again, of hosts with so many HCAs each under leaves of their own."""
    hosts = sorted({name.partition(":")[0] for pair in pairs for name in pair})
    hcas = {host: [f"{host}/hca{i}" for i in range(n_hcas)] for host in hosts}
    down = [
        (f"{hca}[1]", f"leaf-{host}[{i + 1}]") for host in hosts for i, hca in enumerate(hcas[host])
    ]
    up = [(f"leaf-{host}[{n_hcas + 1}]", f"spine[{i + 1}]") for i, host in enumerate(hosts)]
    document = fabric_document(hosts, [*(f"leaf-{host}" for host in hosts), "spine"], [*down, *up])
    document["nodes"] = [{"name": host, "hcas": hcas[host]} for host in hosts]
    return again(pairs, Network(SimpleNamespace(document=document)), seed)


def again(pairs, network, seed=1, later=()):
    """A round of these pairs, all of it, with other partners, where one of `later` came after."""
    rounds = [(0, pair) for pair in pairs] + [(1, pair) for pair in later]
    readings = readings_of([sample(*pair, n, {"bandwidth_mb_s": 1.0}) for n, pair in rounds])
    survey = SimpleNamespace(
        shared=SimpleNamespace(rows_of=lambda _: np.arange(len(readings))),
        crowded=(SimpleNamespace(look=Look.ALL),),
        crossings=SimpleNamespace(network=network, fabric=network),
        limits=thresholds(),
        readings=readings,
    )
    return rounds_with_others(survey, 1, Random(seed))[0]


def asked_of_stages(pairs, network):
    """By stage between switches, messages there and back over its ports."""
    asked = Counter()
    for a, b in pairs:
        ends = (network.hca_of(a), network.hca_of(b))
        for way in Stages(network).between([ends, ends[::-1]]):
            asked.update({stage: 1 / len(stage) for stage in way[1:-1]})
    return asked


@pytest.mark.parametrize("seed", range(5))
def test_a_round_under_few_leaves_asks_no_more_of_the_paths_than_it_did(seed):
    """Most pairs were under one leaf: their ranks do not go elsewhere now."""
    pairs = [(f"n{i:03d}", f"n{i + 1:03d}") for i in range(1, 33, 2) if i not in (1, 5)]
    pairs += [("n001", "n005"), ("n002", "n006")]
    network = Network(Tree(8, 4, 4))
    before, now = (asked_of_stages(p, network) for p in (pairs, again(pairs, network, seed)))
    assert sum(now.values()) > 0
    share = thresholds().asked_of_shared
    assert all(now[stage] <= max(before[stage], share) + 1e-9 for stage in now)


@pytest.mark.parametrize("seed", range(5))
def test_a_round_within_halves_asks_no_more_of_what_joins_them(seed):
    """Of three levels: pairs of neighbouring leaves keep away from the top of the tree, but for a
    quarter of it, or one message."""
    fabric = generated(nodes=54, per_leaf=0, spines=0, levels=3, radix=6)
    network = Network(fabric)
    hosts = fabric.nodes
    pairs = [(hosts[i], hosts[i + 3]) for i in range(0, 54, 9) for i in (i, i + 1, i + 2)]
    again_ = again(pairs, network, seed)
    assert len(again_) > len(pairs) / 2
    assert set(again_) != set(pairs)
    before, now = (asked_of_stages(p, network) for p in (pairs, again_))
    share = thresholds().asked_of_shared
    most = {stage: max(before[stage], share, 1 / len(stage)) for stage in now}
    assert all(now[stage] <= most[stage] + 1e-9 for stage in now)


def test_a_round_may_ask_for_as_much_as_the_fullest_of_all_did():
    """Neighbours met first, then all nodes under one leaf met those under the other."""
    tree = Tree(2, 4, 1)
    network = Network(tree)
    near = [("n001", "n002"), ("n003", "n004"), ("n005", "n006"), ("n007", "n008")]
    far = [(f"n{i:03d}", f"n{i + 4:03d}") for i in range(1, 5)]
    up = (network.port_id["leaf-01[5]"],)
    for later, most in (((), 1), (far, 4)):
        rounds = [again(near, network, seed, later) for seed in range(20)]
        assert max(asked_of_stages(of, network)[up] for of in rounds) == most


def test_one_message_finds_room_where_it_is_more_than_any_may_ask():
    """Under the first leaf only neighbours met. Of its two ways up a message asks half each, which
    is twice the quarter that any may ask: one may go up there, and no second one."""
    network = Network(Tree(3, 4, 2))
    pairs = [("n001", "n002"), ("n003", "n004"), ("n005", "n009"), ("n006", "n010")]
    ups = {network.port_id[f"leaf-01[{port}]"] for port in (5, 6)}
    asked = [asked_of_stages(again(pairs, network, seed), network) for seed in range(20)]
    up = [sum(n for stage, n in of.items() if ups & set(stage)) for of in asked]
    assert set(up) == {0.0, 0.5}


@pytest.mark.parametrize("seed", range(5))
def test_fast_hosts_that_met_slow_ones_do_not_crowd_the_paths_by_meeting(seed):
    """Two of 200 Gb/s sent to two of 50 over one cable of 200, which one of them fills."""
    tree = Tree(2, 4, 1)
    slow = ("n003/", "n004/", "n005/", "n006/")
    for link in tree.document["links"]:
        link["bits_per_s"] //= 4 if link["a"].startswith(slow) else 1
    pairs = [("n001", "n005"), ("n002", "n006"), ("n003", "n007"), ("n004", "n008")]
    met = again(pairs, Network(tree), seed)
    n_fast = sum(a in ("n001", "n002") and b in ("n007", "n008") for a, b in met)
    n_slow = len(met) - n_fast
    assert n_slow <= 4
    assert n_fast * 200 + n_slow * 50 <= 200


def test_ranks_meet_others_of_their_rail():
    pairs = [(f"a{i}:{rail}", f"b{i}:{rail}") for i in range(6) for rail in range(2)]
    met = mixed(pairs, n_hcas=2)
    assert [a for a, _ in met] == [a for a, _ in pairs]
    assert sorted(b for _, b in met) == sorted(b for _, b in pairs)
    assert all(a.endswith(b[-2:]) for a, b in met)
    assert met != tuple(pairs)


def test_ranks_of_one_host_do_not_meet_and_no_one_is_in_two_pairs():
    """However many share their HCAs: half of each host's ranks send to the other host."""
    pairs = [(f"a:{i}", f"b:{i}") for i in range(20)]
    pairs += [(f"b:{i}", f"a:{i}") for i in range(20, 40)]
    met = mixed(pairs, n_hcas=1)
    assert all(a[0] != b[0] for a, b in met)
    names = [name for pair in met for name in pair]
    assert len(names) == len(set(names)) > len(pairs)


def test_no_pair_is_lost_where_all_can_meet_another_host():
    pairs = [("a:0", "b:0"), ("a:1", "b:1"), ("b:2", "a:2"), ("b:3", "a:3")]
    assert {len(mixed(pairs, n_hcas=1, seed=seed)) for seed in range(10)} == {4}
