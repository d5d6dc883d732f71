"""Two or three nodes are held against what their platform should deliver."""

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.check.conftest import Slow

from weft.bench.model import Sample
from weft.catalog.load import platform
from weft.check.external_evidence.platform_choice import ExpectedPlatform
from weft.check.verdict.verdict import Verdict, judge_check
from weft.core.errors import ExitCode
from weft.core.finding import Finding, FindingKind, Severity

HDR = ExpectedPlatform(platform("fat-tree"), "of a test")
"""200 Gb/s, as the trees of conftest: healthy pairs deliver 24,000 MB/s there."""


def judged(fabric: Any, machine: ExpectedPlatform | None = HDR) -> Verdict:
    return judge_check(fabric.all_pairs(), fabric.tree, machine=machine)


def worst(verdict: Verdict) -> list[Finding]:
    return [f for f in verdict.findings if f.severity in (Severity.BAD, Severity.WARNING)]


def everything(make_slow: Any, tree: Any, factor: float, metric: str) -> Any:
    ports = frozenset(port for cable in tree.links for port in cable)
    return make_slow(factor, ports=ports, metrics=(metric,))


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("seed", range(10))
def test_healthy_nodes_are_as_expected_and_no_verdict(make_tree, make_fabric, n, seed):
    """The platform's latency is a guess: a slow one would lie in its interval."""
    verdict = judged(make_fabric(make_tree(1, n, 1), seed=seed))
    (unknown,) = verdict.findings
    assert unknown.severity is Severity.UNKNOWN
    assert any("platform fat-tree shows only a latency" in line for line in unknown.evidence)
    assert sum("expected on fat-tree" in line for line in unknown.evidence) == 2
    assert verdict.exit_code is ExitCode.NO_VERDICT


@pytest.mark.parametrize("n", [2, 3, 4, 5])
@pytest.mark.parametrize("factor", [1.5, 2.0])
def test_few_nodes_are_good_where_the_platform_knows_each_figure(
    make_tree, make_slow, make_fabric, n, factor
):
    """Bandwidth alone, which a platform knows within a fifth: all slow, or one, is no good."""

    def of(*slow):
        tree = make_tree(1, n, 1)
        samples = make_fabric(tree, list(slow)).all_pairs()
        return judge_check([s for s in samples if s.size_bytes > 8], tree, machine=HDR)

    good = of()
    assert good.exit_code is ExitCode.GOOD
    assert good.sensitivity.would_show[0].startswith("a node, or all nodes, below 0.")
    everyone = [make_slow(1 / factor, node=f"n{i:03d}") for i in range(1, n + 1)]
    assert of(everyone[0]).exit_code is not ExitCode.GOOD
    assert of(*everyone).exit_code is not ExitCode.GOOD


@pytest.mark.parametrize("n", [2, 3])
def test_nodes_that_are_all_slow_are_bad(make_tree, make_slow, make_fabric, n):
    tree = make_tree(1, n, 1)
    verdict = judged(make_fabric(tree, [everything(make_slow, tree, 0.5, "bandwidth")]))
    (bad,) = worst(verdict)
    assert (bad.kind, bad.severity) == (FindingKind.BELOW_EXPECTED, Severity.BAD)
    assert bad.facts.worst.norm.expected == pytest.approx(12_000, rel=0.1)
    assert verdict.exit_code is ExitCode.VERDICT_BAD


def test_without_a_platform_two_slow_nodes_cannot_be_reported(make_tree, make_slow, make_fabric):
    tree = make_tree(1, 2, 1)
    slow = everything(make_slow, tree, 0.5, "bandwidth")
    verdict = judged(make_fabric(tree, [slow]), machine=None)
    assert not worst(verdict)
    assert any("slow everywhere looks healthy" in caveat for caveat in verdict.caveats)


@pytest.mark.parametrize(("one_direction", "severity"), [(False, "bad"), (True, "warning")])
def test_a_single_reading_is_no_fault(make_tree, make_slow, make_fabric, one_direction, severity):
    """One reading in fifty is disturbed: what a pair showed once may be chance."""
    tree = make_tree(1, 2, 1)
    samples = make_fabric(tree, [everything(make_slow, tree, 0.5, "bandwidth")]).all_pairs()
    left_out = {"bandwidth_ba_mb_s", "bandwidth_mb_s"} if one_direction else set()
    kept = [
        replace(s, metrics={key: v for key, v in s.metrics.items() if key not in left_out})
        for s in samples
    ]
    (found,) = worst(judge_check(kept, tree, machine=HDR))
    assert found.severity == severity


def test_of_three_nodes_the_one_that_all_slow_pairs_have_is_pointed_at(
    make_tree, make_slow, make_fabric
):
    verdict = judged(make_fabric(make_tree(1, 3, 1), [make_slow(0.3, node="n002")]))
    (bad,) = worst(verdict)
    assert (bad.kind, bad.severity) == (FindingKind.SUSPECT_PAIR, Severity.BAD)
    assert bad.facts.pairs == (
        ("n001", "n002"),
        ("n002", "n003"),
    )
    assert any(line.startswith("n002 is in all slow pairs") for line in bad.evidence)


def test_of_three_nodes_one_slow_pair_is_named(make_tree, make_slow, make_fabric):
    tree = make_tree(1, 3, 1)
    fabric = make_fabric(tree)
    samples = [
        replace(s, metrics={key: value / 3 for key, value in s.metrics.items()})
        if s.pair is not None and {s.pair.a, s.pair.b} == {"n001", "n003"} and s.size_bytes > 8
        else s
        for s in fabric.all_pairs()
    ]
    (bad,) = worst(judge_check(samples, tree, machine=HDR))
    assert bad.facts.pairs == (("n001", "n003"),)
    assert not any("look at it first" in line for line in bad.evidence)


def times(samples: list[Sample], factor: float, ends: set[str], *keys: str) -> list[Sample]:
    """The same with a factor on some metrics of a pair."""
    return [
        replace(s, metrics={k: v * (factor if k in keys else 1) for k, v in s.metrics.items()})
        if s.pair is not None and {s.pair.a, s.pair.b} == ends
        else s
        for s in samples
    ]


BOTH = ("bandwidth_ab_mb_s", "bandwidth_ba_mb_s", "bandwidth_mb_s")


def test_next_to_a_pair_slow_for_sure_one_that_may_be_is_reported(make_tree, make_fabric):
    """Its one latency may be chance; two bandwidths each way of the other are none."""
    samples = make_fabric(make_tree(1, 3, 1)).all_pairs()
    samples = times(samples, 1 / 3, {"n001", "n002"}, *BOTH)
    samples = times(samples, 9.0, {"n002", "n003"}, "latency_us")
    bad, warning = worst(judge_check(samples, make_tree(1, 3, 1), machine=HDR))
    assert (bad.severity, warning.severity) == (Severity.BAD, Severity.WARNING)
    assert bad.facts.pairs == (("n001", "n002"),)
    assert warning.facts.pairs == (("n002", "n003"),)
    assert any(line.startswith("n002 is in all slow pairs") for line in bad.evidence)


def test_no_node_is_pointed_at_next_to_pairs_that_are_slow_at_times(make_tree, make_fabric):
    """One way of the third pair is slow: nobody can say that it is as expected."""
    tree = make_tree(1, 3, 1)
    fabric = make_fabric(tree, [Slow(0.3, node="n002")])
    samples = times(fabric.all_pairs(), 1 / 3, {"n001", "n003"}, "bandwidth_ab_mb_s")
    (bad,) = worst(judge_check(samples, tree, machine=HDR))
    assert bad.facts.pairs == (
        ("n001", "n002"),
        ("n002", "n003"),
    )
    assert not any("look at it first" in line for line in bad.evidence)


def test_a_class_too_small_for_a_norm_is_held_against_the_platform(
    make_tree, make_slow, make_fabric
):
    """Four nodes have six latencies, and eight are needed."""
    tree = make_tree(1, 4, 1)
    slow = everything(make_slow, tree, 0.02, "latency")
    verdict = judged(make_fabric(tree, [slow], noise=0.01))
    (found,) = worst(verdict)
    assert found.kind is FindingKind.BELOW_EXPECTED
    assert "latency" in found.sentence
    assert any("compared with the platform only" in caveat for caveat in verdict.caveats)
