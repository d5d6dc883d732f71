"""The one door: laws over everything it takes, and what it refuses."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.catalog.load import platform, platform_names
from weft.core.errors import InputError
from weft.expect.model import Conditions, Expectation
from weft.expect.prediction import PREDICTABLE, predict

PLATFORMS = {name: platform(name) for name in platform_names()}


@settings(max_examples=600, deadline=None)
@given(
    name=st.sampled_from(sorted(PLATFORMS)),
    conditions=st.builds(
        Conditions,
        benchmark=st.sampled_from(PREDICTABLE),
        size_bytes=st.one_of(st.just(0), st.integers(1, 40).map(lambda p: (1 << p) - p % 3)),
        n_nodes=st.sampled_from([1, 2, 3, 5, 16, 100, 3000]),
        tasks_per_node=st.sampled_from([1, 2, 3, 8, 56]),
        memory=st.sampled_from(["host", "gpu"]),
        library=st.sampled_from(["mpi", "verbs", "nccl"]),
        library_version=st.sampled_from(["", "2.18.3", "2.30.7"]),
        window=st.sampled_from([1, 64, 1000]),
        n_hcas=st.sampled_from([None, 1, 4]),
        transport=st.sampled_from(["", "rdma", "network", "sockets"]),
        gpudirect=st.booleans(),
    ),
)
def test_every_answer_is_ordered_and_within_its_limit(name: str, conditions: Conditions) -> None:
    # INVARIANT: an InputError is the only refusal; any other exception fails the test.
    with suppress(InputError):
        check(predict(PLATFORMS[name], conditions))


def check(found: Expectation) -> None:
    assert 0 < found.low <= found.value <= found.high < float("inf")
    assert found.bound
    assert found.formula
    assert found.source
    if found.limit is not None:
        assert found.limit_name
        worst = found.low - found.limit if found.lower_is_better else found.limit - found.high
        assert worst >= -1e-9 * found.limit


def bare(**parts: Any) -> Any:
    """A platform of which little is known."""
    whole = platform("generic-hdr")
    absent = {"fabric": None, "host": None, "switch": None, "packets": None, "node": {}}
    return whole.model_copy(update={**absent, **parts})


@pytest.mark.parametrize("benchmark", ["latency", "bandwidth", "allreduce", "message_rate"])
@pytest.mark.parametrize("library", ["mpi", "verbs"])
def test_a_platform_of_a_line_rate_alone_is_enough(benchmark: str, library: Any) -> None:
    small, large = (
        predict(bare(), Conditions(benchmark, size, 4, 1, library=library)) for size in (8, 4 << 20)
    )
    assert small.high / small.low >= 2
    if benchmark == "bandwidth":
        assert large.bound.startswith("link rate 200 Gb/s")
        assert large.value / 2 < large.low


def test_a_platform_without_a_network_answers_for_one_node_alone() -> None:
    with pytest.raises(InputError, match="has no network figures"):
        predict(bare(links=None), Conditions("latency", 8))
    assert predict(bare(links=None), Conditions("latency", 8, n_nodes=1)).value > 0


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        (Conditions("latencies", 8), "no closed form of 'latencies'"),
        (Conditions("latency", -1), "a size of -1 B"),
        (Conditions("latency", 8, n_nodes=0), "n_nodes = 0"),
        (Conditions("latency", 8, tasks_per_node=0), "tasks_per_node = 0"),
        (Conditions("latency", 8, memory="gpu"), "platform 'frontera' has no GPUs"),
        (Conditions("latency", 8, n_nodes=8009), "8009 nodes of platform 'frontera'"),
        (Conditions("latency", 8, n_hcas=2), "2 HCAs of a node of platform 'frontera'"),
    ],
)
def test_nonsense_is_refused_with_what_would_do(conditions: Conditions, message: str) -> None:
    with pytest.raises(InputError) as raised:
        predict(PLATFORMS["frontera"], conditions)
    assert message in raised.value.what
    assert raised.value.expected


def test_a_misspelt_benchmark_gets_a_hint() -> None:
    with pytest.raises(InputError) as raised:
        predict(PLATFORMS["frontera"], Conditions("alreduce", 8))
    assert raised.value.hint == "did you mean 'allreduce'?"
