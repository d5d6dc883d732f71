"""A study in blocks, whose nodes are told later; attempts of a block, of which one counts."""

from pathlib import Path

import pytest
from tests.mock_backend import MockBackend

from weft.core.errors import InputError
from weft.study.comparison.comparison import compare_arms
from weft.study.plan.blocks import launches_of, on_nodes, plan_blocks
from weft.study.plan.document import load_study, parse_study
from weft.study.plan.model import Study
from weft.study.run.store import RunStore, read_run
from weft.study.submission.attempts import Attempt, attempt_folder

STUDY = """
schema = "weft.study/1"
name = "mine"
title = "Mine"
question = "Is it?"
repeats = 4
nodes = [2, 4]
node_sets = 3

[[benchmarks]]
name = "latency"
sizes = "8"

[[factors]]
name = "arm"
{more}

[[factors.settings]]
name = "one"

[[factors.settings]]
name = "two"
"""


def study(more: str = "") -> Study:
    return parse_study(STUDY.format(more=more), "mine.toml")


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    """A run of six blocks, none of which has begun."""
    folder = tmp_path / "run"
    store = RunStore.create(folder, {"study": STUDY.format(more="")})
    store.set_plan(plan_blocks(study()))
    return folder


def attempt(
    run_dir: Path, block: int, job: str, nodes: tuple[str, ...], *, at: float, n: int | None = None
) -> None:
    """A block that ran in a job on these nodes, or only its first `n` launches."""
    folder = attempt_folder(run_dir, block, job)
    folder.parent.mkdir(exist_ok=True)
    Attempt(block, job, nodes, at).write(folder)
    launches = on_nodes(launches_of(read_run(run_dir).launches, block), nodes)
    backend = MockBackend(seed=1)
    with RunStore.create(folder, {}) as store:
        store.set_plan(launches)
        for launch in launches[:n]:
            samples = list(backend.measure(launch))
            for sample in samples:
                store.append(sample)
            store.done(launch, n_samples=len(samples), seconds=1.0)


def test_a_block_is_one_node_set_with_all_arms_and_its_own_returns() -> None:
    launches = plan_blocks(study())
    assert [launch.order for launch in launches] == list(range(len(launches)))
    assert sorted({launch.block for launch in launches}) == list(range(6))
    assert [launch.block for launch in launches] == sorted(launch.block for launch in launches)
    for block in range(6):
        of = launches_of(launches, block)
        (nodes,) = {launch.trial.nodes for launch in of}
        assert len(nodes) == (2 if block < 3 else 4)
        arms = [launch.trial.arm["arm"] for launch in of]
        assert arms.count("one") == 5  # 4 repeats, and 1 return to the baseline
        assert arms.count("two") == 4
        assert of[-1].repeat >= 4
    assert len({launch.key for launch in launches}) == len(launches)
    sets = {launch.trial.nodes for launch in launches}
    assert len(set().union(*map(set, sets))) == 3 * 2 + 3 * 4


def test_a_study_that_somebody_must_switch_is_refused() -> None:
    with pytest.raises(InputError, match="'arm' is switched by an administrator"):
        plan_blocks(study("manual = true"))


def test_a_study_that_only_a_simulated_fabric_can_run_is_refused() -> None:
    document, _ = load_study("adaptive-routing")
    with pytest.raises(InputError, match="only a simulated fabric has the option 'adaptive_") as no:
        plan_blocks(document)
    assert no.value.where == "study 'adaptive-routing'"
    assert no.value.hint == "weft study run STUDY --twin PLATFORM"


def test_samples_of_blocks_are_one_run_on_the_nodes_that_they_got(run_dir: Path) -> None:
    attempt(run_dir, 0, "7_0", ("a", "b"), at=1.0)
    attempt(run_dir, 4, "8_4", ("a", "b", "c", "d"), at=2.0)
    run = read_run(run_dir)
    placed = {launch.block: launch.trial.nodes for launch in run.launches}
    assert placed[0] == ("a", "b")
    assert placed[4] == ("a", "b", "c", "d")
    assert placed[1] == ("block1-node0", "block1-node1")
    keys = {launch.key for launch in run.launches if launch.block in (0, 4)}
    assert run.done == keys
    assert not run.complete


def test_of_two_attempts_the_complete_one_counts_whole(run_dir: Path) -> None:
    attempt(run_dir, 0, "7_0", ("a", "b"), at=1.0, n=3)
    assert len(read_run(run_dir).done) == 3
    attempt(run_dir, 0, "9_0", ("c", "d"), at=2.0, n=2)
    run = read_run(run_dir)
    assert len(run.done) == 2  # of the last one only: arms of one block share an allocation
    assert {one.trial.nodes for one in run.launches if one.block == 0} == {("c", "d")}
    assert "block 0 has 2 of 9 launches" in run.remarks
    attempt(run_dir, 0, "10_0", ("e", "f"), at=3.0)
    attempt(run_dir, 0, "11_0", ("g", "h"), at=4.0, n=1)
    run = read_run(run_dir)
    assert len(run.done) == 9
    assert {one.trial.nodes for one in run.launches if one.block == 0} == {("e", "f")}


def test_a_job_that_slurm_starts_again_writes_elsewhere(run_dir: Path) -> None:
    first = attempt_folder(run_dir, 3, "7_3")
    first.parent.mkdir()
    Attempt(3, "7_3", ("a",), 1.0).write(first)
    assert [first.name, attempt_folder(run_dir, 3, "7_3").name] == ["003-7_3", "003-7_3-2"]


@pytest.mark.parametrize(("text", "said"), [("{", "not JSON"), ("[]", "not a block record")])
def test_a_broken_record_is_named(run_dir: Path, text: str, said: str) -> None:
    folder = attempt_folder(run_dir, 0, "7_0")
    folder.parent.mkdir()
    folder.with_name("000-7_0.json").write_text(text)
    with pytest.raises(InputError, match=said) as caught:
        read_run(run_dir)
    assert str(caught.value.where).endswith("000-7_0.json")


def test_a_whole_run_of_blocks_is_complete(run_dir: Path) -> None:
    for block in range(6):
        nodes = tuple("abcd"[: 2 if block < 3 else 4])
        attempt(run_dir, block, f"7_{block}", nodes, at=float(block))
    run = read_run(run_dir)
    assert run.complete
    assert [sample.trial for sample in run.samples] == [one.trial.id for one in run.launches]


@pytest.mark.parametrize(("nodes", "n_sets"), [(("ab", "ab", "ba"), 1), (("ab", "cd", "ef"), 3)])
def test_blocks_on_the_same_nodes_are_one_node_set(
    run_dir: Path, nodes: tuple[str, ...], n_sets: int
) -> None:
    for block, names in enumerate(nodes):
        attempt(run_dir, block, f"7_{block}", tuple(names), at=float(block))
    (row,) = compare_arms(read_run(run_dir)).rows
    assert row.n_pairs == 3 * 4
    assert row.sets.n_sets == n_sets


def test_a_scheduler_places_a_queued_job_so_placements_are_refused() -> None:
    placed = (
        '[[factors]]\nname = "where"\nsettings = [\n'
        '  { name = "packed", options = { placement = "packed" } },\n'
        '  { name = "scattered", options = { placement = "scattered" } },\n]\n'
    )
    with pytest.raises(InputError, match="the scheduler places a queued job"):
        plan_blocks(parse_study(STUDY.format(more="") + placed, "mine.toml"))
