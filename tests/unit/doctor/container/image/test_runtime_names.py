"""Images by their names in a runtime: stand-ins for podman and enroot on PATH."""

import tempfile
from pathlib import Path

import pytest
from tests.unit.doctor.container.image.image_archives import docker_archive, file, layer

from weft.core.errors import InputError
from weft.doctor.container.image.image import open_image

PODMAN = """#!/bin/sh
case "$*" in
"image exists known") exit 0 ;;
"image exists broken") echo no storage >&2; exit 125 ;;
"image exists full") exit 0 ;;
"image exists "*) exit 1 ;;
"save --quiet --format docker-archive -o "*" known") cp "$(dirname "$0")/image.tar" "$6" ;;
*) echo no space left >&2; exit 1 ;;
esac
"""


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty PATH but for /bin, and a temporary folder of the test's own."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    monkeypatch.chdir(tmp_path)
    return folder


def add(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(script)
    (folder / name).chmod(0o755)


def test_podman_saves_its_image_into_a_folder_that_is_removed(tools: Path) -> None:
    add(tools, "podman", PODMAN)
    docker_archive(tools / "image.tar", [layer([file("a.so", b"1")])], ["NCCL_NET=x"])
    image = open_image(Path("known"))
    assert (image.kind, image.name) == ("image of podman", "known")
    assert [(one.name, one.value) for one in image.variables] == [("NCCL_NET", "x")]
    with image.tree.reader("/a.so") as content:
        assert content.read() == b"1"
    image.close()
    assert list(Path(tempfile.gettempdir()).iterdir()) == []


@pytest.mark.parametrize(
    ("name", "words", "hint"),
    [
        ("other", "podman of this machine has none of that name", "podman save"),
        ("broken", "podman fails (no storage)", "podman image exists broken"),
        ("full", "podman fails (no space left)", "podman save --quiet"),
        ("-o", "no such image", "podman save"),
        ("docker://ubuntu", "no such image here", "apptainer pull IMAGE.sif docker://ubuntu"),
    ],
)
def test_a_name_that_podman_does_not_give(tools: Path, name: str, words: str, hint: str) -> None:
    add(tools, "podman", PODMAN)
    with pytest.raises(InputError) as caught:
        open_image(Path(name))
    assert words in caught.value.what
    assert hint in (caught.value.hint or "")
    assert list(Path(tempfile.gettempdir()).iterdir()) == []


def test_a_container_of_enroot_is_its_folder(tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add(tools, "enroot", "#!/bin/sh\n")
    (tools.parent / "stored/mine/usr").mkdir(parents=True)
    monkeypatch.setenv("ENROOT_DATA_PATH", str(tools.parent / "stored"))
    assert open_image(Path("mine")).kind == "root file system"
    (tools / "enroot").unlink()
    with pytest.raises(InputError, match="no such image"):
        open_image(Path("mine"))


def test_a_user_without_a_home_is_asked_for_no_folder(
    tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither HOME nor an entry in the list of users, as in many containers."""

    def home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    add(tools, "enroot", "#!/bin/sh\n")
    add(tools, "podman", PODMAN)
    monkeypatch.setattr(Path, "home", home)
    for name in ("ENROOT_DATA_PATH", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(InputError, match="no such image; podman of this machine has none"):
        open_image(Path("mine"))
    (tools.parent / "data/enroot/mine/usr").mkdir(parents=True)
    monkeypatch.setenv("XDG_DATA_HOME", str(tools.parent / "data"))
    assert open_image(Path("mine")).kind == "root file system"


def test_a_folder_of_enroot_that_this_user_may_not_see_is_named(
    tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(tools, "enroot", "#!/bin/sh\n")
    add(tools, "podman", PODMAN)
    monkeypatch.setenv("ENROOT_DATA_PATH", "/closed")
    before = Path.is_dir

    def is_dir(path: Path) -> bool:
        if str(path).startswith("/closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return before(path)

    monkeypatch.setattr(Path, "is_dir", is_dir)
    with pytest.raises(InputError) as caught:
        open_image(Path("mine"))
    assert caught.value.what == (
        "no such image; podman of this machine has none of that name; "
        "this user may not look into /closed of enroot"
    )


def test_two_runtimes_without_the_image(tools: Path) -> None:
    add(tools, "enroot", "#!/bin/sh\n")
    add(tools, "podman", PODMAN)
    with pytest.raises(
        InputError, match="enroot and podman of this machine have none of that name"
    ):
        open_image(Path("other"))
