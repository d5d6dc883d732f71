"""The study `adaptive-routing`: what it finds is what static routes do that can be counted."""

from collections import Counter
from collections.abc import Sequence

import pytest

from weft.bench.twin.backend import TwinBackend
from weft.catalog.load import platform
from weft.core.finding import FindingKind
from weft.stats.nodesets import SetsRatio
from weft.study.comparison.comparison import Comparison, compare_arms
from weft.study.comparison.replication import Unit
from weft.study.comparison.rows import RowOutcome
from weft.study.plan.document import load_study
from weft.study.plan.plan import make_plan
from weft.study.run.loop import execute
from weft.study.run.metadata import run_meta
from weft.study.run.store import RunStore, StudyRun, read_run

pytest.importorskip("weft._engine", reason="weft._engine is not built (make setup)")

N_NODES = 256
HOSTS_A_LEAF = 16  # a balanced tree of two levels: the root of its nodes, and as many spines


@pytest.fixture(scope="module")
def nodes() -> tuple[str, ...]:
    return TwinBackend(platform("fat-tree"), N_NODES).nodes


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> StudyRun:
    study, text = load_study("adaptive-routing")
    backend = TwinBackend(platform("fat-tree"), N_NODES)
    plan = make_plan(study, backend.nodes)
    where = tmp_path_factory.mktemp("adaptive") / "run"
    meta = run_meta(study_text=text, seed=study.seed, backend=backend, nodes=backend.nodes)
    with RunStore.create(where, meta) as store:
        backend.prepare(plan.trials, where)
        execute(plan.launches, backend, store)
    return read_run(where)


@pytest.fixture(scope="module")
def found(run: StudyRun) -> Comparison:
    return compare_arms(run)


def flows_on_the_busiest_cable(numbers: Sequence[int]) -> int:
    """Rank i sends to rank i + p/2; d-mod-k takes the up cable of the destination's number."""
    half = len(numbers) // 2
    flows = zip(numbers[:half], numbers[half:], strict=True)
    cables = Counter(
        (src // HOSTS_A_LEAF, dst % HOSTS_A_LEAF)
        for src, dst in flows
        if src // HOSTS_A_LEAF != dst // HOSTS_A_LEAF
    )
    return max(cables.values())


def test_large_messages_gain_what_the_busiest_cable_carries(
    run: StudyRun, nodes: tuple[str, ...]
) -> None:
    """With a cable for each flow, all 32 end with the slowest: n flows on a cable take n times."""
    trials = {launch.trial.id: launch.trial for launch in run.launches}
    rates: dict[tuple[int, str], float] = {}
    shares: dict[int, int] = {}
    for sample in run.samples:
        trial = trials[sample.trial]
        if sample.benchmark != "message_rate" or sample.size_bytes != 1 << 20:
            continue
        rates[trial.node_set, trial.arm["routing"]] = sample.metrics["msg_rate_mps"]
        numbers = [nodes.index(node) for node in trial.nodes]
        shares[trial.node_set] = flows_on_the_busiest_cable(numbers)
    assert len(shares) == 10
    assert max(shares.values()) > 1, "no static route collides: the study would ask for nothing"
    for node_set, share in shares.items():
        gain = rates[node_set, "adaptive"] / rates[node_set, "static"]
        assert gain == pytest.approx(share, rel=0.02), node_set


def test_the_first_finding_is_the_gain_and_small_messages_have_none(found: Comparison) -> None:
    answer, first = found.findings[:2]
    assert answer.kind is FindingKind.ANSWER
    assert first.kind is FindingKind.SPEED_UP
    assert first.facts.benchmark == "message_rate"
    outcomes = {(row.cell.benchmark, row.cell.size_bytes): row.outcome for row in found.rows}
    assert outcomes == {
        ("message_rate", 65536): RowOutcome.FASTER,
        ("message_rate", 1 << 20): RowOutcome.FASTER,
        ("alltoall", 8): RowOutcome.EQUIVALENT,
        ("alltoall", 4096): RowOutcome.EQUIVALENT,
        ("alltoall", 65536): RowOutcome.FASTER,
    }


def test_its_arms_are_proved_interleaved_and_tell_of_other_node_sets(found: Comparison) -> None:
    assert found.interleaved
    assert all(row.n_pairs == 10 for row in found.rows)
    assert all(row.unit is Unit.NODE_SET for row in found.rows)
    assert all(isinstance(row.sets, SetsRatio) for row in found.rows)
    assert not [f for f in found.findings if "not interleaved" in f.sentence]
    assert not [f for f in found.findings if "left out" in f.sentence]


def test_it_follows_what_its_source_measured() -> None:
    # SOURCE: Cazes, Impact of SHARP and Adaptive Routing on Frontera, MUG 2020: MPI_Alltoall with
    # one process a node, adaptive routing on and off.
    study, _ = load_study("adaptive-routing")
    assert "alltoall" in [use.name for use in study.benchmarks]
    assert study.tasks_per_node == (1,)
    assert [setting.name for setting in study.factors[0].settings] == ["static", "adaptive"]
