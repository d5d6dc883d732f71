"""Every real file the readers know becomes a run that says the same and has a page."""

from collections import Counter
from pathlib import Path

import pytest

from weft.bench.result_scale import StatedScale
from weft.core.errors import InputError
from weft.report.page import page_of
from weft.results.model import ResultFile
from weft.results.result_file import read_results
from weft.study.import_run import ArmFiles, ImportOptions, import_files
from weft.study.run.store import read_run

RESULTS = Path(__file__).parents[2] / "fixtures" / "results"


def result_files() -> list[Path]:
    """Files of tests/fixtures/results in which a table is found."""
    found = []
    for path in sorted(RESULTS.rglob("*")):
        if path.is_file() and path.name != "README.md":
            try:
                results = read_results(path)
            except InputError:
                continue
            if any(row.metrics for table in results.tables for row in table.rows):
                found.append(path)
    return found


FILES = result_files()


def test_there_are_real_files() -> None:
    assert len({path.parent.name for path in FILES}) >= 5


def rows_of(results: ResultFile) -> Counter[tuple[object, ...]]:
    return Counter(
        (table.test or table.tool, row.line, row.size_bytes or 0, *sorted(row.metrics.items()))
        for table in results.tables
        for row in table.rows
        if row.metrics
    )


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_real_file_is_stored_row_by_row_and_reported(path: Path, tmp_path: Path) -> None:
    arms, where = [ArmFiles({}, (path,))], tmp_path / "run"
    try:
        import_files(arms, where, ImportOptions())
    except InputError as error:
        assert "does not say on how many ranks it ran" in error.what  # noqa: PT017
        import_files(arms, where, ImportOptions(StatedScale(2, 1)))
    run = read_run(where)
    stored = Counter(
        (s.evidence["test"], s.evidence["line"], s.size_bytes, *sorted(s.metrics.items()))
        for s in run.samples
    )
    assert stored == rows_of(read_results(path))
    assert page_of(run, "run1").findings
