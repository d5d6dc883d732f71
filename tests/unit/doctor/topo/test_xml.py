"""The reader keeps what NCCL keeps, and nothing makes it fail, wait or grow."""

import time

import pytest
from tests.unit.doctor.topo.cases import RIGHT, system

from weft.doctor.topo.drawing import tree_lines
from weft.doctor.topo.xml import MOST_BYTES, MOST_FOUND, read_topology


def kept(text: str) -> list[tuple[str, dict[str, str]]]:
    root = read_topology("topo.xml", text).system
    assert root is not None
    return [(one.name, {k: v.value for k, v in one.attributes.items()}) for one in root.walk()]


def test_attributes_are_kept_as_written() -> None:
    text = system('<pci busid=\'a"b\' class="&lt;>/" busid="c" flag />')
    assert kept(text)[2] == ("pci", {"busid": 'a"b', "class": "&lt;>/", "flag": ""})


def test_what_nccl_ignores_is_not_kept_with_all_inside() -> None:
    text = system(
        "<numa><pci busid='x'><pci/></pci></numa>", "<pci busid='y'><cpu><pci/></cpu></pci>"
    )
    assert [name for name, _ in kept(text)] == ["system", "cpu", "pci"]


def test_a_tag_inside_of_an_ignored_element_is_closed_by_any() -> None:
    """NCCL reads each over the last: their names are not compared."""
    file = read_topology("topo.xml", system("<a><b></c></d>"))
    assert not file.is_refused
    assert file.n_elements == 2


def test_comments_may_hold_anything_behind_their_first_word() -> None:
    assert kept("<!-- <a b=c>\t-- > -->" + RIGHT) == kept(RIGHT)
    assert kept("<!----><!--->x-->" + RIGHT) == kept(RIGHT)


def test_reading_goes_on_behind_what_another_reader_takes() -> None:
    file = read_topology(
        "topo.xml", "<?xml version='1.0'?>\n\t" + RIGHT.replace(" class", "\n class")
    )
    assert file.is_refused
    assert [found.rule for found in file.found] == [
        "topo-declaration",
        "topo-tab",
        "topo-blank-in-tag",
    ]
    assert file.n_elements == 5


def seconds_of_hostile_files(n: int) -> float:
    """CPU seconds for files of about `n` bytes each."""
    started = time.process_time()
    for text in (
        "<a>" * (n // 12),
        system("<pci>" * (n // 20)),
        system("<a/>" * (n // 20)),
        "<" * n,
        '<system version="1" ' + " " * n,
        "<system" + ' a="b"' * (n // 24) + ">",
        "<!--" * (n // 20),
        "\n" * n,
        "\t" * n,
        "</" * (n // 10),
        "<?" * (n // 10),
    ):
        file = read_topology("topo.xml", text)
        assert len(file.found) <= MOST_FOUND + 2
    return time.process_time() - started


@pytest.mark.parametrize("n", [MOST_BYTES // 8, pytest.param(MOST_BYTES, marks=pytest.mark.slow)])
def test_hostile_files_take_time_that_grows_with_their_size(n: int) -> None:
    """Four times the size is four times the work; work that grows by the square is 16 times."""
    small = min(seconds_of_hostile_files(n // 4) for _ in range(2))
    assert seconds_of_hostile_files(n) < 9 * small + 0.1


def test_a_deep_file_is_drawn() -> None:
    deep = "<pci busid='0000:00:00.0'>" * 250 + "</pci>" * 250
    root = read_topology("topo.xml", system(deep)).system
    assert root is not None
    lines = tree_lines(root, 80)
    assert len(lines) == 252
    assert max(map(len, lines)) <= 80
