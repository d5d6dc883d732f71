"""The sizes of a collective from the bytes that its ranks sent and received.

An archive holds two sums of each rank. SOURCE of what they sum: score-p/scorep,
src/adapters/mpi/SCOREP_Mpi_Coll.c (a message to itself counts; n is the number of ranks):

| call | sent | received |
| broadcast | root: n x size, others 0 | size |
| reduce, gather | size | root: n x size, others 0 |
| scatter | root: n x size, others 0 | size |
| allreduce, allgather, alltoall, reduce_scatter_block | n x size | n x size |
| reduce_scatter | the whole vector | n x own block |
| scan, exscan | to itself and to all after it | from itself and all before it |
| gatherv | own block | root: all blocks |
| scatterv | root: all blocks | own block |
| allgatherv | n x own block | all blocks |
| alltoallv | its blocks | its blocks |

In place, n - 1 stands for n. EZTrace writes the size of one buffer instead of n of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

OPERATIONS = {
    0: "barrier",
    1: "broadcast",
    2: "gather",
    3: "gatherv",
    4: "scatter",
    5: "scatterv",
    6: "allgather",
    7: "allgatherv",
    8: "alltoall",
    9: "alltoallv",
    10: "alltoallv",
    11: "allreduce",
    12: "reduce",
    13: "reduce_scatter",
    14: "scan",
    15: "scan",
    16: "reduce_scatter",
}
"""Names by the number of the operation; what makes and frees handles is none of them.
SOURCE: OTF2 3, OTF2_Events.h."""
OF_ONE_BLOCK = 16
"""reduce_scatter_block."""


@dataclass(frozen=True, slots=True)
class Bytes:
    """What one rank sent and received."""

    sent: int
    received: int


def sizes(
    operation: int, parts: Sequence[Bytes], root: int, *, of_one_buffer: bool
) -> tuple[int | tuple[int, ...], ...]:
    """What each rank of a collective writes down: a size in bytes, or the blocks of a call whose
    blocks differ. `parts` are in the order of places; `of_one_buffer`: as EZTrace counts."""
    name, n = OPERATIONS[operation], len(parts)
    sent = [part.sent for part in parts]
    received = [part.received for part in parts]
    if name == "gatherv":
        return tuple((own,) for own in sent)
    if name == "scatterv":
        return tuple(tuple(received) if place == root else (received[place],) for place in range(n))
    if name == "allgatherv":
        blocks = tuple(sent if of_one_buffer else _own_blocks(sent, received))
        return (blocks,) * n
    if name == "alltoallv":
        return _columns(sent, received)
    if of_one_buffer:
        return (max([*sent, *received]),) * n
    return (_size(name, operation, parts, root),) * n


def _size(name: str, operation: int, parts: Sequence[Bytes], root: int) -> int:
    n = len(parts)
    others = [part for place, part in enumerate(parts) if place != root] or list(parts)
    whole = max(max(part.sent, part.received) for part in parts)
    if name == "broadcast":
        return max(part.received for part in parts) or whole // n
    if name in ("reduce", "gather"):
        return max(part.sent for part in others) or _of_one(whole, n)
    if name == "scatter":
        return max(part.received for part in others) or _of_one(whole, n)
    if name == "scan":
        return parts[0].received or parts[0].sent // max(1, n - 1)
    if name == "reduce_scatter":
        return _vector(operation, parts)
    return _of_one(whole, n)


def _of_one(whole: int, n: int) -> int:
    """One buffer of n, else of n - 1: the call was in place. A whole that both divide is of n."""
    return whole // n if whole % n == 0 or n == 1 else whole // (n - 1)


def _vector(operation: int, parts: Sequence[Bytes]) -> int:
    n = len(parts)
    whole = max(part.sent for part in parts)
    if operation == OF_ONE_BLOCK:
        return n * _of_one(whole, n)
    # In place each rank leaves its own block out, so that all n - 1 times are received.
    total = sum(part.received for part in parts)
    return whole if total == n * whole else total // max(1, n - 1)


def _own_blocks(sent: Sequence[int], received: Sequence[int]) -> list[int]:
    n = len(sent)
    blocks = [own // n for own in sent]
    # INVARIANT: not in place, each rank receives all blocks.
    return blocks if sum(blocks) == max(received) else [own // max(1, n - 1) for own in sent]


def _columns(sent: Sequence[int], received: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """What each rank receives from each other one. Only the sums are known: each rank divides what
    it receives among its senders in proportion to what they sent. Sums of columns are exact."""
    total = sum(sent)
    found = []
    for whole in received:
        blocks, before, given = [], 0, 0
        for own in sent:
            before += own
            upto = whole * before // total if total else 0
            blocks.append(upto - given)
            given = upto
        found.append(tuple(blocks))
    return tuple(found)
