"""Hostfiles as Open MPI, Hydra and batch systems write them."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


@pytest.mark.parametrize(
    "line",
    [
        "node2 slots=four",
        "node2 slots=",
        "node2:0",
        "node2 slots=-1",
        "node2 slots=\u00b2",
        "node2:" + 5000 * "9",
    ],
)
def test_slots_that_are_no_number_are_refused_with_their_line(tmp_path: Path, line: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, f"node1\n{line}\n")
    assert "is no number of slots" in caught.value.what
    assert caught.value.where == f"{tmp_path / 'hosts'}:2"
    assert "node1 slots=4" in str(caught.value.expected)


@pytest.mark.parametrize("line", [":4", "no\x1bde", "node\u200b"])
def test_what_is_no_host_name_is_refused_with_its_line(tmp_path: Path, line: str) -> None:
    with pytest.raises(InputError, match="is no host name") as caught:
        read(tmp_path, f"node1\n{line}\n")
    assert caught.value.where == f"{tmp_path / 'hosts'}:2"
    assert str(caught.value).isascii()


@given(st.binary(max_size=80) | st.text("ab1:=# slots\n\x1b", max_size=80).map(str.encode))
def test_any_file_is_hosts_or_an_error_that_says_where(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = tmp_path_factory.mktemp("any") / "hosts"
    path.write_bytes(content)
    hosts: dict[str, int | None] = {"a": None}
    where = str(path)
    try:
        hosts = read_hostfile(path)
    except InputError as error:
        where = str(error.where)
    assert where.startswith(str(path))
    assert hosts
    for name, n in hosts.items():
        assert name.isprintable()
        assert not set(name) & set(" #\n")
        assert n is None or n > 0
