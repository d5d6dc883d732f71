"""Images in archives: layers merged as a runtime does, and damaged ones refused by name."""

import gzip
import hashlib
import random
import resource
import tarfile
import tempfile
import tracemalloc
from pathlib import Path

import pytest
from tests.unit.doctor.container.container_cases import MOUNTS, PATH, judged
from tests.unit.doctor.container.container_trees import SlingshotNode
from tests.unit.doctor.container.image.image_archives import (
    PACKINGS,
    docker_archive,
    file,
    folder,
    hard,
    layer,
    layer_of,
    link,
    oci_layout,
    view_of,
)

from weft.core.errors import InputError, StorageError
from weft.core.finding import Severity
from weft.doctor.container.image import layer_files, layer_stream, layers
from weft.doctor.container.image.image import open_image
from weft.doctor.container.image.layer_stream import LayerStream
from weft.doctor.container.image.tree import NodeKind
from weft.doctor.container.image.view import View

DEVICES = tuple(f"/dev/cxi{number}:/dev/cxi{number}" for number in range(4))


@pytest.fixture(autouse=True)
def _own_temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@pytest.mark.parametrize("make", [docker_archive, oci_layout])
def test_an_archive_is_judged_as_its_folder(node: SlingshotNode, tmp_path: Path, make) -> None:
    env = [f"LD_LIBRARY_PATH={PATH}", "NCCL_NET_PLUGIN=ofi"]
    image = make(tmp_path / "image", [layer_of(node.image)], env)
    before = set(Path(tempfile.gettempdir()).glob("weft-image-*"))
    case, chain = judged(image, node.host, mounts=[*MOUNTS, *DEVICES])
    assert (chain.verdict(), case.architecture, case.directories.glibc) == (
        Severity.GOOD, "x86_64", 36,
    )  # fmt: skip
    assert case.variables["NCCL_NET_PLUGIN"].origin == "the image's configuration"
    assert set(Path(tempfile.gettempdir()).glob("weft-image-*")) == before


def test_a_layer_with_the_plugin_makes_an_image_good(node: SlingshotNode, tmp_path: Path) -> None:
    """What a Dockerfile adds: the plug-in and libfabric in a layer of their own."""
    own = layer_of(node.host / "opt")
    members = [file("etc/nccl.conf", b"NCCL_NET_PLUGIN=ofi\n")]
    listed = [layer_of(node.image), layer(members), own]
    env = ["LD_LIBRARY_PATH=/ofi:/libfabric"]
    _, chain = judged(oci_layout(tmp_path / "image", listed, env), node.host, mounts=DEVICES)
    assert (chain.verdict(), chain.faults) == (Severity.GOOD, [])


def test_whiteouts_remove_what_lower_layers_have(tmp_path: Path) -> None:
    lower = layer(
        [folder("a"), file("a/x.so", b"1"), file("a/y.so"), file("b/z.so"), file("c/w.so")]
    )
    upper = layer([file("a/.wh.x.so"), file("b/.wh..wh..opq"), file("b/new.so"), file(".wh.c")])
    view = view_of(tmp_path, lower, upper)
    assert (view.names("/a"), view.names("/b"), view.names("/")) == (
        ["y.so"],
        ["new.so"],
        ["a", "b"],
    )


def test_an_opaque_whiteout_keeps_what_its_own_layer_added_before(tmp_path: Path) -> None:
    lower = layer([file("b/old.so")])
    view = view_of(tmp_path, lower, layer([file("b/d/new.so"), file("b/.wh..wh..opq")]))
    assert (view.names("/b"), view.names("/b/d")) == (["d"], ["new.so"])


def test_upper_files_replace_lower_ones_and_links_lead_within_the_root(tmp_path: Path) -> None:
    lower = layer([link("lib", "usr/lib"), file("lib/a.so", b"old"), link("out.so", "../../a.so")])
    view = view_of(tmp_path, lower, layer([file("lib/a.so", b"new"), link("a.so", "/lib/a.so")]))
    assert view.content("/usr/lib/a.so", 9) == b"new"
    assert view.content("/out.so", 9) == b"new"


def test_links_that_loop_lead_nowhere(tmp_path: Path) -> None:
    view = view_of(tmp_path, layer([link("a.so", "b.so"), link("b.so", "a.so"), link("d", "d/d")]))
    assert view.resolve("/a.so") is None
    assert view.resolve("/d/x") is None


def test_devices_pipes_and_setuid_files_are_only_listed(tmp_path: Path) -> None:
    view = view_of(tmp_path, layer([("dev/null.so", None, b"3"), ("p.so", None, b"6")]))
    found = view.resolve("/dev/null.so")
    assert found is not None
    assert found.node.kind is NodeKind.DEVICE
    assert view.content("/dev/null.so", 9) == b""


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ([file("../../etc/x.so")], "member '../../etc/x.so' leaves the root"),
        ([file("a/../../x.so")], "member 'a/../../x.so' leaves the root"),
        ([hard("a.so", "../../etc/shadow")], "member '../../etc/shadow' leaves the root"),
        (
            [hard("a.so", "none.so")],
            "member 'a.so' is a hard link to 'none.so', which no layer has",
        ),
        ([link("a.so", "x" * 5000)], "member 'a.so' is a link to a name of 5,000 bytes"),
        ([file("d/" * 300 + "a.so")], "more than 256 folders deep"),
        ([file("d" * 5000 + ".so")], "of more than 4,096 bytes"),
    ],
)
def test_members_that_no_root_can_have_are_refused(tmp_path: Path, members, words: str) -> None:
    with pytest.raises(InputError) as caught:
        view_of(tmp_path, layer(members))
    assert words in caught.value.what


def test_a_layer_that_unpacks_to_200_times_its_size_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layer_stream, "_UNSUSPECTED_BYTES", 1 << 20)
    bomb = gzip.compress(layer([file("a.so", bytes(4 << 20))]), 9)
    with pytest.raises(InputError, match="unpacks to more than 200 times its size"):
        view_of(tmp_path, bomb)


@pytest.mark.parametrize(
    ("begin", "hint"), [(b"\x1f\x8b\x08", "gunzip image"), (b"\x28\xb5\x2f\xfd", "unzstd image")]
)
def test_a_packed_archive_is_refused_with_the_command_that_unpacks_it(
    tmp_path: Path, begin: bytes, hint: str
) -> None:
    path = tmp_path / "image"
    path.write_bytes(begin + bytes(2000))
    with pytest.raises(InputError, match="a packed archive") as caught:
        open_image(path)
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize("pack", PACKINGS.values(), ids=PACKINGS)
def test_of_a_name_twice_in_a_layer_the_last_one_counts(tmp_path: Path, pack) -> None:
    """As tar unpacks it, whether or not the first one is small enough to be kept early."""
    large = random.Random(1).randbytes(layer_files.EARLY_BYTES + 1)
    members = [file("a.so", b"first"), file("b.so", large), file("a.so", large[:9]),
               file("b.so", b"second")]  # fmt: skip
    view = view_of(tmp_path, pack(layer(members)))
    assert view.content("/a.so", 99) == large[:9]
    assert view.content("/b.so", 99) == b"second"


@pytest.mark.parametrize("pack", PACKINGS.values(), ids=PACKINGS)
def test_a_library_too_large_to_be_kept_early_is_read_when_it_is_asked_for(
    tmp_path: Path, pack
) -> None:
    large = random.Random(2).randbytes(layer_files.EARLY_BYTES + 1)
    view = view_of(tmp_path, pack(layer([file("lib/libx.so", large), file("lib/liby.so", b"y")])))
    assert view.content("/lib/libx.so", len(large) + 1) == large
    assert view.content("/lib/liby.so", 9) == b"y"


def test_a_blob_of_another_size_than_its_manifest_says_is_refused(tmp_path: Path) -> None:
    """A layer of zstd that is cut between frames ends like a whole one."""
    image = oci_layout(tmp_path / "image", [layer([file("a.so", b"1")])])
    blobs = (image / "blobs/sha256").iterdir()
    (blob,) = (one for one in blobs if one.read_bytes().startswith(b"\x1f\x8b"))
    blob.write_bytes(blob.read_bytes()[:-8])
    with pytest.raises(InputError, match="and its manifest says"):
        open_image(image)


def test_more_links_than_weft_keeps_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layers, "MOST_ENTRIES", 50)
    view_of(tmp_path, layer([file(f"{number}.txt") for number in range(60)]))
    with pytest.raises(InputError, match="more than 50 folders, links and libraries"):
        view_of(tmp_path, layer([link(f"{number}.so", "a") for number in range(60)]))


@pytest.mark.parametrize("pack", PACKINGS.values(), ids=PACKINGS)
def test_files_that_no_loader_opens_cost_no_memory(tmp_path: Path, pack) -> None:
    peaks = []
    for number in (4000, 8000):
        path = docker_archive(
            tmp_path / "image.tar", [pack(layer([file(f"{one}.py") for one in range(number)]))]
        )
        tracemalloc.start()
        open_image(path).close()
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    # Buffers are the same, and members that wait; 4,000 entries would be a megabyte.
    assert peaks[1] - peaks[0] < 100_000


def test_the_lower_layers_decide_which_libraries_are_kept_early(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not the threads that pass by: of ten layers there is room for the libraries of three."""
    monkeypatch.setattr(layer_files, "MOST_EARLY_BYTES", 3000)
    draw = random.Random(3)
    contents = [draw.randbytes(1000) for _ in range(10)]
    listed = [
        PACKINGS["gzip"](layer([file(f"lib{number}.so", content)]))
        for number, content in enumerate(contents)
    ]
    view = view_of(tmp_path, *listed)
    kept = {one.read_bytes() for one in tmp_path.glob("weft-image-*/*")}
    assert kept == set(contents[:3])
    assert [view.content(f"/lib{number}.so", 2000) for number in range(10)] == contents


@pytest.mark.parametrize("pack", PACKINGS.values(), ids=PACKINGS)
def test_a_library_may_be_a_link_to_a_file_of_any_name(tmp_path: Path, pack) -> None:
    lower = layer([file("opt/x.bin", b"one"), link("d", "opt"), link("y", "d/x.bin")])
    links = [link("usr/lib/libx.so", "../../y"), link("usr/lib/libn.so", "../../opt/none")]
    view = view_of(tmp_path, pack(lower), pack(layer(links)))
    assert view.content("/usr/lib/libx.so", 9) == b"one"
    assert view.resolve("/usr/lib/libn.so") is None


def test_headers_without_end_are_refused(tmp_path: Path) -> None:
    """Each of them is read before the member is known."""
    header = tarfile.TarInfo("h")
    header.type, header.size = tarfile.XHDTYPE, 512
    record = b"12 a=bcdefg\n"
    one = header.tobuf() + record + bytes(512 - len(record))
    with pytest.raises(InputError, match="damaged"):
        view_of(tmp_path, one * 3000 + layer([file("a.so")]))


def test_many_members_without_content_are_no_endless_header(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A farm of links: between their headers no content is read."""
    monkeypatch.setattr(layer_stream, "_MOST_HEADERS_BYTES", 20 * 512)
    links = [link(f"usr/lib/{number}.so", "a.so") for number in range(200)]
    view = view_of(tmp_path, layer([*links, file("usr/lib/a.so", b"1")]))
    assert view.content("/usr/lib/199.so", 9) == b"1"


def test_a_cut_layer_is_refused(node: SlingshotNode, tmp_path: Path) -> None:
    whole = layer_of(node.image)
    for cut in (700, len(whole) // 2, len(whole) // 2 + 1):
        with pytest.raises(InputError, match="damaged"):
            view_of(tmp_path, whole[:cut])
    for cut in (2, len(whole) // 9):
        with pytest.raises(InputError, match="damaged"):
            view_of(tmp_path, gzip.compress(whole, 1)[:cut])


@pytest.mark.parametrize("kind", ["sha256", "sha512"])
def test_a_plain_layer_without_an_end_is_whole_by_its_digest(tmp_path: Path, kind: str) -> None:
    """A cut between members, or within what fills a member's last block, loses only members."""
    members = [file("a.so", b"1"), file("b.so", b"2"), file("c.so", b"3" * 512)]
    whole = layer(members)
    at = {"a.so": 512, "b.so": 3 * 512, "c.so": 5 * 512}
    assert [whole[place : place + 1] for place in at.values()] == [b"1", b"2", b"3"]
    below = layer([file("d.so")])

    def opened(upper: bytes, of: bytes | None) -> View:
        digests = [f"{kind}:{hashlib.new(kind, one).hexdigest()}" for one in (below, of) if one]
        path = docker_archive(tmp_path / "image.tar", [below, upper], digests=digests)
        return View(open_image(path).tree)

    without_end = whole[: 6 * 512]
    assert opened(without_end, without_end).names("/") == ["a.so", "b.so", "c.so", "d.so"]
    assert opened(whole, None).names("/") == ["a.so", "b.so", "c.so", "d.so"]
    for cut in (at["a.so"] + 1, 2 * 512, at["b.so"] + 1, at["b.so"] + 300, 6 * 512):
        with pytest.raises(InputError, match=r"layer 2 .*damaged .no end of the archive"):
            opened(whole[:cut], whole)
    with pytest.raises(InputError, match="and the image's configuration has none"):
        opened(without_end, None)


def test_a_disk_that_is_full_is_not_called_damage(node: SlingshotNode, tmp_path: Path) -> None:
    image = oci_layout(tmp_path / "oci", [layer_of(node.image)])
    soft, hard_ = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard_))
    try:
        with pytest.raises(StorageError) as caught:
            open_image(image)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard_))
    assert "what weft unpacks of the image cannot be written (File too large)" in caught.value.what
    assert "TMPDIR" in (caught.value.hint or "")
    assert not list(tmp_path.glob("weft-image-*"))


def test_without_a_temporary_folder_an_archive_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = oci_layout(tmp_path / "oci", [layer([file("a.so", b"1")])])
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    with pytest.raises(StorageError, match="what weft unpacks of the image cannot be written"):
        open_image(image)


def test_a_layer_that_cannot_be_read_while_it_is_unpacked_is_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error of the image's own disk, and none of the temporary folder's."""
    image = oci_layout(tmp_path / "oci", [layer([file("a.so", bytes(9 << 20))])])
    before = LayerStream.read

    def read(stream: LayerStream, size: int) -> bytes:
        if stream.tell() > 4 << 20:
            raise OSError(5, "Input/output error")
        return before(stream, size)

    monkeypatch.setattr(LayerStream, "read", read)
    with pytest.raises(InputError, match=r"layer 1.*damaged .*Input/output error"):
        open_image(image)
