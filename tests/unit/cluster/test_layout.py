"""The record of a virtual cluster's parts."""

import json
from pathlib import Path

import pytest

from weft.cluster.local.layout import LAYOUT_FILE, Impairment, Layout, VirtualHost, read_layout
from weft.core.errors import InputError


def test_a_damaged_layout_is_refused_by_its_key(tmp_path: Path) -> None:
    slow = Impairment("200mbit", delay_us=200.0, loss=0.001)
    hosts = (VirtualHost("node1", "10.77.0.1"), VirtualHost("node2", "10.77.0.2", receiving=slow))
    layout = Layout(
        *("mine", str(tmp_path), hosts, "ada", 1000, 1000, "/home/ada"),
        shared_home=True,
        visible=("/opt",),
        caches=(),
        sshd="/usr/sbin/sshd",
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
