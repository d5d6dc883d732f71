"""The page on result files names everything that readers hand out, and every reader there is."""

import re
from pathlib import Path

import pytest

from weft.catalog.load import readable_benchmark_names
from weft.catalog.tools import NCCL_TOOLS, TOOLS
from weft.results.model import ResultFile
from weft.results.registry import JSON_READERS, LINE_READERS
from weft.results.result_file import read_results

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "reference" / "results.md").read_text()
SUFFIX = re.compile(r"_(?:min|max|p\d+|stdev|cv_percent|worst_rank)$")
SAMPLES = sorted(
    path
    for path in (ROOT / "tests" / "fixtures" / "results").rglob("*")
    if path.is_file() and path.suffix != ".md"
)


@pytest.fixture(scope="module")
def results() -> list[ResultFile]:
    return [read_results(path) for path in SAMPLES]


def test_every_tool_has_a_reader() -> None:
    assert set(TOOLS) == {*LINE_READERS, *JSON_READERS}
    assert set(NCCL_TOOLS) <= set(TOOLS)


def test_every_tool_is_on_the_page() -> None:
    for tool in {*LINE_READERS, *JSON_READERS}:
        assert f"`{tool}`" in PAGE


def test_every_metric_and_label_is_on_the_page(results: list[ResultFile]) -> None:
    rows = [row for file in results for table in file.tables for row in table.rows]
    metrics = {name for row in rows for name in row.metrics}
    labels = {name for row in rows for name in row.labels}
    missing = {name for name in metrics | labels if f"`{name}`" not in PAGE}
    assert not {name for name in missing if f"`{SUFFIX.sub('', name)}`" not in PAGE}


def test_every_sample_has_a_table_and_a_benchmark_weft_knows(results: list[ResultFile]) -> None:
    known = {"", *readable_benchmark_names()}
    for file in results:
        assert file.tables, file.path
        assert {table.benchmark for table in file.tables} <= known
