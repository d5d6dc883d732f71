"""What is expected of a real machine holds its twin's figures, which know no trouble."""

import pytest

from weft.bench.model import Launch, Trial
from weft.bench.twin import TwinBackend
from weft.catalog.load import benchmark as benchmark_named
from weft.catalog.load import platform
from weft.expect.model import Conditions
from weft.expect.predict import predict

pytest.importorskip("weft._engine", reason="weft._engine is not built (make setup)")

METRICS = {
    "latency": "latency_us_p50",
    "bandwidth": "bandwidth_mb_s",
    "bidirectional": "bandwidth_mb_s",
    "message_rate": "msg_rate_mps",
    "allreduce": "latency_us_p50",
    "alltoall": "latency_us_p50",
    "alltoallv": "latency_us_p50",
    "allgather": "latency_us_p50",
    "broadcast": "latency_us_p50",
    "reduce": "latency_us_p50",
    "reduce_scatter": "latency_us_p50",
    "gather": "latency_us_p50",
    "scatter": "latency_us_p50",
    "barrier": "latency_us_p50",
    "fan_in": "bandwidth_mb_s",
    "fan_out": "bandwidth_mb_s",
    "random_ring_latency": "latency_us_p50",
    "random_ring_bandwidth": "bandwidth_mb_s",
    "natural_ring_bandwidth": "bandwidth_mb_s",
}
ENGINE_S_OWN = {"alltoallv": "pairwise"}
"""What a twin runs where a platform names no algorithm: docs/reference/scenario.md."""


@pytest.mark.parametrize("name", ["fat-tree", "frontera", "azure-hbv3"])
@pytest.mark.parametrize("benchmark", sorted(METRICS))
@pytest.mark.parametrize("size", [8, 4096, 1 << 20])
def test_a_twin_lies_where_its_machine_is_expected(name: str, benchmark: str, size: int) -> None:
    document = platform(name)
    size = 0 if benchmark == "barrier" else size
    pairs = benchmark in ("latency", "bandwidth", "bidirectional", "message_rate")
    n_nodes = 2 if pairs else 8
    twin = TwinBackend(document, n_nodes)
    asked = Trial(f"t-{benchmark}", benchmark, (size,), tuple(twin.nodes), 1)
    window = int(benchmark_named(benchmark).options.get("window", 64))
    sample = next(iter(twin.measure(Launch(trial=asked, repeat=0, order=0))))
    algorithm = "" if pairs else document.algorithm(benchmark, size)
    algorithm = ENGINE_S_OWN.get(benchmark, "") if algorithm is None else algorithm
    found = predict(
        document, Conditions(benchmark, size, n_nodes, algorithm=algorithm, window=window)
    )
    assert found.low <= sample.metrics[METRICS[benchmark]] <= found.high * (1 + 1e-6)
