"""Opening catalogue documents by name and your own by path."""

from pathlib import Path

import pytest

from weft.catalog import load
from weft.catalog.benchmark import Benchmark
from weft.catalog.document import parse_document
from weft.core.errors import InputError

HEADLINES = {
    "latency": "latency_us_p50",
    "bandwidth": "bandwidth_mb_s",
    "bidirectional": "bandwidth_mb_s",
    "message_rate": "msg_rate_mps",
    "barrier": "latency_us_p50",
    "allreduce": "latency_us_p50",
    "alltoall": "latency_us_p50",
    "alltoallv": "latency_us_p50",
    "allgather": "latency_us_p50",
    "broadcast": "latency_us_p50",
    "reduce": "latency_us_p50",
    "reduce_scatter": "latency_us_p50",
    "gather": "latency_us_p50",
    "scatter": "latency_us_p50",
    "fan_in": "bandwidth_mb_s",
    "fan_out": "bandwidth_mb_s",
    "random_ring_latency": "latency_us_p50",
    "random_ring_bandwidth": "bandwidth_mb_s",
    "natural_ring_bandwidth": "bandwidth_mb_s",
    "pairs": "bandwidth_mb_s",
}


def test_the_suite_is_there_with_its_headlines() -> None:
    assert {n: load.benchmark(n).headline for n in load.benchmark_names()} == HEADLINES


@pytest.mark.parametrize("name", HEADLINES)
def test_times_are_better_lower_and_rates_higher(name: str) -> None:
    benchmark = load.benchmark(name)
    assert benchmark.better == ("lower" if "latency" in benchmark.headline else "higher")


def test_only_a_barrier_has_no_size() -> None:
    unsized = [n for n in load.benchmark_names() if load.benchmark(n).sizes_bytes == (0,)]
    assert unsized == ["barrier"]


def test_the_platforms_of_the_spine_are_there() -> None:
    expected = {"this-machine", "fat-tree", "azure-ndv4", "frontera", "azure-a9"}
    assert expected <= set(load.platform_names())


def test_the_studies_of_the_spine_are_there_as_text() -> None:
    assert {"smoke", "lightweight-pair", "adaptive-routing"} <= set(load.study_names())
    where, text = load.study_text("smoke")
    assert where == "catalog/studies/smoke.toml"
    assert "schema" in text


def test_a_misspelt_name_gets_a_hint() -> None:
    with pytest.raises(InputError, match=r"no platform 'azure-a7'(.|\n)*did you mean 'azure-a9'"):
        load.platform("azure-a7")
    with pytest.raises(InputError, match=r"no benchmark 'telepathy' in the catalogue"):
        load.benchmark("telepathy")


def test_a_platform_of_your_own_opens_by_path(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    shipped = Path(load.__file__).parent / "platforms" / "fat-tree.toml"
    path.write_text(shipped.read_text().replace('"fat-tree"', '"mine"', 1))
    assert load.platform(str(path)).name == "mine"


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    missing = tmp_path / "none.toml"
    with pytest.raises(InputError, match=r"none.toml: cannot be read: No such file"):
        load.platform(str(missing))


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "noise.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match=r"noise\.toml: cannot be read: it is not text"):
        load.platform(str(path))


def test_sizes_that_are_no_sizes_are_refused() -> None:
    text = load._text("benchmark", "latency")[0].replace('"0:4M"', '"many"')
    with pytest.raises(InputError, match="'many' is not a size"):
        parse_document(Benchmark, text, "b.toml", "benchmark")
