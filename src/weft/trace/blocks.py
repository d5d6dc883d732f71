"""Collectives whose blocks differ, as messages of one rank."""

from collections.abc import Sequence

from weft.core.errors import InputError

Messages = list[tuple[list[int], list[tuple[int, int]]]]
"""Rounds, each waited for: the places to receive from; the places to send to, with bytes."""


def messages_of(name: str, blocks: Sequence[Sequence[int]], place: int, root: int) -> Messages:
    """The messages of the rank at `place` in a collective of `len(blocks)` ranks; `blocks` are the
    bytes that each rank wrote down (docs/reference/trace.md). Empty blocks are not sent.

    SOURCE: MPICH 4 and Open MPI 4: gatherv and scatterv are linear, alltoallv posts everything at
    once, allgatherv of many ranks is a ring.
    Raises InputError where the ranks wrote down too few blocks.
    """
    n = len(blocks)
    needed = {"gatherv": range(n), "scatterv": (root,), "allgatherv": (place,)}
    for rank in needed.get(name, range(n)):
        least = 1 if name == "gatherv" else n
        if len(blocks[rank]) < least:
            raise InputError(
                f"{name} with {len(blocks[rank])} blocks at the rank at place {rank}",
                expected=f"{least} or more",
            )
    if name == "gatherv":
        return _gathered([own[0] for own in blocks], place, root)
    if name == "scatterv":
        return _scattered(blocks[root], place, root)
    if name == "allgatherv":
        return _ring(blocks[place], place)
    others = [(place + step) % n for step in range(1, n)]
    # Written down is what each rank receives: that is known in place, too.
    receives = [other for other in reversed(others) if blocks[place][other]]
    sends = [(other, blocks[other][place]) for other in others if blocks[other][place]]
    return [(receives, sends)]


def _gathered(blocks: Sequence[int], place: int, root: int) -> Messages:
    if place != root:
        return [([], [(root, blocks[place])] if blocks[place] else [])]
    return [([other for other, size in enumerate(blocks) if other != root and size], [])]


def _scattered(blocks: Sequence[int], place: int, root: int) -> Messages:
    if place != root:
        return [([root] if blocks[place] else [], [])]
    return [([], [(other, size) for other, size in enumerate(blocks) if other != root and size])]


def _ring(blocks: Sequence[int], place: int) -> Messages:
    n = len(blocks)
    right, left = (place + 1) % n, (place - 1) % n
    rounds: Messages = []
    for step in range(n - 1):
        sent, received = blocks[(place - step) % n], blocks[(left - step) % n]
        rounds.append(([left] if received else [], [(right, sent)] if sent else []))
    return rounds
