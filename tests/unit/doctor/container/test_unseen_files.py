"""What weft may not see, or looks at no further, is said: UNKNOWN, or refused by its name."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.doctor.container.container_cases import MOUNTS, PATH, judged, need_gcc
from tests.unit.doctor.container.container_trees import SlingshotNode, compile_library

from weft.cli import run
from weft.core.errors import InputError
from weft.core.finding import Severity
from weft.doctor.container.image import view
from weft.doctor.container.image.tree import FolderTree
from weft.doctor.container.image.view import View
from weft.doctor.container.loader import closure
from weft.doctor.container.loader.elf import MOST_NAMES_BYTES, read_elf

LAUNCH = (f"LD_LIBRARY_PATH={PATH}", "NCCL_NET_PLUGIN=ofi")


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "job.sh"
    lines = [*(f"export {one}" for one in LAUNCH), f"srun --container-image=i "
             f"--container-mounts={','.join(MOUNTS)} ./a", ""]  # fmt: skip
    path.write_text("\n".join(lines))
    return path


def forbid(patch: pytest.MonkeyPatch, name: str, hides: Callable[[str], bool]) -> None:
    """A function of `os` is not allowed for the paths that are hidden."""
    before = getattr(os, name)

    def refuse(path: str) -> object:
        if hides(str(path)):
            raise PermissionError(13, "Permission denied", str(path))
        return before(path)

    patch.setattr(os, name, refuse)


def test_a_library_that_a_closed_folder_could_hold_is_not_called_missing(
    node: SlingshotNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = tmp_path / "job.sh"
    job.write_text("srun --container-image=i ./a\n")
    _, chain = judged(node.image, node.host, script=job)
    assert chain.verdict() is Severity.BAD
    forbid(monkeypatch, "scandir", lambda path: path.endswith("/usr/lib"))
    _, chain = judged(node.image, node.host, script=job)
    assert chain.verdict() is Severity.UNKNOWN
    assert any("/usr/lib, which this user may not list" in one.unknown for one in chain.gaps)


def test_a_path_that_this_user_may_not_look_at_leaves_the_verdict_open(
    node: SlingshotNode, script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, chain = judged(node.image, node.host, script=script)
    assert chain.verdict() is Severity.GOOD
    plugins = f"{node.host}/opt/ofi/"
    forbid(monkeypatch, "lstat", lambda it: it.startswith(plugins) and "ofi.so" not in it)
    _, chain = judged(node.image, node.host, script=script)
    assert chain.verdict() is Severity.UNKNOWN
    assert any("this user may not look at it" in one.unknown for one in chain.gaps)


def test_libraries_beside_a_mounted_program_are_none_of_the_job(
    node: SlingshotNode, script: Path
) -> None:
    case, _ = judged(node.image, node.host, script=script)
    assert any(one.path == "/opt/ofi/libnccl-net-ofi.so" for one in case.walked)
    own = replace(case, own_mounts=("/opt/ofi",))
    left = [one.path for one in case.walked if not one.path.startswith("/opt/ofi/")]
    assert [one.path for one in own.walked] == left


def test_a_walk_that_is_cut_leaves_what_it_did_not_find_open(
    node: SlingshotNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = tmp_path / "job.sh"
    job.write_text("srun --container-image=i ./a\n")
    monkeypatch.setattr(view, "MOST_WALKED", 3)
    _, chain = judged(node.image, node.host, script=job)
    assert chain.verdict() is Severity.UNKNOWN
    assert any("of which weft looked at 3 entries" in one.unknown for one in chain.gaps)


def test_an_image_that_this_user_may_not_read_is_refused(
    node: SlingshotNode, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def listdir(path: Path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "listdir", listdir)
    assert run(["doctor", "container", str(node.image)]) == 2
    assert f"{node.image}: Permission denied" in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"", b"no library", b"\x7fELF" + bytes(60)])
def test_a_broken_loader_of_the_image_gives_no_verdict(
    tmp_path: Path, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    need_gcc()
    own = SlingshotNode(tmp_path).build()
    loader = own.image / "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"
    loader.write_bytes(content)
    assert run(["doctor", "container", str(own.image), "--host", str(own.host)]) == 5
    assert "UNKNOWN  cannot tell: how the image loads libraries" in capsys.readouterr().out


def test_a_run_path_of_more_than_a_page_is_read_whole(tmp_path: Path) -> None:
    """As Spack writes it: a folder for each library."""
    need_gcc()
    folders = [f"/opt/spack/linux/library-{number:04}-{'h' * 32}/lib" for number in range(200)]
    path = compile_library(
        tmp_path / "a.so", "int a;", options=[f"-Wl,--enable-new-dtags,-rpath,{':'.join(folders)}"]
    )
    with path.open("rb") as file:
        assert (read_elf(file, "a.so").runpath or "").split(":") == folders


def test_a_library_with_more_names_than_weft_takes_is_refused(tmp_path: Path) -> None:
    need_gcc()
    names = [f"/{number:04}{'n' * 4000}" for number in range(MOST_NAMES_BYTES // 4000)]
    options = [f"-Wl,-rpath,{':'.join(names[:30])}"]
    path = compile_library(tmp_path / "a.so", "int a;", options=options)
    with path.open("rb") as file, pytest.raises(InputError, match="more names than weft takes"):
        read_elf(file, "a.so")


def test_more_libraries_than_a_process_has_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_gcc()
    root = tmp_path / "root"
    SlingshotNode.add_libc(root)
    below = None
    for number in range(8):
        path = root / f"usr/lib/lib{number}.so"
        below = compile_library(path, "int a;", needs=[below] if below else [])
    from weft.doctor.container.loader.directories import Directories

    seen = View(FolderTree(root))
    loader = closure.Loader(seen, Directories(seen, "x86_64"))
    assert loader.run("/usr/lib/lib7.so").is_whole
    monkeypatch.setattr(closure, "MOST_LOADED", 4)
    with pytest.raises(InputError, match="it needs too many libraries"):
        loader.run("/usr/lib/lib7.so")
    monkeypatch.setattr(closure, "MOST_LOADED", 1024)
    monkeypatch.setattr(closure, "MOST_TRIED", 4)
    with pytest.raises(InputError, match="it needs too many libraries"):
        loader.run("/usr/lib/lib7.so")
