"""A whole `weft check`, and what its answer says."""

import json
from pathlib import Path
from typing import Any

import pytest

from weft.cli import run

Capture = pytest.CaptureFixture[str]


def answer_of(tmp_path: Path, capsys: Capture, *words: str) -> dict[str, Any]:
    """The answer of a check in a run directory of its own."""
    argv = ["check", *words, "--no-report", "--dir", str(tmp_path / "run"), "--format", "json"]
    code = run(argv)
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert code == answer["exit_code"]
    return answer


def accused(answer: dict[str, Any]) -> list[set[str]]:
    """By finding that is bad or a warning: the names of its suspects."""
    return [
        {one["name"] for one in finding["facts"].get("suspects", ())}
        for finding in answer["findings"]
        if finding["severity"] in ("bad", "warning")
    ]
