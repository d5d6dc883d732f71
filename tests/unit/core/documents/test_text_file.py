"""Text files that somebody names: what is none is refused, and holds nobody up."""

import os
import socket
from pathlib import Path

import pytest

from weft.core.documents.text_file import read_text_file
from weft.core.errors import InputError


def refused(path: Path, most_bytes: int = 100) -> InputError:
    with pytest.raises(InputError) as caught:
        read_text_file(path, expected="a list", most_bytes=most_bytes)
    assert caught.value.where == str(path)
    assert caught.value.expected == "a list"
    return caught.value


def test_a_text_is_read_without_its_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "list"
    path.write_bytes("\ufeffgr\u00fcn\n".encode())
    assert read_text_file(path, expected="a list", most_bytes=100) == "gr\u00fcn\n"


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"a\0b", b"\x7fELF\x02\x01\x00", b"\x80"])
def test_what_is_no_text_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "list"
    path.write_bytes(content)
    assert refused(path).what == "cannot be read: it is not text"


@pytest.mark.parametrize(
    ("most_bytes", "words"),
    [(1 << 20, "1 MiB"), (3 << 19, "1536 KiB"), (1 << 12, "4 KiB"), (100, "100 B")],
)
def test_a_file_larger_than_allowed_is_refused(most_bytes: int, words: str, tmp_path: Path) -> None:
    path = tmp_path / "list"
    path.write_bytes(b"a" * (most_bytes + 1))
    assert refused(path, most_bytes).what == f"cannot be read: it is larger than {words}"


def test_a_pipe_that_no_one_writes_to_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    error = refused(path)
    assert error.what == "cannot be read: it is a pipe"
    assert error.hint == "write what comes out of it into a file first"


def test_a_device_without_an_end_is_refused() -> None:
    assert refused(Path("/dev/zero")).what == "cannot be read: it is a device"


def test_folders_sockets_and_what_is_not_there_are_refused(tmp_path: Path) -> None:
    assert refused(tmp_path).what == "cannot be read: it is a directory"
    assert "No such file" in refused(tmp_path / "none").what
    assert "cannot be read" in refused(tmp_path / ("long" * 1000)).what
    assert "cannot be read" in refused(tmp_path / "nu\0l").what
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        assert refused(path).what == "cannot be read: it is a socket"


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_file_that_may_not_be_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "list"
    path.write_text("a")
    path.chmod(0)
    assert "Permission denied" in refused(path).what
