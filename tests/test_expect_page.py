"""docs/reference/expect.md prints the errors as they are."""

import importlib.util
from pathlib import Path
from types import ModuleType

SCRIPT = Path(__file__).resolve().parent.parent / "scripts" / "expect_errors.py"


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("expect_errors", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_prints_the_errors_as_they_are_now() -> None:
    errors = script()
    text = errors.PAGE.read_text("utf-8")
    assert errors.page(text) == text, "run scripts/expect_errors.py --write"


def test_published_tables_of_pairs_lie_inside_their_intervals() -> None:
    rows = [
        row
        for name in ("alps-gh200", "azure-a9", "azure-hbv2")
        for row in script().table_errors(name)
    ]
    assert sum(row[4] for row in rows) >= 0.98 * sum(row[1] for row in rows)
    one_to_one = [row for row in rows if "allreduce" not in row[0]]
    assert all(row[2] <= 0.12 for row in one_to_one)
