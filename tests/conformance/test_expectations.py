"""What is expected of a real machine holds its twin's figures, which know no trouble."""

import pytest

from weft.bench.model import Launch, Trial
from weft.bench.twin.backend import TwinBackend
from weft.bench.twin.scenario import work
from weft.catalog.load import benchmark as benchmark_named
from weft.catalog.load import benchmark_names, platform
from weft.expect.model import Conditions
from weft.expect.prediction import predict

pytest.importorskip("weft._engine", reason="weft._engine is not built (make setup)")

BENCHMARKS = [name for name in benchmark_names() if name != "pairs"]
ENGINE_S_OWN = {"alltoallv": "pairwise"}
"""What a twin runs where a platform names no algorithm: docs/reference/scenario.md."""


@pytest.mark.parametrize("name", ["fat-tree", "frontera", "azure-hbv3"])
@pytest.mark.parametrize("benchmark", BENCHMARKS)
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
    step = work(document, benchmark_named(benchmark), asked)[0]
    algorithm = "" if pairs else step.get("algorithm", ENGINE_S_OWN.get(benchmark, ""))
    found = predict(
        document, Conditions(benchmark, size, n_nodes, algorithm=algorithm, window=window)
    )
    reached = sample.metrics[benchmark_named(benchmark).headline]
    assert found.low <= reached <= found.high * (1 + 1e-6)
