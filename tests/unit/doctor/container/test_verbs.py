"""The chain over InfiniBand: libibverbs, the driver of the same rdma-core, the device."""

import shutil
from pathlib import Path

import pytest
from tests.unit.doctor.container.container_cases import judged, need_gcc, verdict_of
from tests.unit.doctor.container.container_trees import (
    LIBRARY_FOLDER,
    NCCL_SOURCE,
    SlingshotNode,
    compile_library,
)

from weft.core.finding import Severity

VERBS = "int ibv_get(void) { return 0; }"
VERSIONS = "IBVERBS_1.1 { ibv_get; }; IBVERBS_PRIVATE_%s { ibv_own; };"


@pytest.fixture
def node(tmp_path: Path) -> SlingshotNode:
    """An image with rdma-core 44, and a host with one adapter."""
    need_gcc()
    node = SlingshotNode(tmp_path)
    node.add_libc(node.image)
    own = node.image / LIBRARY_FOLDER
    compile_library(own / "libnccl.so.2", NCCL_SOURCE.replace("%s", "2.18.3"))
    source = f"{VERBS} int ibv_own(void) {{ return 0; }}"
    verbs = compile_library(own / "libibverbs.so.1", source, versions=VERSIONS % "34")
    driver = own / "libibverbs/libmlx5-rdmav34.so"
    compile_library(driver, "int ibv_get(void); int use(void) { return ibv_get(); }", needs=[verbs])
    SlingshotNode.add_file(node.host / "dev/infiniband/uverbs0")
    return node


def script(node: SlingshotNode, text: str = "") -> Path:
    path = node.folder / "job.sh"
    path.write_text(f"{text}srun --container-image=i ./a\n")
    return path


def test_a_whole_stack_is_good(node: SlingshotNode) -> None:
    case, chain = judged(node.image, node.host, script=script(node))
    assert (chain.verdict(), chain.fabric) == (Severity.GOOD, "infiniband")
    assert [one.name for one in chain.links][1:3] == ["libibverbs", "driver mlx5"]
    assert case.devices("/dev/infiniband/uverbs") == ("/dev/infiniband/uverbs0",)


def test_no_libibverbs(node: SlingshotNode) -> None:
    (node.image / LIBRARY_FOLDER / "libibverbs.so.1").unlink()
    found = verdict_of(node.image, node.host, script=script(node))
    assert found == (Severity.BAD, {"verbs-absent"})


def test_a_driver_of_another_rdma_core(node: SlingshotNode) -> None:
    """Only half of the host's rdma-core was mounted: the driver says 59, libibverbs 34."""
    folder = node.image / LIBRARY_FOLDER / "libibverbs"
    (folder / "libmlx5-rdmav34.so").rename(folder / "libmlx5-rdmav59.so")
    _, chain = judged(node.image, node.host, script=script(node))
    (fault,) = chain.faults
    assert fault.rule.id == "driver-missing"
    assert "libmlx5-rdmav34.so" in fault.happens
    assert "(libmlx5-rdmav59.so is of another rdma-core)" in fault.happens


def test_a_container_without_the_device(node: SlingshotNode) -> None:
    path = node.folder / "job.sh"
    path.write_text("podman run i ./a\n")
    found = verdict_of(node.image, node.host, script=path)
    assert found == (Severity.BAD, {"device-missing"})
    path.write_text("podman run --device /dev/infiniband/uverbs0 i ./a\n")
    assert verdict_of(node.image, node.host, script=path) == (Severity.GOOD, set())


def test_debians_own_rdma_core_is_a_pair(node: SlingshotNode) -> None:
    """A real one: its libibverbs finds its own driver, and nothing else is missing below it."""
    real = Path("/") / LIBRARY_FOLDER
    if not list(real.glob("libibverbs/libmlx5-rdmav*.so")):
        pytest.skip("needs libibverbs1 and ibverbs-providers of Debian")
    own = node.image / LIBRARY_FOLDER
    shutil.rmtree(own / "libibverbs")
    for pattern in ("libibverbs.so.1", "libnl-3.so.200", "libnl-route-3.so.200", "libmlx5.so.1"):
        shutil.copy(real / pattern, own / pattern)
    shutil.copytree(real / "libibverbs", own / "libibverbs")
    assert verdict_of(node.image, node.host, script=script(node)) == (Severity.GOOD, set())
