"""`--hosts` without a record of a cluster: weft runs on one of the hosts, as on a login node, and
its launcher reaches the others by the user's own ssh. They share a home folder."""

import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from tests.oracle.virtual import Virtual

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
WEFT = (sys.executable, "-c", "import sys; from weft.cli import main; main()")
ON_LOGIN = 'cd "$HOME" && exec "$@"'


@pytest.fixture
def login(virtual: Virtual) -> Iterator[Virtual]:
    """Three hosts; the first one's ssh knows the others, as a user's own does."""
    code, said = virtual.up(3, "--shared-home")
    assert code == 0, said
    own = f'echo "Include weft-{virtual.name}/config" > ~/.ssh/config && chmod 600 ~/.ssh/config'
    assert virtual.on("node1", "sh", "-c", own).ok
    return virtual


def weft(login: Virtual, *words: str) -> tuple[int | None, str, str]:
    """A verb on the first host."""
    said = login.on("node1", "sh", "-c", ON_LOGIN, "sh", *WEFT, *words, timeout_s=120)
    return said.code, said.out, said.err


def test_hosts_are_measured_and_one_that_refuses_ssh_is_named(login: Virtual) -> None:
    where = ("--hosts", "node[2-3]", "--format", "json", "--sizes", "8", "--iterations", "20")
    code, out, err = weft(login, "bench", "latency", *where, "--dir", "first")
    assert code == 0, err
    table: dict[str, Any] = json.loads(out)
    assert [row["size_bytes"] for row in table["rows"]] == [8]
    hosts = login.on("node1", "sh", "-c", "cat ~/first/raw/t000*.out").out
    ranks = [json.loads(line) for line in hosts.splitlines() if '"rank"' in line]
    assert {one["host"] for one in ranks if one.get("record") == "rank"} == {"node2", "node3"}
    login.on("node3", "pkill", "-o", "sshd")
    code, out, err = weft(login, "bench", "latency", *where, "--dir", "second")
    assert code == 2
    assert "1 of 2 hosts cannot be reached\n  node3: nothing listens on its ssh port" in err
    assert not out


def test_hosts_that_do_not_see_the_run_directory_are_reported_so(login: Virtual) -> None:
    where = ("--hosts", "node[2-3]", "--dir", "/tmp/run")
    code, _, err = weft(login, "bench", "latency", *where)
    assert code == 4
    assert "every host must see the run directory" in err, err


def test_a_check_of_hosts_goes_on_without_one_that_is_gone(login: Virtual) -> None:
    login.on("node3", "pkill", "-o", "sshd")
    words = ("check", "--hosts", "node[1-3]", "--format", "json", "--dir", "run", "--no-report")
    code, out, err = weft(login, *words)
    assert code == 1, err
    lost = [one for one in json.loads(out)["findings"] if one["kind"] == "lost-node"]
    assert len(lost) == 1
    assert lost[0]["sentence"].startswith("node3 does not answer")
