"""All pairs in rounds inside one launch."""

import os
import signal
import time
from dataclasses import replace
from itertools import combinations, groupby
from pathlib import Path

import pytest
from tests.kernel.conftest import records_of

QUICK = ("--iterations", "1", "--warmup", "0", "--window", "2", "--pair-sizes", "8,1024")
KINDS = ["latency", "bandwidth_ab", "bandwidth_ba"]
MAX_TIMES = 33


def rounds_of(outcome):
    """Round number -> its pairs, in the order written; one latency row stands for a pair."""
    rows = [row for row in outcome.of("pair_row") if row["kind"] == "latency"]
    return {
        number: [(row["rank_a"], row["rank_b"]) for row in of_round]
        for number, of_round in groupby(rows, key=lambda row: row["round"])
    }


@pytest.mark.parametrize("n_ranks", [2, 3, 4, 5, 6])
def test_every_pair_meets_exactly_once_and_none_twice_in_a_round(kernel, n_ranks):
    outcome = kernel.run(n_ranks, "--benchmark", "pairs", *QUICK)
    assert outcome.exit_code == 0, outcome.stderr
    rounds = rounds_of(outcome)
    met = [pair for pairs in rounds.values() for pair in pairs]
    assert sorted(met) == list(combinations(range(n_ranks), 2))
    assert len(rounds) == (n_ranks - 1 if n_ranks % 2 == 0 else n_ranks)
    for pairs in rounds.values():
        busy = [rank for pair in pairs for rank in pair]
        assert len(set(busy)) == len(busy)
        assert len(pairs) == n_ranks // 2


def test_a_pair_has_its_latency_and_its_bandwidth_each_direction(any_kernel):
    outcome = any_kernel.run(2, "--benchmark", "pairs", "--pair-sizes", "8,65536", "--validate")
    rows = outcome.of("pair_row")
    assert [row["kind"] for row in rows] == KINDS
    assert [row["size_bytes"] for row in rows] == [8, 65536, 65536]
    assert [row["window"] for row in rows] == [None, 16, 16]
    assert [row["iterations"] for row in rows] == [200, 20, 20]
    assert {row["n_concurrent"] for row in rows} == {1}
    assert [row["n_errors"] for row in rows] == [0, 0, 0]


@pytest.mark.parametrize(
    ("phases", "kinds"),
    [
        ("latency", KINDS[:1]),
        ("bandwidth", KINDS[1:]),
        ("bidirectional", ["bidirectional"]),
        ("bidirectional,bandwidth,latency", [*KINDS, "bidirectional"]),
    ],
)
def test_phases_run_in_one_order_however_they_are_listed(any_kernel, phases, kinds):
    outcome = any_kernel.run(3, "--benchmark", "pairs", "--phases", phases, "--validate", *QUICK)
    assert outcome.exit_code == 0, outcome.stderr
    rows = outcome.of("pair_row")
    assert [row["kind"] for row in rows] == kinds * 3
    for row in rows:
        assert (row["size_bytes"], row["window"]) == ((8, None), (1024, 2))[row["kind"] != KINDS[0]]
        assert row["n_errors"] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("pairs", "--phases", "latency,latency"), "'latency' is listed twice"),
        (("pairs", "--phases", "bandwith"), "'bandwith' is not one of latency, bandwidth"),
        (("pairs", "--phases", "latency,"), "the list has an empty or too long part"),
        (("pairs", "--phases", ""), "no phase is given"),
        (("latency", "--phases", "latency"), "only pairs has phases, not latency"),
    ],
)
def test_wrong_phases_are_refused(kernel, arguments, message):
    outcome = kernel.run(2, "--benchmark", *arguments)
    assert outcome.exit_code == 2
    assert message in outcome.only("error")["message"]


def test_wrong_bytes_of_both_directions_are_counted(kernel):
    arguments = ("--benchmark", "pairs", "--phases", "bidirectional", "--validate", *QUICK)
    (row,) = kernel.run(2, *arguments, WEFT_TEST_CORRUPT="1").of("pair_row")
    assert row["n_errors"] == 1


def test_a_long_series_is_kept_as_quantiles_and_a_short_one_whole(kernel):
    for n, form, n_kept in ((5, "all", 5), (33, "all", 33), (34, "quantiles", 33)):
        counts = ("--iterations", str(n), "--warmup", "0", "--window", "2")
        outcome = kernel.run(2, "--benchmark", "pairs", *counts)
        for row in outcome.of("pair_row"):
            times = row["times_ns"]
            assert (row["iterations"], row["times"], len(times)) == (n, form, n_kept)
            if form == "all":
                assert row["total_ns"] == sum(times)
            else:
                # 33 quantiles of 34 times: the least, the greatest, and one of all is left out.
                assert times == sorted(times)
                assert times[0] <= row["total_ns"] - sum(times) <= times[-1]


def test_a_time_limit_means_fewer_iterations_of_a_pair(kernel):
    limit = ("--max-seconds-per-size", "0.005", "--iterations", "3000")
    outcome = kernel.run(3, "--benchmark", "pairs", *limit)
    assert outcome.exit_code == 0, outcome.stderr
    for row in outcome.of("pair_row"):
        assert 5 <= row["iterations"] <= 3000
        assert len(row["times_ns"]) == min(row["iterations"], MAX_TIMES)
    assert min(row["iterations"] for row in outcome.of("pair_row")) < 3000


@pytest.mark.parametrize(("asked", "ran"), [(7, 7), (0, 1)])
def test_a_pair_says_how_often_it_was_warmed_up(kernel, asked, ran):
    """First contact is never timed, so there is one message at least."""
    counts = ("--iterations", "3", "--warmup", str(asked))
    outcome = kernel.run(2, "--benchmark", "pairs", *counts, *QUICK[4:])
    assert {row["warmup"] for row in outcome.of("pair_row")} == {ran}


def test_the_time_limit_bounds_warm_up_window_and_iterations_of_a_pair(kernel):
    """No window of 16 MiB is moved in 10 us: a message at a time, and the fewest of them."""
    limit = ("--max-seconds-per-size", "0.00001", "--warmup", "100", "--window", "16")
    outcome = kernel.run(2, "--benchmark", "pairs", *limit, "--pair-sizes", "8,1048576")
    _, *bandwidths = outcome.of("pair_row")
    assert [row["window"] for row in bandwidths] == [1, 1]
    assert [row["iterations"] for row in bandwidths] == [5, 5]
    assert [row["warmup"] for row in bandwidths] == [1, 1]


def test_a_time_limit_that_is_kept_leaves_the_windows_whole(kernel):
    limit = ("--max-seconds-per-size", "10", "--iterations", "3")
    outcome = kernel.run(2, "--benchmark", "pairs", *limit, "--pair-sizes", "8,64")
    assert [row["window"] for row in outcome.of("pair_row")] == [None, 16, 16]


@pytest.mark.parametrize("listed_pairs", ["3-4\n3-4\n", "0-4 1-3\n3-4\n0-1\n", "1-2 3-4\n"])
def test_ranks_that_no_round_names_rest_to_the_end(any_kernel, tmp_path, listed_pairs):
    """Nodes of fewer rails than others, odd counts, a group of the launch; rank 0 may rest too."""
    listed = tmp_path / "rounds"
    listed.write_text(listed_pairs)
    outcome = any_kernel.run(5, "--benchmark", "pairs", "--rounds-file", str(listed), *QUICK)
    assert outcome.exit_code == 0, outcome.stderr
    found = [pair for pairs in rounds_of(outcome).values() for pair in pairs]
    assert [f"{a}-{b}" for a, b in found] == listed_pairs.split()
    assert len(outcome.of("rank")) == 5


def test_only_rounds_with_more_ranks_than_cpus_are_crowded(kernel, tmp_path):
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("needs two CPUs, so that a pair has one each")
    listed = tmp_path / "rounds"
    listed.write_text("0-1\n0-1 2-3\n1-3\n")
    arguments = ("--benchmark", "pairs", "--rounds-file", str(listed), *QUICK)
    outcome = kernel.run(5, *arguments, cpus=set(cpus[:2]))
    assert all(rank["oversubscribed"] for rank in outcome.of("rank"))
    crowded = {(row["round"], row["crowded"]) for row in outcome.of("pair_row")}
    assert crowded == {(0, False), (1, True), (2, False)}
    outcome = kernel.run(4, *arguments, cpus={cpus[0]})
    assert {row["crowded"] for row in outcome.of("pair_row")} == {True}


def test_ranks_bound_to_one_cpu_crowd_it_while_others_are_free(kernel, tmp_path):
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("needs two CPUs: one to share and one that is free")
    listed = tmp_path / "rounds"
    listed.write_text("0-1\n1-2\n")
    binding = ("-bind-to", f"user:{cpus[0]},{cpus[0]},{cpus[1]}")
    bound = replace(kernel, launcher=(*kernel.launcher, *binding))
    outcome = bound.run(3, "--benchmark", "pairs", "--rounds-file", str(listed), *QUICK)
    allowed = [rank["cpus"] for rank in outcome.of("rank")]
    assert allowed == [str(cpus[0]), str(cpus[0]), str(cpus[1])]
    crowded = {(row["round"], row["crowded"]) for row in outcome.of("pair_row")}
    assert crowded == {(0, True), (1, False)}


def cpu_ticks(pid):
    """User and system time of a process. SOURCE: proc(5), fields 14 and 15 of its stat."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def test_a_rank_that_rests_takes_no_cpu_from_those_that_measure(any_kernel, tmp_path):
    listed = tmp_path / "rounds"
    listed.write_text("1-2\n0-3\n")
    for_ever = ("--iterations", "10000000", "--warmup", "0")
    process = any_kernel.start(
        4, "--benchmark", "pairs", "--rounds-file", str(listed), "--phases", "latency", *for_ever
    )
    try:
        ranks = []
        while len(ranks) < 4:
            ranks += records_of(process.stdout.readline())
            ranks = [record for record in ranks if record["record"] == "rank"]
        pids = [record["pid"] for record in sorted(ranks, key=lambda record: record["rank"])]
        time.sleep(0.5)
        before = [cpu_ticks(pid) for pid in pids]
        time.sleep(1.5)
        spent = [cpu_ticks(pid) - ticks for pid, ticks in zip(pids, before, strict=True)]
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=30)
    busy, resting = spent[1] + spent[2], spent[0] + spent[3]
    assert busy > 0
    assert resting < busy / 4, spent


def test_listed_rounds_run_as_listed(kernel, tmp_path):
    listed = tmp_path / "rounds"
    listed.write_text("# the suspects, alone\n2-1\n\n0-1 2-3  # together\n0-1\n")
    outcome = kernel.run(4, "--benchmark", "pairs", "--rounds-file", str(listed), *QUICK)
    assert outcome.exit_code == 0, outcome.stderr
    assert rounds_of(outcome) == {0: [(2, 1)], 1: [(0, 1), (2, 3)], 2: [(0, 1)]}
    concurrent = [row["n_concurrent"] for row in outcome.of("pair_row")]
    assert concurrent == [1] * 3 + [2] * 6 + [1] * 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0-1\n0-2\n", "line 2: pairs such as 0-1 of two ranks below 2"),
        ("0-0\n", "line 1: pairs such as 0-1"),
        ("0 1\n", "line 1: pairs such as 0-1"),
        ("0-1x\n", "line 1: pairs such as 0-1"),
        ("0-1 0-1\n", "line 1: rank 0 is in two pairs of one round"),
        ("99999999999999999999-1\n", "line 1: pairs such as 0-1"),
        ("# nothing\n", "no round is listed"),
        ("", "no round is listed"),
    ],
)
def test_a_wrong_rounds_file_is_reported_with_its_line(kernel, tmp_path, text, message):
    listed = tmp_path / "rounds"
    listed.write_text(text)
    outcome = kernel.run(2, "--benchmark", "pairs", "--rounds-file", str(listed))
    assert outcome.exit_code == 2
    assert message in outcome.only("error")["message"]
