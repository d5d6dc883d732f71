"""Files that are written whole or not at all, by hosts that share a folder, too."""

import os
import platform
import stat
import threading
from pathlib import Path

import pytest

from weft.core.errors import MissingError
from weft.core.files import write_whole


def test_a_file_is_replaced_and_its_folder_made(tmp_path: Path) -> None:
    out = tmp_path / "new" / "list.txt"
    for text in ("old\n", "gr\u00fcn\n"):
        write_whole(out, text, what="list")
    assert out.read_bytes() == "gr\u00fcn\n".encode()
    assert list(out.parent.iterdir()) == [out]


def test_what_cannot_be_written_leaves_nothing_and_says_what_it_was(tmp_path: Path) -> None:
    out = tmp_path / "taken"
    (out / "by a folder").mkdir(parents=True)
    with pytest.raises(MissingError, match=r"the list cannot be written \(.+\)") as caught:
        write_whole(out, "text", what="list", hint=None)
    assert (caught.value.where, caught.value.hint) == (str(out), None)
    assert list(tmp_path.iterdir()) == [out]


def test_hosts_that_share_a_folder_do_not_write_to_one_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[Path] = []
    monkeypatch.setattr(Path, "replace", lambda path, _: written.append(path))
    for host in ("node1", "node2"):
        monkeypatch.setattr(platform, "node", lambda host=host: host)
        write_whole(tmp_path / "list", host, what="list")
    assert [path.read_text() for path in written] == ["node1", "node2"]


def test_of_a_link_the_file_behind_it_is_written(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("list")
    write_whole(tmp_path / "link", "text", what="list")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "list").read_text() == "text"


def test_a_pipe_is_written_into_and_stays_a_pipe(tmp_path: Path) -> None:
    """As /dev/null must, where root writes."""
    out = tmp_path / "pipe"
    os.mkfifo(out)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(out.read_text()))
    reader.start()
    write_whole(out, "text", what="list")
    reader.join(timeout=10)
    assert read == ["text"]
    assert stat.S_ISFIFO(out.stat().st_mode)
