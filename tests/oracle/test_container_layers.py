"""Layers that podman writes and merges: weft sees the same tree in what podman saves of them."""

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.oracle.podman_node import PodmanNode, need_podman

from weft.doctor.container.image.image import open_image
from weft.doctor.container.image.tree import NodeKind, Tree

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

N_LAYERS, N_CHANGES = 4, 30
NAMES = ("a", "liba.so", "libb.so", "z")
"""Of files and folders alike, so that one takes the place of the other. weft keeps libraries. Of
two names of one file podman writes the second one, in this order, as a hard link to the first."""
CHANGES = (
    "mkdir -p {above}; echo {number} > {path}",
    "mkdir -p {path}; echo {number} > {path}/liba.so",
    "mkdir -p {above}; ln -s {number}/{other} {path}",
    "cp -aT {other} {path}",
    "rm -rf {path}",
    "rm -rf {path}; echo {number} > {path}",
    "rm -rf {path}; ln -s {other} {path}",
    "rm -rf {path}; mkdir {path}; echo {number} > {path}/libb.so",
    "echo {number} > {other}; mkdir -p {above}; ln -f {other} {path}",
    "ln -s {number} {other}; mkdir -p {above}; ln -f {other} {path}",
    "mkdir -p {above}; echo {number} > {path}; ln -f {path} {above}/libb.so",
    "mv -T {other} {path}",
)
LAYER = """
c=$(podman create {name}:{number} x) && m=$(podman mount $c) && cd $m || exit
{{ {changes}
}} 2>/dev/null
cd /
podman commit --quiet $c {name}:{next} || exit
"""
MERGED = """
c=$(podman create {name}:{number} x) && m=$(podman mount $c) || exit
cp -aT $m {folder}/real
cd {folder}
podman save --quiet --format oci-dir -o layout {name}:{number} || exit
podman save --quiet --format docker-archive -o archive {name}:{number}
"""


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> PodmanNode:
    need_podman()
    folder = tmp_path_factory.mktemp("layers")
    (folder / "host/opt").mkdir(parents=True)
    return PodmanNode(folder / "node", folder / "host", ())


def drawn_path(draw: random.Random) -> str:
    return "/".join(draw.choices(NAMES, k=draw.choice((1, 2, 2, 3))))


def drawn_change(draw: random.Random) -> str:
    """A command that may fail, for its paths are drawn."""
    form = draw.choice(CHANGES)
    path, other, number = drawn_path(draw), drawn_path(draw), draw.randint(0, 9)
    above = path.rpartition("/")[0] or "."
    return form.format(path=path, other=other, number=number, above=above)


def drawn_image(seed: int, folder: Path) -> str:
    """A script: an image of several layers, its tree as podman merges it, and what podman saves."""
    draw, name = random.Random(seed), f"localhost/drawn{seed}"
    # An image has `usr`, by which weft knows a root.
    parts = [f"cd {folder}\nmkdir -p base/usr\ntar -C base -cf base.tar .\n"]
    parts.append(f"podman import --quiet base.tar {name}:0 || exit")
    for number in range(N_LAYERS):
        changes = "\n".join(drawn_change(draw) for _ in range(N_CHANGES))
        parts.append(LAYER.format(name=name, number=number, next=number + 1, changes=changes))
    return "".join([*parts, MERGED.format(name=name, number=N_LAYERS, folder=folder)])


def real_entries(root: Path) -> Iterator[tuple[str, str]]:
    """Each folder, each link with its target, and each library with its content."""
    for above, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = Path(above, name)
            shown = f"/{path.relative_to(root)}"
            if path.is_symlink():
                yield shown, f"link to {os.readlink(path)}"
            elif path.is_dir():
                yield shown, "folder"
            elif name.endswith(".so"):
                yield shown, path.read_text()


def seen_entries(tree: Tree, folder: str = "") -> Iterator[tuple[str, str]]:
    """The same of weft's tree."""
    for name in tree.names(folder or "/"):
        path = f"{folder}/{name}"
        node = tree.node(path)
        assert node is not None
        if node.kind is NodeKind.LINK:
            yield path, f"link to {node.target}"
        elif node.kind is NodeKind.FOLDER:
            yield path, "folder"
            yield from seen_entries(tree, path)
        elif name.endswith(".so"):
            with tree.reader(path) as file:
                yield path, file.read().decode()


@pytest.mark.parametrize("seed", range(6))
def test_the_tree_is_podmans(node: PodmanNode, tmp_path: Path, seed: int) -> None:
    node.do(drawn_image(seed, tmp_path))
    real = dict(real_entries(tmp_path / "real"))
    assert {"folder", "/usr"} <= {*real, *real.values()}
    for saved in ("layout", "archive"):
        image = open_image(tmp_path / saved)
        try:
            assert dict(seen_entries(image.tree)) == real
        finally:
            image.close()
