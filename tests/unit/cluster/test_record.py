"""What is kept of a cluster that was brought up."""

import json
from pathlib import Path
from typing import Any

import pytest

from weft.cluster.record import SCHEMA, first_on_machine, rail_interface, ready_cluster
from weft.core.errors import InputError

RECORD = {
    "schema": SCHEMA,
    "name": "mine",
    "hosts": ["a"],
    "all_hosts": ["a"],
    "ssh_config": None,
    "agreed": {"home": "/h"},
    "n_cpus": 4,
    "machines": {},
    "virtual": False,
    "asked": {},
}


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        ({}, "the record of cluster 'mine' lacks user, interface"),
        ({"agreed": 5}, r"no record of a cluster \(agreed: "),
        ({"agreed": {"home": 5}}, r"no record of a cluster \(agreed.home: "),
        ({"n_cpus": 10**11}, r"no record of a cluster \(n_cpus: "),
        ({"n_cpus": 1e300}, r"no record of a cluster \(n_cpus: "),
        ({"hosts": 5}, r"no record of a cluster \('int' object"),
        ({"hosts": []}, "no host of cluster 'mine' is good"),
        ({"further": 1}, r"no record of a cluster .*'further'"),
    ],
)
def test_a_damaged_record_is_refused(
    damage: dict[str, Any], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    folder = tmp_path / "weft/clusters/mine"
    folder.mkdir(parents=True)
    (folder / "cluster.json").write_text(json.dumps(RECORD | damage))
    with pytest.raises(InputError, match=says):
        ready_cluster("mine")


def test_hosts_of_one_boot_are_one_machine() -> None:
    machines = {"a": "x", "b": "y", "c": "x", "d": "y", "e": "z"}
    assert first_on_machine(machines, "abcde") == {0: 0, 2: 0, 1: 1, 3: 1}


def test_hosts_that_do_not_say_are_machines_of_their_own() -> None:
    assert first_on_machine({"a": "", "b": ""}, "abc") == {}


@pytest.mark.parametrize(
    ("rails", "interface"),
    [
        (("eth1",), "eth1"),
        (("ib0", "ib0"), "ib0"),
        (("eth0", "eth1"), None),
        (("mlx5_0:1",), None),
        (("mlx5_0",), None),
        (("cxi0",), None),
        ((), None),
    ],
)
def test_a_single_interface_is_what_launchers_meet_by(
    rails: tuple[str, ...], interface: str | None
) -> None:
    assert rail_interface(rails, ("mlx5_0:1", "")) == interface
