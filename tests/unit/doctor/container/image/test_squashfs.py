"""Squashfs and images of Apptainer, read in place: as a folder says, damaged ones refused."""

import os
import random
import struct
from pathlib import Path

import pytest
from tests.unit.doctor.container.container_cases import MOUNTS, judged, need_gcc
from tests.unit.doctor.container.container_trees import SlingshotNode
from tests.unit.doctor.container.image.single_files import (
    COMPRESSORS,
    ENCRYPTED,
    EXT3,
    OVERLAY,
    PRIMARY,
    SQUASHFS,
    sif,
    squashfs,
)

from weft.core.errors import InputError
from weft.core.finding import Severity
from weft.doctor.container.case import ContainerCase
from weft.doctor.container.image.image import open_image
from weft.doctor.container.image.squashfs.lz_blocks import unpack_lz4, unpack_lzo
from weft.doctor.container.image.tree import FolderTree, NodeKind, Tree
from weft.doctor.container.judge import judge_container
from weft.doctor.container.launch.plan import ContainerPlan

DEVICES = tuple(f"/dev/cxi{number}:/dev/cxi{number}" for number in range(4))
FORMS = (*((one,) for one in COMPRESSORS), ("gzip", "-noI", "-noD", "-noF"), ("lzo", "-noD"),
         ("gzip", "-no-fragments"), ("zstd", "-b", "4096"), ("xz", "-b", "1M", "-Xbcj", "x86"),
         ("gzip", "-always-use-fragments"))  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of many sizes and kinds: holes, hard links, a long folder, links out of the root."""
    root = tmp_path_factory.mktemp("root")
    chance = random.Random(7)
    for name in ("usr/lib", "etc", "many", "empty"):
        (root / name).mkdir(parents=True)
    for size in (0, 1, 4095, 4096, 4097, 131_071, 131_072, 131_073, 700_000):
        words = [chance.randbytes(chance.randint(1, 40)) for _ in range(40)]
        text = b"".join(chance.choice(words) for _ in range(size // 10 + 1))
        (root / f"usr/lib/text{size}.so").write_bytes(text[:size])
        (root / f"usr/lib/random{size}.so").write_bytes(chance.randbytes(size))
    with (root / "usr/lib/hole.so").open("wb") as file:
        file.seek(1_000_000)
        file.write(b"end")
    os.link(root / "usr/lib/text4096.so", root / "usr/lib/again.so")
    for number in range(1200):
        (root / f"many/{number:04}{'x' * (number % 200)}").write_bytes(b"%d" % number)
    (root / "lib").symlink_to("usr/lib")
    (root / "out").symlink_to("../../../etc/passwd")
    (root / "loop").symlink_to("loop")
    os.mkfifo(root / "pipe")
    (root / "etc/environment").write_text("NCCL_NET=x\n")
    (root / "etc/\udcff").write_text("no text")
    return root


def differences(tree: Tree, other: Tree, top: str = "/") -> list[str]:
    """Where two trees differ, content and all."""
    found = [] if tree.entries(top) == other.entries(top) else [top]
    for name in other.names(top):
        path = f"{top.rstrip('/')}/{name}"
        one, two = tree.node(path), other.node(path)
        if one is None or two is None or (one.kind, one.target) != (two.kind, two.target):
            found.append(path)
        elif one.kind is NodeKind.FOLDER:
            found += differences(tree, other, path)
        elif one.kind is NodeKind.FILE:
            with tree.reader(path) as ours, other.reader(path) as theirs:
                found += [] if ours.read() == theirs.read() else [path]
                for at in random.Random(len(path)).choices(range(1 + theirs.tell()), k=4):
                    ours.seek(at)
                    theirs.seek(at)
                    found += [] if ours.read(5000) == theirs.read(5000) else [f"{path}: {at}"]
    return found


@pytest.mark.parametrize("form", FORMS, ids=" ".join)
def test_a_squashfs_has_the_files_of_its_folder(folder: Path, tmp_path: Path, form) -> None:
    path = squashfs(tmp_path / "image.sqsh", folder, "-comp", *form)
    image = open_image(path)
    assert differences(image.tree, FolderTree(folder)) == []
    assert image.tree.node("/usr/lib/none.so") is None
    again, first = (image.tree.node(f"/usr/lib/{one}.so") for one in ("again", "text4096"))
    assert again is not None
    assert again == first
    assert [(one.name, one.text) for one in image.variables] == [("NCCL_NET", "x")]
    image.close()


@pytest.mark.parametrize("kind", ["squashfs", "sif"])
def test_an_image_in_one_file_is_judged_as_its_folder(tmp_path: Path, kind: str) -> None:
    need_gcc()
    node = SlingshotNode(tmp_path / "node").build()
    (node.image / "etc/environment").write_text(
        "LD_LIBRARY_PATH=/opt/ofi:/opt/libfabric\nNCCL_NET_PLUGIN=ofi\n"
    )
    path = squashfs(tmp_path / "image.sqsh", node.image, "-comp", "lzo", "-noD")
    if kind == "sif":
        path = sif(tmp_path / "image.sif", [(SQUASHFS, PRIMARY, path.read_bytes())])
    script = tmp_path / "job.sh"
    script.write_text(f"srun --container-image=i --container-mounts={','.join(MOUNTS)} ./a\n")
    case, chain = judged(path, node.host, script=script)
    assert (chain.verdict(), case.architecture) == (Severity.GOOD, "x86_64")
    (node.image / "etc/environment").write_text("LD_LIBRARY_PATH=/opt/ofi:/opt/libfabric\n")
    path = squashfs(tmp_path / "other.sqsh", node.image)
    _, chain = judged(path, node.host, script=script)
    assert [one.rule.id for one in chain.faults] == ["plugin-not-selected"]


@pytest.mark.parametrize(
    ("parts", "words", "is_whole"),
    [
        ([(ENCRYPTED, PRIMARY)], "partition 1: it holds an encrypted file system", True),
        ([(EXT3, PRIMARY)], "partition 1: it holds ext3, which weft does not read", True),
        ([(SQUASHFS, 3)], "no system partition in it", False),
        (
            [(SQUASHFS, PRIMARY), (EXT3, OVERLAY)],
            "an overlay, whose files weft does not read",
            True,
        ),
        ([(SQUASHFS, PRIMARY)], "no squashfs, or one that is cut", False),
    ],
)
def test_parts_of_apptainer_that_weft_does_not_read_are_refused(
    tmp_path: Path, parts, words: str, is_whole: bool
) -> None:
    """With the command that unpacks the file, where Apptainer itself could."""
    path = sif(tmp_path / "an image.sif", [(system, use, bytes(9000)) for system, use in parts])
    with pytest.raises(InputError) as caught:
        open_image(path)
    assert words in str(caught.value)
    hint = f"unpack it: apptainer build --sandbox DIR '{path}'"
    assert caught.value.hint == (hint if is_whole else None)


def test_a_cut_image_is_refused(folder: Path, tmp_path: Path) -> None:
    whole = squashfs(tmp_path / "image.sqsh", folder).read_bytes()
    for name, content in (
        ("a.sqsh", whole[: len(whole) // 2]),
        ("b.sqsh", whole[:90]),
        ("c.sif", sif(tmp_path / "x.sif", [(SQUASHFS, PRIMARY, whole)]).read_bytes()[:-9000]),
        ("d.sif", sif(tmp_path / "x.sif", [(SQUASHFS, PRIMARY, whole)]).read_bytes()[:5000]),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match="cut") as caught:
            open_image(tmp_path / name)
        assert caught.value.hint is None


def test_a_damaged_library_is_named(folder: Path, tmp_path: Path) -> None:
    path = squashfs(tmp_path / "image.sqsh", folder, "-comp", "gzip")
    tree, name = open_image(path).tree, "/usr/lib/text700000.so"
    start = tree._inodes.file(tree._found(name)[1]).start
    content = bytearray(path.read_bytes())
    content[start : start + 9] = bytes(9)
    path.write_bytes(content)
    with open_image(path).tree.reader(name) as file, pytest.raises(InputError) as caught:
        file.read()
    assert f"image.sqsh, {name}: squashfs: damaged (a block of gzip" in str(caught.value)


@pytest.mark.parametrize(
    ("at", "value", "words"),
    [
        (20, struct.pack("<H", 2), "packed by lzma, which weft does not read"),
        (20, struct.pack("<H", 77), "packed by number 77"),
        (28, struct.pack("<H", 3), "squashfs 3.0, and weft reads 4.0"),
        (12, struct.pack("<I", 999), "blocks of 999 bytes"),
        (64, struct.pack("<Q", 1 << 60), "tables outside of it"),
        (32, struct.pack("<Q", 1 << 60), "a block outside of it"),
    ],
)
def test_a_wrong_header_is_refused(folder: Path, tmp_path: Path, at, value, words) -> None:
    path = squashfs(tmp_path / "image.sqsh", folder)
    content = bytearray(path.read_bytes())
    content[at : at + len(value)] = value
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        open_image(path)
    assert words in caught.value.what


def test_a_folder_that_holds_itself_ends(tmp_path: Path) -> None:
    (tmp_path / "root/empty").mkdir(parents=True)
    path = squashfs(tmp_path / "image.sqsh", tmp_path / "root", "-noI")
    tree = open_image(path).tree
    content = bytearray(path.read_bytes())
    # The only entry of the root leads to the root's own inode.
    at = content.rindex(b"empty") - 8
    content[at : at + 2] = struct.pack("<H", tree._root & 0xFFFF)
    path.write_bytes(content)
    tree = open_image(path).tree
    assert tree.names("/empty/empty") == ["empty"]
    with pytest.raises(InputError, match="more than 256 folders deep"):
        tree.node("/empty" * 257)


@pytest.mark.parametrize("unpack", [unpack_lzo, unpack_lz4])
def test_blocks_of_any_bytes_end_in_an_error_or_within_the_limit(unpack) -> None:
    chance = random.Random(3)
    n_whole = 0
    for _ in range(20_000):
        # The mark that ends a stream of LZO; bytes as others to LZ4.
        block = chance.randbytes(chance.randint(0, 60)) + b"\x11\0\0"
        try:
            n_whole += len(unpack(block, 500)) <= 500
        except ValueError:
            continue
    assert n_whole > 0


def test_reading_costs_what_is_asked_for(tmp_path: Path) -> None:
    """Of files that are 64 times as large, only the lists of blocks are longer."""
    read = []
    for kilobytes in (128, 64 * 128):
        own = SlingshotNode(tmp_path / str(kilobytes)).build()
        for number in range(3):
            content = random.Random(number).randbytes(kilobytes << 10)
            (own.image / f"usr/lib/libother{number}.so").write_bytes(content)
        image = open_image(squashfs(tmp_path / f"{kilobytes}.sqsh", own.image, "-noD", "-noI"))
        case = ContainerCase(image, ContainerPlan(), FolderTree(own.host))
        assert judge_container(case).fabric == "slingshot"
        with image.tree.reader("/usr/lib/libother0.so") as file:
            file.read(64)
        read.append(image.tree._blocks._part.n_read)
    assert read[1] - read[0] < 3 * 64 * 4 + 2 * 8192
