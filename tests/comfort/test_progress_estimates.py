"""The time left that weft shows after a third of a command is within a factor of two."""

from pathlib import Path

import pytest
from tests.comfort.progress_estimates import Estimate, table, watched

from weft.cli import run

MOST_FACTOR = 2.0

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


def test_a_table_names_what_said_nothing() -> None:
    text = table({"route": Estimate(9.0, 5.0, "routing"), "judge": Estimate(9.0, None, None)})
    assert text.splitlines()[1].split()[-1] == "1.20"
    assert text.splitlines()[2].split()[-1] == "inf"


def test_routing_and_checking_say_how_long_they_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    fabric = "fabric.json"
    argv = ["fabric", "generate", "frontera", "--nodes", "8008", "--whole", "-o", fabric]
    assert run(argv) == 0
    found = {
        name: watched(argv, tmp_path / "seen.json")
        for name, argv in {
            "fabric route, 8,008 nodes": ["fabric", "route", fabric],
            "check of a twin, 512 nodes": ["check", "--twin", "frontera", "--nodes", "512"],
        }.items()
    }
    print(table(found))
    assert all(one.factor <= MOST_FACTOR for one in found.values()), table(found)
