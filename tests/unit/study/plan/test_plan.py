import itertools
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from weft.bench.model import Launch
from weft.core.errors import InputError
from weft.study.comparison.cells import arm_name
from weft.study.plan.model import Study
from weft.study.plan.plan import make_plan

NODES = tuple(f"n{i:03d}" for i in range(1, 17))


def _study(**fields: Any) -> Study:
    n_settings = fields.pop("n_settings", 2)
    manual = fields.pop("manual", False)
    factor = {
        "name": "ar",
        "manual": manual,
        "settings": [{"name": f"s{i}", "env": {"AR": str(i)}} for i in range(n_settings)],
    }
    document: dict[str, Any] = {
        "schema": "weft.study/1",
        "name": "x",
        "title": "t",
        "question": "q?",
        "benchmarks": [
            {"name": "latency", "sizes": "8"},
            {"name": "alltoall", "sizes": "8", "options": {"iterations": 7}},
        ],
        "factors": [factor] if n_settings > 1 else [],
    }
    return Study.model_validate({**document, **fields})


def _compared(launches: tuple[Launch, ...], study: Study) -> list[Launch]:
    return [launch for launch in launches if launch.repeat < study.repeats]


@settings(max_examples=30, deadline=None)
@given(
    n_settings=st.integers(1, 4),
    repeats=st.integers(1, 7),
    node_sets=st.integers(1, 3),
    counts=st.lists(st.sampled_from([2, 4]), min_size=1, max_size=2, unique=True),
    tasks=st.lists(st.sampled_from([1, 2]), min_size=1, max_size=2, unique=True),
    seed=st.integers(0, 99),
    manual=st.booleans(),
)
def test_every_cell_runs_every_repeat_exactly_once_in_a_seeded_order(
    n_settings: int,
    repeats: int,
    node_sets: int,
    counts: list[int],
    tasks: list[int],
    seed: int,
    manual: bool,
) -> None:
    study = _study(
        n_settings=n_settings,
        repeats=repeats,
        node_sets=node_sets,
        nodes=counts,
        tasks_per_node=tasks,
        seed=seed,
        manual=manual,
    )
    plan = make_plan(study, NODES)
    n_cells = n_settings * node_sets * len(counts) * len(tasks) * 2
    assert len({trial.id for trial in plan.trials}) == len(plan.trials) == n_cells
    keys = [launch.key for launch in _compared(plan.launches, study)]
    assert sorted(keys) == sorted(
        itertools.product((trial.id for trial in plan.trials), range(repeats))
    )
    assert [launch.order for launch in plan.launches] == list(range(len(plan.launches)))
    assert plan == make_plan(study, NODES)


@given(st.integers(0, 50))
def test_two_arms_of_a_cell_run_next_to_each_other_forth_and_back(seed: int) -> None:
    study = _study(repeats=4, seed=seed)
    launches = _compared(make_plan(study, NODES).launches, study)
    for start in range(0, len(launches), 4):
        four = launches[start : start + 4]
        first, second, third, fourth = (arm_name(launch.trial.arm) for launch in four)
        assert first == fourth != second == third
        assert len({launch.trial.benchmark for launch in four}) == 1
        assert {launch.repeat for launch in four[:2]} != {launch.repeat for launch in four[2:]}


@pytest.mark.parametrize("n_settings", [2, 3, 4])
def test_no_arm_is_favoured_by_a_steady_drift(n_settings: int) -> None:
    study = _study(n_settings=n_settings, repeats=8)
    launches = _compared(make_plan(study, NODES).launches, study)
    by_cell: dict[tuple[str, str], list[int]] = {}
    for launch in launches:
        key = (launch.trial.benchmark, arm_name(launch.trial.arm))
        by_cell.setdefault(key, []).append(launch.order)
    for benchmark in ("latency", "alltoall"):
        centres = {
            sum(orders) / len(orders) for (name, _), orders in by_cell.items() if name == benchmark
        }
        assert len(centres) == 1


def test_node_sets_are_blocks_of_their_own() -> None:
    study = _study(node_sets=3, repeats=4)
    launches = _compared(make_plan(study, NODES).launches, study)
    runs = [key for key, _ in itertools.groupby(launch.trial.node_set for launch in launches)]
    assert sorted(runs) == [0, 1, 2]
    assert len({launch.block for launch in launches}) == 3


def test_different_seeds_give_different_orders() -> None:
    plans = [make_plan(_study(seed=seed), NODES).launches for seed in (1, 2)]
    assert [launch.name for launch in plans[0]] != [launch.name for launch in plans[1]]


@pytest.mark.parametrize(("n_settings", "n_switches"), [(2, 2), (3, 4)])
def test_a_manual_factor_is_switched_seldom_and_returns_to_where_it_began(
    n_settings: int, n_switches: int
) -> None:
    study = _study(n_settings=n_settings, manual=True, repeats=6, node_sets=2)
    plan = make_plan(study, NODES)
    assert not plan.interleaved
    arms = [arm_name(launch.trial.arm) for launch in _compared(plan.launches, study)]
    blocks = [arm for arm, _ in itertools.groupby(arms)]
    assert len(blocks) == n_switches + 1
    assert blocks == blocks[::-1]


def test_the_baseline_comes_back_at_the_end_for_the_drift_check() -> None:
    study = _study(repeats=12)
    launches = make_plan(study, NODES).launches
    extra = [launch for launch in launches if launch.repeat >= study.repeats]
    assert extra == list(launches[-len(extra) :])
    assert {arm_name(launch.trial.arm) for launch in extra} == {"ar=s0"}
    assert Counter(launch.trial.benchmark for launch in extra) == {"latency": 3, "alltoall": 3}


def test_one_arm_is_spread_over_the_run_instead() -> None:
    study = _study(n_settings=1, repeats=5)
    launches = make_plan(study, NODES).launches
    assert len(launches) == 10
    assert [launch.repeat for launch in launches] == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]


def test_an_arm_carries_its_environment_and_options_over_those_of_the_benchmark() -> None:
    study = _study(
        factors=[
            {
                "name": "window",
                "settings": [
                    {"name": "usual"},
                    {"name": "small", "env": {"UCX_TLS": "rc"}, "options": {"iterations": 3}},
                ],
            }
        ]
    )
    trials = {
        (trial.benchmark, trial.arm["window"]): trial for trial in make_plan(study, NODES).trials
    }
    assert trials["alltoall", "usual"].options["iterations"] == 7
    assert trials["alltoall", "small"].options["iterations"] == 3
    assert dict(trials["alltoall", "usual"].env) == {}
    assert dict(trials["alltoall", "small"].env) == {"UCX_TLS": "rc"}


def test_a_benchmark_without_sizes_of_its_own_gets_the_catalogues() -> None:
    study = _study(benchmarks=[{"name": "barrier"}, {"name": "latency"}], n_settings=1)
    sizes = {trial.benchmark: trial.sizes_bytes for trial in make_plan(study, NODES).trials}
    assert sizes["barrier"] == (0,)
    assert {0, 8, 2**22} <= set(sizes["latency"])


def test_on_one_machine_the_ranks_of_all_nodes_share_it_and_the_plan_says_so() -> None:
    study = _study(nodes=[2, 4], tasks_per_node=[1, 3], node_sets=2)
    plan = make_plan(study, ("here",), fold_onto_one_node=True)
    assert {trial.nodes for trial in plan.trials} == {("here",)}
    assert {trial.n_ranks for trial in plan.trials} == {2, 4, 6, 12}
    assert "folded" in plan.remarks[0]


@pytest.mark.parametrize(
    ("fields", "nodes", "said"),
    [
        ({"nodes": [17]}, NODES, "needs 17 nodes, 16 available"),
        ({}, (), "no node to run on"),
        ({"benchmarks": [{"name": "latncy"}]}, NODES, "did you mean 'latency'"),
        ({"benchmarks": [{"name": "latency", "sizes": "8:q"}]}, NODES, "'q' is not a size"),
        (
            {"benchmarks": [{"name": "latency", "sizes": s} for s in ("1:64", "8")]},
            NODES,
            "measures size 8 twice",
        ),
        ({"node_sets": 100, "repeats": 10_000}, NODES, "expands into 4000000 launches"),
    ],
)
def test_what_cannot_be_planned_is_refused(
    fields: dict[str, Any], nodes: tuple[str, ...], said: str
) -> None:
    with pytest.raises(InputError) as error:
        make_plan(_study(**fields), nodes)
    assert said in error.value.describe()


def test_a_single_rank_beside_larger_cells_is_left_out_and_said() -> None:
    study = _study(nodes=[1, 2], tasks_per_node=[1, 4])
    plan = make_plan(study, ("n1", "n2"))
    cells = {(len(trial.nodes), trial.tasks_per_node) for trial in plan.trials}
    assert cells == {(1, 4), (2, 1), (2, 4)}
    assert "one node with one task a node is left out: one rank sends nothing" in plan.remarks


def test_a_study_of_a_single_rank_alone_keeps_it() -> None:
    plan = make_plan(_study(nodes=[1], tasks_per_node=[1]), ("n1",))
    assert {(len(trial.nodes), trial.tasks_per_node) for trial in plan.trials} == {(1, 1)}
    assert plan.remarks == ()


def test_each_arm_has_the_nodes_of_its_placement_and_no_backend_sees_the_option() -> None:
    placed = {
        "name": "placement",
        "settings": [
            {"name": name, "options": {"placement": name}} for name in ("packed", "scattered")
        ],
    }
    made = make_plan(_study(factors=[placed], nodes=[4], node_sets=3), NODES)
    for trial in made.trials:
        assert "placement" not in trial.options
        first = NODES.index(trial.nodes[0])
        packed = trial.nodes == NODES[first : first + 4]
        assert packed or trial.arm["placement"] == "scattered"
    scattered = {t.nodes for t in made.trials if t.arm["placement"] == "scattered"}
    assert any(nodes != NODES[NODES.index(nodes[0]) :][:4] for nodes in scattered)


def test_a_simulated_fabric_returns_to_no_baseline() -> None:
    study = _study()
    live, twin = (make_plan(study, NODES, is_simulated=one) for one in (False, True))
    assert len(live.launches) > len(twin.launches) == len(_compared(live.launches, study))


def test_arms_are_compared_within_each_setting_of_a_condition() -> None:
    factors = [
        {"name": "ar", "settings": [{"name": "off"}, {"name": "on"}]},
        {"name": "tables", "condition": True, "settings": [{"name": "a"}, {"name": "b"}]},
    ]
    study = _study(factors=factors, node_sets=2)
    made = make_plan(study, NODES)
    seen = Counter((t.arm["ar"], t.condition["tables"]) for t in made.trials)
    assert set(seen.values()) == {len(made.trials) // 4}
    assert all(set(trial.arm) == {"ar"} for trial in made.trials)
    # The two arms of a cell run next to each other, under one condition.
    compared = _compared(made.launches, study)
    for a, b in zip(compared[::2], compared[1::2], strict=True):
        assert a.trial.condition == b.trial.condition
        assert a.trial.arm != b.trial.arm


def test_a_study_of_conditions_alone_has_nothing_to_compare() -> None:
    tables = {"name": "t", "condition": True, "settings": [{"name": "a"}, {"name": "b"}]}
    with pytest.raises(ValidationError, match="one factor at least that is compared"):
        _study(factors=[tables])


def test_placements_that_get_the_same_nodes_are_refused() -> None:
    placed = {
        "name": "placement",
        "settings": [
            {"name": name, "options": {"placement": name}} for name in ("packed", "scattered")
        ],
    }
    study = _study(factors=[placed], nodes=[len(NODES)])
    with pytest.raises(InputError, match="'packed' and 'scattered' of 16 nodes are the same"):
        make_plan(study, NODES)


def test_what_a_person_switches_is_switched_once_more_for_the_drift() -> None:
    factors = [
        {"name": "ar", "settings": [{"name": "off"}, {"name": "on"}]},
        {
            "name": "tables",
            "condition": True,
            "manual": True,
            "settings": [{"name": "a"}, {"name": "b"}],
        },
    ]
    made = make_plan(_study(factors=factors), NODES)
    assert made.interleaved
    in_force = [launch.trial.condition["tables"] for launch in made.launches]
    switches = sum(a != b for a, b in itertools.pairwise(in_force))
    assert switches == 3  # a b b a, then the drift: a, b


@pytest.mark.parametrize("kind", ["options", "env"])
def test_settings_that_exclude_each_other_are_refused(kind: str) -> None:
    factors = [
        {"name": name, "settings": [{"name": "a", kind: {"X": "1"}}, {"name": "b", kind: {"X": v}}]}
        for name, v in (("one", "1"), ("two", "2"))
    ]
    with pytest.raises(InputError, match=r"one=a and two=b exclude each other: .* 'X' is '1' and"):
        make_plan(_study(factors=factors), NODES)
