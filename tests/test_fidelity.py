"""docs/concepts/fidelity.md says what the program says, and no more than the figures carry."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from weft.bench.twin import TwinBackend
from weft.catalog.load import platform
from weft.core.errors import MissingError

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def fidelity() -> ModuleType:
    try:
        TwinBackend(platform("fat-tree"), 2)
    except MissingError as error:
        pytest.skip(str(error))
    path = ROOT / "scripts" / "fidelity.py"
    spec = importlib.util.spec_from_file_location("fidelity", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_has_the_tables_the_program_prints(fidelity: ModuleType) -> None:
    page = fidelity.PAGE.read_text("utf-8")
    tables = "\n".join(fidelity.page_lines())
    assert page == fidelity.with_tables(page, tables), "run scripts/fidelity.py --write"


def test_what_is_not_modelled_comes_before_any_figure(fidelity: ModuleType) -> None:
    page = fidelity.PAGE.read_text("utf-8")
    assert page.index("## Not modelled") < page.index("## Modelled") < page.index(fidelity.BEGIN)


def test_pair_bandwidth_is_within_two_percent_of_the_best_published_rows(
    fidelity: ModuleType,
) -> None:
    rows = list(fidelity.single_figures())
    best = [row for row in rows if "max of 16" in row.name]
    assert len(best) == 2
    for row in best:
        assert row.twin == pytest.approx(row.published, rel=0.02), row.name


def test_no_more_than_nine_elevenths_leave_a_full_frontera_leaf(fidelity: ModuleType) -> None:
    (share,) = [row for row in fidelity.single_figures() if "Frontera" in row.name]
    assert 0.5 < share.twin <= 9 / 11
    assert share.verdict == "kept"


def test_plateau_of_the_a9_both_ways_is_within_ten_percent(fidelity: ModuleType) -> None:
    a9 = platform("azure-a9")
    table = a9.table("bidirectional")
    assert table is not None
    rows = fidelity.table_rows(a9, table)
    assert all(abs(row.error) < 0.10 for row in rows[-2:])
