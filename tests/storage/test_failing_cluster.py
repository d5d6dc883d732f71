"""A disk that fails while a virtual cluster comes up, or is checked: the command that weft prints
completes it."""

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.needs import need
from tests.process_calls import Call, call
from tests.storage.injector import FAULTS as RUN_FAULTS
from tests.storage.injector import Disk
from tests.storage.test_failing_disk import Undisturbed, fail, undisturbed_run

FAULTS = ("full", "read-only", "broken", "killed")
UP = ("cluster", "up", "--local", "2", "--name", "failing")
CHECK = ("check", "--cluster", "failing", "--report", "--dir")
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


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Undisturbed]:
    """A check of two virtual hosts, which stay."""
    need("unshare", "ip", "sshd", package="util-linux iproute2 openssh-server", path=SBIN)
    folder = tmp_path_factory.mktemp("checked")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        whole = call(UP, limit_s=LIMIT_S)
        if whole.code == 3:
            pytest.skip(whole.err)
        try:
            yield undisturbed_run(CHECK, folder / "check")
        finally:
            taken_down()


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("fault", RUN_FAULTS)
def test_a_check_of_hosts_is_completed(
    checked: Undisturbed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """All faults together fail every change of the run directory once."""
    monkeypatch.chdir(tmp_path)
    first = 1 + RUN_FAULTS.index(fault)
    for n in range(first, checked.n_changes + 1, len(RUN_FAULTS)):
        fail("live check", fault, n, checked, tmp_path)


def taken_down() -> None:
    """Also what a killed `up` left, of which there may be no record."""
    ended = call(DOWN, limit_s=LIMIT_S)
    assert ended.code in (0, 2), ended
