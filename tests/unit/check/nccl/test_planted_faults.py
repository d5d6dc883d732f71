"""Faults planted into nodes whose nccl-tests is simulated: named, and no other node accused."""

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.nccl_simulation import ADAPTERS, Planted, simulated_check

from weft.catalog.load import platform
from weft.check.external_evidence.platform_choice import ExpectedPlatform
from weft.check.nccl.retests import packed
from weft.check.pipeline import judge_run
from weft.check.readings.network import Network
from weft.check.trials import ALONE
from weft.check.verdict.drain_list import accused_node
from weft.check.verdict.verdict import Verdict
from weft.check.wording.headline import things_of
from weft.core.errors import ExitCode
from weft.core.finding import Severity
from weft.topology.fabric import Fabric

KINDS: dict[str, Callable[[str, Random], Planted]] = {
    "slow node": lambda node, draws: Planted(net={node: draws.uniform(0.4, 0.85)}),
    "slow adapter": lambda node, draws: Planted(
        adapter={node: (draws.randrange(8), draws.uniform(0.2, 0.75))}
    ),
    "slow NVLink": lambda node, draws: Planted(nvlink={node: draws.uniform(0.4, 0.88)}),
    "wrong results": lambda node, draws: Planted(wrong={node: draws.randrange(1, 1000)}),
    "wrong alone": lambda node, draws: Planted(wrong_alone={node: draws.randrange(1, 1000)}),
    "crash": lambda node, _: Planted(crashes=(node,)),
    "hang": lambda node, _: Planted(hangs=(node,)),
    "crash alone": lambda node, _: Planted(crashes_alone=(node,)),
    "hang alone": lambda node, _: Planted(hangs_alone=(node,)),
}
SENTENCES = {
    "slow node": "is slow: bus bandwidth",
    "slow adapter": "is slow: bus bandwidth",
    "slow NVLink": "is slow inside",
    "wrong results": "gives wrong results with others",
    "wrong alone": "computes wrong results",
    "crash": "fails with others: was killed by signal 11",
    "hang": "fails with others: did not end in 60 s",
    "crash alone": "fails alone: was killed by signal 11",
    "hang alone": "fails alone: did not end in 60 s",
}
NODES = [f"n{i:03d}" for i in range(1, 9)]


def accused(verdict: Verdict) -> set[str | None]:
    return {accused_node(one) for one in verdict.findings if one.severity is Severity.BAD}


def lines_of(verdict: Verdict) -> str:
    return "\n".join(line for one in verdict.findings for line in (one.sentence, *one.evidence))


def drawn(
    kind: str, seed: int, sizes: tuple[int, ...], where: Path
) -> tuple[str, Planted, Verdict]:
    """A check of so many nodes, one of which has a fault of this kind."""
    draws = Random(f"{kind}/{seed}")
    nodes = [f"n{i:03d}" for i in range(1, draws.choice(sizes) + 1)]
    node = draws.choice(nodes)
    planted = KINDS[kind](node, draws)
    return node, planted, simulated_check(nodes, planted, where, seed=seed)[0]


@pytest.mark.parametrize("kind", KINDS)
def test_a_planted_fault_is_named_in_its_own_words(kind: str, tmp_path: Path) -> None:
    for seed in (1, 2):
        node, planted, verdict = drawn(kind, seed, (6, 8, 16), tmp_path)
        assert accused(verdict) == {node}, lines_of(verdict)
        assert SENTENCES[kind] in lines_of(verdict)
        assert verdict.exit_code is ExitCode.VERDICT_BAD
        for number, _ in planted.adapter.values():
            assert f"adapter {ADAPTERS[number]} (1 of 8) is slow" in lines_of(verdict)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("kind", KINDS)
def test_a_hundred_drawn_faults_are_named_and_no_other_node(kind: str, tmp_path: Path) -> None:
    for seed in range(100):
        node, planted, verdict = drawn(kind, seed, (6, 8, 16, 33), tmp_path)
        assert accused(verdict) == {node}, (seed, planted, lines_of(verdict))


def test_healthy_nodes_are_good_and_the_verdict_says_what_would_have_shown(tmp_path: Path) -> None:
    for seed in (1, 2, 3):
        verdict, _ = simulated_check(NODES, Planted(), tmp_path, seed=seed)
        assert verdict.exit_code is ExitCode.GOOD, lines_of(verdict)
        assert any("between its own GPUs" in line for line in verdict.sensitivity.would_show)


def test_all_slow_alike_is_good_only_among_one_another(tmp_path: Path) -> None:
    slow = Planted(net=dict.fromkeys(NODES, 0.5))
    verdict, _ = simulated_check(NODES, slow, tmp_path)
    assert verdict.findings[-1].sentence == (
        "No component of 8 nodes is slower than its kind; whether all are slow alike is not known"
        " without --platform."
    )


def test_packed_rounds_hold_each_host_once_and_every_pair() -> None:
    tests = ((("a", "b"),), (("c:1", "d:1"),), (("a", "c"),), (("e", "f"),), (("a", "b"),))
    found = packed(tests)
    assert found == (
        (("a", "b"), ("c:1", "d:1"), ("e", "f")),
        (("a", "c"),),
        (("a", "b"),),
    )


def test_two_nodes_with_different_faults_are_both_named(tmp_path: Path) -> None:
    nodes = [f"n{i:03d}" for i in range(1, 17)]
    planted = Planted(net={"n004": 0.5}, crashes=("n009",))
    verdict, _ = simulated_check(nodes, planted, tmp_path)
    assert accused(verdict) == {"n004", "n009"}, lines_of(verdict)


@pytest.mark.parametrize(("n", "slow"), [(10, (3, 7)), (12, (0, 5)), (16, (5, 6, 14))])
def test_slow_nodes_are_tested_at_the_same_time_and_all_named(
    n: int, slow: tuple[int, ...], tmp_path: Path
) -> None:
    nodes = [f"n{i:03d}" for i in range(1, n + 1)]
    planted = Planted(net={nodes[i]: 0.8 - 0.05 * place for place, i in enumerate(slow)})
    verdict, run = simulated_check(nodes, planted, tmp_path)
    assert accused(verdict) == set(planted.net), lines_of(verdict)
    tests = [one.pair for one in run.samples if one.trial == ALONE and one.pair is not None]
    assert len({pair.round for pair in tests}) < len(tests)


def test_a_hanging_node_costs_a_bounded_number_of_launches(tmp_path: Path) -> None:
    verdict, run = simulated_check(NODES, Planted(hangs=("n003",)), tmp_path)
    hung = [one for one in run.samples if one.state.value == "hung"]
    assert accused(verdict) == {"n003"}
    # Two of the survey, then two with partners that work.
    assert len(hung) == 4


def test_where_all_hang_no_node_is_accused_and_the_sentence_has_a_next_step(
    tmp_path: Path,
) -> None:
    for planted in (Planted(hangs=tuple(NODES)), Planted(hangs_alone=tuple(NODES))):
        verdict, _ = simulated_check(NODES, planted, tmp_path)
        assert verdict.exit_code is ExitCode.NO_VERDICT
        assert accused(verdict) == set()
        first = verdict.findings[0].sentence
        assert "no node is accused: did not end in 60 s (stopped while NCCL was starting)" in first
        assert "what would tell: nccl-tests of one pair with NCCL_DEBUG=INFO" in first


def test_output_that_is_empty_on_all_nodes_is_no_verdict(tmp_path: Path) -> None:
    verdict, _ = simulated_check(NODES, Planted(silent=tuple(NODES)), tmp_path)
    assert verdict.exit_code is ExitCode.NO_VERDICT
    assert "ended with exit code 0 and printed nothing" in verdict.findings[0].sentence


def test_a_node_without_the_program_is_not_accused(tmp_path: Path) -> None:
    verdict, _ = simulated_check(NODES, Planted(without_program=("n005",)), tmp_path)
    assert accused(verdict) == set()
    assert verdict.exit_code is ExitCode.NO_VERDICT
    assert "node n005 was not measured: /opt/all_reduce_perf is missing" in lines_of(verdict)


def test_a_pair_that_always_fails_is_named_as_a_pair(tmp_path: Path) -> None:
    pair = frozenset(("n002", "n007"))
    verdict, _ = simulated_check(NODES, Planted(pairs_fail=(pair,)), tmp_path)
    assert verdict.exit_code is ExitCode.VERDICT_BAD
    assert "Pair n002 - n007 fails" in lines_of(verdict) or "n007 - n002" in lines_of(verdict)
    assert accused(verdict) == {None}


def test_nodes_of_one_gpu_are_measured_in_pairs_only(tmp_path: Path) -> None:
    verdict, run = simulated_check(NODES, Planted(net={"n003": 0.5}), tmp_path, n_gpus=1)
    assert accused(verdict) == {"n003"}
    assert not any("alone" in one.trial and one.pair is None for one in run.samples)


def test_many_slow_nodes_inside_are_not_accused_without_a_platform(tmp_path: Path) -> None:
    half = dict.fromkeys(NODES[:4], 0.7)
    verdict, _ = simulated_check(NODES, Planted(nvlink=half), tmp_path)
    assert accused(verdict) == set(), lines_of(verdict)
    assert verdict.exit_code is ExitCode.NO_VERDICT
    assert "too many of them are slow to know what is normal" in lines_of(verdict)
    assert not any("own GPUs" in one for one in verdict.sensitivity.would_show)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_wrong_results_are_bad_in_however_few_launches(n: int, tmp_path: Path) -> None:
    nodes = [f"n{i:03d}" for i in range(1, 17)]
    verdict, _ = simulated_check(nodes, Planted(wrong_first=("n005", n)), tmp_path)
    assert verdict.exit_code is ExitCode.VERDICT_BAD
    assert "wrong results" in lines_of(verdict)
    assert accused(verdict) <= {"n005", None}


@pytest.mark.parametrize("where", ["wrong", "wrong_alone"])
def test_wrong_results_of_all_nodes_accuse_none(where: str, tmp_path: Path) -> None:
    every: Any = {where: dict.fromkeys(NODES, 5)}
    verdict, _ = simulated_check(NODES, Planted(**every), tmp_path)
    assert verdict.exit_code is ExitCode.VERDICT_BAD
    assert accused(verdict) == {None}
    assert "the library, its build or a setting" in lines_of(verdict)


def test_results_that_were_not_checked_are_said(tmp_path: Path) -> None:
    verdict, _ = simulated_check(NODES, Planted(is_unchecked=True), tmp_path)
    assert "launches were not checked: wrong ones would not show" in lines_of(verdict)


def test_wrong_results_with_others_say_nothing_of_launches_that_were_not_made(
    tmp_path: Path,
) -> None:
    verdict, _ = simulated_check(NODES, Planted(wrong={"n005": 3}), tmp_path, n_gpus=1)
    assert accused(verdict) == {"n005"}
    assert "alone its results are right" not in lines_of(verdict)


def test_of_one_gpu_a_node_the_one_without_the_program_is_not_accused(tmp_path: Path) -> None:
    verdict, _ = simulated_check(NODES, Planted(without_program=("n005",)), tmp_path, n_gpus=1)
    assert accused(verdict) == set(), lines_of(verdict)
    assert verdict.exit_code is ExitCode.NO_VERDICT
    assert "node n005 was not measured: /opt/all_reduce_perf is missing" in lines_of(verdict)


@pytest.mark.parametrize(
    "planted", [Planted(crashes=("n005",)), Planted(crashes_on=("n005", 3))], ids=["node", "gpu"]
)
def test_with_a_fabric_of_several_adapters_a_node_that_crashes_is_named(
    planted: Planted, tmp_path: Path
) -> None:
    fabric = Fabric.from_document({**FAT_TREE, "hcas_per_node": 4})
    verdict, run = simulated_check(fabric.nodes, planted, tmp_path, fabric=fabric, n_rails=4)
    assert accused(verdict) == {"n005"}, lines_of(verdict)
    pairs = [one.pair for one in run.samples if one.pair is not None]
    assert all(pair.a.split(":")[0] != pair.b.split(":")[0] for pair in pairs)


FAT_TREE = {
    "schema": "weft.fabric/1",
    "generate": "fat_tree",
    "name": "sixteen",
    "levels": 2,
    "nodes": 16,
    "nodes_per_leaf": 4,
    "spines": 4,
    "cables_per_spine": 1,
    "routing": {"engine": "dmodk"},
    "host_bits_per_s": 10**11,
    "switch_bits_per_s": 10**11,
    "host_delay_ps": 5000,
    "switch_delay_ps": 5000,
}


@pytest.mark.parametrize("n_rails", [1, 4])
def test_with_a_fabric_a_slow_cable_is_named(tmp_path: Path, n_rails: int) -> None:
    fabric = Fabric.from_document({**FAT_TREE, "hcas_per_node": n_rails})
    network = Network(fabric)
    between = [c for c in range(len(network.ports) // 2) if network.between_switches[2 * c]]
    cable = between[5]
    verdict, _ = simulated_check(
        fabric.nodes, Planted(cable=(cable, 0.6)), tmp_path, fabric=fabric, n_rails=n_rails
    )
    ends = {network.ports[2 * cable], network.ports[2 * cable + 1]}
    bad = [one for one in verdict.findings if one.severity is Severity.BAD]
    assert [{end for _, names in things_of(one) for end in names} for one in bad] == [ends]


def test_the_platform_tells_that_all_nodes_are_slow_inside(tmp_path: Path) -> None:
    # SOURCE: Azure's health checks expect 228 GB/s of an NDv4 node alone; its NVLink has 240.
    verdict, run = simulated_check(NODES, Planted(nvlink=dict.fromkeys(NODES, 0.3)), tmp_path)
    assert accused(verdict) == set()
    judged = judge_run(run, machine=ExpectedPlatform(platform("azure-ndv4"), "named"))
    assert "Every node alone delivers less than expected between its own GPUs: 1" in lines_of(
        judged
    )
    assert judged.exit_code is ExitCode.VERDICT_BAD
