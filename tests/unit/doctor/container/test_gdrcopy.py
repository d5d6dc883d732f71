"""GDRCopy: who asks for it, which file that library opens, and the device. Names and versions as
NCCL's own libraries take them (tests/oracle/test_nccl_gdrcopy.py)."""

from pathlib import Path

import pytest
from tests.unit.doctor.container.container_cases import judged
from tests.unit.doctor.container.container_trees import (
    LIBFABRIC_SOURCE,
    LIBRARY_FOLDER,
    NCCL_SOURCE,
    SlingshotNode,
    compile_library,
)
from tests.unit.doctor.container.test_engine_launches import DEVICE, ENV, MOUNTS

from weft.core.finding import Severity

NAME = "libgdrapi.so"
NCCL = "-e NCCL_GDRCOPY_ENABLE=1"
UCX = "-e UCX_TLS=rc,cuda_copy,gdr_copy"
FABRIC = "-e FI_HMEM_CUDA_USE_GDRCOPY=1"
GIVEN = "--device /dev/gdrdrv"
NO_LIBRARY, NO_DEVICE = {"gdrcopy-library-missing"}, {"gdrcopy-device-missing"}


@pytest.fixture
def at_hand(node: SlingshotNode) -> SlingshotNode:
    """A node whose host has the device, and whose image has the library by both names."""
    SlingshotNode.add_file(node.host / "dev/gdrdrv")
    own = node.image / LIBRARY_FOLDER
    compile_library(own / f"{NAME}.2.4", "int gdr_open;", soname=f"{NAME}.2")
    (own / f"{NAME}.2").symlink_to(f"{NAME}.2.4")
    (own / NAME).symlink_to(f"{NAME}.2")
    return node


def warned(node: SlingshotNode, options: str, command: str = "podman run") -> set[str]:
    """The rules of the warnings; none of them changes the verdict."""
    path = node.folder / "job.sh"
    shared = "" if command == "srun" else "--ipc=host --network=host"
    path.write_text(f"{command} {shared} {MOUNTS} {DEVICE}{ENV} {options} i ./a\n")
    _, chain = judged(node.image, node.host, script=path)
    assert chain.verdict() is Severity.GOOD
    return {one.rule.id for one in chain.warnings}


def links(node: SlingshotNode, options: str) -> list[str]:
    """The links of the chain after a launch by podman."""
    path = node.folder / "job.sh"
    path.write_text(f"podman run {MOUNTS} {DEVICE}{ENV} {options} i ./a\n")
    return [one.name for one in judged(node.image, node.host, script=path)[1].links]


def add_ucx(node: SlingshotNode, *, has_module: bool) -> None:
    own = node.image / LIBRARY_FOLDER
    compile_library(own / "libucs.so.0", "int ucs;")
    if has_module:
        module = own / "ucx/libuct_cuda_gdrcopy.so.0"
        compile_library(module, "int uct;", needs=[own / f"{NAME}.2"])


@pytest.mark.parametrize("value", ["", "0", "2", "yes"])
def test_nccl_opens_it_for_the_number_1_only(node: SlingshotNode, value: str) -> None:
    """SOURCE: NVIDIA/nccl, src/init.cc: initGdrCopy."""
    assert warned(node, f"-e NCCL_GDRCOPY_ENABLE={value}") == set()


def test_who_asks_for_nothing_lacks_nothing(node: SlingshotNode) -> None:
    assert warned(node, "") == set()
    assert "GDRCopy" not in links(node, "")


def test_library_and_device_are_one_link(at_hand: SlingshotNode) -> None:
    assert warned(at_hand, f"{NCCL} {GIVEN}") == set()
    assert "GDRCopy" in links(at_hand, f"{NCCL} {GIVEN}")
    assert "GDRCopy" in links(at_hand, GIVEN)
    assert "GDRCopy" not in links(at_hand, "")


def test_a_library_without_the_device(at_hand: SlingshotNode) -> None:
    assert warned(at_hand, NCCL) == NO_DEVICE
    (at_hand.host / "dev/gdrdrv").unlink()
    assert warned(at_hand, NCCL) == NO_DEVICE


def test_the_device_without_a_library(at_hand: SlingshotNode) -> None:
    for name in (NAME, f"{NAME}.2", f"{NAME}.2.4"):
        (at_hand.image / LIBRARY_FOLDER / name).unlink()
    assert warned(at_hand, f"{NCCL} {GIVEN}") == NO_LIBRARY


def test_nccl_does_not_ask_for_the_numbered_name(at_hand: SlingshotNode) -> None:
    (at_hand.image / LIBRARY_FOLDER / NAME).unlink()
    path = at_hand.folder / "job.sh"
    path.write_text(f"podman run {MOUNTS} {DEVICE}{ENV} {NCCL} {GIVEN} i ./a\n")
    (one,) = (
        fault
        for fault in judged(at_hand.image, at_hand.host, script=path)[1].warnings
        if fault.rule.id in NO_LIBRARY
    )
    assert "asks for the name without a number" in one.happens
    assert one.fix.startswith("ln -s libgdrapi.so.2 ")


def test_a_version_that_nccl_passes_over_in_silence(at_hand: SlingshotNode) -> None:
    own = at_hand.image / LIBRARY_FOLDER
    (own / f"{NAME}.2.4").rename(own / f"{NAME}.2.0")
    (own / f"{NAME}.2").unlink()
    (own / f"{NAME}.2").symlink_to(f"{NAME}.2.0")
    assert warned(at_hand, f"{NCCL} {GIVEN}") == {"gdrcopy-too-old"}


def test_an_nccl_with_a_back_end_of_its_own_is_not_warned_of(node: SlingshotNode) -> None:
    own = node.image / LIBRARY_FOLDER
    source = NCCL_SOURCE.replace("%s", "2.18.3")
    source += 'const char *more = "NCCL_GDRCOPY_USE_INTERNAL_DMABUF";'
    compile_library(own / "libnccl.so.2", source)
    assert warned(node, NCCL) == set()


@pytest.mark.parametrize(
    ("has_module", "options", "expected"),
    [
        (True, f"{UCX} {GIVEN}", set()),
        (True, UCX, NO_DEVICE),
        (False, f"{UCX} {GIVEN}", NO_LIBRARY),
        (False, "-e UCX_TLS=^gdr_copy", set()),
        (False, "-e UCX_TLS=rc,cuda", set()),
    ],
)
def test_ucx_needs_its_module_and_the_device(
    at_hand: SlingshotNode, has_module: bool, options: str, expected: set[str]
) -> None:
    add_ucx(at_hand, has_module=has_module)
    assert warned(at_hand, options) == expected


def test_ucx_has_its_module_and_no_library(at_hand: SlingshotNode) -> None:
    add_ucx(at_hand, has_module=True)
    for name in (NAME, f"{NAME}.2"):
        (at_hand.image / LIBRARY_FOLDER / name).unlink()
    assert warned(at_hand, f"{UCX} {GIVEN}") == NO_LIBRARY


def test_libfabric_is_asked_by_a_word_and_opens_it_by_name(node: SlingshotNode) -> None:
    assert warned(node, FABRIC) == set()
    folder = node.host / "opt/libfabric"
    source = LIBFABRIC_SOURCE + 'const char *copy = "libgdrapi.so";'
    compile_library(folder / "libfabric.so.1", source, needs=[folder / "libcxi.so.1"])
    assert warned(node, FABRIC) == NO_LIBRARY | NO_DEVICE
    assert warned(node, "") == set()


def test_a_file_that_only_the_job_knows_is_no_reason_to_warn(
    node: SlingshotNode, tmp_path: Path
) -> None:
    path = tmp_path / "job.sh"
    path.write_text(f"podman run {MOUNTS} {DEVICE}{ENV} {NCCL} --mount $MORE i ./a\n")
    _, chain = judged(node.image, node.host, script=path)
    assert not {one.rule.id for one in chain.warnings} & (NO_LIBRARY | NO_DEVICE)
