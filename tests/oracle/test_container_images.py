"""Images of an older and of a newer Debian: their loader finds what their own ld.so finds, from
outside and inside with planted changes, and each form of an image gives the same answer."""

import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.needs import need
from tests.unit.doctor.container.container_cases import MOUNTS, PATH, need_gcc
from tests.unit.doctor.container.container_trees import (
    LIBRARY_FOLDER,
    NCCL_SOURCE,
    SlingshotNode,
    compile_library,
)
from tests.unit.doctor.container.real_loader import found_loads, real_loads
from tests.unit.doctor.container.test_loader import dynamic_files, planted, processor

from weft.cli import run as run_weft
from weft.doctor.container.image.tree import FolderTree
from weft.doctor.container.image.view import View
from weft.doctor.container.loader.closure import Loader
from weft.doctor.container.loader.directories import Directories

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

RELEASES = ("bullseye", "trixie")
"""glibc 2.31, before glibc-hwcaps, and 2.41, after the older folders; this machine's is between."""
FILES, CHANGES = 250, 50
ROOM = "weft"
"""A folder in an image for what a test makes there."""


def archive() -> str:
    """Where this machine's own packages come from."""
    told = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(SUITE) $(REPO_URI)"],
        capture_output=True,
        text=True,
        check=True,
    )
    for line in told.stdout.splitlines():
        suite, uri = line.split(maxsplit=1)
        if "-" not in suite:
            return uri
    pytest.skip("apt knows no archive of packages")


@pytest.fixture(scope="module", params=RELEASES)
def image(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The required packages of a release, not configured but for ldconfig."""
    need("debootstrap")
    need_gcc()
    if os.geteuid() != 0:
        pytest.skip("needs root: debootstrap makes devices")
    root = tmp_path_factory.mktemp("image") / request.param
    argv = ["debootstrap", "--foreign", "--variant=minbase", request.param, str(root), archive()]
    made = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=1200)
    if made.returncode != 0:
        pytest.skip(f"no packages of {request.param}: {made.stdout.strip().splitlines()[-1:]}")
    subprocess.run(["chroot", str(root), "/sbin/ldconfig"], check=True, timeout=60)
    (root / ROOM).mkdir()
    compile_library(root / ROOM / "libstub.so", "int stub;")
    return root


@pytest.fixture(scope="module")
def files(image: Path) -> list[str]:
    """Programs and libraries of the image, drawn by chance."""
    return inside(image, lambda: dynamic_files(1))[:FILES]


def loader_of(root: Path) -> Directories:
    return Directories(View(FolderTree(root)), "x86_64", processor())


def inside(root: Path, work: Callable[[], list[str]]) -> list[str]:
    """What a part of the loader's tests returns where the image is the whole machine."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(read)
            os.chroot(root)
            os.chdir(f"/{ROOM}")
            with os.fdopen(write, "w") as out:
                json.dump(work(), out)
            code = 0
        finally:
            os._exit(code)
    os.close(write)
    with os.fdopen(read) as told:
        text = told.read()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    found: list[str] = json.loads(text)
    return found


def differences(root: Path, files: list[str]) -> Iterator[str]:
    directories = loader_of(root)
    for program in files:
        real = real_loads(program, {}, root)
        own = found_loads(Loader(directories.view, directories, "", "").run(program))
        if real.is_ended or own.is_ended:
            if real.is_ended != own.is_ended:
                yield f"{program}: ended {real.is_ended}"
        elif real != own:
            yield f"{program}: {sorted(set(real.paths.items()) ^ set(own.paths.items()))}"


def test_programs_and_libraries_of_an_image_from_outside(image: Path, files: list[str]) -> None:
    assert len(files) == FILES
    assert list(differences(image, files)) == []


def test_the_release_of_glibc_is_the_one_that_the_library_prints(image: Path) -> None:
    path = loader_of(image).view.resolve("/lib/x86_64-linux-gnu/libc.so.6")
    assert path is not None
    argv = ["chroot", str(image), path.path]
    told = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60).stdout
    assert f"release version 2.{loader_of(image).glibc}.\n" in told


def test_planted_changes_inside(image: Path, files: list[str]) -> None:
    """12,500 answers of the image's own ld.so."""
    # Here, since an image has no /proc.
    directories = Directories(View(FolderTree(Path("/"))), "x86_64", processor())
    stub = Path(f"/{ROOM}/libstub.so")

    def work() -> list[str]:
        folder = Path(tempfile.mkdtemp(dir=f"/{ROOM}"))
        return planted(files, CHANGES, folder, stub, 4, directories)

    assert inside(image, work) == []


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> SlingshotNode:
    """A host whose plug-in and libfabric need no C library."""
    return SlingshotNode(tmp_path_factory.mktemp("node")).build()


@pytest.fixture(scope="module")
def forms(image: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The root of an image with NCCL in it, and what other tools make of that root, by form."""
    need("umoci", "skopeo")
    need("mksquashfs", package="squashfs-tools")
    folder = tmp_path_factory.mktemp("forms")
    root = folder / "root"
    made("cp", "-a", image, root)
    compile_library(root / LIBRARY_FOLDER / "libnccl.so.2", NCCL_SOURCE.replace("%s", "2.18.3"))
    layout, archive, squashfs = folder / "layout", folder / "one.tar", folder / "one.sqsh"
    made("umoci", "init", "--layout", layout)
    made("umoci", "new", "--image", f"{layout}:one")
    made("umoci", "insert", "--image", f"{layout}:one", root, "/")
    copy = ("skopeo", "--insecure-policy", "copy", "-q")
    made(*copy, f"oci:{layout}:one", f"docker-archive:{archive}:one:latest")
    made("mksquashfs", root, squashfs, "-noappend", "-quiet", "-no-progress")
    return {
        "root file system": root,
        "OCI layout": layout,
        "archive": archive,
        "squashfs": squashfs,
    }


def made(*words: str | Path) -> None:
    subprocess.run([str(one) for one in words], check=True, capture_output=True, timeout=600)


WHOLE = (
    *(word for one in MOUNTS for word in ("--mount", one)),
    *(word for n in range(4) for word in ("--mount", f"/dev/cxi{n}:/dev/cxi{n}")),
    *("--env", f"LD_LIBRARY_PATH={PATH}", "--env", "NCCL_NET_PLUGIN=ofi"),
)
LAUNCHES = {
    "nothing mounted": ((), {"plugin-not-mounted", "plugin-not-selected", "libfabric-absent"}),
    "all mounted": (WHOLE, set()),
}


def answer(
    capsys: pytest.CaptureFixture[str], image: Path, node: SlingshotNode, launch: Sequence[str]
) -> dict[str, Any]:
    """What the verb says of a launch, as JSON."""
    words = ["doctor", "container", str(image), "--host", str(node.host), *launch]
    run_weft([*words, "--format", "json"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def same_answers(
    capsys: pytest.CaptureFixture[str],
    forms: dict[str, Path],
    node: SlingshotNode,
    launch: Sequence[str],
) -> dict[str, Any]:
    """What weft says of the root; of every form it says the same."""
    found = {form: answer(capsys, image, node, launch) for form, image in forms.items()}
    for form, one in found.items():
        assert one.pop("kind") == form
        assert one.pop("image") == str(forms[form])
        for fault in one["faults"]:
            del fault["image"]
    root = found["root file system"]
    assert len(root["chain"]) > 1
    for form, one in found.items():
        assert one == root, form
    return root


@pytest.mark.parametrize("name", LAUNCHES)
def test_every_form_of_an_image_gives_the_same_answer(
    capsys: pytest.CaptureFixture[str],
    forms: dict[str, Path],
    node: SlingshotNode,
    name: str,
) -> None:
    launch, rules = LAUNCHES[name]
    root = same_answers(capsys, forms, node, launch)
    assert {fault["rule"] for fault in root["faults"]} == rules
    assert root["verdict"] == ("bad" if rules else "good")


def test_a_host_library_for_a_newer_glibc_breaks_in_every_form_of_the_older_image(
    capsys: pytest.CaptureFixture[str],
    forms: dict[str, Path],
    image: Path,
    tmp_path: Path,
) -> None:
    """SOURCE: glibc NEWS: libpthread's functions moved into libc with 2.34."""
    node = SlingshotNode(tmp_path).build()
    source = "int pthread_create(void); int cxil_open(void) { return pthread_create(); }"
    compile_library(node.host / "opt/libfabric/libcxi.so.1", source, options=["-lc"])
    root = same_answers(capsys, forms, node, WHOLE)
    faults = [(fault["rule"], fault["happens"]) for fault in root["faults"]]
    if image.name == "trixie":
        assert (root["verdict"], faults) == ("good", [])
    else:
        ((rule, happens), *_) = faults
        assert (root["verdict"], rule) == ("bad", "version-missing")
        assert "/opt/libfabric/libcxi.so.1 needs GLIBC_2.34" in happens
