"""What a check would have shown: a good verdict only where a slow node could not hide."""

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from weft.bench.model import Pair, Sample
from weft.check.schedule.rounds.matchings import reflections
from weft.check.trials import SURVEY
from weft.check.verdict.verdict import Verdict, judge_check
from weft.core.errors import ExitCode
from weft.core.finding import Severity

LATENCY_US, BANDWIDTH_MB_S = 2.0, 10_000.0


def samples_of(n: int, slow: Mapping[int, float], noise: float, seed: int = 1) -> list[Sample]:
    """Every pair of n nodes, measured once; a pair is as slow as its slower node."""
    draws = Random(seed)
    found = []
    for number, pairs in enumerate(reflections(n)):
        for a, b in pairs.tolist():
            factor = max(slow.get(a, 1.0), slow.get(b, 1.0))
            at = Pair(f"n{a:02d}", f"n{b:02d}", number, len(pairs))

            def drawn(value: float) -> float:
                return value * draws.lognormvariate(0, noise)

            latency = {"latency_us": drawn(LATENCY_US * factor)}
            each = {
                name: drawn(BANDWIDTH_MB_S / factor)
                for name in ("bandwidth_ab_mb_s", "bandwidth_ba_mb_s")
            }
            found.append(Sample(SURVEY, 1, "pairs", 8, latency, 20, 0.0, pair=at))
            found.append(Sample(SURVEY, 1, "pairs", 1 << 20, each, 20, 0.0, pair=at))
    return found


def judged(n: int, slow: Mapping[int, float] | None = None, noise: float = 0.02) -> Verdict:
    return judge_check(samples_of(n, slow or {}, noise), None)


def accused(verdict: Verdict) -> set[str]:
    """The nodes that bad findings name."""
    return {
        end
        for finding in verdict.findings
        if finding.severity is Severity.BAD
        for suspect in getattr(finding.facts, "suspects", ())
        for end in suspect.component.ends
    }


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_few_nodes_without_a_platform_are_never_good(n: int) -> None:
    """All of them may be slow, or two: no figure of theirs would differ."""
    verdict = judged(n)
    first = verdict.findings[0]
    assert (first.severity, verdict.exit_code) == (Severity.UNKNOWN, ExitCode.NO_VERDICT)
    assert first.sentence.startswith("cannot tell: ")
    assert "what would tell: at least 6 nodes or --platform NAME" in first.sentence
    assert verdict.to_record()["would_show"] == []


def test_of_two_nodes_the_path_may_be_slow_too() -> None:
    sentence = judged(2, {1: 10.0}).findings[0].sentence
    assert "one of the two nodes may be slow, or the path: a third node tells" in sentence


@pytest.mark.parametrize("n", [6, 16])
def test_enough_quiet_nodes_are_good_and_say_what_would_have_shown(n: int) -> None:
    verdict = judged(n)
    assert verdict.exit_code is ExitCode.GOOD
    by_bandwidth = [line for line in verdict.sensitivity.would_show if "bandwidth" in line]
    assert len(by_bandwidth) == 1
    share = float(re.findall(r"below (\S+) of", by_bandwidth[0])[0])
    # n - 1 readings a direction: (n - 1) (d / 0.02)^2 / 2 = 22 gives d.
    slowness = 0.02 * math.sqrt(2 * 22 / (n - 1))
    assert -math.log(share) == pytest.approx(max(slowness, 0.03), rel=0.5)


@pytest.mark.parametrize("n", [6, 8, 16])
@pytest.mark.parametrize("noise", [0.01, 0.05, 0.1])
def test_a_good_verdict_keeps_its_statement(n: int, noise: float) -> None:
    """Where a slow node is called good, the verdict says itself that less would not show."""
    for factor in (1.05, 1.2, 1.35, 1.5, 1.7, 2.0, 3.0):
        verdict = judged(n, {2: factor}, noise)
        if {one.severity for one in verdict.findings} <= {Severity.GOOD, Severity.NOTE}:
            lines = [line for line in verdict.sensitivity.would_show if "bandwidth" in line]
            (share,) = (float(re.findall(r"below (\S+) of", line)[0]) for line in lines)
            assert 1 / factor > share, (factor, verdict.findings)


def test_a_run_that_scatters_is_no_good_verdict() -> None:
    verdict = judged(16, noise=1.0)
    assert verdict.exit_code is ExitCode.NO_VERDICT
    (first,) = (f for f in verdict.findings if f.severity is Severity.UNKNOWN)
    # 15 readings a node: 15 (d / 1)^2 / 2 = 22 gives d = 1.71, 5.5 times.
    assert re.search(r"scatters: a node up to [3-9]\.?\d* times slower", first.sentence)
    assert "what would tell: another check when the hosts are quiet" in first.sentence


@pytest.mark.parametrize("n", [4, 5, 6])
@pytest.mark.parametrize("factor", [2.0, 5.0, 10.0])
def test_one_slow_node_of_few_is_the_only_one_accused(n: int, factor: float) -> None:
    """Of four nodes it slows half of the pairs, so that their median lies between."""
    for slow in (0, n - 1):
        for noise in (0.02, 0.25):
            verdict = judged(n, {slow: factor}, noise)
            assert verdict.exit_code is not ExitCode.GOOD
            assert accused(verdict) <= {f"n{slow:02d}"}, verdict.findings
            if noise < 0.1:
                named = [one for one in verdict.findings if f"n{slow:02d}" in one.sentence]
                assert named, verdict.findings


@pytest.mark.parametrize("n", [4, 5, 6])
def test_two_or_all_slow_nodes_of_few_are_no_good_verdict(n: int) -> None:
    for factor in (2.0, 10.0):
        for other in range(1, n):
            verdict = judged(n, {0: factor, other: factor})
            assert verdict.exit_code is not ExitCode.GOOD
            assert accused(verdict) <= {"n00", f"n{other:02d}"}
    assert n > 5 or judged(n, dict.fromkeys(range(n), 10.0)).exit_code is ExitCode.NO_VERDICT


def test_three_slow_nodes_of_six_leave_fast_pairs_that_forbid_a_good_verdict() -> None:
    verdict = judged(6, dict.fromkeys(range(3), 10.0))
    assert verdict.exit_code is not ExitCode.GOOD
    assert accused(verdict) <= {"n00", "n01", "n02"}


def test_slow_paths_between_two_leaves_accuse_no_node() -> None:
    """Four nodes under two leaves: pairs under one leaf are fast, the four others slow."""
    samples = []
    for sample in samples_of(4, {}, 0.01):
        assert sample.pair is not None
        near = {sample.pair.a, sample.pair.b} in ({"n00", "n01"}, {"n02", "n03"})
        slower = {name: value / 3 for name, value in sample.metrics.items()}
        is_slow = not near and sample.size_bytes > 8
        samples.append(replace(sample, metrics=slower) if is_slow else sample)
    verdict = judge_check(samples, None)
    assert accused(verdict) == set()
    assert verdict.exit_code is ExitCode.NO_VERDICT


@pytest.mark.parametrize("n", [6, 8])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.8])
def test_slow_paths_that_no_node_explains_are_no_good_verdict(n: int, share: float) -> None:
    """A third of the pairs are slow, and each node has slow and normal ones."""
    samples = []
    for sample in samples_of(n, {}, 0.01):
        assert sample.pair is not None
        a, b = (int(end[1:]) for end in (sample.pair.a, sample.pair.b))
        factor = share if (a + b) % 3 == 0 and sample.size_bytes > 8 else 1.0
        metrics = {name: value * factor for name, value in sample.metrics.items()}
        samples.append(replace(sample, metrics=metrics))
    verdict = judge_check(samples, None)
    assert verdict.exit_code is not ExitCode.GOOD
    assert accused(verdict) == set()


def test_nodes_that_were_compared_with_one_another_only_say_what_hides() -> None:
    """All of them slow, or all but one, leave no fast pair: such a run looks the same."""
    sound, slow = judged(6), judged(6, dict.fromkeys(range(1, 6), 10.0))
    assert sound.exit_code is slow.exit_code is ExitCode.GOOD
    for verdict in (sound, slow):
        (line,) = verdict.to_record()["would_not_show"]
        assert line == "5 or all of the 6 nodes slow: --platform NAME shows them"
    assert judged(6, dict.fromkeys(range(2, 6), 10.0)).exit_code is not ExitCode.GOOD


def test_far_pairs_that_share_a_cable_are_compared_with_near_ones(
    make_tree: Any, make_fabric: Any, make_slow: Any
) -> None:
    """One spine: every far pair crosses it, so that none of them looks slow beside another."""
    tree = make_tree(2, 3, 1)
    ports = frozenset(port for port in ("leaf-01[4]", "spine-01[1]"))
    good, bad = (
        judge_check(make_fabric(tree, slow, noise=0.01).all_pairs(), tree)
        for slow in ([], [make_slow(0.5, ports=ports, metrics=("bandwidth",))])
    )
    assert good.exit_code is ExitCode.GOOD
    assert bad.exit_code is ExitCode.NO_VERDICT
    lines = bad.sensitivity.cannot_tell
    assert any(line.endswith(": the longer paths may be slow") for line in lines)


def test_healthy_nodes_are_never_accused() -> None:
    for n in (3, 4, 6):
        for seed in range(3):
            for noise in (0.02, 0.2, 0.5):
                verdict = judge_check(samples_of(n, {}, noise, seed), None)
                assert accused(verdict) == set(), (n, seed, noise, verdict.findings)


@pytest.mark.parametrize("factor", [1.5, 1.9, 2.0, 3.0, 10.0])
@pytest.mark.parametrize(("n", "n_slow"), [(6, 3), (6, 4), (8, 4), (8, 5), (16, 8), (16, 11)])
@pytest.mark.parametrize("metrics", ["bandwidth", "both"])
def test_many_slow_nodes_are_never_good(n: int, n_slow: int, factor: float, metrics: str) -> None:
    """The median is that of slow pairs, and some pairs are faster than it."""
    slow = dict.fromkeys(range(n_slow), factor)
    samples = [
        one
        for one, sound in zip(samples_of(n, slow, 0.02), samples_of(n, {}, 0.02), strict=True)
        for one in [sound if metrics == "bandwidth" and sound.size_bytes == 8 else one]
    ]
    assert judge_check(samples, None).exit_code is not ExitCode.GOOD


@pytest.mark.parametrize(("n", "n_slow"), [(6, 3), (8, 4), (16, 8)])
def test_many_nodes_of_slow_latency_are_never_good(n: int, n_slow: int) -> None:
    slow = dict.fromkeys(range(n_slow), 10.0)
    samples = [
        one if one.size_bytes == 8 else sound
        for one, sound in zip(samples_of(n, slow, 0.02), samples_of(n, {}, 0.02), strict=True)
    ]
    assert judge_check(samples, None).exit_code is not ExitCode.GOOD


@pytest.mark.parametrize("n_fast", [1, 60])
def test_few_pairs_that_noise_makes_fast_are_no_doubt(n_fast: int) -> None:
    """Of 1,560 readings with 3 % of noise half a one is a tenth faster; of sixty noise is none."""
    samples = samples_of(40, {}, 0.03)
    large = [i for i, one in enumerate(samples) if one.size_bytes > 8]
    for i in large[:n_fast]:
        fast = dict.fromkeys(samples[i].metrics, BANDWIDTH_MB_S * 1.13)
        samples[i] = replace(samples[i], metrics=fast)
    doubts = judge_check(samples, None).sensitivity.cannot_tell
    assert any("times as fast as the median" in doubt for doubt in doubts) is (n_fast == 60)


def test_one_node_far_faster_than_many_others_forbids_a_good_verdict() -> None:
    """Its readings are few, and no noise of these hosts would make them."""
    n, draws = 120, Random(3)
    found = samples_of(n, {}, 0.0)
    for i, one in enumerate(found):
        assert one.pair is not None
        factor = 1.9 if "n07" in (one.pair.a, one.pair.b) and one.size_bytes > 8 else 1.0
        metrics = {k: v * factor * draws.uniform(0.92, 1.08) for k, v in one.metrics.items()}
        found[i] = replace(one, metrics=metrics)
    verdict = judge_check(found, None)
    assert any("times as fast as the median" in why for why in verdict.sensitivity.cannot_tell)
