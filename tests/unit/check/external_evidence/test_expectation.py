"""Hop classes as a whole are held against what the machine should deliver."""

from itertools import islice
from types import SimpleNamespace

import pytest
from tests.unit.check.schedule.fields import field_of

from weft.bench.model import Pair, Sample
from weft.bench.twin.backend import TwinBackend
from weft.catalog.load import benchmark, platform, platform_document, platform_names
from weft.check.external_evidence import platform_choice as machines
from weft.check.external_evidence.class_expectation import ClassFacts
from weft.check.external_evidence.expectation import expectations_of
from weft.check.external_evidence.platform_choice import ExpectedPlatform
from weft.check.launches import check_launches
from weft.check.readings.readings import Metric
from weft.check.schedule.rounds.matchings import reflections
from weft.check.schedule.schedule import schedule_of
from weft.check.schedule.scheme import Scheme, SchemeKind
from weft.check.suspects.survey import survey_of
from weft.check.thresholds import thresholds
from weft.check.verdict.verdict import judge_check
from weft.core.errors import ExitCode, InputError
from weft.core.finding import FindingKind, Severity
from weft.expect.model import Conditions
from weft.expect.prediction import predict
from weft.judge.model import RowState
from weft.topology.fabric import Fabric
from weft.topology.fabric_spec import fabric_spec

HDR = "fat-tree"
"""200 Gb/s, as the trees of conftest: healthy pairs deliver 24,000 MB/s there."""
TWINS = [name for name in platform_names() if platform(name).has_twin]


def machine(name=HDR):
    return ExpectedPlatform(platform(name), "of a test")


def everything(make_slow, tree, factor, metric):
    """All that is sent, `factor` times as fast."""
    ports = frozenset(port for cable in tree.links for port in cable)
    return make_slow(factor, ports=ports, metrics=(metric,))


def whole(verdict):
    """Findings about whole classes."""
    return [f for f in verdict.findings if isinstance(f.facts, ClassFacts)]


@pytest.mark.parametrize("name", TWINS)
def test_a_healthy_twin_is_as_its_platform_lets_expect(name):
    of = platform(name)
    twin = TwinBackend(of, 12, seed=3)
    fabric = Fabric.from_document(dict(twin.fabric_document))
    rounds = schedule_of(Scheme(SchemeKind.FULL), field_of(fabric, of.hcas_per_node)).option
    survey, *_ = check_launches(
        twin.nodes,
        tasks_per_node=of.hcas_per_node,
        sizes_bytes=(8, 2**20),
        rounds=rounds,
        options=benchmark("pairs").options,
        timeout_s=60,
    )
    verdict = judge_check(list(twin.measure(survey)), fabric, machine=machine(name))
    assert verdict.expectations is not None
    states = {one.state for one in verdict.expectations.of.values()}
    assert len(verdict.expectations.of) == len(verdict.survey.normed.norms) > 0
    assert states == {RowState.NORMAL}
    assert verdict.exit_code == ExitCode.GOOD


def test_each_switch_on_the_path_counts_in_what_is_expected():
    """Sixteen nodes under three levels of switches of four ports: one, three and five switches."""
    of = platform("azure-hbv3")
    own = fabric_spec(of, 16)
    rates = {key: own[key] for key in own if key.endswith(("_bits_per_s", "_delay_ps"))}
    tree = {"generate": "fat_tree", "levels": 3, "radix": 4, "nodes": 16, **rates}
    twin = TwinBackend(of, 16, fabric={**tree, "routing": {"engine": "dmodk"}})
    fabric = Fabric.from_document(dict(twin.fabric_document))
    survey, *_ = check_launches(
        twin.nodes,
        tasks_per_node=1,
        sizes_bytes=(8, 2**20),
        rounds=[pairs.tolist() for pairs in reflections(16)],
        options=benchmark("pairs").options,
        timeout_s=60,
    )
    verdict = judge_check(list(twin.measure(survey)), fabric, machine=machine("azure-hbv3"))
    latency = {
        c.n_links: one for c, one in verdict.expectations.of.items() if c.metric is Metric.LATENCY
    }
    assert sorted(latency) == [2, 4, 6]
    delays = of.switch.delay.value + of.links.switch.delay.value
    for n_links, one in latency.items():
        assert one.state is RowState.NORMAL
        # Two implementations of one model: the engine's packets, and the closed form.
        assert one.norm.expected == pytest.approx(one.found.value, rel=0.01)
        more_us = (n_links - 2) * delays / 1e3
        assert one.found.value == pytest.approx(latency[2].found.value + more_us, rel=0.01)


def test_a_fabric_that_is_slow_everywhere_is_no_longer_healthy(make_tree, make_slow, make_fabric):
    tree = make_tree(4, 4, 4)
    slow = everything(make_slow, tree, 0.48, "bandwidth")
    samples = make_fabric(tree, [slow]).all_pairs()
    alone = judge_check(samples, tree)
    assert alone.exit_code == ExitCode.GOOD
    assert any("--platform" in caveat for caveat in alone.caveats)
    verdict = judge_check(samples, tree, machine=machine())
    (found,) = whole(verdict)
    assert verdict.findings[0] is found
    assert found.severity is Severity.BAD
    assert found.kind is FindingKind.BELOW_EXPECTED
    assert verdict.exit_code == ExitCode.VERDICT_BAD
    assert "All pairs deliver" in found.sentence
    assert "link rate 200 Gb/s" in found.sentence
    # 24,000 x 0.48 of about 23,600 MB/s.
    assert 0.45 < found.facts.worst.norm.expected / found.facts.worst.found.value < 0.52
    assert found.facts.causes
    assert not any("queue depth of one" in line for line in found.evidence)


def test_slower_cables_of_the_fabric_itself_are_said(make_tree, make_slow, make_fabric):
    tree = make_tree(4, 4, 4)
    samples = make_fabric(tree).all_pairs()
    (found,) = whole(judge_check(samples, tree, machine=machine("generic-ndr")))
    said = [line for line in found.evidence if "run at 200 Gb/s according to the fabric" in line]
    assert said
    assert "400 Gb/s" in said[0]


@pytest.mark.parametrize("factor", [1 / 12, 1 / 30])
def test_assumed_figures_only_warn(make_tree, make_slow, make_fabric, factor):
    # 1.2 and 1.9 us become 14 and more; the platform's host was fitted to another machine.
    tree = make_tree(4, 4, 4)
    slow = everything(make_slow, tree, factor, "latency")
    verdict = judge_check(make_fabric(tree, [slow]).all_pairs(), tree, machine=machine())
    (found,) = whole(verdict)
    assert found.severity is Severity.WARNING
    assert "take" in found.sentence
    assert any("assumed" in line for line in found.evidence)
    assert verdict.exit_code == ExitCode.GOOD


def test_faster_than_the_link_is_impossible(make_tree, make_slow, make_fabric):
    tree = make_tree(4, 4, 4)
    fast = everything(make_slow, tree, 1.5, "bandwidth")
    verdict = judge_check(make_fabric(tree, [fast]).all_pairs(), tree, machine=machine())
    (found,) = whole(verdict)
    assert found.kind is FindingKind.BEYOND_LIMIT
    assert found.severity is Severity.BAD
    # 200 Gb/s less a header of 26 bytes on each packet of 4096: 24,842 MB/s.
    assert "24842 MB/s" in found.sentence


def test_a_single_reading_beyond_the_link_is_not_believed(make_tree, make_fabric):
    tree = make_tree(4, 4, 4)
    samples = make_fabric(tree, noise=0.005).all_pairs()
    wild = Sample(
        "t1",
        1,
        "pairs",
        2**20,
        {"bandwidth_ab_mb_s": 50_000.0, "bandwidth_ba_mb_s": 24_000.0},
        10,
        0.0,
        pair=Pair("n001", "n009", 99, 1),
    )
    verdict = judge_check([*samples, wild], tree, machine=machine())
    (found,) = [f for f in verdict.findings if f.kind is FindingKind.BEYOND_LIMIT]
    assert found.severity is Severity.WARNING
    assert found.facts.readings == 1
    assert found.evidence[0].startswith("n001 - n009: 50000 MB/s")
    (healthy,) = judge_check(samples, tree, machine=machine()).findings
    assert healthy.kind is FindingKind.HEALTHY
    assert all(f"expected on {HDR}" in line for line in healthy.evidence)


def test_a_suspect_keeps_the_norm_of_the_fleet_with_the_expectation_next_to(
    make_tree, make_slow, make_fabric
):
    tree = make_tree(4, 4, 4)
    port = "leaf-02[6]"
    slow = make_slow(0.5, ports=frozenset(tree.cable_of(port)), metrics=("bandwidth",))
    samples = make_fabric(tree, [slow]).all_pairs()
    (found, *_) = judge_check(samples, tree, machine=machine()).findings
    assert port in found.sentence
    (line,) = [text for text in found.evidence if f"expected on {HDR}" in text]
    assert "4 links apart" in line
    assert found.facts.worst.norm.expected == pytest.approx(24_000, rel=0.02)


def test_messages_that_share_a_cable_are_expected_to_share_its_rate(make_tree, make_fabric):
    # Two up-links for four nodes: messages that collide get half.
    tree = make_tree(4, 4, 2)
    survey = survey_of(make_fabric(tree, collide=True).all_pairs(), tree, thresholds())
    of = expectations_of(survey, machine()).of
    loads = {c.load: one for c, one in of.items() if c.metric is Metric.BANDWIDTH}
    assert {100, 200} <= set(loads)
    ratio = loads[200].found.value / loads[100].found.value
    assert ratio == pytest.approx(0.5, rel=0.02)
    assert {one.state for one in loads.values()} == {RowState.NORMAL}


def bandwidths(samples, wiring, name=HDR, **more):
    """What is expected of bandwidth, by load."""
    survey = survey_of(samples, wiring, thresholds(), **more)
    of = expectations_of(survey, machine(name)).of
    return {c.load: one for c, one in of.items() if c.metric is Metric.BANDWIDTH}


def test_under_adaptive_routing_chance_may_take_a_share(make_tree, make_fabric):
    tree = make_tree(4, 4, 4)
    samples = make_fabric(tree).all_pairs()
    static, adaptive = bandwidths(samples, tree), bandwidths(samples, tree, adaptive=True)
    # NVIDIA HPC-X, ClusterKit: pairs at once are bad below 93 % of the best.
    assert adaptive[100].found.low / static[100].found.low == pytest.approx(0.93)
    assert adaptive[100].found.value == static[100].found.value


def test_without_a_fabric_the_platform_s_taper_lowers_what_is_expected(make_tree, make_fabric):
    tree = make_tree(30, 10, 10)
    samples = make_fabric(tree).measure([pairs.tolist() for pairs in islice(reflections(300), 3)])
    (found,) = bandwidths(samples, None, "frontera").values()
    # 44 hosts of 100 Gb/s under 18 cables of 200; of 300 nodes 256 of 299 are on another leaf.
    taper = 44 * 100 * 256 / 299 / (18 * 200)
    whole = predict(platform("frontera"), Conditions("bandwidth", 2**20, n_nodes=300, window=8))
    assert taper > 1
    assert found.found.low == pytest.approx(whole.low * 0.93 / taper)


def test_without_a_fabric_all_pairs_are_one_class(make_tree, make_fabric):
    tree = make_tree(4, 4, 4)
    verdict = judge_check(make_fabric(tree).all_pairs(), None, machine=machine())
    assert {one.state for one in verdict.expectations.of.values()} == {RowState.NORMAL}
    record = verdict.to_record()
    assert record["platform"] == HDR
    assert all(norm["expectation"]["state"] == "normal" for norm in record["norms"])


def test_a_platform_without_a_network_expects_nothing_and_says_so(make_tree, make_fabric):
    tree = make_tree(4, 4, 4)
    verdict = judge_check(make_fabric(tree).all_pairs(), tree, machine=machine("this-machine"))
    assert not verdict.expectations.of
    assert any("has no network figures" in caveat for caveat in verdict.caveats)
    assert verdict.exit_code == ExitCode.GOOD


def test_rails_are_held_against_one_adapter_each():
    of = platform("azure-ndv4")
    twin = TwinBackend(of, 4, seed=1)
    fabric = Fabric.from_document(dict(twin.fabric_document))
    rounds = schedule_of(Scheme(SchemeKind.FULL), field_of(fabric, 8)).option
    survey, *_ = check_launches(
        twin.nodes,
        tasks_per_node=8,
        sizes_bytes=(8, 2**20),
        rounds=rounds,
        options=benchmark("pairs").options,
        timeout_s=60,
    )
    verdict = judge_check(list(twin.measure(survey)), fabric, machine=machine("azure-ndv4"))
    of_bandwidth = [
        one.found.limit
        for c, one in verdict.expectations.of.items()
        if c.metric is Metric.BANDWIDTH
    ]
    # One HDR adapter, and not eight: 25 GB/s x 4096 / 4122.
    assert of_bandwidth
    assert of_bandwidth == pytest.approx([24_842] * len(of_bandwidth), rel=1e-3)


def test_what_a_run_is_held_against_is_kept_next_to_it(tmp_path):
    assert machines.of_run(tmp_path, ()) is None
    (tmp_path / "platform.toml").write_text("nonsense", "utf-8")
    with pytest.raises(InputError, match="not TOML"):
        machines.of_run(tmp_path, ())
    machines.keep(machines.named("azure-hbv3"), tmp_path)
    kept = machines.of_run(tmp_path, ())
    assert kept is not None
    assert kept.platform == platform("azure-hbv3")
    with pytest.raises(InputError):
        machines.named("azure-hbv33")


def test_a_machine_is_recognised_by_its_hosts_where_they_leave_one(monkeypatch):
    pair = Pair("nid001234", "nid001235", 0, 1)
    evidence = {"fast_devices": [{"device": "hsn0"}]}
    sample = Sample("t1", 1, "pairs", 8, {}, 1, 0.0, pair=pair, evidence=evidence)
    # Two sites of the catalogue name their hosts so.
    assert machines.recognised([sample]) is None
    only = SimpleNamespace(
        platform_names=lambda: ("perlmutter",),
        platform=platform,
        platform_document=platform_document,
    )
    monkeypatch.setattr("weft.judge.expectation.platform_choice.load", only)
    found = machines.recognised([sample])
    assert found is not None
    assert found.platform.name == "perlmutter"
    assert "nid001234" in found.because
