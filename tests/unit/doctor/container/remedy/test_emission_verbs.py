"""`--emit` for InfiniBand and EFA: devices for an image with rdma-core, else a whole rdma-core."""

import os
import shutil
from pathlib import Path
from typing import BinaryIO

import pytest
from tests.unit.doctor.container.container_cases import need_gcc, verdict_of
from tests.unit.doctor.container.container_trees import (
    LIBRARY_FOLDER,
    NCCL_SOURCE,
    PLUGIN_SOURCE,
    SlingshotNode,
    compile_library,
)
from tests.unit.doctor.container.remedy.emissions import remedy_of, written
from tests.unit.doctor.container.remedy.verbs_trees import EFA_LIBFABRIC_SOURCE, add_rdma_core

from weft.core.errors import InputError, MissingError
from weft.core.finding import Severity
from weft.doctor.container.image import view
from weft.doctor.container.loader.elf import ElfFacts
from weft.doctor.container.remedy.additions import FOLDER
from weft.doctor.container.remedy.emission_forms import FORMS

GOOD = (Severity.GOOD, set())


@pytest.fixture
def node(tmp_path: Path) -> SlingshotNode:
    """An image with NCCL alone, and a host with rdma-core 50 and one adapter."""
    need_gcc()
    node = SlingshotNode(tmp_path)
    for root in (node.image, node.host):
        node.add_libc(root)
    source = NCCL_SOURCE.replace("%s", "2.18.3")
    compile_library(node.image / LIBRARY_FOLDER / "libnccl.so.2", source)
    add_rdma_core(node.host, LIBRARY_FOLDER, "50")
    for name in ("uverbs0", "rdma_cm"):
        SlingshotNode.add_file(node.host / "dev/infiniband" / name)
    return node


@pytest.mark.parametrize("form", FORMS)
def test_rdma_core_comes_as_a_whole(node: SlingshotNode, tmp_path: Path, form: str) -> None:
    assert verdict_of(node.image, node.host)[1] >= {"verbs-absent"}
    remedy = remedy_of(node.image, node.host, form)
    targets = {one.target for one in remedy.added.mounts}
    whole = {f"{FOLDER}/libibverbs.so.1", f"{FOLDER}/libmlx5-rdmav50.so", "/etc/libibverbs.d"}
    assert whole <= targets
    assert verdict_of(node.image, node.host, **written(remedy, tmp_path)) == GOOD


@pytest.mark.parametrize("name", ["libibverbs.so.1", "libibverbs/libmlx5-rdmav50.so"])
@pytest.mark.parametrize("has_own", [True, False])
def test_an_odd_library_of_the_host_is_said_and_not_refused(
    node: SlingshotNode, monkeypatch: pytest.MonkeyPatch, name: str, has_own: bool
) -> None:
    if has_own:
        add_rdma_core(node.image, LIBRARY_FOLDER, "34")
    odd = (node.host / LIBRARY_FOLDER / name).stat().st_ino
    before = view.read_elf

    def read_elf(file: BinaryIO, path: str) -> ElfFacts:
        if os.fstat(file.fileno()).st_ino == odd:
            raise InputError("more names than weft takes", where=path)
        return before(file, path)

    monkeypatch.setattr(view, "read_elf", read_elf)
    if has_own:
        assert remedy_of(node.image, node.host, "podman").chain.verdict() is Severity.GOOD
        return
    with pytest.raises(MissingError) as caught:
        remedy_of(node.image, node.host, "podman")
    assert "more names than weft takes" in str(caught.value)


@pytest.mark.parametrize("form", ["podman", "docker", "cdi", "sarus", "edf"])
def test_an_image_with_rdma_core_gets_devices_only(
    node: SlingshotNode, tmp_path: Path, form: str
) -> None:
    add_rdma_core(node.image, LIBRARY_FOLDER, "34")
    remedy = remedy_of(node.image, node.host, form)
    assert not remedy.added.mounts
    paths = [one.path for one in remedy.added.devices]
    assert paths == ["/dev/infiniband/uverbs0", "/dev/infiniband/rdma_cm"]
    assert verdict_of(node.image, node.host, **written(remedy, tmp_path)) == GOOD


def test_half_of_another_rdma_core_is_replaced_by_a_whole_one(node: SlingshotNode) -> None:
    add_rdma_core(node.image, LIBRARY_FOLDER, "34")
    folder = node.image / LIBRARY_FOLDER / "libibverbs"
    (folder / "libmlx5-rdmav34.so").rename(folder / "libmlx5-rdmav22.so")
    remedy = remedy_of(node.image, node.host, "podman")
    assert remedy.chain.verdict() is Severity.GOOD
    assert f"{FOLDER}/libmlx5-rdmav50.so" in {one.target for one in remedy.added.mounts}


def test_a_network_that_is_switched_off_is_switched_on(node: SlingshotNode, tmp_path: Path) -> None:
    add_rdma_core(node.image, LIBRARY_FOLDER, "34")
    script = tmp_path / "job.sh"
    script.write_text(
        "export NCCL_IB_DISABLE=1\nexport NCCL_NET=Socket\nsrun --container-image=i ./a\n"
    )
    remedy = remedy_of(node.image, node.host, "pyxis", script=script)
    assert remedy.chain.verdict() is Severity.GOOD
    found = {one.name: one.value for one in remedy.added.variables}
    assert found == {"NCCL_NET": "IB", "NCCL_IB_DISABLE": "0"}


def test_without_rdma_core_anywhere_it_is_refused(node: SlingshotNode) -> None:
    shutil.rmtree(node.host / LIBRARY_FOLDER / "libibverbs")
    with pytest.raises(MissingError, match=r"libibverbs\.so\.1 with its driver mlx5 was not found"):
        remedy_of(node.image, node.host, "podman")


def test_efa_brings_its_driver_with_libfabric(node: SlingshotNode, tmp_path: Path) -> None:
    """libibverbs opens the driver at run time: no file needs it by name."""
    verbs = add_rdma_core(node.host, LIBRARY_FOLDER, "50", "efa")
    own = node.host / "opt/amazon/efa/lib"
    efa = compile_library(own / "libefa.so.1", "int efa_open(void) { return 0; }", needs=[verbs])
    fabric = compile_library(own / "libfabric.so.1", EFA_LIBFABRIC_SOURCE, needs=[efa])
    plugin = node.host / "opt/amazon/ofi-nccl/lib/libnccl-net.so"
    compile_library(plugin, PLUGIN_SOURCE % 6, needs=[fabric])
    SlingshotNode.add_file(node.host / "sys/class/infiniband/rdmap0s6")
    remedy = remedy_of(node.image, node.host, "podman", recipe="aws-p5")
    targets = {one.target.rpartition("/")[2] for one in remedy.added.mounts}
    libraries = {"libnccl-net-ofi.so", "libfabric.so.1", "libefa.so.1", "libibverbs.so.1"}
    assert targets >= {*libraries, "libefa-rdmav50.so", "libibverbs.d"}
    assert verdict_of(node.image, node.host, **written(remedy, tmp_path)) == GOOD
    # Without its driver, libfabric of the host is half of what EFA needs.
    shutil.rmtree(node.host / LIBRARY_FOLDER / "libibverbs")
    with pytest.raises(MissingError, match="and the driver efa"):
        remedy_of(node.image, node.host, "podman", recipe="aws-p5")
