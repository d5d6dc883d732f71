"""A missing prerequisite gives one clear line and exit code 3."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parent.parent / "scripts" / "prerequisites.sh"
TOOLS = ("sh", "sed", "env", "dirname")


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A PATH with nothing but what every system has, a good cargo and a compiler."""
    for tool in TOOLS:
        found = shutil.which(tool)
        if found is not None:
            (tmp_path / tool).symlink_to(found)
    make_tool(tmp_path / "cargo", "echo 'cargo 1.95.0 (f2d3ce0bd 2026-03-21)'")
    make_tool(tmp_path / "cc", "exit 0")
    return tmp_path


def make_tool(path: Path, body: str) -> None:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def check(path: Path, python: str = sys.executable) -> subprocess.CompletedProcess[str]:
    sh = shutil.which("sh") or "/bin/sh"
    env = {**os.environ, "PATH": str(path)}
    return subprocess.run(
        [sh, str(SCRIPT), python], env=env, capture_output=True, text=True, check=False
    )


def test_nothing_is_said_where_nothing_is_missing(bare: Path) -> None:
    result = check(bare)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("tool", "body", "said"),
    [
        ("cargo", None, "'cargo' not found"),
        ("cargo", "echo 'cargo 1.63.0 (x 2022)'", "is of Rust 1.63, but 1.95 or newer"),
        ("cargo", "echo broken >&2; exit 1", "'cargo' does not run here"),
        ("cc", None, "'cc' not found"),
        ("python", None, "not found: install Python 3.11 or newer"),
        ("python", 'test "$1" = -V && echo Python 3.9.2; exit 1', "is Python 3.9.2, but"),
        ("python", "case $2 in *ensurepip*) exit 1;; esac", "has no venv module"),
    ],
)
def test_what_is_missing_is_said_in_one_line(
    bare: Path, tool: str, body: str | None, said: str
) -> None:
    (bare / tool).unlink(missing_ok=True)
    if body is not None:
        make_tool(bare / tool, body)
    result = check(bare, str(bare / "python") if tool == "python" else sys.executable)
    assert result.returncode == 3
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_wheel_takes_the_place_of_rust(bare: Path) -> None:
    (bare / "cargo").unlink()
    argv = [shutil.which("sh") or "/bin/sh", str(SCRIPT), sys.executable, "weft.whl"]
    env = {**os.environ, "PATH": str(bare)}
    result = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")


def test_make_installs_a_named_wheel_and_compiles_nothing(tmp_path: Path) -> None:
    wheel = tmp_path / "weft-0.1.0-cp311-abi3-manylinux_2_28_x86_64.whl"
    wheel.write_bytes(b"")
    argv = ["make", "--dry-run", "--always-make", "setup", f"VENV={tmp_path}/venv"]
    plan = subprocess.run(
        [*argv, f"WEFT_WHEEL={wheel}"],
        cwd=SCRIPT.parent.parent, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert f"--force-reinstall {wheel}" in plan
    assert "maturin develop" not in plan
