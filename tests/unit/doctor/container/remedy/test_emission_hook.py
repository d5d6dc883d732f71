"""`--emit cdi` on a host with a hook that updates ld.so.cache: used only where the cache suffices,
as a real ldconfig and a real ld.so say."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import jsonschema
import pytest
from tests.needs import need
from tests.unit.doctor.container.container_cases import need_gcc, verdict_of
from tests.unit.doctor.container.container_trees import (
    LIBRARY_FOLDER,
    NCCL_SOURCE,
    PLUGIN_SOURCE,
    SlingshotNode,
    compile_library,
)
from tests.unit.doctor.container.real_loader import real_loads
from tests.unit.doctor.container.remedy.cdi_schemas import CDI_SCHEMA, published_validator
from tests.unit.doctor.container.remedy.emissions import remedy_of, written
from tests.unit.doctor.container.remedy.verbs_trees import add_rdma_core

from weft.core.finding import Severity
from weft.doctor.container.remedy.additions import FOLDER
from weft.doctor.container.remedy.search import ContainerRemedy

SYSTEM = "/usr/sbin:/sbin:/usr/bin:/bin"


def with_cache(node: SlingshotNode) -> None:
    """The host has the hook, and the image the cache that it updates, as images of NVIDIA have."""
    SlingshotNode.add_file(node.host / "usr/bin/nvidia-cdi-hook")
    text = "include /etc/ld.so.conf.d/*.conf\n"
    SlingshotNode.add_file(node.image / "etc/ld.so.conf", text)
    SlingshotNode.add_file(node.image / "etc/ld.so.conf.d/00-nvcr-1.conf", f"{FOLDER}\n")
    update(node.image)


def update(root: Path) -> None:
    """What the hook does: all that ldconfig writes is below the root."""
    need("ldconfig", package="libc-bin", path=SYSTEM)
    tool = str(shutil.which("ldconfig", path=SYSTEM))
    subprocess.run([tool, "-r", str(root), "-f", "/etc/ld.so.conf"], check=True)


def edits_of(remedy: ContainerRemedy) -> dict[str, object]:
    document = json.loads(remedy.emission.text)
    jsonschema.validate(document, CDI_SCHEMA)
    return document["devices"][0]["containerEdits"]


def apply(node: SlingshotNode, remedy: ContainerRemedy) -> None:
    for one in remedy.added.mounts:
        target = node.image / one.target.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(node.host / one.source.lstrip("/"), target)


def test_a_plugin_with_another_soname_takes_library_path(
    node: SlingshotNode, tmp_path: Path
) -> None:
    """The cache has libnccl-net.so, and NCCL asks for libnccl-net-ofi.so."""
    with_cache(node)
    remedy = remedy_of(node.image, node.host, "cdi")
    edits = edits_of(remedy)
    assert "hooks" not in edits
    assert f"LD_LIBRARY_PATH={FOLDER}" in edits["env"]
    assert verdict_of(node.image, node.host, **written(remedy, tmp_path)) == (Severity.GOOD, set())


def test_a_plugin_whose_soname_is_its_name_takes_the_cache(
    node: SlingshotNode, tmp_path: Path
) -> None:
    with_cache(node)
    plugin = node.host / "opt/ofi/libnccl-net-ofi.so"
    compile_library(plugin, PLUGIN_SOURCE % 6, needs=[node.host / "opt/libfabric/libfabric.so.1"])
    remedy = remedy_of(node.image, node.host, "cdi")
    edits = edits_of(remedy)
    (hook,) = edits["hooks"]
    assert hook["args"] == ["nvidia-cdi-hook", "update-ldcache", "--folder", FOLDER]
    assert edits["env"] == ["NCCL_NET_PLUGIN=ofi"]
    assert verdict_of(node.image, node.host, **written(remedy, tmp_path)) == (Severity.GOOD, set())
    if os.geteuid() != 0:
        pytest.skip("chroot needs root")
    apply(node, remedy)
    update(node.image)
    program = compile_library(node.image / "a.so", "int a;", needs=[plugin])
    found = real_loads(f"/{program.name}", {}, node.image)
    assert found.paths["libnccl-net-ofi.so"] == f"{FOLDER}/libnccl-net-ofi.so"
    assert "not found" not in found.paths.values()


def test_a_hook_is_valid_by_the_published_schema(node: SlingshotNode) -> None:
    validator = published_validator()
    with_cache(node)
    plugin = node.host / "opt/ofi/libnccl-net-ofi.so"
    compile_library(plugin, PLUGIN_SOURCE % 6, needs=[node.host / "opt/libfabric/libfabric.so.1"])
    document = json.loads(remedy_of(node.image, node.host, "cdi").emission.text)
    validator.validate(document)
    (hook,) = document["devices"][0]["containerEdits"]["hooks"]
    del hook["path"]
    assert not validator.is_valid(document)


def test_an_image_without_a_cache_takes_library_path(node: SlingshotNode) -> None:
    """Releases of the hook differ where there is no cache to update."""
    with_cache(node)
    plugin = node.host / "opt/ofi/libnccl-net-ofi.so"
    compile_library(plugin, PLUGIN_SOURCE % 6, needs=[node.host / "opt/libfabric/libfabric.so.1"])
    (node.image / "etc/ld.so.cache").unlink()
    remedy = remedy_of(node.image, node.host, "cdi")
    assert remedy.chain.verdict() is Severity.GOOD
    assert "hooks" not in edits_of(remedy)


def test_a_driver_with_another_soname_takes_library_path(tmp_path: Path) -> None:
    """As Debian has it: libmlx5-rdmav34.so is a link to a library that calls itself
    libmlx5.so.1, and the cache has no other name of it."""
    need_gcc()
    node = SlingshotNode(tmp_path / "node")
    for root in (node.image, node.host):
        node.add_libc(root)
    nccl = NCCL_SOURCE.replace("%s", "2.18.3")
    compile_library(node.image / LIBRARY_FOLDER / "libnccl.so.2", nccl)
    verbs = add_rdma_core(node.host, LIBRARY_FOLDER, "34")
    driver = node.host / LIBRARY_FOLDER / "libibverbs/libmlx5-rdmav34.so"
    source = "int ibv_get(void); int use(void) { return ibv_get(); }"
    compile_library(driver, source, needs=[verbs], soname="libmlx5.so.1")
    SlingshotNode.add_file(node.host / "dev/infiniband/uverbs0")
    with_cache(node)
    remedy = remedy_of(node.image, node.host, "cdi")
    assert remedy.chain.verdict() is Severity.GOOD
    edits = edits_of(remedy)
    assert "hooks" not in edits
    assert edits["env"] == [f"LD_LIBRARY_PATH={FOLDER}"]
