"""docs/reference/fabric.md lists every format that the engine reads, and none that it does not."""

import re
from pathlib import Path

import pytest

from weft.cli import run

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "fabric.md"


def formats_of_the_engine(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> set[str]:
    """What it says that it expected of a file that no reader knows."""
    strange = tmp_path / "strange"
    strange.write_text("buy milk\n")
    assert run(["fabric", "show", str(strange)]) == 2
    found = re.search(r"expected: one of (.+)", capsys.readouterr().err)
    assert found is not None
    return set(found[1].split(", "))


def formats_of_the_page() -> set[str]:
    """The names in the first column of the table of formats."""
    table = PAGE.read_text().split("| format | from | gives |")[1].split("\n\n")[0]
    rows = [line for line in table.splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row.split(" | ")[0])}


def test_the_page_lists_what_is_read(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    of_the_engine = formats_of_the_engine(capsys, tmp_path)
    assert len(of_the_engine) > 20
    assert formats_of_the_page() == of_the_engine
