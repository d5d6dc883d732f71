"""A tree of NCCL as a schedule in GOAL: a chain in each node, a binary tree between nodes.

Of the two channels of an adapter one has the first tree, the other the second: a node that has
others below it in one is a leaf in the other.

SOURCE: NVIDIA/nccl, src/graph/trees.cc (ncclGetBtree, ncclGetDtree) and src/enqueue.cc (sizes of
chunks), v2.18.3.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

MOST_CHUNK_BYTES = 524_288
"""An eighth of the buffer of a channel (NCCL_BUFFSIZE 4 MiB)."""
CHUNKS = ((8, 131_072), (4, 65_536), (1, 32_768))
"""A buffer of fewer chunks than a multiple of the tree's depth has smaller ones, down to these."""


@dataclass(slots=True)
class _Rank:
    """The operations of a rank, and by stream (kind, peer, tag) the last one of it."""

    lines: list[str] = field(default_factory=list)
    last: dict[tuple[str, int, int], str] = field(default_factory=dict)
    n: int = 0

    def add(self, kind: str, peer: int, tag: int, n_bytes: int, after: list[str]) -> str:
        label = f"o{self.n}"
        self.n += 1
        towards = "to" if kind == "send" else "from"
        self.lines.append(f"{label}: {kind} {n_bytes}b {towards} {peer} tag {tag}")
        stream = (kind, peer, tag)
        before = [*after, *([self.last[stream]] if stream in self.last else [])]
        self.lines += [f"{label} requires {other}" for other in dict.fromkeys(before)]
        self.last[stream] = label
        return label


def tree_schedule(n_nodes: int, per_node: int, n_bytes: int, *, second: bool, start_ns: int) -> str:
    """An allreduce of `n_bytes` over all ranks, node by node `per_node` of them, as GOAL's text;
    every rank computes for `start_ns` first."""
    ranks = [_Rank() for _ in range(n_nodes * per_node)]
    for rank in ranks:
        rank.lines.append(f"start: calc {start_ns}")
    for chunk in _chunks(n_bytes, n_nodes, per_node):
        _pass_on(ranks, n_nodes, per_node, chunk, second=second)
    text = [f"num_ranks {len(ranks)}"]
    for number, rank in enumerate(ranks):
        text += [f"rank {number} {{", *rank.lines, "}"]
    return "\n".join(text) + "\n"


def _chunks(n_bytes: int, n_nodes: int, per_node: int) -> Iterator[int]:
    """The sizes of the chunks."""
    depth = per_node - 1 + n_nodes.bit_length() - 1
    chunk = MOST_CHUNK_BYTES
    for multiple, least in CHUNKS:
        while n_bytes // chunk < depth * multiple and chunk > least:
            chunk //= 2
    whole, remainder = divmod(n_bytes, chunk)
    yield from [chunk] * whole
    if remainder:
        yield remainder


UP, DOWN = 0, 1
"""Tags of a chunk on its way to the root, and of its sum on the way back."""


def _pass_on(
    ranks: list[_Rank], n_nodes: int, per_node: int, n_bytes: int, *, second: bool
) -> None:
    """A chunk up to the root, and its sum down again."""
    for node in range(n_nodes):
        parent, children = neighbours(n_nodes, node, second=second)
        for place in range(per_node):
            own = node * per_node + place
            below = [own + 1] if place + 1 < per_node else []
            above: int | None = own - 1
            if place == 0:
                below += [child * per_node for child in children]
                above = None if parent is None else parent * per_node
            rank = ranks[own]
            summed = [rank.add("recv", peer, UP, n_bytes, ["start"]) for peer in below]
            done = summed or ["start"]
            if above is not None:
                rank.add("send", above, UP, n_bytes, done)
                done = [rank.add("recv", above, DOWN, n_bytes, ["start"])]
            for peer in below:
                rank.add("send", peer, DOWN, n_bytes, done)


def neighbours(n: int, node: int, *, second: bool) -> tuple[int | None, list[int]]:
    """(the node above, those below) in one of two binary trees: the second is the first one
    mirrored or, where the number of nodes is odd, shifted by one."""
    if not second:
        return _first_tree(n, node)
    if n % 2:
        parent, children = _first_tree(n, (node - 1) % n)
        return _moved(parent, n), [(child + 1) % n for child in children]
    parent, children = _first_tree(n, n - 1 - node)
    return None if parent is None else n - 1 - parent, [n - 1 - child for child in children]


def _moved(parent: int | None, n: int) -> int | None:
    return None if parent is None else (parent + 1) % n


def _first_tree(n: int, node: int) -> tuple[int | None, list[int]]:
    if node == 0:
        top = 1 << (n - 1).bit_length() >> 1
        return None, [top] if n > 1 else []
    bit = node & -node
    parent = (node ^ bit) | (bit << 1)
    if parent >= n:
        parent = node ^ bit
    half = bit >> 1
    below = [node - half] if half else []
    while half and node + half >= n:
        half >>= 1
    return parent, [*below, *([node + half] if half else [])]
