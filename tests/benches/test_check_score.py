"""The scoreboard itself: what it counts as named, as wrong, as identifiable."""
# mypy: disable-error-code="no-untyped-def"

from dataclasses import replace

import numpy as np
import pytest
from benches.check_case import KINDS, Noise, Planted, cable, draw_case, healthy_case
from benches.check_ground import disturbed
from benches.check_record import Record, kept
from benches.check_score import (
    FaultRecord,
    Seen,
    alike_of,
    crossing_rows,
    met_by,
    scatter,
    score,
    seen_of,
    slowness,
)
from benches.check_table import gates, tables

from weft.bench.model import Pair, Sample
from weft.check.readings.crossing import Crossings
from weft.check.readings.network import Network
from weft.check.readings.readings import readings_of

UP = cable("leaf-1[3]", "spine-1[1]")
OTHER = cable("leaf-1[4]", "spine-2[1]")
UPLINK = Planted("uplink-slow", "leaf-1[3] rate=0.5", frozenset({UP}))
NODE = Planted("node-slow", "n1 slow=2", frozenset({("node", ("n1",))}), node="n1")
PLAIN = Seen(errors=9.0, n_beyond=3, n_crossing=4, alike=frozenset())


class Wiring:
    """Two leaves of two nodes, two spines; a message takes the spine of its target's number."""

    nodes = ("n1", "n2", "n3", "n4")

    def __init__(self, hcas=1) -> None:
        ports = [(f"n{i}/h{h}", f"leaf-{(i + 1) // 2}") for i in range(1, 5) for h in range(hcas)]
        links, used = [], {"leaf-1": 0, "leaf-2": 0}
        for hca, leaf in ports:
            used[leaf] += 1
            links.append((f"{hca}[1]", f"{leaf}[{used[leaf]}]"))
        for leaf in (1, 2):
            for spine in (1, 2):
                links.append((f"leaf-{leaf}[{2 * hcas + spine}]", f"spine-{spine}[{leaf}]"))
        names = [f"leaf-{i}" for i in (1, 2)] + [f"spine-{i}" for i in (1, 2)]
        self.hcas = hcas
        self.links = dict(links) | {b: a for a, b in links}
        self.document = {
            "nodes": [{"name": n, "hcas": [f"{n}/h{h}" for h in range(hcas)]} for n in self.nodes],
            "switches": [{"name": name} for name in names],
            "links": [{"a": a, "b": b, "bits_per_s": 10**11} for a, b in links],
        }

    def paths(self, pairs):
        return [self._path(a, b) for a, b in pairs]

    engines = ()

    def _path(self, a, b):
        first, last = f"{a}[1]", self.links[f"{b}[1]"]
        here, there = self.links[first].partition("[")[0], last.partition("[")[0]
        if here == there:
            return (first, last)
        spine = int(b[1]) % 2 + 1
        return (first, f"{here}[{2 * self.hcas + spine}]", f"spine-{spine}[{there[-1]}]", last)


def measured(pairs, latency_us=1.0, bandwidth_mb_s=1000.0, together=False):
    """A sample of each size for each pair, one after the other or in one round."""
    both = {"bandwidth_ab_mb_s": bandwidth_mb_s, "bandwidth_ba_mb_s": bandwidth_mb_s}
    large = {**both, "bandwidth_mb_s": bandwidth_mb_s}
    return [
        Sample(
            "t001-survey",
            1,
            "pairs",
            size,
            metrics,
            1,
            0.0,
            pair=Pair(a, b, 0 if together else number, 1),
        )
        for number, (a, b) in enumerate(pairs)
        for size, metrics in ((8, {"latency_us": latency_us}), (1024, large))
    ]


def crossed(pairs, hcas=1, together=False):
    samples = measured(pairs, together=together)
    return Crossings(readings_of(samples), Network(Wiring(hcas)), adaptive=False)


def test_the_right_component_is_named():
    found = score([UPLINK], [PLAIN], [frozenset({UP})])
    assert (found.outcomes[0].named, found.outcomes[0].too_wide, found.wrong) == (True, False, ())


def test_another_component_is_wrong_and_the_fault_missed():
    found = score([UPLINK], [PLAIN], [frozenset({OTHER})])
    assert not found.outcomes[0].named
    assert found.wrong == ("cable leaf-1[4] - spine-2[1]",)


def test_an_answer_wider_than_what_is_alike_does_not_name():
    found = score([UPLINK], [PLAIN], [frozenset({UP, OTHER})])
    assert (found.outcomes[0].named, found.outcomes[0].too_wide, found.wrong) == (False, True, ())


def test_what_no_reading_tells_apart_may_be_in_one_answer():
    seen = replace(PLAIN, alike=frozenset({UP, OTHER}))
    assert score([UPLINK], [seen], [frozenset({UP, OTHER})]).outcomes[0].named


def test_each_of_two_faults_is_scored_by_itself():
    found = score([UPLINK, NODE], [PLAIN, PLAIN], [frozenset({("node", ("n1",))})])
    assert [one.named for one in found.outcomes] == [False, True]
    assert found.wrong == ()


def test_whatever_is_accused_in_a_healthy_run_is_wrong():
    assert len(score([], [], [frozenset({UP}), frozenset({("pair", ("n1", "n2"))})]).wrong) == 2


def test_a_cable_is_crossed_by_the_readings_whose_paths_hold_it():
    crossings = crossed([("n1", "n3"), ("n1", "n4"), ("n1", "n2")])
    rows = crossing_rows(crossings, replace(UPLINK, things=frozenset({UP})))
    readings = crossings.readings
    # To n4 by spine 1; from n3 and n4 back to n1 by spine 2; a latency goes both ways.
    assert [(readings.name(row), int(readings.metric[row])) for row in rows.tolist()] == [
        (("n1", "n4"), 0),
        (("n1", "n4"), 1),
    ]


def test_a_node_of_several_rails_is_crossed_by_every_reading_of_its_ranks():
    crossings = crossed([("n1:0", "n3:4"), ("n1:1", "n3:5"), ("n2:2", "n4:6")], hcas=2)
    assert crossing_rows(crossings, NODE).size == 6


def test_a_fault_counts_by_its_largest_effect_on_a_reading_of_its_own():
    crossings = crossed([("n1", "n3"), ("n1", "n4"), ("n1", "n2")])
    errors = np.zeros(len(crossings.readings))
    of_both = crossing_rows(crossings, UPLINK)
    errors[of_both] = 50.0
    own = np.setdiff1d(crossing_rows(crossings, NODE), of_both)
    errors[own[0]] = 2.9
    of_uplink, of_node = seen_of(crossings, [UPLINK, NODE], errors)
    assert (of_uplink.errors, of_uplink.identifiable) == (0.0, False)  # all its readings are n1's
    assert (of_node.errors, of_node.identifiable) == (2.9, False)
    errors[own[0]] = 3.1
    assert seen_of(crossings, [UPLINK, NODE], errors)[1].identifiable


def test_a_node_and_its_only_cable_are_alike_and_another_node_is_not():
    crossings = crossed([("n1", "n3"), ("n2", "n4"), ("n1", "n4")])
    alike = alike_of(crossings, NODE, np.array([0, 1]))
    assert {("node", ("n1",)), cable("n1/h0[1]", "leaf-1[1]")} <= alike
    assert ("node", ("n4",)) not in alike


def rows_of(crossings, a, b, metric=1):
    """The readings of a metric from a to b."""
    readings = crossings.readings
    return np.array(
        [
            row
            for row in range(len(readings))
            if readings.name(row) == (a, b) and readings.metric[row] == metric
        ]
    )


def test_a_dead_cable_is_not_distinguished_from_one_that_is_slow_at_the_same_moments():
    crossings = crossed([("n1", "n4"), ("n2", "n3")], together=True)
    there, meanwhile = rows_of(crossings, "n1", "n4"), rows_of(crossings, "n2", "n3")
    assert OTHER in met_by(crossings, there, meanwhile)
    # Slow by itself, too: then the other is not to blame.
    alone = rows_of(crossings, "n4", "n1")
    assert met_by(crossings, np.concatenate([there, alone]), meanwhile) == frozenset()
    assert met_by(crossings, there, np.zeros(0, np.int64)) == frozenset()


def test_without_more_pairs_two_nodes_that_met_only_each_other_are_alike():
    alike = alike_of(crossed([("n1", "n3"), ("n2", "n4")]), NODE, np.array([0]))
    assert ("node", ("n3",)) in alike


def test_slowness_is_positive_for_more_time_and_for_less_bandwidth():
    before = slowness(np.array([0, 1]), np.array([2.0, 800.0]))
    after = slowness(np.array([0, 1]), np.array([4.0, 400.0]))
    assert after - before == pytest.approx(np.log([2.0, 2.0]))


def test_scatter_of_routing_is_that_of_one_survey():
    draws = np.random.default_rng(1)
    one, other = draws.normal(0, 0.02, 20_000), draws.normal(0, 0.02, 20_000)
    found = scatter(np.zeros(20_000, np.int64), one, other)
    assert found[0] == pytest.approx(0.02, rel=0.03)


def test_noise_is_lognormal_and_each_value_has_its_own():
    samples = measured([("n1", "n3")] * 4000)
    noisy = disturbed(samples, Noise(0.02, 0.0, 5.0), np.random.default_rng(1))
    logs = np.log([s.metrics["latency_us"] for s in noisy if "latency_us" in s.metrics])
    assert np.std(logs) == pytest.approx(0.02, rel=0.05)
    assert np.mean(logs) == pytest.approx(0.0, abs=0.001)
    large = [s.metrics for s in noisy if "bandwidth_mb_s" in s.metrics]
    assert all(
        m["bandwidth_mb_s"] == min(m["bandwidth_ab_mb_s"], m["bandwidth_ba_mb_s"]) for m in large
    )
    assert any(m["bandwidth_ab_mb_s"] != m["bandwidth_ba_mb_s"] for m in large)


def test_outliers_are_slower_whatever_the_unit():
    noisy = disturbed(measured([("n1", "n3")]), Noise(0.0, 1.0, 5.0), np.random.default_rng(1))
    assert noisy[0].metrics["latency_us"] == pytest.approx(5.0)
    assert noisy[1].metrics["bandwidth_ab_mb_s"] == pytest.approx(200.0)


def test_a_seed_draws_the_same_case_again_and_another_seed_another():
    fabric = Wiring().document

    def draw(seed, number=0):
        return draw_case(fabric, number=number, twin="small-frontera", routing="static", seed=seed)

    assert draw(1) == draw(1)
    assert draw(1) != draw(2)
    cases = [draw(1, number) for number in range(200)]
    assert {one.kind for case in cases for one in case.planted} == set(KINDS)
    assert {len(case.planted) for case in cases} == {1, 2}
    for case in cases:
        assert 0.01 <= case.noise.sigma <= 0.03
        nodes = [one.node for one in case.planted if one.node is not None]
        assert len(nodes) == len(set(nodes))


def test_a_healthy_case_has_noise_and_nothing_else():
    case = healthy_case(number=3, twin="frontera", routing="static", seed=1)
    assert case.planted == ()
    assert case.noise.sigma > 0


def record(*, number=0, healthy=False, named=True, identifiable=True, wrong=(), **given):
    fault = FaultRecord(
        "nic-slow", "n1/h0[1] rate=0.9", 5.0, 4, 8, identifiable, named, False, "hca n1/h0"
    )
    return Record(
        twin="frontera",
        routing="static",
        healthy=healthy,
        number=number,
        seed=1,
        only=None,
        schedule=None,
        sigma=0.02,
        faults=() if healthy else (fault,),
        wrong=wrong,
        notes=(),
        **{"analysis_s": 1.0, "fabric_s": 30.0, "seconds": 3.0, **given},
    )


def held(records):
    return [gate.held for gate in gates(records)]


GOOD = [record(number=i) for i in range(97)] + [record(healthy=True)]


@pytest.mark.parametrize(
    ("added", "broken"),
    [
        ([], None),
        ([record(named=False) for _ in range(3)], None),  # 97 of 100
        ([record(named=False) for _ in range(4)], 0),  # 97 of 101
        ([record(named=False, identifiable=False) for _ in range(50)], None),
        ([record(healthy=True, wrong=("node n1",))], 1),
        ([record(fabric_s=60.1)], 2),
        ([record(analysis_s=5.1)], 3),
        ([record(failure="it hung")], 4),
    ],
)
def test_a_gate_breaks_by_what_it_promises_against(added, broken):
    assert [i for i, good in enumerate(held(GOOD + added)) if not good] == (
        [] if broken is None else [broken]
    )


def test_tables_say_what_was_missed_and_which_case_repeats_it():
    text = tables([*GOOD, record(number=7, named=False, wrong=("node n9",))], of=200)
    assert "97 of 98 (99.0%)" in text
    assert "case 7 (frontera, static, seed 1): nic-slow n1/h0[1] rate=0.9" in text
    assert "node n9; planted n1/h0[1] rate=0.9" in text
    assert "interrupted" in text


def test_kept_records_come_back_but_for_those_of_other_code_and_a_line_cut_short(tmp_path):
    path = tmp_path / "kept.jsonl"
    record(number=3).keep(path)
    record(number=4, wrong=("node n9",)).keep(path)
    of_other_code = path.read_text("utf-8").splitlines()[0].replace('"code": "', '"code": "x')
    with path.open("a") as file:
        file.write(of_other_code + "\n" + '{"twin": "fron')
    assert list(kept(path)) == [record(number=3), record(number=4, wrong=("node n9",))]
