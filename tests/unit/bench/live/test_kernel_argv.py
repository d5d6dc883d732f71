from dataclasses import replace
from typing import Any

import pytest

from weft.bench.live.kernel_argv import kernel_argv, rounds_text
from weft.bench.model import Trial
from weft.core.errors import ExitCode, InputError

SECONDS = "seconds greater than 0 and less than 1e9"


def trial(benchmark: str, sizes: tuple[int, ...] = (8,), n: int = 4, **options: Any) -> Trial:
    return Trial("t001", benchmark, sizes, ("n1",), n, options=options)


TABLE = [
    (trial("latency", (1, 8, 1024)), "--benchmark latency --sizes 1,8,1024"),
    (trial("latency", (0, 1)), "--benchmark latency --sizes 0,1"),
    (trial("latency", (0,)), "--benchmark latency --sizes 0"),
    (trial("allreduce", (0,)), "--benchmark allreduce --sizes 0"),
    (trial("barrier", (0,), iterations=50), "--benchmark barrier --iterations 50"),
    (
        trial("bandwidth", (8,), warmup=0, window=32, validate=True),
        "--benchmark bandwidth --sizes 8 --warmup 0 --window 32 --validate",
    ),
    (trial("bandwidth", (8,), validate=False), "--benchmark bandwidth --sizes 8"),
    (
        trial("allreduce", (4,), sync="window", max_seconds_per_size=0.5),
        "--benchmark allreduce --sizes 4 --sync window --max-seconds-per-size 0.5",
    ),
    (
        trial("latency", (8,), buffers="one", memory="cuda"),
        "--benchmark latency --sizes 8 --buffers one --memory cuda",
    ),
    (
        trial("alltoallv", (8,), skew=0.5, sync="window"),
        "--benchmark alltoallv --sizes 8 --skew 0.5 --sync window",
    ),
    (
        trial("random_ring_bandwidth", (8,), window=8, rings=30, seed=7),
        "--benchmark random_ring_bandwidth --sizes 8 --window 8 --rings 30 --seed 7",
    ),
    (
        trial("random_ring_bandwidth", (8,), closing_barrier=True),
        "--benchmark random_ring_bandwidth --sizes 8 --closing-barrier",
    ),
    (trial("fan_in", (1,)), "--benchmark fan_in --sizes 1"),
    (trial("pairs", (8, 1048576)), "--benchmark pairs --pair-sizes 8,1048576"),
    (trial("pairs", (0,)), "--benchmark pairs"),
    (trial("pairs", (8, 64), pair_sizes="8,1M"), "--benchmark pairs --pair-sizes 8,1048576"),
    (trial("pairs", (0,), pair_sizes=[8, 4096]), "--benchmark pairs --pair-sizes 8,4096"),
    (
        trial("pairs", (0,), phases=["bidirectional", "latency"]),
        "--benchmark pairs --phases latency,bidirectional",
    ),
]


@pytest.mark.parametrize(("given", "expected"), TABLE)
def test_command_line(given: Trial, expected: str):
    assert " ".join(kernel_argv(given, (), None)) == expected


def test_rails_and_the_rounds_file_are_passed_on():
    words = kernel_argv(trial("pairs", (0,)), ("mlx5_0:1", "mlx5_1:1"), "/run/r")
    assert words[2:] == ("--rails", "mlx5_0:1,mlx5_1:1", "--rounds-file", "/run/r")


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("iterations", 0, "a whole number from 1 up"),
        ("iterations", "many", "a whole number from 1 up"),
        ("iterations", True, "a whole number from 1 up"),
        ("warmup", -1, "a whole number from 0 up"),
        ("window", 1.5, "a whole number from 1 up"),
        ("validate", "yes", "true or false"),
        ("sync", "sundial", "one of barrier, window"),
        ("buffers", "three", "one of two, one, untouched"),
        ("memory", ["host"], "one of host, cuda, rocm"),
        ("pair_sizes", "8", "two sizes, such as '8,4M'"),
        ("pair_sizes", 8, "two sizes, such as '8,4M'"),
        ("max_seconds_per_size", 0, SECONDS),
        ("max_seconds_per_size", float("nan"), SECONDS),
        ("max_seconds_per_size", float("inf"), SECONDS),
    ],
)
def test_a_value_that_cannot_be_is_refused_with_what_can(name: str, value: Any, expected: str):
    with pytest.raises(InputError, match=f"option '{name}' of latency cannot be") as caught:
        kernel_argv(trial("latency", (8,), **{name: value}), (), None)
    assert caught.value.expected == expected
    assert caught.value.where == "trial t001"


@pytest.mark.parametrize(
    ("benchmark", "name", "value", "expected"),
    [
        ("alltoallv", "skew", 1.5, "a share from 0 to 1"),
        ("alltoallv", "skew", "much", "a share from 0 to 1"),
        ("alltoall", "skew", 0.5, "alltoallv, whose blocks may differ"),
        ("random_ring_latency", "rings", 0, "a whole number from 1 up"),
        ("random_ring_latency", "seed", -1, "a whole number from 0 up"),
    ],
)
def test_variety_is_refused_where_it_cannot_be(
    benchmark: str, name: str, value: Any, expected: str
):
    with pytest.raises(InputError, match=f"option '{name}' of {benchmark} cannot be") as caught:
        kernel_argv(trial(benchmark, (8,), **{name: value}), (), None)
    assert caught.value.expected == expected


def test_an_unknown_option_is_refused_with_the_nearest_known_one():
    with pytest.raises(InputError, match="the live backend has no option 'iteration'") as caught:
        kernel_argv(trial("latency", (8,), iteration=3), (), None)
    assert caught.value.hint == "did you mean 'iterations'?"
    assert caught.value.exit_code == ExitCode.INPUT


def test_an_option_of_a_twin_is_said_to_be_one():
    with pytest.raises(InputError, match="no option 'adaptive_routing'") as caught:
        kernel_argv(trial("alltoall", (8,), adaptive_routing="on"), (), None)
    assert caught.value.hint == "a twin has it: --twin PLATFORM"


def test_an_unknown_benchmark_is_refused_with_the_nearest_known_one():
    with pytest.raises(InputError, match="no kernel benchmark 'allreduced'") as caught:
        kernel_argv(trial("allreduced"), (), None)
    assert caught.value.hint == "did you mean 'allreduce'?"


def test_pairs_take_exactly_two_sizes():
    with pytest.raises(InputError, match="option 'sizes' of pairs cannot be"):
        kernel_argv(trial("pairs", (8, 64, 4096)), (), None)


@pytest.mark.parametrize(
    ("benchmark", "size", "expected"),
    [
        ("allreduce", 6, "multiples of 4: it adds up floats"),
        ("latency", 2**30 + 1, "at most 1 GiB"),
        ("bandwidth", 0, "from 1 B up: empty messages have no bandwidth"),
        ("fan_out", 0, "from 1 B up: empty messages have no bandwidth"),
        ("natural_ring_bandwidth", 0, "from 1 B up: empty messages have no bandwidth"),
        ("reduce_scatter", 6, "multiples of 4: it adds up floats"),
        ("pairs", 2**31, "at most 1 GiB"),
    ],
)
def test_a_size_no_kernel_can_send_is_refused_before_a_launch(
    benchmark: str, size: int, expected: str
):
    with pytest.raises(InputError, match=f"option 'sizes' of {benchmark} cannot be") as caught:
        kernel_argv(trial(benchmark, (8, size)), (), None)
    assert caught.value.expected == expected


def test_rounds_are_written_one_a_line():
    given = trial("pairs", (0,), rounds=[[(0, 1), (2, 3)], [(0, 2)]])
    assert rounds_text(given) == "0-1 2-3\n0-2\n"
    assert kernel_argv(given, (), None) == ("--benchmark", "pairs")


def test_without_rounds_the_kernel_makes_its_own():
    assert rounds_text(trial("pairs", (0,))) is None


@pytest.mark.parametrize(
    ("rounds", "expected"),
    [
        ([[(0, 4)]], "ranks from 0 to 3"),
        ([[(-1, 2)]], "ranks from 0 to 3"),
        ([[(0, 1), (1, 2)]], "each rank at most once a round"),
        ([[(2, 2)]], "each rank at most once a round"),
        ("0-1", "a list of rounds of pairs of ranks"),
        ([[(0, 1, 2)]], "a list of rounds of pairs of ranks"),
    ],
)
def test_rounds_that_cannot_run_are_refused(rounds: Any, expected: str):
    with pytest.raises(InputError, match="option 'rounds' of pairs cannot be") as caught:
        rounds_text(trial("pairs", (0,), rounds=rounds))
    assert caught.value.expected == expected


def test_only_pairs_have_phases_and_only_those_there_are():
    with pytest.raises(InputError, match="option 'phases' of latency cannot be"):
        kernel_argv(trial("latency", (8,), phases=["latency"]), (), None)
    with pytest.raises(InputError, match="option 'phases' cannot be"):
        kernel_argv(trial("pairs", (0,), phases="latency"), (), None)


def test_rounds_of_thousands_of_ranks_are_checked_at_once():
    """Each rank is looked up, not searched for: 200,000 pairs a round would take hours."""
    many = Trial("t", "pairs", (8, 64), tuple(f"n{i}" for i in range(50_000)), 8)
    pairs = [(rank, rank + 1) for rank in range(0, 400_000, 2)]
    text = rounds_text(replace(many, options={"rounds": [pairs]}))
    assert text is not None
    assert text.startswith("0-1 2-3 ")
    assert text.endswith(" 399998-399999\n")
