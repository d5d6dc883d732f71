"""docs/reference/check.md lists the keys of the JSON, all of them and no others."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.lost_hosts import use
from tests.mock_backend import MockBackend
from tests.unit.check.misfits.sample_edits import (
    edited,
    with_clock,
    with_exchanged_cables,
    without,
)

from weft.check.external_evidence.resent_segments import ResentFacts
from weft.check.readings.components import Component, Part
from weft.check.trials import SURVEY
from weft.check.verdict.intermittent import StallPlaceFacts
from weft.cli import run
from weft.core.finding import FindingKind

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "check.md"
NODES = tuple(f"n{i:03d}" for i in range(1, 9))
Capture = pytest.CaptureFixture[str]


def leaves(paths: set[str]) -> set[str]:
    """Paths that no other path goes on from."""
    inner = {other[:at] for other in paths for at in range(len(other)) if other[at] in ".["}
    return paths - inner


def paths_of(value: Any, path: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            below = f"{path}.{key}" if path else key
            yield below
            yield from paths_of(inner, below)
    elif isinstance(value, list):
        for inner in value:
            if isinstance(inner, dict):
                yield from paths_of(inner, f"{path}[]")


def documented() -> set[str]:
    section = PAGE.read_text().split("## JSON", 1)[1].split("\n## ", 1)[0]
    rows = re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
    return {path for row in rows for path in re.findall(r"`([^`]+)`", row)}


def answer(argv: list[str], where: Path, capsys: Capture) -> dict[str, Any]:
    run(["check", *argv, "--dir", str(where), "--format", "json"])
    said: dict[str, Any] = json.loads(capsys.readouterr().out)
    return said


def misfits(tmp_path: Path) -> Iterator[list[str]]:
    """Checks judged again: without the readings of a node, with its clock off, with the cables of
    another time."""
    whole = tmp_path / "whole"
    argv = ["check", "--twin", "fat-tree", "--nodes", "12", "--no-report"]
    assert run([*argv, "--dir", str(whole), "--format", "json"]) == 0
    left_out = edited(whole, tmp_path / "missing", without("n003"))
    yield ["--from", str(left_out)]
    yield ["--from", str(edited(whole, tmp_path / "clock", with_clock("n003", 2.0)))]
    exchanged = tmp_path / "exchanged.json"
    fabric = with_exchanged_cables(json.loads((whole / "fabric.json").read_text()))
    exchanged.write_text(json.dumps(dict(fabric.document)))
    yield ["--from", str(whole), "--fabric", str(exchanged)]


def test_the_page_lists_the_keys_that_are_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    pytest.importorskip("weft._engine", reason="the engine is not built")
    slow = ["--twin", "fat-tree", "--nodes", "16", "--plant", "leaf-02[6] rate=0.25"]
    printed = set(paths_of(answer(slow, tmp_path / "slow", capsys)))
    # Every node is as slow as every other: no pair stands out, but all are slower than before.
    other = [*slow[:4], "--against", str(tmp_path / "slow")]
    other += [word for i in range(1, 17) for word in ("--plant", f"n{i:03d} slow=2")]
    printed |= set(paths_of(answer(other, tmp_path / "other", capsys)))
    for argv in misfits(tmp_path):
        capsys.readouterr()
        assert run(["check", *argv, "--format", "json"]) == 5
        printed |= set(paths_of(json.loads(capsys.readouterr().out)))
    opened = lambda choice: (MockBackend(), NODES)  # noqa: E731
    monkeypatch.setattr("weft.cli.backend.opening.open_backend", opened)
    healthy = answer(["--mock"], tmp_path / "mock", capsys)
    printed |= set(paths_of(healthy))
    use(monkeypatch, {"n003": SURVEY})
    printed |= set(paths_of(answer(["--mock"], tmp_path / "lost", capsys)))
    # Few runs have stalls that cross one cable: its record by itself.
    stalls = StallPlaceFacts((Component(Part.CABLE, ("s1[1]", "s2[1]")),), 3, 30, 200, 9.0)
    resent = ResentFacts((Component(Part.NODE, ("n1",)),), (90,), 4.0, 8, 60.0)
    for facts in (stalls, resent):
        printed |= {f"findings[].facts.{key}" for key in facts.to_record()}
    # As the page says, these hold what stands elsewhere in the table.
    elsewhere = ("against.gone[].suspects[]", "findings[].facts.expectation.")
    printed = {path for path in printed if not path.startswith(elsewhere)}
    assert leaves(printed) == documented()
    assert healthy["schema"] == "weft.check/1"


def test_the_kinds_that_the_page_names_are_kinds() -> None:
    row = next(line for line in PAGE.read_text().splitlines() if "`findings[].kind`" in line)
    named = re.findall(r"`([a-z-]+)`", row.split("|")[2])
    assert len(named) > 5
    assert set(named) <= {kind.value for kind in FindingKind}
