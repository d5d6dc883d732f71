"""GPUDirect RDMA over verbs: peer memory of the host's kernel, else DMA-BUF by the image."""

import pytest
from tests.unit.doctor.container.container_cases import judged, need_gcc
from tests.unit.doctor.container.container_trees import (
    LIBRARY_FOLDER,
    NCCL_SOURCE,
    SlingshotNode,
    compile_library,
)
from tests.unit.doctor.container.remedy.verbs_trees import add_rdma_core, verbs_source

from weft.core.finding import Severity

OLD = ("kernel/mm/memory_peers/nv_mem", "kernel/mm/memory_peers/nvidia-peermem")
NEW = ("kernel/mm/memory_peers/nv_mem", "module/nvidia_peermem")
"""Below /sys, as libnccl 2.18.3 and 2.26.5 have them (tests/oracle/test_nccl_gdrcopy.py)."""
RULE = "gpu-memory-unregistered"
NEWER = "IBVERBS_1.1 { ibv_get; }; IBVERBS_1.12 { ibv_more; }; IBVERBS_PRIVATE_34 { ibv_own; };"


@pytest.fixture
def node(tmp_path_factory: pytest.TempPathFactory) -> SlingshotNode:
    """A host with NVIDIA's driver and without peer memory; verbs of before DMA-BUF."""
    need_gcc()
    node = SlingshotNode(tmp_path_factory.mktemp("node"))
    node.add_libc(node.image)
    add_rdma_core(node.image, LIBRARY_FOLDER, "34")
    for name in ("dev/infiniband/uverbs0", "sys/module/nvidia/version"):
        SlingshotNode.add_file(node.host / name)
    (node.host / "sys/module/ib_uverbs").mkdir()
    add_nccl(node, NEW)
    return node


def add_nccl(
    node: SlingshotNode, signs: tuple[str, ...], names: str = "NCCL_DMABUF_ENABLE"
) -> None:
    texts = [f'"/sys/{one}/version"' for one in signs] + [f'"{names}"']
    source = NCCL_SOURCE.replace("%s", "2.26.5") + f"const char *m[] = {{{', '.join(texts)}}};"
    compile_library(node.image / LIBRARY_FOLDER / "libnccl.so.2", source)


def warning(node: SlingshotNode, exports: str = "") -> str:
    """What happens, "" without a warning of this rule."""
    path = node.folder / "job.sh"
    path.write_text(f"{exports}\nsrun --container-image=i ./a\n")
    _, chain = judged(node.image, node.host, script=path)
    assert chain.verdict() is Severity.GOOD
    return next((one.happens for one in chain.warnings if one.rule.id == RULE), "")


def add_newer_verbs(node: SlingshotNode) -> None:
    source = verbs_source("34", LIBRARY_FOLDER) + "int ibv_more(void) { return 0; }"
    path = node.image / LIBRARY_FOLDER / "libibverbs.so.1"
    compile_library(path, source, versions=NEWER)


def test_old_verbs_of_the_image_and_no_peer_memory(node: SlingshotNode) -> None:
    happens = warning(node)
    assert "the host's kernel has no nvidia_peermem" in happens
    assert "has no ibv_reg_dmabuf_mr (IBVERBS_1.12)" in happens


def test_peer_memory_of_the_host_is_enough(node: SlingshotNode) -> None:
    SlingshotNode.add_file(node.host / f"sys/{NEW[1]}/version")
    assert warning(node) == ""


def test_verbs_with_dma_buf_are_enough(node: SlingshotNode) -> None:
    add_newer_verbs(node)
    assert warning(node) == ""
    assert "NCCL_DMABUF_ENABLE=0" in warning(node, "export NCCL_DMABUF_ENABLE=0")
    assert warning(node, "export NCCL_DMABUF_ENABLE=1") == ""


def test_an_nccl_that_knows_no_dma_buf(node: SlingshotNode) -> None:
    add_newer_verbs(node)
    add_nccl(node, NEW, "NCCL_OTHER")
    assert "NCCL 2.26.5 knows no DMA-BUF" in warning(node)


def test_an_nccl_that_looks_elsewhere(node: SlingshotNode) -> None:
    SlingshotNode.add_file(node.host / f"sys/{NEW[1]}/version")
    add_nccl(node, OLD)
    assert "the host has it elsewhere" in warning(node)
    SlingshotNode.add_file(node.host / f"sys/{OLD[1]}/version")
    assert warning(node) == ""


@pytest.mark.parametrize("name", ["nvidia", "ib_uverbs"])
def test_a_host_whose_modules_are_not_known_is_not_judged(node: SlingshotNode, name: str) -> None:
    path = node.host / "sys/module" / name
    path.rename(path.with_name("other"))
    assert warning(node) == ""


def test_an_nccl_whose_signs_are_not_known_is_not_judged(node: SlingshotNode) -> None:
    add_nccl(node, ())
    assert warning(node) == ""
