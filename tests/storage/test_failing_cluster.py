"""A disk that fails while a virtual cluster comes up: the command that weft prints brings it up."""

import os
import shlex
from pathlib import Path

import pytest
from tests.needs import need
from tests.process_calls import Call, call
from tests.storage.injector import Disk

FAULTS = ("full", "read-only", "broken", "killed")
UP = ("cluster", "up", "--local", "2", "--name", "failing")
DOWN = ("cluster", "down", "failing")
LIMIT_S = 120
SBIN = os.environ["PATH"] + ":/usr/sbin:/sbin"


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_cluster_comes_up_after_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """All faults together fail every change of the cluster's folder once."""
    need("unshare", "ip", "sshd", package="util-linux iproute2 openssh-server", path=SBIN)
    state = tmp_path / "state"
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    whole = call(UP, before=Disk(state, log=tmp_path / "changes").install, limit_s=LIMIT_S)
    taken_down()
    if whole.code == 3:
        pytest.skip(whole.err)
    assert whole.code == 0, whole.err
    n_changes = int((tmp_path / "changes").read_text())
    codes = []
    for n in range(1 + FAULTS.index(fault), n_changes + 1, len(FAULTS)):
        ended = call(UP, before=Disk(state, fault, n).install, limit_s=LIMIT_S)
        codes.append(ended.code)
        try:
            comes_up_again(ended, f"{fault} at change {n} of {n_changes}: {ended}")
        finally:
            taken_down()
    assert sum(code != 0 for code in codes) > len(codes) / 2


def comes_up_again(ended: Call, context: str) -> None:
    """By the command that it names, by the same one after a kill; where a folder that is there
    already cannot be made, it came up."""
    words: tuple[str, ...] = UP
    if ended.code == 3:
        (line,) = [line for line in ended.err.splitlines() if line.startswith("  next: ")]
        words = tuple(shlex.split(line.removeprefix("  next: "))[1:])
    if ended.code != 0:
        assert ended.code in (3, 9), context
        again = call(words, limit_s=LIMIT_S)
        assert again.code == 0, (context, again)
    assert call(("cluster", "status", "failing"), limit_s=LIMIT_S).code == 0, context


def taken_down() -> None:
    """Also what a killed `up` left, of which there may be no record."""
    ended = call(DOWN, limit_s=LIMIT_S)
    assert ended.code in (0, 2), ended
