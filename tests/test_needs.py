"""A missing tool is a skip with its reason; a failure where `.ci/run` installed everything."""

import os
import subprocess
from pathlib import Path

import pytest
from tests.needs import need, need_mpi

CI = Path(__file__).resolve().parent.parent / ".ci" / "run"


@pytest.fixture(params=["skip", "fail"])
def outcome(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> type[BaseException]:
    """How a test ends that misses a tool, without the word of `.ci/run` and with it."""
    if request.param == "fail":
        monkeypatch.setenv("WEFT_NO_SKIP", "1")
        return pytest.fail.Exception
    monkeypatch.delenv("WEFT_NO_SKIP", raising=False)
    return pytest.skip.Exception


def test_what_is_missing_is_named_with_its_package(
    outcome: type[BaseException], tmp_path: Path
) -> None:
    (tmp_path / "here").touch(mode=0o755)
    need("here", path=str(tmp_path))
    with pytest.raises(outcome, match=r"needs gone \(Debian: things\)"):
        need("here", "gone", package="things", path=str(tmp_path))
    with pytest.raises(outcome, match="needs mpicc-of-nobody"):
        need_mpi("mpicc-of-nobody")


def test_an_mpi_that_ci_does_not_install_is_never_a_failure(
    outcome: type[BaseException], tmp_path: Path
) -> None:
    with pytest.raises(pytest.skip.Exception, match="make mpis"):
        need_mpi(str(tmp_path / "mpicc"))


@pytest.mark.parametrize(
    ("user", "fails", "word"),
    [(0, "", "1"), *((0, step, "") for step in ("update", "install", "download")), (1000, "", "")],
)
def test_only_who_installed_everything_may_not_skip(
    tmp_path: Path, user: int, fails: str, word: str
) -> None:
    tools = {
        "id": f"echo {user}",
        "apt-get": f'[ "$1" != "{fails}" ]',
        "dpkg": ":",
        "make": f'[ "$1" != test ] || echo "${{WEFT_NO_SKIP-}}" > {tmp_path}/word',
    }
    for name, body in tools.items():
        tool = tmp_path / name
        tool.write_text(f"#!/bin/sh\n{body}\n")
        tool.chmod(0o755)
    env = {key: value for key, value in os.environ.items() if key != "WEFT_NO_SKIP"}
    env["PATH"] = f"{tmp_path}:{env['PATH']}"
    done = subprocess.run([CI], env=env, capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "word").read_text().strip() == word
    assert ("will skip" in done.stderr) == bool(fails)
