"""Files that are written whole or not at all, by hosts that share a folder, too."""

import errno
import os
import platform
import stat
import threading
from pathlib import Path

import pytest

from weft.core.errors import MissingError, StorageError
from weft.core.files import HeldFolder, write_new, write_part, write_whole


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
    monkeypatch.setattr(os, "replace", lambda partial, *_, **__: written.append(partial))
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


def test_a_part_does_not_make_its_directory_again(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"the list cannot be written \(No such file"):
        write_part(tmp_path / "gone" / "list", "text", what="list")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("has_links", [True, False])
def test_a_new_file_is_claimed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, has_links: bool
) -> None:
    def no_links(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    if not has_links:
        monkeypatch.setattr(os, "link", no_links)
    write_new(tmp_path / "claim", "mine")
    with pytest.raises(FileExistsError):
        write_new(tmp_path / "claim", "theirs")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]


def test_a_directory_in_the_place_of_a_held_one_is_noticed(tmp_path: Path) -> None:
    """Most file systems give its inode to the next directory, unless somebody holds it."""
    path = tmp_path / "run"
    path.mkdir()
    held = HeldFolder(path)
    held.refuse_lost()
    path.rmdir()
    path.mkdir()
    with pytest.raises(StorageError, match="removed or replaced") as caught:
        held.refuse_lost()
    assert caught.value.moved_to is None
    with pytest.raises(OSError, match="No such file"):
        held.make_folders(["samples"])
    assert list(path.iterdir()) == []
    held.close()


def test_a_moved_directory_is_found_again(tmp_path: Path) -> None:
    path, place = tmp_path / "run", tmp_path / "archive"
    path.mkdir()
    held = HeldFolder(path)
    path.rename(place)
    with pytest.raises(StorageError, match=f"moved to {place}") as caught:
        held.refuse_full()
    assert caught.value.moved_to == place
    held.close()


def test_the_error_of_a_disk_says_what_is_kept_and_goes_on(tmp_path: Path) -> None:
    with pytest.raises(StorageError) as caught:
        write_part(tmp_path / "gone" / "list", "text", what="list")
    caught.value.kept, caught.value.next_command = "3 of 4 launches", "weft study run x --resume"
    assert caught.value.describe().splitlines()[2:] == [
        "  kept: 3 of 4 launches",
        "  next: weft study run x --resume",
    ]
