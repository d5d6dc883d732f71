"""Opening the FILES of `weft fabric`: an unreadable file is an error, its problems are printed."""

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.cli.output import talk
from weft.cli.progress.verb_phases import verb_phases
from weft.core.documents.document_text import MOST_JSON_BYTES
from weft.core.documents.text_file import open_file, read_file_bytes
from weft.core.errors import InputError
from weft.core.units import refuse_unusable
from weft.topology.fabric import Fabric
from weft.topology.subnet.subnet import Subnet, is_parsed_at_once
from weft.topology.subnet.summary import reading_problems

if TYPE_CHECKING:
    from weft.catalog.machine.platform import Platform
    from weft.topology.fabric_spec import Document

MOST_PRINTED = 5
_DOCUMENT = "a fabric in JSON, or files that a tool wrote"
_HEAD_BYTES = 4096
_OPEN = ("/dev/fd/", "/proc/")
"""Where the system keeps the open files of a process."""


READ_S, READ_JSON_S, DESCRIBE_S, THEN_S = 0.6, 1.3, 0.2, 0.9
"""The ratio of the times of weft's start with reading, of the description, and of what most verbs
do then, for the bar: seconds of `weft fabric audit` and `show` of Frontera's 8,008 nodes, 3.3 MB of
ibsim's net file and 28 MB of JSON (measured)."""


def open_subnet(files: Sequence[str], then_s: float = THEN_S) -> Subnet:
    """The subnet of the files; `then_s`: what the verb takes then, where reading takes READ_S, or
    READ_JSON_S.
    Raises InputError where none of them was understood."""
    read_s = READ_JSON_S if is_parsed_at_once(files) else READ_S
    begin = verb_phases("examining the fabric", read=read_s, describe=DESCRIBE_S, then=then_s)
    subnet = Subnet.read(files)
    begin("describe")
    sources = subnet.description["sources"]
    begin("then")
    if not any(source["format"] for source in sources):
        unread = subnet.description["unread"][0]
        raise InputError(
            f"weft cannot read this format: {unread['what'].strip()[:200]}",
            where=f"{sources[unread['place']['source']]['name']}:{unread['place']['line']}",
            expected=unread["expected"],
            hint="'weft fabric --help' lists the files that weft reads",
        )
    return subnet


def refuse_read_once(files: Iterable[str], option: str) -> None:
    """Files that an option reads more than once: a pipe holds nothing the second time. Raises
    InputError."""
    for file in files:
        path = Path(file)
        if file == "-" or (path.exists() and not path.is_file() and not path.is_dir()):
            raise InputError(
                "this is read more than once, and is no file but a pipe or a device",
                where=f"{option} {file}",
                expected="files",
                hint="write its output into a file first",
            )


def refuse_named_pipes(files: Iterable[str], option: str) -> None:
    """Refuse a named pipe: it may have no writer. Open pipes, as `<(zcat FILE)` gives them, are
    read. Raises InputError."""
    for file in files:
        if Path(file).is_fifo() and not file.startswith(_OPEN):
            raise InputError(
                "this is a named pipe: a check would wait for whoever writes into it",
                where=f"{option} {file}",
                expected=f"files, or pipes that are open: {option} <(zcat FILE)",
            )


def say_problems(subnet: Subnet) -> list[str]:
    """Print guesses and problems of reading on standard error; returns all problems."""
    for guess in subnet.description["assumed"]:
        talk(f"weft: assumed: {guess}")
    problems = reading_problems(subnet.description)
    for problem in problems[:MOST_PRINTED]:
        talk(f"weft: {problem}")
    if len(problems) > MOST_PRINTED:
        talk(f"weft: ... and {len(problems) - MOST_PRINTED} more: weft fabric show --format json")
    return problems


def fabric_of_files(files: Sequence[str], platform: "Platform | None" = None) -> "Document":
    """The whole fabric document of files: one of weft's own, or what tools printed.

    Its differences from the files are printed on standard error. Raises InputError.
    """
    return read_fabric_files(files, platform)[0]


def read_fabric_files(
    files: Sequence[str], platform: "Platform | None" = None
) -> "tuple[Document, Subnet | None]":
    """As `fabric_of_files`, with the subnet that tools printed."""
    from weft.topology.subnet_document import own_fabric

    if len(files) == 1 and (document := _own_document(files[0])) is not None:
        return dict(Fabric.with_tables(document).document), None
    subnet = open_subnet(files)
    say_problems(subnet)
    document, changed = own_fabric(subnet, Path(files[0]).stem or "fabric", platform)
    for sentence in changed:
        talk(f"weft: {sentence}")
    return document, subnet


def _begins_an_object(path: Path) -> bool:
    try:
        with open_file(path, expected=_DOCUMENT, most_bytes=sys.maxsize) as file:
            return file.read(_HEAD_BYTES).lstrip().startswith(b"{")
    except InputError:
        return False


def _own_document(path: str) -> dict[str, Any] | None:
    """A JSON object of weft's own schema, which may hold what no InfiniBand tool could print. A
    pipe is left to the readers: it can be read once. Raises InputError for one that is too
    large."""
    if not _begins_an_object(Path(path)):
        return None
    content = read_file_bytes(Path(path), expected=_DOCUMENT, most_bytes=MOST_JSON_BYTES)
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict) or not {"generate", "schema"} & set(document):
        return None
    refuse_unusable(document, path)
    return document
