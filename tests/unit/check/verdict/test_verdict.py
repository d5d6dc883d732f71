"""The verdict names what is slow, and nothing else."""

import random
from itertools import combinations

import pytest
from tests.seeds import drawn

from weft.bench.model import Pair, Sample, State
from weft.check.readings.components import Part
from weft.check.suspects.follow_up import follow_up
from weft.check.suspects.survey import survey_of
from weft.check.thresholds import thresholds
from weft.check.verdict.verdict import judge_check
from weft.check.wording.headline import components_of
from weft.check.wording.reading_rows import rows_of
from weft.core.errors import ExitCode
from weft.core.finding import FindingKind, Severity


def plan_of(samples, wiring):
    return follow_up(survey_of(samples, wiring, thresholds()), seed=1)


def check(fabric, wiring="tree"):
    """All pairs, the suspects again, and the verdict, as `weft check` does it."""
    known = fabric.tree if wiring == "tree" else None
    samples = fabric.all_pairs()
    return judge_check([*samples, *fabric.follow_up(plan_of(samples, known))], known)


def things(finding):
    """The suspects of a finding as (part, ends), a cable's ends sorted."""
    return {
        (
            "cable" if s.component.part is Part.DIRECTION else s.component.part.split()[0],
            tuple(sorted(s.component.ends)),
        )
        for s in finding.facts.suspects
    }


def bad(verdict):
    return [f for f in verdict.findings if f.severity is Severity.BAD]


def cable(tree, port):
    return ("cable", tuple(sorted(tree.cable_of(port))))


def ports_of(tree, switch):
    return frozenset(p for pair in tree.links for p in pair if p.startswith(f"{switch}["))


class TestHealthy:
    def test_exit_code_is_good_and_the_figures_are_given(self, make_tree, make_fabric):
        verdict = check(make_fabric(make_tree(4, 4, 4)))
        assert verdict.exit_code is ExitCode.GOOD
        assert [f.kind for f in verdict.findings] == [FindingKind.HEALTHY]
        assert any("4 links apart" in line for line in verdict.findings[0].evidence)

    @pytest.mark.parametrize("seed", drawn(range(100), 20))
    def test_noise_accuses_nothing(self, make_tree, make_fabric, seed):
        shapes = [(4, 4, 4), (2, 4, 4), (6, 2, 2), (3, 6, 3)]
        verdict = check(make_fabric(make_tree(*shapes[seed % 4]), seed=seed))
        assert not bad(verdict)

    def test_a_simulator_without_noise_accuses_nothing(self, make_tree, make_fabric):
        verdict = check(make_fabric(make_tree(4, 4, 4), noise=0.0))
        assert verdict.exit_code is ExitCode.GOOD

    @pytest.mark.parametrize("seed", range(10))
    def test_messages_that_met_on_a_cable_are_not_a_fault(self, make_tree, make_fabric, seed):
        fabric = make_fabric(make_tree(4, 4, 3), collide=True, seed=seed)
        verdict = check(fabric)
        assert any(
            "sharing cables 2 : 1" in norm.hop_class.words for norm in verdict.survey.normed.norms
        )
        assert not bad(verdict)

    @pytest.mark.parametrize("seed", drawn(range(20), 10))
    def test_passing_disturbances_name_no_component(self, make_tree, make_fabric, seed):
        """One reading in thirty is half as fast as it should be, never the same one twice."""
        fabric = make_fabric(make_tree(4, 4, 4), noise=0.01, disturbed=1 / 30, seed=seed)
        assert not bad(check(fabric))

    def test_near_and_far_nodes_without_a_fabric_are_no_fault(self, make_tree, make_fabric):
        verdict = check(make_fabric(make_tree(2, 8, 8)), wiring="unknown")
        assert not bad(verdict)
        assert any("no fabric given" in caveat for caveat in verdict.caveats)


class TestOneFault:
    def test_a_slow_cable_is_named_with_both_ends(self, make_tree, make_slow, make_fabric):
        tree = make_tree(4, 4, 4)
        slow = make_slow(0.25, frozenset(tree.cable_of("leaf-02[6]")), metrics=("bandwidth",))
        verdict = check(make_fabric(tree, [slow]))
        (finding,) = bad(verdict)
        assert verdict.exit_code is ExitCode.VERDICT_BAD
        assert finding.kind is FindingKind.SUSPECT_LINK
        assert "leaf-02[6] - spine-02[2]" in finding.sentence
        assert finding.facts.worst.measured == pytest.approx(6000, rel=0.1)
        assert finding.facts.worst.norm.expected == pytest.approx(24000, rel=0.02)

    def test_one_direction_of_a_cable_is_said_to_be_one(self, make_tree, make_slow, make_fabric):
        tree = make_tree(4, 4, 4)
        slow = make_slow(0.5, frozenset({"spine-02[2]"}), metrics=("bandwidth",))
        (finding,) = bad(check(make_fabric(tree, [slow])))
        assert "direction spine-02 to leaf-02" in finding.sentence

    def test_a_node_and_its_cable_are_a_tie(self, make_tree, make_slow, make_fabric):
        tree = make_tree(4, 4, 4)
        (finding,) = bad(check(make_fabric(tree, [make_slow(0.5, node="n007")])))
        assert things(finding) == {("node", ("n007",)), cable(tree, "leaf-02[3]")}
        assert finding.facts.tie
        assert finding.kind is FindingKind.SUSPECT_NODE
        assert any("swap the cable" in line for line in finding.evidence)

    def test_a_switch_is_named_when_all_its_cables_are_slow(
        self, make_tree, make_slow, make_fabric
    ):
        tree = make_tree(4, 4, 4)
        for switch in ("spine-03", "leaf-02"):
            slow = make_slow(0.5, ports_of(tree, switch))
            (finding,) = bad(check(make_fabric(tree, [slow])))
            assert things(finding) == {("switch", (switch,))}
            assert finding.kind is FindingKind.SUSPECT_SWITCH

    def test_one_slow_spine_of_two_is_named_though_half_of_the_pairs_are_slow(
        self, make_tree, make_slow, make_fabric
    ):
        tree = make_tree(6, 2, 2)
        (finding,) = bad(check(make_fabric(tree, [make_slow(0.5, ports_of(tree, "spine-02"))])))
        assert things(finding) == {("switch", ("spine-02",))}

    def test_two_leaves_cannot_tell_the_cables_of_a_spine_apart(
        self, make_tree, make_slow, make_fabric
    ):
        tree = make_tree(2, 4, 4)
        slow = make_slow(0.5, frozenset(tree.cable_of("leaf-02[6]")))
        (finding,) = bad(check(make_fabric(tree, [slow])))
        assert finding.kind is FindingKind.TIE
        assert things(finding) == {
            cable(tree, "leaf-01[6]"),
            cable(tree, "leaf-02[6]"),
            ("switch", ("spine-02",)),
        }

    def test_only_the_latency_of_a_node_points_at_the_node(self, make_tree, make_slow, make_fabric):
        slow = make_slow(0.5, node="n003", metrics=("latency",))
        (finding,) = bad(check(make_fabric(make_tree(4, 4, 4), [slow])))
        assert any("look at the node first" in line for line in finding.evidence)

    def test_without_a_fabric_a_slow_node_is_named(self, make_tree, make_slow, make_fabric):
        slow = make_slow(0.4, node="n007")
        (finding,) = bad(check(make_fabric(make_tree(4, 4, 4), [slow]), wiring="unknown"))
        assert things(finding) == {("node", ("n007",))}

    def test_without_a_fabric_no_node_is_blamed_for_a_cable(
        self, make_tree, make_slow, make_fabric
    ):
        tree = make_tree(4, 4, 4)
        slow = make_slow(0.25, frozenset(tree.cable_of("leaf-02[6]")))
        verdict = check(make_fabric(tree, [slow]), wiring="unknown")
        assert {f.kind for f in bad(verdict)} == {FindingKind.SUSPECT_PAIR}


class TestTwoFaults:
    def test_a_node_and_a_distant_cable_are_both_named(self, make_tree, make_slow, make_fabric):
        tree = make_tree(4, 4, 4)
        faults = [
            make_slow(0.5, node="n014"),
            make_slow(0.25, frozenset(tree.cable_of("leaf-02[6]"))),
        ]
        named = [things(finding) for finding in bad(check(make_fabric(tree, faults)))]
        assert len(named) == 2
        assert {("node", ("n014",)), cable(tree, "leaf-04[2]")} in named
        assert {cable(tree, "leaf-02[6]")} in named

    def test_two_nodes_are_both_named(self, make_tree, make_slow, make_fabric):
        faults = [make_slow(0.5, node="n002"), make_slow(0.3, node="n011")]
        named = [things(f) for f in bad(check(make_fabric(make_tree(4, 4, 4), faults)))]
        assert {ends for n in named for part, ends in n if part == "node"} == {
            ("n002",),
            ("n011",),
        }


@pytest.mark.parametrize("noise", [0.0, 0.03])
@pytest.mark.parametrize("seed", drawn(range(60), 12))
def test_a_random_fault_is_always_in_the_named_tie_and_nothing_crossed_by_a_normal_pair_is(
    make_tree, make_slow, make_fabric, seed, noise
):
    draw = random.Random(seed)
    shapes = [(4, 4, 4), (3, 4, 4), (4, 6, 3), (8, 2, 2)]
    tree = make_tree(*draw.choice(shapes))
    factor = draw.uniform(0.1, 0.8)
    truth, slow = random_fault(draw, tree, make_slow, factor)
    verdict = check(make_fabric(tree, [slow], noise=noise, seed=seed))
    findings = bad(verdict)
    assert any(truth in things(finding) for finding in findings), verdict.findings
    innocent = [f for f in findings if components_of(f) and truth not in things(f)]
    assert not innocent
    if noise == 0.0:
        assert len(findings) == 1
        assert things(findings[0]) == {truth} | equals_of(tree, truth, slow) | twos_of(tree, truth)


def random_fault(draw, tree, make_slow, factor):
    kind = draw.choice(["node", "cable", "direction", "switch"])
    if kind == "node":
        node = draw.choice(tree.nodes)
        return ("node", (node,)), make_slow(factor, node=node)
    if kind == "switch":
        switch = draw.choice([s["name"] for s in tree.document["switches"]])
        return ("switch", (switch,)), make_slow(factor, ports_of(tree, switch))
    link = draw.choice(tree.links)
    ports = frozenset(link) if kind == "cable" else frozenset({draw.choice(link)})
    metrics = ("latency", "bandwidth") if kind == "cable" else ("bandwidth",)
    return ("cable", tuple(sorted(link))), make_slow(factor, ports, metrics=metrics)


def equals_of(tree, truth, slow):
    """Things that exactly the same directed pairs cross as cross the fault, by brute force."""
    pairs = [(a, b) for a in tree.nodes for b in tree.nodes if a != b]
    paths = dict(zip(pairs, tree.paths(pairs), strict=True))
    hit = {(a, b) for a, b in pairs if slow.node in (a, b) or slow.ports & set(paths[a, b])}
    candidates = {("node", (n,)): {p for p in pairs if n in p} for n in tree.nodes}
    for one, other in tree.links:
        for ports in ({one, other}, {one}, {other}):
            crossed = {p for p in pairs if ports & set(paths[p])}
            if crossed == hit:
                candidates["cable", tuple(sorted((one, other)))] = crossed
    for switch in (s["name"] for s in tree.document["switches"]):
        ports = ports_of(tree, switch)
        candidates["switch", (switch,)] = {p for p in pairs if ports & set(paths[p])}
    for node in tree.nodes:
        for end in (0, 1):
            if {p for p in pairs if p[end] == node} == hit:
                candidates["node", (node,)] = hit
    return {thing for thing, crossed in candidates.items() if crossed == hit} | {truth}


def twos_of(tree, truth):
    """Of a switch, the cables, and their nodes, any two of which all its directed pairs cross."""
    part, (name, *_) = truth
    if part != "switch":
        return set()
    pairs = [(a, b) for a in tree.nodes for b in tree.nodes if a != b]
    paths = dict(zip(pairs, map(set, tree.paths(pairs)), strict=True))
    hit = {pair for pair in pairs if ports_of(tree, name) & paths[pair]}
    crossed = {
        ends: {pair for pair in pairs if set(ends) & paths[pair]}
        for ends in tree.links
        if any(end.startswith(f"{name}[") for end in ends)
    }
    found = set()
    for two in combinations(crossed, 2):
        if set.union(*(crossed[ends] for ends in two)) == hit:
            found |= {("cable", tuple(sorted(ends))) for ends in two}
            found |= {("node", (end.split("/")[0],)) for ends in two for end in ends if "/" in end}
    return found


class TestRefusals:
    def test_three_nodes_name_no_one_for_sure(self, make_tree, make_slow, make_fabric):
        verdict = check(make_fabric(make_tree(1, 3, 1), [make_slow(0.3, node="n002")]))
        assert not [finding for finding in bad(verdict) if components_of(finding)]

    def test_of_four_nodes_a_slow_one_is_named(self, make_tree, make_slow, make_fabric):
        verdict = check(make_fabric(make_tree(1, 4, 1), [make_slow(0.6, node="n002")]))
        (finding,) = bad(verdict)
        assert ("node", ("n002",)) in things(finding)

    def test_too_few_pairs_are_not_judged(self):
        sample = Sample("t", 1, "pairs", 8, {"latency_us": 1.0}, 10, 0.0, pair=Pair("a", "b", 0, 1))
        verdict = judge_check([sample], None)
        assert verdict.findings[0].kind is FindingKind.NOT_ENOUGH_DATA
        assert verdict.exit_code is ExitCode.NO_VERDICT

    def test_no_samples_at_all_are_not_healthy(self):
        assert judge_check([], None).findings[0].kind is FindingKind.NOT_ENOUGH_DATA

    def test_oversubscribed_ranks_support_no_verdict(self, make_tree, make_slow, make_fabric):
        tree = make_tree(4, 4, 4)
        samples = make_fabric(tree, [make_slow(0.3, node="n002")]).all_pairs()
        flagged = [replaced(s, flags=("oversubscribed",)) for s in samples]
        verdict = judge_check(flagged, tree)
        assert verdict.findings[0].kind is FindingKind.NOT_ENOUGH_DATA
        assert verdict.exit_code is ExitCode.BENCHMARK

    def test_bytes_that_went_elsewhere_support_no_verdict(self, make_tree, make_fabric):
        tree = make_tree(4, 4, 4)
        samples = [replaced(s, state=State.NOT_ON_FABRIC) for s in make_fabric(tree).all_pairs()]
        verdict = judge_check(samples, tree)
        assert verdict.findings[0].kind is FindingKind.MIS_SETTING

    @pytest.mark.parametrize(
        "spoiled", [{"state": State.NOT_ON_FABRIC}, {"flags": ("oversubscribed",)}]
    )
    def test_what_was_measured_for_nothing_is_counted_and_not_judged(
        self, make_tree, make_slow, make_fabric, spoiled
    ):
        tree = make_tree(4, 4, 4)
        samples = make_fabric(tree, [make_slow(0.3, node="n002")]).all_pairs()
        verdict = judge_check([replaced(s, **spoiled) for s in samples], tree)
        assert verdict.exit_code is ExitCode.BENCHMARK
        assert (verdict.coverage.n_nodes, verdict.coverage.n_pairs) == (16, 16 * 15 // 2)
        assert len(verdict.endpoints) == 16
        assert {row["mark"] for row in rows_of(verdict.survey)} == {"unjudged"}

    def test_corrupted_data_of_a_single_pair_is_bad(self):
        pair = Pair("a", "b", 0, 1)
        sample = Sample("t", 1, "pairs", 8, {"latency_us": 1.0}, 10, 0.0, pair=pair)
        verdict = judge_check([replaced(sample, flags=("invalid_data",))], None)
        assert verdict.exit_code is ExitCode.VERDICT_BAD
        assert verdict.findings[0].facts.pairs == (("a", "b"),)

    def test_corrupted_data_is_bad_even_when_it_is_fast(self, make_tree, make_fabric):
        tree = make_tree(4, 4, 4)
        samples = make_fabric(tree).all_pairs()
        samples[5] = replaced(samples[5], flags=("invalid_data",))
        verdict = judge_check(samples, tree)
        assert verdict.exit_code is ExitCode.VERDICT_BAD
        pair = samples[5].pair
        assert f"{pair.a} - {pair.b}" in verdict.findings[0].evidence[0]


def replaced(sample, **changes):
    from dataclasses import replace

    return replace(sample, **changes)


class TestWithoutRetest:
    def test_one_slow_pair_is_a_warning_until_it_was_measured_alone(self, make_tree, make_fabric):
        tree = make_tree(4, 4, 4)
        samples = make_fabric(tree, noise=0.01).all_pairs()
        place = next(i for i, s in enumerate(samples) if "bandwidth_ab_mb_s" in s.metrics)
        samples[place] = replaced(
            samples[place], metrics={**samples[place].metrics, "bandwidth_ab_mb_s": 5000.0}
        )
        verdict = judge_check(samples, tree)
        assert verdict.exit_code is ExitCode.GOOD
        assert verdict.findings[0].kind is FindingKind.SUSPECT_PAIR
        assert verdict.findings[0].severity is Severity.WARNING
        pair = samples[place].pair
        alone = {pair for pairs in plan_of(samples, tree).alone for pair in pairs}
        assert tuple(sorted((pair.a, pair.b))) in alone


def test_the_record_is_plain_json(make_tree, make_slow, make_fabric):
    import json

    verdict = check(make_fabric(make_tree(4, 4, 4), [make_slow(0.5, node="n007")]))
    record = json.loads(json.dumps(verdict.to_record(), allow_nan=False))
    assert record["exit_code"] == 1
    assert record["coverage"]["pairs"] == 120
    assert record["coverage"]["cables"] == 32


def test_cables_no_pair_crosses_are_listed(make_tree, make_fabric):
    tree = make_tree(4, 4, 4)
    samples = [s for s in make_fabric(tree).all_pairs() if "n016" not in (s.pair.a, s.pair.b)]
    verdict = judge_check(samples, tree)
    assert ("n016/hca0[1]", "leaf-04[4]") in verdict.coverage.cables_never_crossed
    assert "never crossed: n016/hca0[1] - leaf-04[4]" in verdict.coverage.text
