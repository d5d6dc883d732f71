"""Images that a runtime of this machine knows by name."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

from weft.core.errors import InputError
from weft.core.process import CommandError, run_command
from weft.doctor.container.image.archive import open_archive
from weft.doctor.container.image.image import EXPECTED, ContainerImage, open_image
from weft.doctor.container.image.unpacked import own_folder

_SCHEMES = ("docker", "dockerd", "podman", "oras", "library", "shub", "http", "https")
_ASK_S = 60.0
"""podman answers within 0.1 s (measured), and waits where another podman holds its storage."""
_SAVE_S = 3600.0
"""It copies the image: 36 GB at 10 MB/s, of a slow network disk."""


def open_name(name: str) -> ContainerImage:
    """An image that podman has, or a container of enroot. Raises InputError where no runtime of
    this machine has it."""
    if name.partition(":/")[0] in _SCHEMES:
        address = name.replace(":/", "://", 1)
        hint = f"fetch it first: apptainer pull IMAGE.sif {address}, or enroot import {address}"
        raise InputError("no such image here", where=name, expected=EXPECTED, hint=hint)
    asked, closed = [], ""
    stored = _stored_by_enroot()
    if stored is not None and "/" not in name:
        try:
            if (stored / name).is_dir():
                return open_image(stored / name)
            asked.append("enroot")
        except PermissionError:
            closed = f"; this user may not look into {stored} of enroot"
    if shutil.which("podman") and not name.startswith(("/", ".", "-")):
        asked.append("podman")
        if _code(["podman", "image", "exists", name], name, _ASK_S) == 0:
            return _saved(name)
    verb = "have" if len(asked) > 1 else "has"
    whose = f"{' and '.join(asked)} of this machine {verb} none of that name"
    knows = (f"; {whose}" if asked else "") + closed
    hint = "save an image that a runtime holds: podman save --format oci-dir -o DIR NAME"
    raise InputError(f"no such image{knows}", where=name, expected=EXPECTED, hint=hint)


def _stored_by_enroot() -> Path | None:
    """The folder of enroot's containers, None without enroot or without a home."""
    if shutil.which("enroot") is None:
        return None
    given, data = os.environ.get("ENROOT_DATA_PATH"), os.environ.get("XDG_DATA_HOME")
    if given:
        return Path(given)
    try:
        return Path(data or Path.home() / ".local/share") / "enroot"
    except RuntimeError:
        # Neither HOME nor an entry in the list of users.
        return None


def _saved(name: str) -> ContainerImage:
    """The image, written by podman into a folder of our own."""
    folder = own_folder()
    try:
        path = folder / "image.tar"
        argv = ["podman", "save", "--quiet", "--format", "docker-archive", "-o", str(path), name]
        _code(argv, name, _SAVE_S)
        found = open_archive(path, name)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise

    def close() -> None:
        found.close()
        shutil.rmtree(folder, ignore_errors=True)

    return replace(found, kind="image of podman", close=close)


def _code(argv: list[str], name: str, timeout_s: float) -> int:
    """The exit code of podman. Raises InputError where it fails otherwise than by saying no."""
    try:
        end = run_command(argv, timeout_s=timeout_s)
    except CommandError as error:
        raise InputError(f"podman fails ({error})", where=name, expected=EXPECTED) from error
    if end.code not in (0, 1) or (end.code and argv[1] == "save"):
        hint = f"try it: {' '.join(argv)}"
        what = f"podman fails ({end.last_line})"
        raise InputError(what, where=name, expected=EXPECTED, hint=hint)
    return end.code
