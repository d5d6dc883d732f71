"""The record of a virtual cluster's parts."""

import json
from pathlib import Path

import pytest

from weft.cluster.local.layout import (
    LAYOUT_FILE,
    Impairment,
    Layout,
    VirtualHost,
    leaves_of,
    read_layout,
    virtual_hosts,
)
from weft.core.errors import InputError


def test_a_damaged_layout_is_refused_by_its_key(tmp_path: Path) -> None:
    slow = Impairment("200mbit", delay_us=200.0, loss=0.001)
    hosts = (
        VirtualHost("node1", "10.77.0.1", leaf=1),
        VirtualHost("node2", "10.77.0.2", receiving=slow, leaf=2),
    )
    layout = Layout(
        *("mine", str(tmp_path), hosts, "ada", 1000, 1000, "/home/ada"),
        shared_home=True,
        visible=("/opt",),
        caches=(),
        sshd="/usr/sbin/sshd",
        uplink="200mbit",
    )
    layout.write()
    assert read_layout(tmp_path) == layout
    record = json.loads((tmp_path / LAYOUT_FILE).read_text())
    for damaged, key in (
        ({**record, "hosts": [{"name": "node1"}]}, "hosts.0.address"),
        ({**record, "hosts": 3}, "hosts"),
        ({**record, "uid": []}, "uid"),
        ({name: value for name, value in record.items() if name != "caches"}, "caches"),
    ):
        (tmp_path / LAYOUT_FILE).write_text(json.dumps(damaged))
        with pytest.raises(InputError, match=f"{key}: ") as refused:
            read_layout(tmp_path)
        assert refused.value.where == str(tmp_path / LAYOUT_FILE)


@pytest.mark.parametrize(
    ("n", "n_leaves", "sizes"), [(6, 2, [3, 3]), (7, 3, [3, 2, 2]), (4, 4, [1, 1, 1, 1])]
)
def test_consecutive_hosts_fill_leaves_of_nearly_one_size(
    n: int, n_leaves: int, sizes: list[int]
) -> None:
    hosts = virtual_hosts(n, n_leaves)
    leaves = leaves_of(hosts)
    assert [len(leaf) for leaf in leaves.values()] == sizes
    assert [host for leaf in leaves.values() for host in leaf] == list(hosts)
    assert {host.bridge for host in leaves[1]} == {"leaf1"}


def test_hosts_of_one_switch_have_no_leaf() -> None:
    hosts = virtual_hosts(3)
    assert leaves_of(hosts) == {}
    assert {host.bridge for host in hosts} == {"br0"}


@pytest.mark.parametrize("n_leaves", [0, 3])
def test_a_leaf_without_a_host_is_refused(n_leaves: int) -> None:
    with pytest.raises(InputError, match="leaves for 2 virtual hosts"):
        virtual_hosts(2, n_leaves)
