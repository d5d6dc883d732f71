"""`--emit` on hosts that hold less, or other things, than a compute node: refused by name."""

import os
import shutil
from pathlib import Path

import pytest
from tests.unit.doctor.container.container_cases import run_doctor
from tests.unit.doctor.container.container_trees import (
    LIBRARY_FOLDER,
    PLUGIN_SOURCE,
    SlingshotNode,
    compile_library,
)
from tests.unit.doctor.container.image.image_archives import layer_of, oci_layout
from tests.unit.doctor.container.remedy.emissions import remedy_of

from weft.core.errors import MissingError
from weft.core.finding import Severity
from weft.doctor.container.image import view
from weft.doctor.container.loader.elf import MOST_NAMES_BYTES
from weft.doctor.container.remedy import search
from weft.doctor.container.remedy.search import MOST_TRIES

LOADER = f"{LIBRARY_FOLDER}/ld-linux-x86-64.so.2"
CONTENTS = {"absent": None, "empty": b"", "text": b"no library", "cut": b"\x7fELF" + bytes(60)}


def broken(root: Path, content: bytes | None) -> None:
    """The root's loader is of this content, or absent."""
    (root / LOADER).unlink()
    if content is not None:
        (root / LOADER).write_bytes(content)


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
@pytest.mark.parametrize("form", ["podman", "cdi"])
def test_a_host_whose_loader_is_not_whole_is_refused(
    node: SlingshotNode, content: bytes | None, form: str
) -> None:
    broken(node.host, content)
    with pytest.raises(MissingError, match="the host has no loader of glibc that is whole"):
        remedy_of(node.image, node.host, form)


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_an_image_whose_loader_is_not_whole_gets_no_verdict(
    node: SlingshotNode, content: bytes | None
) -> None:
    broken(node.image, content)
    assert run_doctor(node, "--emit", "podman") == 5
    # The configuration of an archive tells the architecture, whatever its loader is.
    archive = oci_layout(node.folder / "oci", [layer_of(node.image)])
    for image in (node.image, archive):
        remedy = remedy_of(image, node.host, "podman")
        assert remedy.chain.verdict() is Severity.UNKNOWN
        assert not remedy.added.mounts


def forbid(patch: pytest.MonkeyPatch, folder: Path) -> None:
    """This user may not list a folder."""
    before = os.scandir

    def refuse(path: str) -> object:
        if str(path) == str(folder):
            raise PermissionError(13, "Permission denied", str(path))
        return before(path)

    patch.setattr(os, "scandir", refuse)


def test_what_a_closed_folder_could_hold_is_not_called_absent(
    node: SlingshotNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(MissingError) as caught:
        remedy_of(node.image, node.image, "podman", recipe="alps-gh200")
    assert "not seen whole" not in caught.value.what
    monkeypatch.setattr(view, "MOST_WALKED", 3)
    with pytest.raises(MissingError) as caught:
        remedy_of(node.image, node.host, "podman")
    monkeypatch.undo()
    assert (
        "; not seen whole: the container's /, of which weft looked at 3 entries"
        in caught.value.what
    )
    forbid(monkeypatch, node.host / "opt/ofi")
    with pytest.raises(MissingError) as caught:
        remedy_of(node.image, node.host, "podman")
    assert caught.value.what == (
        "NCCL's plug-in for libfabric was not found, neither in the image nor on the host; "
        "not seen whole: the host's /opt/ofi, which this user may not list"
    )


def test_devices_that_a_closed_folder_could_hold_are_not_called_absent(
    node: SlingshotNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    forbid(monkeypatch, node.host / "dev")
    with pytest.raises(
        MissingError, match=r"cxi\* was not found.*: the host's /dev, which this user may"
    ):
        remedy_of(node.image, node.host, "podman", recipe="alps-gh200")


def other_plugins(node: SlingshotNode, number: int, interface: int) -> None:
    """Plug-ins in folders that come before the one of the node."""
    fabric = node.host / "opt/libfabric/libfabric.so.1"
    first = node.host / f"opt/ofi/{number}/libnccl-net-ofi.so"
    source = PLUGIN_SOURCE % interface
    compile_library(first, source, needs=[fabric], soname="libnccl-net.so")
    for one in range(1, number):
        (node.host / f"opt/ofi/{one}").mkdir()
        shutil.copy(first, node.host / f"opt/ofi/{one}/libnccl-net-ofi.so")


def test_many_plugins_of_another_interface_hide_none_that_fits(node: SlingshotNode) -> None:
    other_plugins(node, MOST_TRIES + 1, 9)
    remedy = remedy_of(node.image, node.host, "podman")
    assert remedy.chain.verdict() is Severity.GOOD
    assert remedy.added.mounts[0].source == "/opt/ofi/libnccl-net-ofi.so"


def test_a_plugin_of_another_interface_alone_is_called_so(node: SlingshotNode) -> None:
    other_plugins(node, 3, 9)
    (node.host / "opt/ofi/libnccl-net-ofi.so").unlink()
    remedy = remedy_of(node.image, node.host, "podman")
    assert [one.rule.id for one in remedy.chain.faults] == ["plugin-interface"]


def needs_a_newer_libc(node: SlingshotNode, path: str) -> None:
    """A library of the host needs more than any glibc has."""
    stand_in = node.folder / "libc.so.6"
    compile_library(stand_in, "int newer(void) { return 1; }", versions="GLIBC_2.99 { newer; };")
    source = "int newer(void); int cxil_open(void) { return newer(); }"
    compile_library(node.host / path, source, needs=[stand_in])


def test_choices_that_were_not_tried_leave_the_verdict_open(
    node: SlingshotNode, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    other_plugins(node, 4, 6)
    needs_a_newer_libc(node, "opt/libfabric/libcxi.so.1")
    assert remedy_of(node.image, node.host, "podman").chain.verdict() is Severity.BAD
    monkeypatch.setattr(search, "MOST_TRIES", 4)
    assert run_doctor(node, "--emit", "podman") == 5
    said = capsys.readouterr()
    assert not said.out
    assert "needs GLIBC_2.99" in said.err
    assert "unless other libraries of the host mend it" in said.err
    assert "note: the first 4 choices of libraries were tried, and there are more" in said.err


def test_an_odd_candidate_is_passed_over(node: SlingshotNode) -> None:
    """A library of a user's own whose path no option takes, and one that weft refuses to read."""
    shutil.copytree(node.host / "opt/ofi", node.host / "opt/ofi 9")
    names = [f"/{number:04}{'n' * 4000}" for number in range(MOST_NAMES_BYTES // 4000)]
    options = [f"-Wl,-rpath,{':'.join(names[:30])}"]
    compile_library(node.host / "opt/aaa/libfabric.so.9", "int a;", options=options)
    remedy = remedy_of(node.image, node.host, "podman")
    assert remedy.chain.verdict() is Severity.GOOD


def test_an_odd_candidate_that_could_be_the_right_one_leaves_the_verdict_open(
    node: SlingshotNode, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(node.host / "opt/libfabric", node.host / "opt/lib fabric")
    needs_a_newer_libc(node, "opt/libfabric/libcxi.so.1")
    assert run_doctor(node, "--emit", "podman") == 5
    said = capsys.readouterr()
    assert not said.out
    path = "/opt/lib fabric/libfabric.so.1"
    assert f"note: passed over: '{path}' cannot be written as a mount" in said.err
