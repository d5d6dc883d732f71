"""A virtual cluster that cannot be started: what is wrong is said before anything runs."""

import stat
from dataclasses import replace
from pathlib import Path

import pytest

from weft.cluster.local import start
from weft.cluster.local.layout import (
    UNKNOWN_RATE,
    Impairment,
    Layout,
    VirtualHost,
    read_layout,
    virtual_hosts,
)
from weft.cluster.local.namespace_commands import NamespaceError
from weft.core.errors import InputError, MissingError


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which all tools are looked for; stand-ins that do nothing."""
    folder = tmp_path / "tools"
    folder.mkdir()
    for name in start.TOOLS:
        tool(folder / name, "exit 0")
    monkeypatch.setattr(start, "ENVIRONMENT", {"PATH": f"{folder}:/usr/bin:/bin"})
    return folder


def tool(path: Path, line: str) -> None:
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_ssh_keygen_that_fails_is_reported_in_its_own_words(tools: Path, tmp_path: Path) -> None:
    tool(tools / "ssh-keygen", "echo 'unknown key type ed25519' >&2; exit 1")
    with pytest.raises(MissingError, match="makes no key: unknown key type ed25519"):
        start.start(tmp_path / "mine", virtual_hosts(1), shared_home=False)
    assert not (tmp_path / "mine" / "namespace_root.log").exists()


def test_ssh_keygen_that_hangs_is_ended(
    tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool(tools / "ssh-keygen", "exec sleep 60")
    monkeypatch.setattr(start, "KEY_LIMIT_S", 0.2)
    with pytest.raises(MissingError, match=r"makes no key: .*timed out"):
        start.start(tmp_path / "mine", virtual_hosts(1), shared_home=False)


@pytest.mark.usefixtures("tools")
def test_a_folder_that_ssh_cannot_be_reported_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / 'a"b'
    with pytest.raises(InputError, match="cannot stand in ssh_config"):
        start.start(folder, virtual_hosts(1), shared_home=False)
    assert not folder.exists()


def test_a_loss_needs_nft_and_says_so(tools: Path, tmp_path: Path) -> None:
    lossy = (VirtualHost("node1", "10.77.0.1", sending=Impairment(loss=0.001)),)
    with pytest.raises(MissingError, match="no 'nft' on this machine") as refused:
        start.start(tmp_path / "mine", lossy, shared_home=False)
    assert refused.value.expected == "the package nftables"
    assert not (tmp_path / "mine").exists()


def test_a_change_that_fails_is_recorded_with_all_that_a_cable_may_have(
    tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first host is done; the second one has its old rate, its new one, or both faults."""
    folder = tmp_path / "mine"
    folder.mkdir()
    one, other = virtual_hosts(2)
    old = replace(other, sending=Impairment("100mbit"))
    slow = Impairment("200mbit", delay_us=50.0)
    layout = Layout(
        *("mine", str(folder), (one, old), "ada", 1000, 1000, "/home/ada"),
        shared_home=True,
        visible=(),
        caches=(),
        sshd="/usr/sbin/sshd",
    )
    begun: list[tuple[VirtualHost, VirtualHost]] = []

    def impair(*args: object, **_: object) -> None:
        was, new = args[3:]
        assert isinstance(was, VirtualHost)
        assert isinstance(new, VirtualHost)
        begun.append((was, new))
        if new.name == "node2" and len(begun) == 2:
            raise NamespaceError("it fails here")

    monkeypatch.setattr(start, "impair", impair)
    monkeypatch.setattr(start, "first_processes", lambda _: (1, {"node1": 2, "node2": 3}))
    wanted = (replace(one, receiving=slow), replace(other, receiving=slow))
    with pytest.raises(MissingError, match="it fails here"):
        start.change(folder, layout, wanted)
    left = read_layout(folder)
    may_have = replace(other, sending=Impairment("100mbit"), receiving=slow, is_changing=True)
    assert left.hosts == (wanted[0], may_have)
    # The same wish again is no change of nothing.
    assert start.change(folder, left, wanted).hosts == wanted
    assert begun[-1] == (may_have, wanted[1])
    assert read_layout(folder).hosts == wanted


def test_uplinks_that_change_by_half_are_recorded_as_unknown(
    tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    hosts = virtual_hosts(4, 2)
    layout = Layout(
        *("mine", str(folder), hosts, "ada", 1000, 1000, "/home/ada"),
        shared_home=True,
        visible=(),
        caches=(),
        sshd="/usr/sbin/sshd",
        uplink="100mbit",
    )
    wanted: list[object] = []

    def limit(*args: object) -> None:
        wanted.append(args[2])
        if len(wanted) == 1:
            raise NamespaceError("it fails here")

    monkeypatch.setattr(start, "limit_uplinks", limit)
    monkeypatch.setattr(start, "first_processes", lambda _: (1, {}))
    with pytest.raises(MissingError, match="it fails here"):
        start.change(folder, layout, hosts, "200mbit")
    left = read_layout(folder)
    assert left.uplink == UNKNOWN_RATE
    assert start.change(folder, left, hosts, "100mbit").uplink == "100mbit"
    assert start.change(folder, read_layout(folder), hosts, "100mbit").uplink == "100mbit"
    assert start.change(folder, read_layout(folder), hosts).uplink is None
    assert wanted == ["200mbit", "100mbit", None]
