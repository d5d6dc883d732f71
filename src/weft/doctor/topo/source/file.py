"""A file of facts: which tool wrote it, and the node that it describes."""

from pathlib import Path

from weft.core.documents.text_file import read_text_file, read_text_input
from weft.doctor.topo.node import Node
from weft.doctor.topo.source.hwloc import node_of_hwloc
from weft.doctor.topo.source.lspci import node_of_lspci

MOST_BYTES = 16 << 20
EXPECTED = "the output of 'lspci -Dvvnn', 'lspci -Dvmmnn' or 'lstopo --of xml'"


def node_of_file(path: Path) -> Node:
    """The node; '-' is standard input. Raises InputError where the file cannot be read, or has
    no device."""
    if str(path) == "-":
        text = read_text_input(expected=EXPECTED, most_bytes=MOST_BYTES, as_it_is=True)
        return node_of_text(text.removeprefix("\ufeff"), "standard input")
    text = read_text_file(path, expected=EXPECTED, most_bytes=MOST_BYTES, as_it_is=True)
    return node_of_text(text.removeprefix("\ufeff"), str(path))


def node_of_text(text: str, where: str) -> Node:
    """The node of a text; XML is hwloc's. Raises InputError."""
    read = node_of_hwloc if text.lstrip().startswith("<") else node_of_lspci
    return read(text, where)
