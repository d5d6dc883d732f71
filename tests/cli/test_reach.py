"""Hosts that cannot be reached: all in one error, soon, before anything is measured."""

import os
import time
from pathlib import Path

import pytest

from weft.cli import run
from weft.cluster import reach
from weft.cluster.remote import Ssh

Capture = pytest.CaptureFixture[str]
SSH = """#!/bin/sh
# An ssh whose hosts behave as their names say.
while [ "$1" != -- ]; do shift; done
case $2 in
good*) printf '\\036weft\\036'; exit 0;;
slow*) sleep 30;;
shut*) echo "ssh: connect to host $2 port 22: Connection refused" >&2; exit 255;;
*) echo "ssh: Could not resolve hostname $2: Name or service not known" >&2; exit 255;;
esac
"""
VERBS = (
    ["bench", "latency"],
    ["study", "run", "smoke", "--repeats", "2"],
    ["check"],
)


@pytest.fixture
def _ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hosts that names of this file stand for."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "ssh").write_text(SSH)
    (folder / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    for name in reach.OWN_LAUNCH:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("_ssh")
@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb[0])
@pytest.mark.parametrize("as_file", [False, True], ids=["hosts", "hostfile"])
def test_all_of_them_are_named_with_the_command_of_the_others(
    verb: list[str], as_file: bool, tmp_path: Path, capsys: Capture
) -> None:
    names = ["good1", "good2", "lost1", "lost2", "lost3", "shut7"]
    file = tmp_path / "hosts"
    file.write_text("\n".join(names))
    where = ["--hostfile", str(file)] if as_file else ["--hosts", ",".join(names)]
    assert run([*verb, *where]) == 2
    out, err = capsys.readouterr()
    assert not out
    lines = [line.strip() for line in err.splitlines()]
    assert "weft: 4 of 6 hosts cannot be reached" in lines
    assert "lost[1-3]: its name is not known here; spell it as DNS or ~/.ssh/config do" in lines
    assert any(line.startswith("shut7: nothing listens on its ssh port; ") for line in lines)
    assert lines[-1].endswith(f"without them: weft {' '.join(verb)} --hosts 'good[1-2]'")


@pytest.mark.usefixtures("_ssh")
def test_names_that_do_not_resolve_are_refused_by_the_real_resolver_soon(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("PATH", os.environ["PATH"].partition(":")[2])
    begun = time.monotonic()
    assert run(["bench", "latency", "--hosts", "no[1-200].invalid"]) == 2
    assert time.monotonic() - begun < 30
    assert "200 of 200 hosts cannot be reached" in capsys.readouterr().err


@pytest.mark.usefixtures("_ssh")
def test_hosts_that_never_answer_take_no_longer_than_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reach, "HOST_S", 0.5)
    monkeypatch.setattr(reach, "ALL_S", 1.5)
    begun = time.monotonic()
    found = reach.try_hosts(Ssh(), [f"slow{i}" for i in range(1000)])
    assert time.monotonic() - begun < 10
    assert found.failures
    assert len(found.failures) + found.n_untried == 1000


@pytest.mark.usefixtures("_ssh")
def test_a_check_goes_on_without_a_host_that_has_a_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It reports the lost host as a fault: more than an error says."""
    reached = []

    def measure(*_: object) -> None:
        reached.append(True)
        raise KeyboardInterrupt

    monkeypatch.setattr("weft.cli.check.command.measure_remaining", measure)
    run(["check", "--hosts", "good[1-2],shut3", "--dir", str(tmp_path / "run")])
    assert reached


@pytest.mark.usefixtures("_ssh")
def test_a_launcher_with_its_own_way_to_hosts_is_left_to_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Capture
) -> None:
    monkeypatch.setenv("HYDRA_LAUNCHER_EXEC", "/bin/false")
    argv = ["bench", "latency", "--hosts", "lost[1-2]", "--dir", str(tmp_path / "run")]
    assert run(argv) != 2
    assert "cannot be reached" not in capsys.readouterr().err


@pytest.mark.usefixtures("_ssh")
def test_a_dry_run_asks_no_host(capsys: Capture) -> None:
    assert run(["check", "--hosts", "lost[1-8]", "--dry-run"]) == 0
    assert run(["study", "plan", "smoke", "--hosts", "lost[1-8]"]) == 0
    assert "cannot be reached" not in capsys.readouterr().err
