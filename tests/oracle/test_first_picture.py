"""The picture of the first page is what the report of that check draws."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_the_first_picture_is_drawn_by_the_program(tmp_path: Path) -> None:
    drawn = tmp_path / "drawn.svg"
    script = ROOT / "scripts" / "slow_cable_picture.py"
    subprocess.run([sys.executable, str(script), str(drawn)], check=True, timeout=100)
    assert drawn.read_text() == (ROOT / "docs/pictures/slow_cable.svg").read_text()
