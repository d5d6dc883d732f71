"""Specifications of the Container Device Interface: the edits that a device brings.

SOURCE: cncf-tags/container-device-interface 05ae4b5, SPEC.md, version 1.1.0.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft.core.documents.text_file import read_text_file
from weft.core.errors import InputError
from weft.doctor.container.launch.devices import passed_device
from weft.doctor.container.launch.environment import Values, read_pairs
from weft.doctor.container.launch.mounts import BindMount
from weft.doctor.container.launch.mpi_hook import MpiHook

MOST_BYTES = 4 << 20
EXPECTED = "a specification of the Container Device Interface: cdiVersion, kind, devices"
_ANCHOR = re.compile(r"(?m)(?:^|[\s\[,:-])[&*][\w-]")
_LINKER_HOOKS = ("update-ldcache", "ldconfig")


@dataclass(frozen=True, slots=True)
class ContainerEdits:
    """What the specification adds. `linker_folders` are those that a hook gives to ldconfig;
    `hooks` are programs whose work no file tells. `answered` are the devices asked for that it
    has, `lost` those of its kind that it has not."""

    mounts: tuple[BindMount, ...] = ()
    variables: Values = ()
    devices: tuple[str, ...] = ()
    linker_folders: tuple[str, ...] = ()
    hooks: tuple[str, ...] = ()
    answered: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    mpi_hooks: tuple[MpiHook, ...] = ()


def read_cdi(path: Path, asked: Sequence[str] = ()) -> ContainerEdits:
    """The edits of the devices that are asked for, each as `KIND=NAME`. Where none of them is of
    the file's kind: those of `all` where it has one, else of each.

    Raises InputError where it is no such document.
    """
    text = read_text_file(path, expected=EXPECTED, most_bytes=MOST_BYTES)
    return edits_of(text, str(path), asked)


def edits_of(text: str, name: str, asked: Sequence[str] = ()) -> ContainerEdits:
    """As `read_cdi`, of a text with the name of its file."""
    table = table_of(text, name, EXPECTED)
    devices = table.get("devices")
    if not isinstance(table.get("cdiVersion"), str) or not isinstance(devices, list):
        raise InputError("no cdiVersion or no devices", where=name, expected=EXPECTED)
    every = [one for one in devices if isinstance(one, dict)]
    begin = f"{table.get('kind')}="
    wanted = {one.removeprefix(begin) for one in asked if one.startswith(begin)}
    chosen = [one for one in every if one.get("name") in (wanted or {"all"})]
    lost = wanted - {one.get("name") for one in chosen}
    if lost:
        # SOURCE: podman 4.3.1: "unresolvable CDI devices", and no container starts.
        return ContainerEdits(lost=tuple(sorted(f"{begin}{one}" for one in lost)))
    parts = [one.get("containerEdits") for one in (table, *(chosen or every))]
    edits = [one for one in parts if isinstance(one, dict)]
    where = name.rpartition("/")[2]
    hooks = [hook for one in edits for hook in _hooks(one)]
    return ContainerEdits(
        tuple(mount for one in edits for mount in _mounts(one, where)),
        tuple(pair for one in edits for pair in read_pairs(texts_in(one.get("env")), where)),
        tuple(path for one in edits for path in _devices(one) if path),
        tuple(folder for _, args in hooks for folder in _folders(args)),
        tuple(path for path, args in hooks if not _folders(args)),
        answered=tuple(sorted(f"{begin}{one}" for one in wanted)),
    )


def table_of(text: str, where: str, expected: str) -> Mapping[str, Any]:
    """The table of a document in JSON or YAML. Raises InputError where it is none."""
    import yaml

    is_json = text.lstrip().startswith("{")
    if not is_json and _ANCHOR.search(text):
        # A list of lists of the same anchors would be read for hours.
        raise InputError("it has anchors of YAML", where=where, expected=expected)
    try:
        table = json.loads(text) if is_json else yaml.load(text, yaml.CSafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        first = str(error).partition("\n")[0]
        raise InputError(f"no JSON or YAML ({first})", where=where, expected=expected) from error
    if not isinstance(table, dict):
        raise InputError("it is no table of keys", where=where, expected=expected)
    return table


def _tables(value: object) -> Iterator[Mapping[str, Any]]:
    return (one for one in (value if isinstance(value, list) else ()) if isinstance(one, dict))


def texts_in(value: object) -> Iterator[str]:
    """The texts of a list, none of anything else."""
    return (one for one in (value if isinstance(value, list) else ()) if isinstance(one, str))


def _mounts(edits: Mapping[str, Any], where: str) -> Iterator[BindMount]:
    for one in _tables(edits.get("mounts")):
        source, target = one.get("hostPath"), one.get("containerPath")
        if isinstance(source, str) and isinstance(target, str):
            yield BindMount(source, target, where)


def _devices(edits: Mapping[str, Any]) -> Iterator[str]:
    """The device files that keep their path; a folder is no device node."""
    for one in _tables(edits.get("deviceNodes")):
        path = one.get("path")
        if isinstance(path, str) and one.get("hostPath") in (None, "", path):
            yield passed_device(path)


def _hooks(edits: Mapping[str, Any]) -> Iterator[tuple[str, Sequence[str]]]:
    for one in _tables(edits.get("hooks")):
        path = one.get("path")
        if isinstance(path, str):
            yield path, tuple(texts_in(one.get("args")))


def _folders(args: Sequence[str]) -> tuple[str, ...]:
    """The folders that a hook such as `nvidia-cdi-hook update-ldcache --folder F` adds."""
    if not any(one in _LINKER_HOOKS for one in args):
        return ()
    found = options_in(args, ("--folder", "--folders"))
    return tuple(value for _, value in found if value.startswith("/"))


def options_in(args: Iterable[str], names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Options of a program with their values: `--name=value`, or in two words."""
    words = iter(args)
    for one in words:
        name, equals, value = one.partition("=")
        if name in names:
            yield name, value if equals else next(words, "")
