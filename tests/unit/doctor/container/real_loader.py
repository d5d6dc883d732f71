"""The oracle of the loader: this machine's own ld.so, which lists what it would load."""

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from weft.doctor.container.loader.closure import Closure

LD_SO = "/lib64/ld-linux-x86-64.so.2"
_LINE = re.compile(r"^\t(?:(\S+) => )?(not found|/\S+|\S+)", re.M)
_VERSION = re.compile(r"version `([^']+)' not found \(required by ([^)]+)\)")


@dataclass(frozen=True)
class Loads:
    """By name the path, "not found" for what is missing; versions that are missing, with the file
    that asks for each; and whether the loader ended at a file."""

    paths: dict[str, str]
    versions: frozenset[tuple[str, str]]
    is_ended: bool


def real_loads(program: str, env: dict[str, str], root: Path | None = None) -> Loads:
    """What ld.so itself says, inside a root where one is given."""
    traced = {**env, "LD_TRACE_LOADED_OBJECTS": "1"}

    def enter() -> None:
        if root is not None:
            os.chroot(root)
        os.chdir("/")

    end = subprocess.run(
        [LD_SO, program], capture_output=True, text=True, env=traced, preexec_fn=enter, check=False
    )
    paths: dict[str, str] = {}
    for found in _LINE.finditer(end.stdout):
        name, path = found[1] or found[2], found[2]
        # A program that preloads itself under another name is listed, and loaded once.
        is_itself = root is None and os.path.realpath(path) == os.path.realpath(program)
        if "vdso" not in name and "ld-linux" not in name and not is_itself:
            paths[name] = path
    is_ended = "error while loading shared libraries" in end.stderr
    return Loads(paths, frozenset(_VERSION.findall(end.stderr)), is_ended)


def found_loads(closure: Closure) -> Loads:
    """The same of weft's loader."""
    paths = {}
    for one in closure.files[1:]:
        if one.by != "the loader" and "ld-linux" not in one.name:
            paths[one.name] = one.opened
    is_ended = any(one.reason for one in closure.missing)
    for lost in closure.missing:
        paths[lost.name] = "not found"
    versions = {(one.version, one.asked_by.opened) for one in closure.versions if one.is_fatal}
    return Loads(paths, frozenset(versions), is_ended)
