"""Ctrl-C, as a real signal: what goes on running, what is kept, and the command that goes on."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.oracle.virtual import skip_without_namespaces

from weft.cluster.local.start import leftovers

WEFT = (sys.executable, "-c", "import sys; sys.argv[0] = 'weft'; from weft.cli import main; main()")


def interrupted(argv: Sequence[str], *, after: str, env: dict[str, str] | None = None) -> str:
    """What a command says on standard error whose user presses Ctrl-C once it has said `after`."""
    child = subprocess.Popen(
        [*WEFT, *argv],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(env or {})},
    )
    assert child.stderr is not None
    said = ""
    if after:
        for line in child.stderr:
            said += line
            if after in line:
                break
    else:
        time.sleep(5)
    child.send_signal(signal.SIGINT)
    _, rest = child.communicate(timeout=60)
    assert child.returncode == 130, said + rest
    assert "Traceback" not in rest
    return said + rest


def test_a_command_that_keeps_nothing_says_so_and_names_itself() -> None:
    said = interrupted(["train", "read", "-"], after="")
    assert said.endswith(
        "weft: interrupted\nnothing goes on running, nothing is kept\nnext: weft train read -\n"
    )


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_check_keeps_its_launches_and_names_the_command_that_goes_on(tmp_path: Path) -> None:
    where = tmp_path / "run"
    argv = ["check", "--twin", "frontera", "--nodes", "256", "--dir", str(where)]
    said = interrupted(argv, after="measuring pairs")
    assert re.search(
        r"weft: interrupted\nnothing goes on running: .*\n"
        rf"kept: .*\nnext: weft check .*--dir {re.escape(str(where))}.*\n$",
        said,
    ), said


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_up_says_which_hosts_go_on_and_down_without_a_name_ends_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    skip_without_namespaces()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    name = f"stopped-{os.getpid()}"
    try:
        said = interrupted(["cluster", "up", "--local", "2", "--name", name], after="keys")
        assert (
            f"weft: interrupted\nthe virtual hosts of cluster '{name}' go on running; "
            f"'weft cluster down {name}' ends them\n"
            f"next: weft cluster up --local 2 --name {name}\n"
        ) in said
        assert name in leftovers()
    finally:
        done = subprocess.run([*WEFT, "cluster", "down"], check=False, timeout=60)
    assert done.returncode == 0
    assert name not in leftovers()
