"""The loader of images of an older and of a newer Debian finds what their own ld.so finds: from
outside, as `weft doctor container` sees an image, and inside with planted changes."""

import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.needs import need
from tests.unit.doctor.container.container_cases import need_gcc
from tests.unit.doctor.container.container_trees import compile_library
from tests.unit.doctor.container.real_loader import found_loads, real_loads
from tests.unit.doctor.container.test_loader import dynamic_files, planted, processor

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


def test_planted_changes_inside(image: Path, files: list[str]) -> None:
    """12,500 answers of the image's own ld.so."""
    # Here, since an image has no /proc.
    directories = Directories(View(FolderTree(Path("/"))), "x86_64", processor())
    stub = Path(f"/{ROOM}/libstub.so")

    def work() -> list[str]:
        folder = Path(tempfile.mkdtemp(dir=f"/{ROOM}"))
        return planted(files, CHANGES, folder, stub, 4, directories)

    assert inside(image, work) == []
