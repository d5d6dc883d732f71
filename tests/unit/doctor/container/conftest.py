"""A node and an image for the tests of a container."""

import shutil
from pathlib import Path

import pytest
from tests.unit.doctor.container.container_cases import need_gcc
from tests.unit.doctor.container.container_trees import SlingshotNode
from tests.unit.doctor.container.mpi_node import MpiNode


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> SlingshotNode:
    """Of Slingshot, where nothing is missing; not to be changed."""
    need_gcc()
    return SlingshotNode(tmp_path_factory.mktemp("node")).build()


@pytest.fixture
def node(whole: SlingshotNode, tmp_path: Path) -> SlingshotNode:
    """The same as the test's own."""
    shutil.copytree(whole.folder, tmp_path / "node", symlinks=True)
    return SlingshotNode(tmp_path / "node")


@pytest.fixture
def mpi(node: SlingshotNode) -> MpiNode:
    return MpiNode(node)
