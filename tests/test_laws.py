"""docs/internals/laws.md names tests that exist and that `make test` runs."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "internals" / "laws.md"
NAMED = re.compile(r"`([\w/-]+\.(?:rs|py))::(\w+)`")


def rows() -> list[str]:
    """The rows of the page's tables, without heads and rules."""
    lines = PAGE.read_text("utf-8").splitlines()
    tables = [line for line in lines if line.startswith("| ")]
    return [line for line in tables if not line.endswith(("| test |", "|---|"))]


def named() -> list[tuple[str, str]]:
    """(file, test) of every test the page names."""
    return sorted(set(NAMED.findall("\n".join(rows()))))


def path_of(file: str) -> Path:
    return ROOT / (file if "/" in file else f"crates/weft-sim/tests/{file}")


@pytest.mark.parametrize(("file", "test"), named(), ids=lambda word: word)
def test_a_named_test_exists_and_runs(file: str, test: str) -> None:
    text = path_of(file).read_text("utf-8")
    if file.endswith(".py"):
        found = re.search(rf"((?:^@.*\n(?:^[ )].*\n)*)*)^def {test}\(", text, re.MULTILINE)
        assert found, f"{PAGE.name} names {file}::{test}, which does not exist"
        assert "mark.slow" not in found[1]
    else:
        found = re.search(rf"((?:^ *#\[.*\n)+) *fn {test}\(", text, re.MULTILINE)
        assert found, f"{PAGE.name} names {file}::{test}, which does not exist"
        assert "#[test]" in found[1]
        assert "#[ignore" not in found[1]


def test_every_law_has_a_test() -> None:
    assert len(rows()) > 25
    for row in rows():
        assert NAMED.search(row), f"no test: {row}"
