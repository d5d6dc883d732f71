"""Protobuf's wire format, as far as Chakra needs it: fields of a message, and back.

SOURCE: protobuf.dev, "Encoding": varints of 7 bits, the lowest first; a key is number x 8 + type;
types 0 (varint), 1 (8 bytes), 2 (length and bytes), 5 (4 bytes).
"""

from collections.abc import Iterator

from weft.core.errors import InputError

VARINT, EIGHT_BYTES, BYTES, FOUR_BYTES = 0, 1, 2, 5
MOST_VARINT_BYTES = 10
Value = int | bytes


def varint(number: int) -> bytes:
    """A number of 64 bits; a negative one as its two's complement."""
    number &= (1 << 64) - 1
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    found.append(number)
    return bytes(found)


def number_field(field: int, number: int) -> bytes:
    """A field of a varint."""
    return varint(field << 3 | VARINT) + varint(number)


def bytes_field(field: int, content: bytes) -> bytes:
    """A field of bytes, a text or a message."""
    return varint(field << 3 | BYTES) + varint(len(content)) + content


def read_varint(content: bytes, at: int) -> tuple[int, int]:
    """(number, where the next byte is). Raises InputError for one that does not end."""
    number = 0
    for place in range(MOST_VARINT_BYTES):
        if at + place >= len(content):
            break
        byte = content[at + place]
        number |= (byte & 127) << 7 * place
        if byte < 128:
            return number & (1 << 64) - 1, at + place + 1
    raise InputError(f"a number at byte {at} does not end", expected="a varint of protobuf")


def fields(content: bytes) -> Iterator[tuple[int, int, Value]]:
    """(number, type, value) of each field of a message. Raises InputError."""
    at = 0
    while at < len(content):
        key, at = read_varint(content, at)
        kind = key & 7
        if kind == VARINT:
            number, at = read_varint(content, at)
            yield key >> 3, kind, number
            continue
        if kind == BYTES:
            length, at = read_varint(content, at)
        elif kind in (EIGHT_BYTES, FOUR_BYTES):
            length = 8 if kind == EIGHT_BYTES else 4
        else:
            raise InputError(f"wire type {kind} at byte {at}", expected="0, 1, 2 or 5 of protobuf")
        if at + length > len(content):
            raise InputError(
                f"a field at byte {at} of {length} bytes goes beyond its message",
                expected=f"at most {len(content) - at}",
            )
        yield key >> 3, kind, content[at : at + length]
        at += length
