"""A platform and a trial become a scenario: what the engine is told."""

from dataclasses import replace
from typing import Any

import pytest

from weft.bench.model import Trial
from weft.bench.twin.fault import parse_fault
from weft.bench.twin.rounds import rounds_of
from weft.bench.twin.scenario import scenario, work
from weft.catalog.load import benchmark, platform
from weft.catalog.machine.platform import HOST_COSTS
from weft.core.errors import InputError

TRIAL = Trial(
    id="t000",
    benchmark="latency",
    sizes_bytes=(8, 65536),
    nodes=("n001", "n002"),
    tasks_per_node=1,
    options={"iterations": 1000, "warmup": 100},
)


def trial_of(name: str, **changes: Any) -> Trial:
    return replace(TRIAL, benchmark=name, **changes)


def test_every_cost_of_a_host_regime_reaches_the_engine() -> None:
    fat_tree = platform("fat-tree")
    assert fat_tree.host is not None
    regime = fat_tree.host.regimes[-1]
    costs = {cost: float(number) for number, cost in enumerate(HOST_COSTS, start=1)}
    host = fat_tree.host.model_copy(update={"regimes": (regime.model_copy(update=costs),)})
    document = scenario(fat_tree.model_copy(update={"host": host}), {}, (), TRIAL, 1)
    (told,) = document["host"]["regimes"]
    assert {key: told[key] for key in costs} == costs


def test_the_scenario_carries_hosts_placement_faults_and_seed() -> None:
    fault = parse_fault("leaf-01[3] rate=0.5")
    document = scenario(platform("azure-a9"), {"links": []}, [fault], TRIAL, seed=7)
    assert document["seed"] == 7
    assert document["placement"] == {"nodes": ["n001", "n002"], "tasks_per_node": 1}
    assert document["faults"] == [{"link": "leaf-01[3]", "rate_factor": 0.5}]
    assert document["switch"]["delay_ps"] == 150_000
    assert document["packets"]["mtu_bytes"] == 2048
    assert "max_bytes" not in document["host"]["regimes"][-1]


def test_a_step_a_size_with_few_iterations() -> None:
    steps = work(platform("fat-tree"), benchmark("latency"), TRIAL)
    assert [step["size_bytes"] for step in steps] == [8, 65536]
    assert all(step["iterations"] <= 10 for step in steps)


def test_fewer_iterations_are_taken_as_asked() -> None:
    asked = trial_of("latency", options={"iterations": 2, "warmup": 0})
    steps = work(platform("fat-tree"), benchmark("latency"), asked)
    assert {(step["iterations"], step["warmup"]) for step in steps} == {(2, 0)}


def test_windows_are_the_benchmark_s_unless_the_trial_says_otherwise() -> None:
    steps = work(platform("fat-tree"), benchmark("bandwidth"), trial_of("bandwidth"))
    assert {step["window"] for step in steps} == {64}
    asked = trial_of("bandwidth", options={"window": 4})
    assert work(platform("fat-tree"), benchmark("bandwidth"), asked)[0]["window"] == 4


def test_random_rings_are_steps_of_the_orders_that_the_kernel_draws() -> None:
    asked = trial_of(
        "random_ring_bandwidth",
        sizes_bytes=(8, 64),
        options={"iterations": 100, "rings": 30, "seed": 7, "window": 2},
    )
    steps = work(platform("fat-tree"), benchmark("random_ring_bandwidth"), asked)
    most = benchmark("random_ring_bandwidth").twin
    assert {step["benchmark"] for step in steps} == {"random_ring"}
    assert {step["window"] for step in steps} == {2}
    for size in (8, 64):
        rings = [step for step in steps if step["size_bytes"] == size]
        assert [step["shuffle"] for step in rings] == list(range(7, 7 + most["rings"]))
        assert sum(step["iterations"] for step in rings) == most["iterations"]


def test_a_ring_closes_with_a_barrier_where_a_trial_asks_for_it() -> None:
    name = "random_ring_bandwidth"
    for asked, expected in (({}, None), ({"closing_barrier": True}, True)):
        steps = work(platform("fat-tree"), benchmark(name), trial_of(name, options=asked))
        assert {step.get("closing_barrier") for step in steps} == {expected}


def test_a_ring_in_rank_order_is_one_step_a_size() -> None:
    asked = trial_of("natural_ring_bandwidth", options={})
    steps = work(platform("fat-tree"), benchmark("natural_ring_bandwidth"), asked)
    assert [step["benchmark"] for step in steps] == ["natural_ring"] * 2
    assert {step["window"] for step in steps} == {8}


def test_unequal_blocks_reach_the_engine() -> None:
    asked = trial_of("alltoallv", options={"skew": 0.5})
    assert work(platform("fat-tree"), benchmark("alltoallv"), asked)[0]["skew"] == 0.5


def test_collectives_take_the_algorithm_of_their_size() -> None:
    asked = trial_of("allreduce", sizes_bytes=(8, 1 << 20))
    steps = work(platform("fat-tree"), benchmark("allreduce"), asked)
    assert [step["algorithm"] for step in steps] == ["recursive_doubling", "ring"]


def test_a_library_that_is_known_decides_by_ranks_and_size() -> None:
    nodes = tuple(f"n{number:03}" for number in range(1, 65))
    asked = trial_of("alltoall", sizes_bytes=(8, 4096, 1 << 20), nodes=nodes)
    steps = work(platform("alps-gh200"), benchmark("alltoall"), asked)
    assert [step["algorithm"] for step in steps] == ["bruck", "linear", "pairwise"]
    assert [step.get("window") for step in steps] == [None, 32, None]


def test_an_arm_may_choose_the_algorithm_and_the_routing() -> None:
    asked = trial_of("allreduce", options={"algorithm": "rabenseifner", "routing": "minhop"})
    steps = work(platform("fat-tree"), benchmark("allreduce"), asked)
    assert {step["algorithm"] for step in steps} == {"rabenseifner"}
    document = scenario(platform("fat-tree"), {}, [], asked, seed=1)
    assert document["routing"] == {"engine": "minhop"}


def test_adaptive_routing_takes_its_grade_from_the_platform() -> None:
    asked = trial_of("alltoall", options={"adaptive_routing": "on"})
    document = scenario(platform("frontera"), {}, [], asked, seed=1)
    tree = platform("frontera").fabric
    assert tree is not None
    assert tree.adaptive is not None
    adaptive = {"grade_bytes": tree.adaptive.grade.whole}
    assert document["routing"] == {"engine": tree.routing, "adaptive": adaptive}


@pytest.mark.parametrize(
    ("name", "setting", "message"),
    [
        ("frontera", "sometimes", "option 'adaptive_routing' is 'sometimes'"),
        ("azure-a9", "on", "does not say how it would route adaptively"),
    ],
)
def test_adaptive_routing_that_cannot_be_is_refused(name: str, setting: str, message: str) -> None:
    asked = trial_of("alltoall", options={"adaptive_routing": setting})
    with pytest.raises(InputError, match=message):
        scenario(platform(name), {}, [], asked, seed=1)


@pytest.mark.parametrize("law", ["annex_a10", "dcqcn", "rtt", "endpoint"])
def test_congestion_control_is_a_law_with_the_engines_settings(law: str) -> None:
    asked = trial_of("alltoall", options={"congestion_control": law})
    document = scenario(platform("fat-tree"), {}, [], asked, seed=1)
    assert document["congestion_control"] == {law: {}}
    off = trial_of("alltoall", options={"congestion_control": "off"})
    assert "congestion_control" not in scenario(platform("fat-tree"), {}, [], off, seed=1)


def test_a_law_no_one_knows_is_refused_with_the_one_that_was_meant() -> None:
    asked = trial_of("alltoall", options={"congestion_control": "dcqn"})
    with pytest.raises(InputError, match="option 'congestion_control' is 'dcqn'") as caught:
        scenario(platform("fat-tree"), {}, [], asked, seed=1)
    assert "dcqcn" in str(caught.value.hint)


def test_pairs_are_three_steps_over_the_same_rounds() -> None:
    rounds = [[[0, 1]]]
    asked = trial_of("pairs", options={"rounds": rounds})
    steps = work(platform("fat-tree"), benchmark("pairs"), asked)
    assert [(s["kind"], s["size_bytes"]) for s in steps] == [
        ("latency", 8),
        ("bandwidth_ab", 65536),
        ("bandwidth_ba", 65536),
    ]
    assert all(step["rounds"] == rounds for step in steps)


def test_a_trial_says_which_phases_its_pairs_have() -> None:
    asked = trial_of("pairs", options={"phases": ["bidirectional"], "window": 4})
    (step,) = work(platform("fat-tree"), benchmark("pairs"), asked)
    assert (step["kind"], step["size_bytes"], step["window"]) == ("bidirectional", 65536, 4)


@pytest.mark.parametrize(
    ("options", "faults", "counts"),
    [
        ({}, (), (1, 0)),
        ({}, ("n001 slow=2", "leaf-01[25] rate=0.5"), (1, 0)),
        ({}, ("n001 noise=0.1,500",), (2, 1)),
        ({}, ("leaf-01[25] lost=0.01",), (2, 1)),
        ({}, ("leaf-01[25] corrected=0.01,300",), (2, 1)),
        ({"adaptive_routing": "on"}, (), (2, 1)),
        ({"congestion_control": "endpoint"}, (), (2, 1)),
    ],
)
def test_pairs_repeat_only_what_is_left_to_chance(
    options: dict[str, Any], faults: tuple[str, ...], counts: tuple[int, int]
) -> None:
    planted = [parse_fault(fault) for fault in faults]
    asked = trial_of("pairs", options=options)
    for step in work(platform("azure-ndv4"), benchmark("pairs"), asked, planted):
        assert (step["iterations"], step["warmup"]) == counts


@pytest.mark.parametrize("n_nodes", [2, 3, 5, 8, 16])
def test_without_rounds_every_pair_meets_once_and_no_rank_twice_a_round(n_nodes: int) -> None:
    nodes = tuple(f"n{i:03d}" for i in range(n_nodes))
    rounds = rounds_of(trial_of("pairs", nodes=nodes))
    met = [pair for pairs in rounds for pair in pairs]
    assert len(met) == len(set(met)) == n_nodes * (n_nodes - 1) // 2
    for pairs in rounds:
        ranks = [rank for pair in pairs for rank in pair]
        assert len(ranks) == len(set(ranks))


@pytest.mark.parametrize("rounds", [5, [5], [[5]], [[["a", "b"]]], "rounds"])
def test_rounds_that_are_none_are_refused(rounds: object) -> None:
    with pytest.raises(InputError, match="'rounds' is not a list of rounds of pairs"):
        rounds_of(trial_of("pairs", options={"rounds": rounds}))


@pytest.mark.parametrize("options", [{"iterations": 0}, {"window": "wide"}, {"warmup": -1}])
def test_counts_that_are_no_counts_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=f"option '{next(iter(options))}' is"):
        work(platform("fat-tree"), benchmark("bandwidth"), trial_of("bandwidth", options=options))


def test_empty_messages_have_no_bandwidth() -> None:
    asked = replace(trial_of("bandwidth"), sizes_bytes=(0, 8))
    with pytest.raises(InputError, match="bandwidth of 0 B"):
        work(platform("fat-tree"), benchmark("bandwidth"), asked)


def test_a_trial_may_ask_for_the_noise_of_the_platforms_hosts() -> None:
    """One kind where cores are idle, another where each core has a task."""
    frontera = platform("frontera")
    assert frontera.host is not None
    own = {1: frontera.host.idle_core_noise, 55: frontera.host.idle_core_noise}
    own[56] = frontera.host.full_node_noise
    for tasks, noise in own.items():
        asked = replace(TRIAL, tasks_per_node=tasks, options={"host_noise": "platform"})
        document = scenario(frontera, {}, (), asked, 1)
        assert noise is not None
        told = {"probability": noise.probability.value, "mean_ns": noise.mean.value}
        assert document["host"]["noise"] == told
    assert "noise" not in scenario(frontera, {}, (), TRIAL, 1)["host"]
    with pytest.raises(InputError, match="option 'host_noise' is 'platform'"):
        scenario(
            platform("fat-tree"), {}, (), replace(TRIAL, options={"host_noise": "platform"}), 1
        )
    with pytest.raises(InputError, match="option 'host_noise' is 'much'"):
        scenario(frontera, {}, (), replace(TRIAL, options={"host_noise": "much"}), 1)
