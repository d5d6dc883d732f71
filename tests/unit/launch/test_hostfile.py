"""Hostfiles as Open MPI, Hydra and batch systems write them."""

from pathlib import Path

import pytest

from weft.core.errors import InputError
from weft.launch.hostfile import read_hostfile


def read(tmp_path: Path, text: str) -> dict[str, int | None]:
    path = tmp_path / "hosts"
    path.write_text(text)
    return read_hostfile(path)


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("b\na\n\n# c\n", {"b": None, "a": None}),
        ("node1 slots=4 max-slots=8\nnode2 slots=8  # wide\n", {"node1": 4, "node2": 8}),
        ("node1:4\nnode2:8 binding=user:0\nnode3\n", {"node1": 4, "node2": 8, "node3": None}),
        # SOURCE: PBS_NODEFILE names a host once for each process it may hold.
        ("a\na\nb\na\n", {"a": 3, "b": None}),
        ("a slots=2\na slots=3\n", {"a": 5}),
        ("fe80::1\nfe80::2 slots=2\n", {"fe80::1": None, "fe80::2": 2}),
    ],
)
def test_hosts_stand_in_order_with_what_each_can_hold(
    tmp_path: Path, text: str, hosts: dict[str, int | None]
) -> None:
    read_ = read(tmp_path, text)
    assert list(read_.items()) == list(hosts.items())


@pytest.mark.parametrize("line", ["node2 slots=four", "node2 slots=", "node2:0", "node2 slots=-1"])
def test_slots_that_are_no_number_are_refused_with_their_line(tmp_path: Path, line: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, f"node1\n{line}\n")
    assert "is no number of slots" in caught.value.what
    assert caught.value.where == f"{tmp_path / 'hosts'}:2"
    assert "node1 slots=4" in str(caught.value.expected)
