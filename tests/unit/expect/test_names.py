"""Names of other tools' benchmarks."""

import pytest

from weft.core.errors import InputError
from weft.expect.names import NCCL_TESTS, OSU, PERFTEST, parse_benchmark
from weft.expect.prediction import PREDICTABLE


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("osu_bw", ("bandwidth", "mpi")),
        ("osu_bibw", ("bidirectional", "mpi")),
        ("all_reduce_perf", ("allreduce", "nccl")),
        ("ib_write_bw", ("bandwidth", "verbs")),
        ("ib_send_lat", ("latency", "verbs")),
        ("PingPong", ("latency", "mpi")),
        ("message-rate", ("message_rate", "mpi")),
        ("allreduce", ("allreduce", "mpi")),
    ],
)
def test_a_tools_name_says_benchmark_and_library(word: str, meant: tuple[str, str]) -> None:
    assert parse_benchmark(word) == meant


def test_every_name_leads_to_something_predictable() -> None:
    for names in (NCCL_TESTS, PERFTEST, OSU):
        assert set(names.values()) <= set(PREDICTABLE)


def test_an_unknown_name_gets_a_hint() -> None:
    with pytest.raises(InputError) as raised:
        parse_benchmark("osu_bww")
    assert raised.value.what == "no benchmark 'osu_bww' with a closed form"
    assert raised.value.hint == "did you mean 'osu_bw'?"
