"""Rust's tests cannot skip: those that want a tool pass without it. Here that is seen."""

import re
import shutil
from pathlib import Path

import pytest
from tests.needs import absent

CRATE = Path(__file__).resolve().parents[2] / "crates" / "weft-fabric" / "tests"
ADMIN = "/usr/local/sbin:/usr/sbin:/sbin"


@pytest.mark.parametrize("name", ["export_ibsim.rs", "export_slurm.rs"])
def test_the_tools_of_a_rust_oracle_are_here(name: str) -> None:
    listed = re.search(r"const TOOLS: [^=]*= (\[[^\]]*\])", (CRATE / name).read_text())
    assert listed is not None
    tools = re.findall(r'"([\w-]+)"', listed.group(1))
    assert tools
    missing = [t for t in tools if not (shutil.which(t) or shutil.which(t, path=ADMIN))]
    if missing:
        absent(f"the real tools are not asked in {name}: no {', '.join(missing)}")
