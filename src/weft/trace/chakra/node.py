"""A node of a Chakra execution trace, read and written.

SOURCE: mlcommons/chakra, schema/protobuf/et_def.proto (schema version 0.0.4).
"""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from weft.core.errors import InputError
from weft.trace.chakra.wire import (
    BYTES,
    VARINT,
    Value,
    bytes_field,
    fields,
    number_field,
    read_varint,
)

SCHEMA_VERSION = "0.0.4"
METADATA, MEM_LOAD, MEM_STORE, COMP, SEND, RECV, COLLECTIVE = range(1, 8)
COLLECTIVES = (
    *("allreduce", "reduce", "allgather", "gather", "scatter", "broadcast", "alltoall"),
    *("reduce_scatter", "reduce_scatter", "barrier"),
)
"""By CollectiveCommType."""
Attribute = int | float | str | bool | tuple[bool, ...]
_SIGNED, _ZIGZAG, _PLAIN = {7, 9}, {15, 17}, {11, 13, 27}
_FIXED = {3: "<d", 5: "<f", 19: "<I", 21: "<Q", 23: "<i", 25: "<q"}
_BOOL, _BOOLS, _TEXT, _INT64 = 27, 28, 29, 9


@dataclass(frozen=True, slots=True)
class ChakraNode:
    """`needs`: nodes of the same GPU that must be over. `attributes` by name; `values` of its
    inputs, a text of JSON in metadata of PyTorch."""

    number: int
    name: str
    kind: int
    needs: tuple[int, ...] = ()
    duration_us: int = 0
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    values: str = ""

    def whole(self, name: str) -> int | None:
        """An attribute that is a whole number of 0 or more; None without it, or for another."""
        found = self.attributes.get(name)
        return found if isinstance(found, int) and found >= 0 else None


def encode_node(node: ChakraNode) -> bytes:
    """The message, without the length before it."""
    parts = [
        number_field(1, node.number),
        bytes_field(2, node.name.encode()),
        number_field(3, node.kind),
    ]
    if node.needs:
        packed = b"".join(number_varint(one) for one in node.needs)
        parts.append(bytes_field(5, packed))
    if node.duration_us:
        parts.append(number_field(7, node.duration_us))
    parts += [bytes_field(10, encode_attribute(*one)) for one in node.attributes.items()]
    return b"".join(parts)


def encode_attribute(name: str, value: Attribute) -> bytes:
    """An AttributeProto: numbers as int64, as Chakra's own generators write them."""
    text = bytes_field(1, name.encode())
    if isinstance(value, bool):
        return text + number_field(_BOOL, value)
    if isinstance(value, int):
        return text + number_field(_INT64, value)
    return text + bytes_field(_TEXT, str(value).encode())


def number_varint(number: int) -> bytes:
    """A number of a packed list."""
    return number_field(0, number)[1:]


def encode_metadata() -> bytes:
    """The first message of a file."""
    return bytes_field(1, SCHEMA_VERSION.encode())


def decode_node(content: bytes) -> ChakraNode:
    """A node. Raises InputError."""
    number = kind = duration_us = 0
    name = values = ""
    needs: list[int] = []
    attributes: dict[str, Attribute] = {}
    for place, wire, value in fields(content):
        if place in (4, 5):
            needs += _numbers(wire, value)
        elif isinstance(value, int):
            number = value if place == 1 else number
            kind = value if place == 3 else kind
            duration_us = value if place == 7 else duration_us
        elif wire == BYTES and place == 2:
            name = _text(value)
        elif wire == BYTES and place == 8:
            values = next((_text(v) for p, _, v in fields(value) if p == 1), "")
        elif wire == BYTES and place == 10:
            attributes.update(_attribute(value))
    return ChakraNode(number, name, kind, tuple(needs), duration_us, attributes, values)


def version_of(content: bytes) -> str | None:
    """The version of a GlobalMetadata; None of a message that is a node: its first field is a
    number. Raises InputError."""
    for place, wire, value in fields(content):
        if place == 1 and wire == VARINT:
            return None
        if place == 1:
            return _text(value)
    return ""


def _numbers(wire: int, value: Value) -> list[int]:
    """A repeated number, packed or not."""
    if isinstance(value, int):
        return [value]
    found, at = [], 0
    while wire == BYTES and at < len(value):
        number, at = read_varint(value, at)
        found.append(number)
    return found


def _text(value: Value) -> str:
    if isinstance(value, int):
        raise InputError("a number where a text was expected", expected="a field of bytes")
    return value.decode(errors="replace")


def _attribute(content: bytes) -> Iterator[tuple[str, Attribute]]:
    """(name, value), if the value is a number, a text or a list of truths."""
    name, found = "", None
    for place, _, value in fields(content):
        if place == 1:
            name = _text(value)
        elif isinstance(value, int):
            found = _whole(place, value)
        elif place in _FIXED and len(value) == struct.calcsize(_FIXED[place]):
            found = struct.unpack(_FIXED[place], value)[0]
        elif place == _TEXT:
            found = _text(value)
        elif place == _BOOLS:
            found = tuple(bool(one) for _, w, v in fields(value) for one in _numbers(w, v))
    if found is not None:
        yield name, found


def _whole(place: int, value: int) -> Attribute | None:
    if place == _BOOL:
        return bool(value)
    if place in _SIGNED:
        return value - (1 << 64) if value >> 63 else value
    if place in _ZIGZAG:
        return value >> 1 ^ -(value & 1)
    return value if place in _PLAIN else None
