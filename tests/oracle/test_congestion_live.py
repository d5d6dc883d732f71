"""Aggressors on real MPI: on this machine, and between hosts whose cables are slow. Their impact is
that on the twin of the cluster."""

import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.oracle.two_leaves import RATE, Impact, cpu_wait, impacts, twin_options
from tests.oracle.virtual import Virtual, need_in_hosts, skip_without_namespaces

from weft.cli import run
from weft.cluster.local.start import LOSS_TOOLS
from weft.results.result_file import read_results
from weft.study.run.store import read_run

Capture = pytest.CaptureFixture[str]
QUICK = ("--iterations", "20", "--repeats", "1")

LARGE = 262_144
"""Of a message: it takes 11 ms, so that a rank which waits some milliseconds for a CPU costs
little."""
PATTERNS = ("random_ring_bandwidth", "alltoall", "allreduce", "put_incast", "reduce")
LOSSY = "fan_in:256K@4"
"""Its windows are larger than the queues: TCP loses packets, the twin's switches hold them back."""
INSIDE = "alltoall:256K@2,placement=packed"
"""On two hosts of one leaf: it shares CPUs with the job, and no cable."""
ON_TWO_LEAVES = ("--seed", "1", "--job-nodes", "2")
"""The seed that gives the job the first host of each leaf."""


def test_on_one_host_ranks_stand_for_nodes_and_the_run_says_so(
    tmp_path: Path, capsys: Capture
) -> None:
    where = tmp_path / "run"
    assert run(["bench", "congestion-impact", *QUICK, "--dir", str(where)]) == 0
    said = capsys.readouterr().out
    assert "# impact on 1 node x 2 ranks" in said
    assert "More ranks than CPUs" in said
    samples = read_run(where).samples
    by_load: dict[str, list[Any]] = {}
    for sample in samples:
        by_load.setdefault(sample.evidence["aggressors"], []).append(sample)
    beside = "alltoall:4K@20% fan_in:4K@20% put_incast:4K@20% get_broadcast:4K@20%"
    assert set(by_load) == {"none", beside}
    for sample in by_load[beside]:
        assert len(sample.evidence["aggressor_passes_per_s"]) == 4
        assert min(sample.evidence["aggressor_passes_per_s"]) > 0


def test_the_tables_of_gpcnet_of_a_live_run_are_read_back(tmp_path: Path, capsys: Capture) -> None:
    many = ("--iterations", "500", "--repeats", "1", "--gpcnet-text")
    words = ["bench", "congestion-impact", *many, "--dir", str(tmp_path / "run")]
    assert run(words) == 0
    path = tmp_path / "gpcnet.txt"
    path.write_text(capsys.readouterr().out)
    result = read_results(path)
    assert not result.unread
    assert {table.tool for table in result.tables} == {"gpcnet"}


@pytest.fixture
def hosts(capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Virtual]:
    skip_without_namespaces()
    need_in_hosts(*LOSS_TOOLS, package=" ".join(LOSS_TOOLS.values()))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    made = Virtual(capsys, f"congestion-{os.getpid()}")
    try:
        code, said = made.up(6)
        assert code == 0, said
        yield made
    finally:
        made.end()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_on_a_cluster_job_and_aggressors_have_hosts_of_their_own(
    hosts: Virtual, tmp_path: Path
) -> None:
    made = ("--cluster", hosts.name, "--dir", str(tmp_path / "run"))
    asked = ("--aggressor", "alltoall:64K@2", "--aggressor", "put_incast@2", "--job-nodes", "2")
    code, said = hosts.weft("bench", "allreduce", "--sizes", "8", *asked, *made, *QUICK)
    assert code == 0, said
    (row,) = said["impact"]
    assert (row["n_nodes"], row["n_units"]) == (2, 1)
    recipes = sorted((tmp_path / "run/recipes").glob("t00*.txt"))
    beside = [path.name for path in recipes if "--aggressor" in path.read_text()]
    assert beside == ["t001-allreduce.r00.txt"]
    (sample,) = (
        one for one in read_run(tmp_path / "run").samples if one.evidence["aggressors"] != "none"
    )
    assert sample.evidence["hosts"] == 6
    assert min(sample.evidence["aggressor_passes_per_s"]) > 0


@pytest.fixture
def leaves(capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Virtual]:
    skip_without_namespaces()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    made = Virtual(capsys, f"leaves-{os.getpid()}")
    try:
        yield made
    finally:
        made.end()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_impact_of_aggressors_is_that_on_the_twin_of_the_cluster(
    leaves: Virtual, tmp_path: Path, capsys: Capture
) -> None:
    rates = ("--rate", f"node[1-6]={RATE}", "--uplink", RATE)
    code, said = leaves.up(6, "--leaves", "2", *rates)
    assert code == 0, said
    on_cluster = ("--cluster", leaves.name, *ON_TWO_LEAVES)
    base = tmp_path / "base"
    sizes = ("--sizes", "8,64,256,1K,4K,16K,64K,256K,1M")
    asked = (*sizes, "--iterations", "20", "--repeats", "3", "--dir", str(base))
    code, table = leaves.weft("bench", "latency", *asked, *on_cluster)
    assert code == 0, table
    on_twin = (*twin_options(base, said["leaves"], tmp_path), *ON_TWO_LEAVES)
    capsys.readouterr()

    wait = cpu_wait(6)
    noise = f"noise={wait.share:.3f},{wait.mean_ns:.0f}"
    # Ranks that all share the machine's CPUs are never in step as those of a twin are. The job's
    # hosts have no noise: beside an aggressor that shares no cable it waits little (INSIDE).
    hosts = (2, 3, 5, 6) if wait.share > 0 else ()
    busy = [word for host in hosts for word in ("--plant", f"node{host} {noise}")]

    def measured(name: str, aggressor: str, *where: str) -> dict[int, Impact]:
        run_dir = str(tmp_path / f"{name}-{aggressor}")
        asked = ("--sizes", f"8,{LARGE}", "--aggressor", aggressor, "--dir", run_dir)
        code, answer = leaves.weft("bench", "latency", *asked, *where)
        assert code == 0, answer
        return impacts(answer["impact"])

    found = {}
    for aggressor in (*(f"{pattern}:256K@4" for pattern in PATTERNS), LOSSY, INSIDE):
        live = measured("live", aggressor, *on_cluster, "--iterations", "20", "--repeats", "6")
        once = (*on_twin, "--iterations", "120", "--repeats", "1", "--node-sets", "1")
        in_step = measured("in-step", aggressor, *once)
        beside = measured("twin", aggressor, *once, *busy)
        twin = {size: one.beside(beside[size]) for size, one in in_step.items()}
        found[aggressor] = (live, in_step, twin)
    with capsys.disabled():
        print(f"\na process finds no CPU: {wait}")
        print_impacts(found)
    inside, inside_in_step, twin_inside = (of[LARGE] for of in found.pop(INSIDE))
    # Waiting for a CPU costs a message of this size little.
    assert inside.impact == pytest.approx(1, abs=0.15)
    assert inside_in_step.impact == pytest.approx(1)
    assert twin_inside.impact == pytest.approx(1)
    lossy, _, twin_lossy = (of[LARGE] for of in found.pop(LOSSY))
    assert 1.2 < lossy.impact < twin_lossy.impact
    large = [(live[LARGE], twin[LARGE]) for live, _, twin in found.values()]
    for live, twin in large:
        assert twin.impact == pytest.approx(live.impact, rel=0.25)
    apart = [
        (one, other)
        for one, other in itertools.combinations(large, 2)
        if one[0].differs_from(other[0])
    ]
    assert len(apart) >= 6
    for (one, twin_one), (other, twin_other) in apart:
        assert (one.impact > other.impact) == (twin_one.impact > twin_other.impact)


Impacts = dict[int, Impact]


def print_impacts(found: dict[str, tuple[Impacts, Impacts, Impacts]]) -> None:
    """A row of a table an aggressor and size: live, its interval, the twin with ranks that are in
    step, and with the machine's waits for a CPU."""
    print(
        "\n| aggressor | bytes | alone us | live | 95 % | twin alone | in step | twin | over live |"
    )
    for aggressor, (live, in_step, twin) in found.items():
        for size, one in live.items():
            other = twin[size]
            print(
                f"| {aggressor} | {size} | {one.alone_us:.0f} | {one.impact:.2f} |"
                f" {one.low:.2f} to {one.high:.2f} | {other.alone_us:.0f} |"
                f" {in_step[size].impact:.2f} | {other.impact:.2f} |"
                f" {other.impact / one.impact:.2f} |"
            )
