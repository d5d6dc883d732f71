"""A Chakra trace on disk: NAME.0.et, NAME.1.et ... of a directory, one a GPU, and the groups of
their collectives.

Groups are a file of JSON beside them, {"1": [0, 1]} as ASTRA-sim takes it, or metadata nodes of
PyTorch. Collectives without `pg_name`, or of "0", are of all GPUs.

SOURCE: astra-sim/astra-sim, astra-sim/workload/Workload.cc (names of files, groups, pg_name).
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft.core.documents.text_file import read_file_bytes, read_text_file
from weft.core.errors import InputError
from weft.core.files import make_folder, write_part
from weft.trace.chakra.node import (
    METADATA,
    ChakraNode,
    decode_node,
    encode_metadata,
    version_of,
)
from weft.trace.chakra.wire import read_varint, varint

EXPECTED = "a Chakra trace: NAME.0.et, NAME.1.et ... in one directory"
NAME = re.compile(r"(.*)\.(\d{1,6})\.et")
MOST_BYTES = 256 << 20
MOST_GROUP_BYTES = 64 << 20
MOST_NODES = 4_000_000
MOST_GPUS = 65_536
GROUPS = "comm_group.json"


@dataclass(frozen=True, slots=True)
class ChakraTrace:
    """Nodes of each GPU, and the GPUs of each group by name; the version as the files say it."""

    path: Path
    gpus: tuple[tuple[ChakraNode, ...], ...]
    groups: Mapping[str, tuple[int, ...]]
    version: str

    @property
    def n_nodes(self) -> int:
        """Of all GPUs."""
        return sum(len(one) for one in self.gpus)


def is_chakra(path: Path) -> bool:
    """Whether a directory has files of a Chakra trace."""
    return path.is_dir() and any(NAME.fullmatch(one.name) for one in path.iterdir())


def read_chakra(path: Path) -> ChakraTrace:
    """The trace of a directory. Raises InputError."""
    gpus, versions, groups = [], [], _written_groups(path)
    n_nodes = 0
    for file in _files(path):
        content = read_file_bytes(file, expected=EXPECTED, most_bytes=MOST_BYTES)
        try:
            version, nodes = read_nodes(content)
        except InputError as error:
            raise InputError(
                error.what,
                where=str(file),
                expected=error.expected or EXPECTED,
                hint="the file is damaged, or of another format",
            ) from error
        n_nodes += len(nodes)
        if n_nodes > MOST_NODES:
            raise InputError(
                f"more than {MOST_NODES:,} nodes",
                where=str(file),
                expected="a shorter trace",
                hint="record fewer iterations, or fewer micro-batches",
            )
        gpus.append(tuple(nodes))
        versions.append(version)
        groups.update(_groups_of_metadata(nodes))
    for name, members in groups.items():
        if any(not 0 <= one < len(gpus) for one in members):
            raise InputError(
                f"group {name} has GPU {max(members)}",
                where=str(path),
                expected=f"GPUs 0 to {len(gpus) - 1}, one for each file",
            )
    return ChakraTrace(path, tuple(gpus), groups, versions[0])


def read_nodes(content: bytes) -> tuple[str, list[ChakraNode]]:
    """(version, nodes) of a file's bytes. Raises InputError."""
    at, version, nodes = 0, "", []
    is_first, numbers = True, set()
    while at < len(content):
        begin = at
        length, at = read_varint(content, at)
        if at + length > len(content):
            raise InputError(
                f"the message at byte {begin} has {length} bytes, the file {len(content) - at} more"
            )
        message = content[at : at + length]
        at += length
        found = version_of(message) if is_first else None
        is_first = False
        if found is not None:
            version = found
            continue
        node = decode_node(message)
        if node.number in numbers:
            raise InputError(f"two nodes {node.number}, the second at byte {begin}")
        numbers.add(node.number)
        nodes.append(node)
    return version, nodes


def write_chakra(
    folder: Path,
    name: str,
    gpus: Iterator[Sequence[bytes]],
    named: Mapping[tuple[int, ...], str],
) -> None:
    """Write a trace: the encoded nodes of each GPU, then the groups, by their GPUs, that have been
    named by then. Raises StorageError."""
    make_folder(folder, what="Chakra trace")
    for number, nodes in enumerate(gpus):
        parts = (varint(len(one)) + one for one in (encode_metadata(), *nodes))
        write_part(folder / f"{name}.{number}.et", parts, what="Chakra trace")
    text = json.dumps({name: list(members) for members, name in named.items()})
    write_part(folder / GROUPS, text + "\n", what="groups of a Chakra trace")


def _files(path: Path) -> list[Path]:
    found: dict[str, dict[int, Path]] = {}
    for one in path.iterdir():
        parts = NAME.fullmatch(one.name)
        if parts is not None:
            found.setdefault(parts[1], {})[int(parts[2])] = one
    if len(found) != 1:
        raise InputError(
            f"{len(found)} traces: {', '.join(sorted(found)[:4])}" if found else "no trace",
            where=str(path),
            expected=EXPECTED,
        )
    (files,) = found.values()
    lacking = next((n for n in range(max(files) + 1) if n not in files), None)
    if lacking is not None or len(files) > MOST_GPUS:
        what = f"no file of GPU {lacking}" if lacking is not None else f"{len(files)} GPUs"
        raise InputError(what, where=str(path), expected=f"{EXPECTED}, of at most {MOST_GPUS:,}")
    return [files[number] for number in range(len(files))]


def _written_groups(path: Path) -> dict[str, tuple[int, ...]]:
    """Of the one file of JSON in the directory; none without it."""
    files = sorted(path.glob("*.json"))
    if not files:
        return {}
    if len(files) > 1:
        raise InputError(
            f"{len(files)} files of JSON", where=str(path), expected=f"one at most: {GROUPS}"
        )
    text = read_text_file(files[0], expected="groups as JSON", most_bytes=MOST_GROUP_BYTES)
    try:
        return dict(_groups(json.loads(text)))
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"no groups: {error}",
            where=str(files[0]),
            expected='names with lists of GPUs, as {"1": [0, 1]}',
        ) from error


def _groups(document: Any) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Raises ValueError."""
    if not isinstance(document, dict):
        raise ValueError("not an object")
    for name, members in document.items():
        whole = isinstance(members, list) and all(
            isinstance(one, int) and not isinstance(one, bool) and one >= 0 for one in members
        )
        if not whole or not members or len(set(members)) < len(members):
            raise ValueError(f"group {name!r} is no list of different GPUs")
        yield str(name), tuple(members)


def _groups_of_metadata(nodes: Sequence[ChakraNode]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Process groups that PyTorch's traces have in a metadata node: a list with pg_name and ranks.
    Other metadata has none."""
    for node in nodes:
        if node.kind != METADATA or "pg_name" not in node.values:
            continue
        try:
            listed = json.loads(node.values)
            listed = json.loads(listed[0]) if isinstance(listed[0], str) else listed
            named = {str(one["pg_name"]): one["ranks"] for one in listed if one["ranks"]}
            yield from _groups(named)
        except (ValueError, KeyError, TypeError, IndexError, RecursionError):
            continue
