"""A tree may hold anything: nothing is followed out of it, waited for, or read without end."""

import os
from pathlib import Path

import pytest

from weft.core.errors import InputError
from weft.doctor.machine.sysroot import (
    MOST_BYTES,
    MOST_NAMES,
    MOST_NUMBERS,
    Sysroot,
    numbers_of_list,
    whole_number,
)


def root_of(tmp_path: Path) -> tuple[Sysroot, Path]:
    tree = tmp_path / "tree"
    (tree / "sys").mkdir(parents=True)
    return Sysroot(tree), tree


def test_links_lead_only_where_the_tree_ends(tmp_path: Path) -> None:
    root, tree = root_of(tmp_path)
    (tmp_path / "secret").write_text("outside")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/state").write_text("outside")
    (tree / "sys/absolute").symlink_to(tmp_path / "secret")
    (tree / "sys/relative").symlink_to("../../secret")
    (tree / "sys/folder").symlink_to(tmp_path / "folder")
    (tree / "sys/device").symlink_to("real")
    (tree / "sys/real").mkdir()
    (tree / "sys/real/state").write_text("inside\n")
    assert root.text("/sys/absolute") == ""
    assert root.text("/sys/relative") == ""
    assert root.text("/sys/folder/state") == ""
    assert root.names("/sys/folder") == ()
    assert not root.exists("/sys/folder/state")
    assert not root.may_open("/sys/absolute")
    assert root.text("/sys/device/state") == "inside"
    assert root.unread["/sys/absolute"] == "it leads out of the tree"


def test_a_neighbour_with_a_longer_name_is_outside(tmp_path: Path) -> None:
    """`tree-of-others` begins with `tree`."""
    root, tree = root_of(tmp_path)
    (tmp_path / "tree-of-others").mkdir()
    (tmp_path / "tree-of-others/a").write_text("outside")
    (tree / "sys/a").symlink_to("../../tree-of-others/a")
    assert root.text("/sys/a") == ""


def test_links_that_go_round_are_not_there(tmp_path: Path) -> None:
    root, tree = root_of(tmp_path)
    (tree / "sys/a").symlink_to("b")
    (tree / "sys/b").symlink_to("a")
    assert root.text("/sys/a") == ""
    assert root.text("/sys/a/state") == ""
    assert root.names("/sys/a") == ()


def test_a_pipe_and_a_folder_are_no_files(tmp_path: Path) -> None:
    root, tree = root_of(tmp_path)
    os.mkfifo(tree / "sys/pipe")
    (tree / "sys/folder").mkdir()
    assert root.text("/sys/pipe") == ""
    assert root.text("/sys/folder") == ""
    assert root.unread["/sys/pipe"] == "it is no file"


def test_of_a_file_without_end_the_beginning_is_read(tmp_path: Path) -> None:
    root, tree = root_of(tmp_path)
    with (tree / "sys/huge").open("wb") as file:
        file.write(b"7 ")
        file.truncate(1 << 40)
    assert len(root.content("/sys/huge", MOST_BYTES)) == MOST_BYTES
    assert whole_number(root.text("/sys/huge")) == 7


def test_of_a_folder_without_end_the_first_names_are_read(tmp_path: Path) -> None:
    root, tree = root_of(tmp_path)
    (tree / "sys/many").mkdir()
    for number in range(MOST_NAMES + 5):
        (tree / f"sys/many/{number:05}").touch()
    assert len(root.names("/sys/many")) == MOST_NAMES
    assert str(MOST_NAMES + 5) in root.unread["/sys/many"]


def test_nothing_steers_a_terminal(tmp_path: Path) -> None:
    root, tree = root_of(tmp_path)
    (tree / "sys/evil").write_bytes(b"4: \x1b]0;owned\x07ACTIVE\xff\n")
    (tree / "sys/\x1b[2J").touch()
    assert root.text("/sys/evil") == "4: ?]0;owned?ACTIVE\ufffd"
    assert root.names("/sys") == ("evil",)


def test_what_may_not_be_read_is_listed_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, tree = root_of(tmp_path)
    (tree / "sys/config").write_text("x")

    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    monkeypatch.setattr(os, "listdir", refuse)
    assert root.text("/sys/config") == ""
    assert root.names("/sys") == ()
    assert root.unread == {"/sys/config": "permission denied", "/sys": "permission denied"}


def test_a_tree_is_read_so_far_and_no_further(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weft.doctor.machine.sysroot.MOST_READS", 2)
    root, tree = root_of(tmp_path)
    (tree / "sys/state").write_text("4: ACTIVE")
    assert [root.text("/sys/state") for _ in range(3)] == ["4: ACTIVE", "4: ACTIVE", ""]
    assert root.unread == {"/": "more than 2 files"}


def test_what_is_not_there_is_empty_and_no_complaint(tmp_path: Path) -> None:
    root, _ = root_of(tmp_path)
    assert root.text("/sys/no/such") == ""
    assert root.names("/proc") == ()
    assert not root.exists("/dev/cxi0")
    assert root.unread == {}


def test_the_root_must_be_a_directory(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such directory"):
        Sysroot(tmp_path / "missing")


def test_lists_of_processors() -> None:
    assert numbers_of_list("0-3,8") == {0, 1, 2, 3, 8}
    assert numbers_of_list("") == frozenset()
    assert numbers_of_list("a,-1,3-") == {3}
    assert len(numbers_of_list("0-99999999")) == MOST_NUMBERS
    many = ",".join(f"{i}0000-{i}9999" for i in range(1000))
    assert len(numbers_of_list(many)) == MOST_NUMBERS
