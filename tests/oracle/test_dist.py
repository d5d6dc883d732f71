"""The archive of `make dist` installs and runs on a machine without network."""

import importlib.util
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from tests.needs import need

ROOT = Path(__file__).resolve().parents[2]


def without_network(*argv: str, env: dict[str, str], timeout_s: float) -> str:
    """Run argv in a new network namespace, where not even loopback is up; its output."""
    result = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--net", *argv],
        env=env,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    assert result.returncode == 0, f"{argv}\n{result.stdout}\n{result.stderr}"
    return result.stdout


def needs_unshare() -> None:
    need("unshare", package="util-linux")
    probe = ["unshare", "--user", "--map-root-user", "--net", "true"]
    if subprocess.run(probe, capture_output=True, check=False).returncode != 0:
        pytest.skip("this kernel does not let us make a network namespace")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_wheelhouse_installs_offline_and_runs_the_demo(tmp_path: Path) -> None:
    needs_unshare()
    if importlib.util.find_spec("ziglang") is None:
        pytest.skip("needs the linker of requirements/dist.lock (make dist-tools)")
    out = tmp_path / "dist"
    subprocess.run([sys.executable, ROOT / "scripts" / "make_dist.py", out], cwd=ROOT, check=True)
    (archive,) = out.glob("*-wheelhouse-*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(tmp_path, filter="data")
    (folder,) = tmp_path.glob("weft-*-wheelhouse-*")
    home = tmp_path / "home"
    home.mkdir()
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "PIP_CONFIG_FILE": os.devnull}
    venv = tmp_path / "venv"
    without_network(str(folder / "install.sh"), str(venv), sys.executable, env=env, timeout_s=300)
    share = venv / "share"
    assert "weft check" in (share / "man/man1/weft-check.1").read_text()
    for name in ("bash-completion/completions/weft", "zsh/site-functions/_weft"):
        assert "_WEFT_COMPLETE" in (share / name).read_text(), name
    assert "_WEFT_COMPLETE" in (share / "fish/vendor_completions.d/weft.fish").read_text()
    printed = without_network(
        "sh", str(folder / "demo.sh"), str(venv / "bin" / "weft"), str(tmp_path / "demo"),
        env=env, timeout_s=300,
    )  # fmt: skip
    assert "report.html" in printed
    assert (tmp_path / "demo" / "report.html").stat().st_size > 100_000
    sample = ROOT / "docs" / "samples" / "latency-with-the-hook.txt"
    judged = without_network(
        str(venv / "bin" / "weft"), "judge", str(sample), "--platform", "alps-gh200",
        env=env, timeout_s=60,
    )  # fmt: skip
    assert judged.startswith("GOOD"), "the catalogue did not travel in the wheel"


def test_the_wheel_tag_promises_no_cpu_and_any_python_from_3_11() -> None:
    """No native flags anywhere that cargo or the C compiler would read them."""
    for path in (ROOT / "pyproject.toml", ROOT / "Cargo.toml", ROOT / "Makefile"):
        assert "target-cpu" not in path.read_text()
        assert "march=native" not in path.read_text()
    assert not (ROOT / ".cargo" / "config.toml").exists()
