"""A file of facts: which tool wrote it, and the node that it describes."""

from pathlib import Path

from weft.core.text_file import read_text_file, read_text_input
from weft.doctor.topo.node import Node
from weft.doctor.topo.source.facts import node_of
from weft.doctor.topo.source.hwloc import Hwloc
from weft.doctor.topo.source.lspci import read_lspci

MOST_BYTES = 16 << 20
EXPECTED = "what 'lspci -Dvvnn', 'lspci -Dvmmnn' or 'lstopo --of xml' wrote"


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
    if text.lstrip().startswith("<"):
        hwloc = Hwloc(text, where)
        return node_of(hwloc.facts, hwloc.cpus, hwloc.processor, where=where)
    return node_of(read_lspci(text, where), {}, {}, where=where)
