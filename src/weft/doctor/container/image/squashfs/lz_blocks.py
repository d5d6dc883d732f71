"""Blocks that LZO and LZ4 pack: literals, and copies of what was written before.

weft has its own decoders: the bindings of PyPI to LZO are under the GPL, and Enroot packs with LZO.
Only tables, a few megabytes, and the blocks of a few libraries pass through them.
"""


def unpack_lzo(block: bytes, most_bytes: int) -> bytes:
    """A block of LZO1X. Raises ValueError where it is damaged or larger than `most_bytes`.

    SOURCE: Linux, Documentation/staging/lzo.rst, version 0 of the stream.
    """
    out = bytearray()
    try:
        at = _begin_lzo(block, out)
        # INVARIANT: `state` is the number of literals before an instruction, 4 for more than 3.
        state = min(at - 1, 4) if at else 0
        while True:
            code = block[at]
            at += 1
            if code < 16 and state == 0:
                number, at = _length(block, at, code, 15)
                at = _copy_literals(block, at, number + 3, out)
                state = 4
            else:
                length, distance, state, at = _copy_of(block, at, code, state)
                if distance == 0:
                    return bytes(out)
                _copy_back(out, distance, length, most_bytes)
                at = _copy_literals(block, at, state, out)
    except IndexError:
        raise ValueError("a block that ends too early") from None


def _begin_lzo(block: bytes, out: bytearray) -> int:
    """The literals that a first byte above 17 counts."""
    return _copy_literals(block, 1, block[0] - 17, out) if block[0] > 17 else 0


def _copy_of(block: bytes, at: int, code: int, state: int) -> tuple[int, int, int, int]:
    """(length, distance, literals behind it, next place); a distance of 0 ends the stream."""
    if code >= 64:
        length = (code >> 5) + 1 if code >= 128 else 3 + (code >> 5 & 1)
        return length, (block[at] << 3) + (code >> 2 & 7) + 1, code & 3, at + 1
    if code < 16:
        distance = (block[at] << 2) + (code >> 2)
        return (3, distance + 2049, code & 3, at + 1) if state == 4 else (
            2, distance + 1, code & 3, at + 1,
        )  # fmt: skip
    bits = 31 if code >= 32 else 7
    length, at = _length(block, at, code & bits, bits)
    operand = block[at] | block[at + 1] << 8
    distance = (operand >> 2) + 1
    if code < 32:
        far = ((code & 8) << 11) + (operand >> 2)
        distance = 16384 + far if far else 0
    return length + 2, distance, operand & 3, at + 2


def _length(block: bytes, at: int, number: int, otherwise: int) -> tuple[int, int]:
    """A number, or where it is 0 what the bytes behind it add to `otherwise`."""
    if number:
        return number, at
    start = at
    while block[at] == 0:
        at += 1
    return otherwise + 255 * (at - start) + block[at], at + 1


def unpack_lz4(block: bytes, most_bytes: int) -> bytes:
    """A block of LZ4. Raises ValueError where it is damaged or larger than `most_bytes`.

    SOURCE: lz4/lz4, doc/lz4_Block_format.md.
    """
    out = bytearray()
    at = 0
    try:
        while True:
            token = block[at]
            number, at = _extended(block, at + 1, token >> 4)
            at = _copy_literals(block, at, number, out)
            if at == len(block):
                return bytes(out)
            distance = block[at] | block[at + 1] << 8
            length, at = _extended(block, at + 2, token & 15)
            _copy_back(out, distance, length + 4, most_bytes)
    except IndexError:
        raise ValueError("a block that ends too early") from None


def _extended(block: bytes, at: int, number: int) -> tuple[int, int]:
    """A number of four bits; each byte of 255 behind 15 is followed by another one."""
    if number < 15:
        return number, at
    while block[at] == 255:
        number += 255
        at += 1
    return number + block[at], at + 1


def _copy_literals(block: bytes, at: int, number: int, out: bytearray) -> int:
    end = at + number
    if end > len(block):
        raise ValueError("a block that ends too early")
    out += block[at:end]
    return end


def _copy_back(out: bytearray, distance: int, length: int, most_bytes: int) -> None:
    """Append bytes of `distance` before the end; a copy longer than that repeats them."""
    if len(out) + length > most_bytes:
        raise ValueError("a block larger than it may be")
    start = len(out) - distance
    if start < 0 or distance == 0:
        raise ValueError("a copy of bytes before the block")
    if distance >= length:
        out += out[start : start + length]
    else:
        piece = bytes(out[start:])
        out += (piece * (length // distance + 1))[:length]
