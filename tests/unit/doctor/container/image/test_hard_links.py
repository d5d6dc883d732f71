"""Hard links in layers: a name counts as the entry it is linked to, whatever that is called."""

import tempfile
import tracemalloc
from pathlib import Path

import pytest
from tests.unit.doctor.container.image.image_archives import (
    PACKINGS,
    docker_archive,
    file,
    folder,
    hard,
    layer,
    link,
    view_of,
)

from weft.core.errors import InputError
from weft.doctor.container.image import layers
from weft.doctor.container.image.image import open_image
from weft.doctor.container.image.tree import NodeKind

OBJECT = "sysroot/ostree/repo/objects/ab.file"


@pytest.fixture(autouse=True)
def _own_temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def refusal_of(tmp_path: Path, *layers: bytes) -> str:
    with pytest.raises(InputError) as caught:
        view_of(tmp_path, *layers)
    return caught.value.what


def test_one_reaches_a_lower_layer(tmp_path: Path) -> None:
    view = view_of(tmp_path, layer([file("a.so", b"one")]), layer([hard("b.so", "a.so")]))
    assert view.content("/b.so", 9) == b"one"


@pytest.mark.parametrize("target", ["x.so", "none/x.so"])
def test_one_to_a_symbolic_link_is_that_link_itself(tmp_path: Path, target: str) -> None:
    """SOURCE: link(2): a symbolic link is not followed. It leads from the folder of its name."""
    members = [file("lib/x.so", b"1"), link("lib/b.so", target), hard("a.so", "lib/b.so")]
    view = view_of(tmp_path, layer(members))
    found = view.node("/a.so")
    assert found is not None
    assert (found.node.kind, found.node.target) == (NodeKind.LINK, target)
    assert view.resolve("/a.so") is None


def test_links_to_folders_on_the_way_to_a_name_are_followed(tmp_path: Path) -> None:
    lower = layer(
        [file("usr/lib/a.so", b"1"), file("usr/lib/a.file", b"2"), link("lib", "usr/lib")]
    )
    view = view_of(tmp_path, lower, layer([hard("b.so", "lib/a.so"), hard("c.so", "lib/a.file")]))
    assert (view.content("/b.so", 9), view.content("/c.so", 9)) == (b"1", b"2")


@pytest.mark.parametrize("pack", PACKINGS.values(), ids=PACKINGS)
def test_a_library_may_be_one_to_a_file_of_any_name(tmp_path: Path, pack) -> None:
    """As in images of ostree and Nix, which keep each file under a name made of its content."""
    links = [hard("usr/lib/liba.so", OBJECT), hard("usr/lib/liba.so.1", OBJECT)]
    members = [file("usr/lib/libb.so", b"two"), file(OBJECT, b"one"), *links]
    view = view_of(tmp_path, pack(layer(members)))
    assert view.content("/usr/lib/liba.so", 9) == b"one"
    assert view.content("/usr/lib/libb.so", 9) == b"two"
    first, second = view.resolve("/usr/lib/liba.so"), view.resolve("/usr/lib/liba.so.1")
    assert first is not None
    assert second is not None
    assert first.node.identity == second.node.identity


def test_a_file_is_unpacked_once_though_its_layer_passes_by_twice(tmp_path: Path) -> None:
    members = [file("libb.so", b"two"), file(OBJECT, b"one"), hard("liba.so", OBJECT)]
    packed = PACKINGS["gzip"](layer([*members, file("other.file", b"three")]))
    view_of(tmp_path, packed)
    unpacked = [one.read_bytes() for one in tmp_path.glob("weft-image-*/*")]
    assert sorted(unpacked) == [b"one", b"two"]


def test_modules_that_no_library_needs_are_not_unpacked(tmp_path: Path) -> None:
    members = [file(OBJECT, b"one"), hard("site-packages/module.so", OBJECT)]
    view = view_of(tmp_path, PACKINGS["gzip"](layer(members)))
    assert not list(tmp_path.glob("weft-image-*/*"))
    assert view.content("/site-packages/module.so", 9) == b"one"


def test_one_is_the_file_that_had_the_name_when_it_was_made(tmp_path: Path) -> None:
    lower = layer([file("a.file", b"1"), hard("b.so", "a.file")])
    upper = layer([file("a.file", b"2"), hard("c.so", "a.file"), file("a.file", b"3")])
    view = view_of(tmp_path, lower, upper, layer([file(".wh.a.file")]))
    assert (view.content("/b.so", 9), view.content("/c.so", 9)) == (b"1", b"2")
    assert view.names("/") == ["b.so", "c.so"]


@pytest.mark.parametrize("name", ["a.file", "a.so"])
def test_one_to_a_name_that_is_not_there_is_refused(tmp_path: Path, name: str) -> None:
    words = f"member 'b.so' is a hard link to '{name}', which no layer has"
    made, linked = file(name, b"1"), hard("b.so", name)
    assert refusal_of(tmp_path, layer([linked])) == words
    assert refusal_of(tmp_path, layer([linked, made])) == words
    assert refusal_of(tmp_path, layer([linked]), layer([made])) == words
    removed = layer([file(f".wh.{name}"), linked])
    assert refusal_of(tmp_path, layer([made]), removed) == words
    # Of another library the name is there.
    view_of(tmp_path, layer([made, hard("c.so", name)]))
    again = layer([made, hard("c.so", name)])
    assert refusal_of(tmp_path, again, removed) == words


def test_one_to_a_folder_is_refused_only_of_a_library(tmp_path: Path) -> None:
    members = [folder("d"), hard("b.so", "d")]
    assert "member 'b.so' is a hard link to 'd'" in refusal_of(tmp_path, layer(members))
    view = view_of(tmp_path, layer([link("b", "d"), folder("d"), hard("b", "d")]))
    found = view.node("/b")
    assert found is not None
    assert found.node.kind is NodeKind.LINK


def test_one_of_any_name_replaces_what_had_it(tmp_path: Path) -> None:
    lower = layer([file("usr/lib/a.so"), link("one", "usr"), file("two/b.so")])
    upper = layer([file("x.file"), hard("one", "x.file"), hard("two", "x.file")])
    view = view_of(tmp_path, lower, upper)
    assert view.resolve("/one/lib/a.so") is None
    assert view.resolve("/two/b.so") is None
    assert view.names("/") == ["usr"]


def test_one_to_one_counts_up_to_the_links_that_linux_follows(tmp_path: Path) -> None:
    chain = [file("0", b"1"), *(hard(f"{one + 1}", f"{one}") for one in range(39))]
    view = view_of(tmp_path, layer([*chain, hard("a.so", "39")]))
    assert view.content("/a.so", 9) == b"1"
    words = "more than 40 hard links lead from '/a.so' to its file"
    longer = layer([*chain, hard("40", "39"), hard("a.so", "40")])
    assert refusal_of(tmp_path, longer) == words


def test_files_that_libraries_are_linked_to_count_as_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layers, "MOST_ENTRIES", 50)

    def linked(n_files: int) -> bytes:
        files = [file(f"{one}.file") for one in range(n_files)]
        return layer([*files, *(hard(f"{one}.so", f"{one}.file") for one in range(n_files))])

    view_of(tmp_path, linked(24))
    words = "more than 50 folders, links and libraries"
    assert refusal_of(tmp_path, linked(25)) == words
    # A name that no library keeps in the end is kept until then.
    many = [hard("a.so", f"{one}.file") for one in range(60)]
    files = [file(f"{one}.file") for one in range(60)]
    assert refusal_of(tmp_path, layer([*files, *many])) == words


def test_files_that_no_library_is_linked_to_cost_no_memory(tmp_path: Path) -> None:
    peaks = []
    for number in (500, 4000):
        files = [file(f"{one}.file") for one in range(number)]
        links = [hard(f"{one}.py", f"{one}.file") for one in range(number)]
        members = [*files, *links, hard("a.so", "0.file")]
        path = docker_archive(tmp_path / "image.tar", [layer(members)])
        tracemalloc.start()
        open_image(path).close()
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    # Buffers are the same; 3,500 entries would be a megabyte.
    assert peaks[1] - peaks[0] < 100_000
