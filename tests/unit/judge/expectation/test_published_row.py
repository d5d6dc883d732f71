"""What was published under the conditions of a row, and nothing else."""

from dataclasses import replace

import pytest

from weft.catalog.document import parse_document
from weft.catalog.load import platform, platform_names, published_figures
from weft.core.errors import InputError
from weft.expect.model import Conditions
from weft.judge.expectation.published_row import PublishedRow, published_band, published_rows
from weft.judge.rules import rules

NDV5 = platform("azure-ndv5")
ALPS = platform("alps-gh200")
RUN = Conditions("allreduce", 16 * 2**30, 4, 8, memory="gpu", library="nccl")
BUSBW = frozenset({"busbw_gb_s"})


def test_a_figure_of_the_same_conditions_is_found_with_its_source() -> None:
    band = published_band(NDV5, RUN, BUSBW, rules())
    assert band is not None
    assert (band.least, band.most, band.factor) == (361.06, 361.06, rules().same_condition)
    assert "Affaticati" in band.source
    assert "Table 2" in band.source


@pytest.mark.parametrize(
    "other",
    [
        {"n_nodes": 5},
        {"tasks_per_node": 4},
        {"size_bytes": 2**30},
        {"benchmark": "allgather"},
        {"algorithm": "ring"},
        {"transport": "network"},
        {"n_hcas": 4},
    ],
)
def test_any_other_condition_is_another_measurement(other: dict[str, object]) -> None:
    changed = replace(RUN, **other)  # type: ignore[arg-type]
    assert published_band(NDV5, changed, BUSBW, rules()) is None


def test_tables_of_two_libraries_make_one_range() -> None:
    pair = Conditions("bandwidth", 2**22, memory="gpu")
    band = published_band(ALPS, pair, frozenset({"bandwidth_mb_s"}), rules())
    assert band is not None
    assert band.least < band.value < band.most
    assert "mpich-bandwidth-gpu" in band.name
    assert "openmpi-bandwidth-gpu" in band.name


def test_small_collectives_are_compared_by_their_time() -> None:
    conditions = Conditions("allreduce", 1024, 2, 4, memory="gpu", library="nccl")
    both = frozenset({"busbw_gb_s", "latency_us"})
    small = published_band(ALPS, conditions, both, rules())
    large = published_band(ALPS, replace(conditions, size_bytes=2**27), both, rules())
    assert small is not None
    assert large is not None
    assert (small.metric, large.metric) == ("latency_us", "busbw_gb_s")


def test_what_is_listed_exists() -> None:
    figures = {figure.id for own in published_figures().values() for figure in own}
    assert {row.figure for row in published_rows().rows if row.figure} <= figures
    for layout in published_rows().tables:
        assert layout.platform in platform_names()
        assert set(layout.names) <= {table.name for table in platform(layout.platform).published}


def test_a_row_needs_a_figure_or_a_value_with_its_source() -> None:
    text = (
        "platform = 'azure-ndv5'\nbenchmark = 'allreduce'\nmetric = 'busbw_gb_s'\n"
        "size_bytes = 1\nn_nodes = 2\ntasks_per_node = 8\nvalue = 3.0\n"
    )
    with pytest.raises(InputError) as caught:
        parse_document(PublishedRow, text, "rows.toml", "row")
    assert "either a figure, or a value with its source" in str(caught.value)
