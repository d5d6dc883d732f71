"""The source archive: complete, and pip builds a wheel of it without the checkout."""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from tests.needs import absent

ROOT = Path(__file__).resolve().parents[2]
CARRIED = ("src/weft/_mpi/main.c", "src/weft/catalog/platforms/azure-hbv2.toml", "LICENSE")


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    maturin = Path(sys.executable).parent / "maturin"
    if shutil.which("cargo") is None or not maturin.exists():
        absent("needs cargo and maturin")
    out = tmp_path_factory.mktemp("sdist")
    argv = [str(maturin), "sdist", "--out", str(out)]
    subprocess.run(argv, cwd=ROOT, check=True, timeout=100)
    (archive,) = out.glob("weft-*.tar.gz")
    return archive


@pytest.mark.slow
def test_it_holds_all_sources_and_pinned_crates(sdist: Path) -> None:
    with tarfile.open(sdist) as opened:
        top = sdist.name.removesuffix(".tar.gz")
        names = {name.removeprefix(f"{top}/") for name in opened.getnames()}
    tracked = subprocess.run(
        ["git", "ls-files", "src/weft", "crates/*/src"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    assert set(tracked) - names == set()
    assert {"Cargo.lock", "pyproject.toml", "README.md", *CARRIED} <= names


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_pip_builds_a_wheel_of_it_in_an_empty_folder(sdist: Path, tmp_path: Path) -> None:
    env = {**os.environ, "CARGO_TARGET_DIR": str(tmp_path / "target")}
    env.pop("PYTHONPATH", None)
    argv = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"]
    argv += ["--no-deps", "--wheel-dir", "wheels", str(sdist)]
    done = subprocess.run(
        argv, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=3500, check=False
    )
    assert done.returncode == 0, done.stderr
    (wheel,) = (tmp_path / "wheels").glob("weft-*.whl")
    assert "-cp311-abi3-" in wheel.name
    with zipfile.ZipFile(wheel) as opened:
        names = opened.namelist()
    assert "weft/_engine.abi3.so" in names
    assert any(name.endswith("entry_points.txt") for name in names)
    assert {name.removeprefix("src/") for name in CARRIED if "/" in name} <= set(names)
