"""All pairs in rounds inside one launch."""

from itertools import combinations, groupby

import pytest

QUICK = ("--iterations", "1", "--warmup", "0", "--window", "2", "--pair-sizes", "8,1024")
KINDS = ["latency", "bandwidth_ab", "bandwidth_ba"]


def rounds_of(outcome):
    """Round number -> its pairs, in the order written; one latency row stands for a pair."""
    rows = [row for row in outcome.of("pair_row") if row["kind"] == "latency"]
    return {
        number: [(row["rank_a"], row["rank_b"]) for row in of_round]
        for number, of_round in groupby(rows, key=lambda row: row["round"])
    }


@pytest.mark.parametrize("n_ranks", [2, 3, 4, 5, 6])
def test_every_pair_meets_exactly_once_and_nobody_twice_in_a_round(kernel, n_ranks):
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


def test_a_pair_has_its_latency_and_its_bandwidth_each_way(any_kernel):
    outcome = any_kernel.run(2, "--benchmark", "pairs", "--pair-sizes", "8,65536", "--validate")
    rows = outcome.of("pair_row")
    assert [row["kind"] for row in rows] == KINDS
    assert [row["size_bytes"] for row in rows] == [8, 65536, 65536]
    assert [row["window"] for row in rows] == [None, 16, 16]
    assert [row["iterations"] for row in rows] == [200, 20, 20]
    assert {row["n_concurrent"] for row in rows} == {1}
    assert [row["n_errors"] for row in rows] == [0, 0, 0]


def test_a_time_limit_means_fewer_iterations_of_a_pair(kernel):
    limit = ("--max-seconds-per-size", "0.005", "--iterations", "3000")
    outcome = kernel.run(3, "--benchmark", "pairs", *limit)
    assert outcome.exit_code == 0, outcome.stderr
    for row in outcome.of("pair_row"):
        assert 5 <= row["iterations"] <= 3000
        assert len(row["times_ns"]) == row["iterations"]
    assert min(row["iterations"] for row in outcome.of("pair_row")) < 3000


def test_listed_rounds_run_as_listed(kernel, tmp_path):
    listed = tmp_path / "rounds"
    listed.write_text("# the suspects, alone\n2-1\n\n0-1 2-3  # together\n0-1\n")
    outcome = kernel.run(4, "--benchmark", "pairs", "--rounds-file", str(listed), *QUICK)
    assert outcome.exit_code == 0, outcome.stderr
    assert rounds_of(outcome) == {0: [(1, 2)], 1: [(0, 1), (2, 3)], 2: [(0, 1)]}
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
def test_a_wrong_rounds_file_is_told_with_its_line(kernel, tmp_path, text, message):
    listed = tmp_path / "rounds"
    listed.write_text(text)
    outcome = kernel.run(2, "--benchmark", "pairs", "--rounds-file", str(listed))
    assert outcome.exit_code == 2
    assert message in outcome.only("error")["message"]
