"""What ranks send, step after step, in the algorithms of MPI's collectives.

SOURCE: Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in MPICH"
(IJHPCA 2005) for recursive doubling, ring, Rabenseifner, Bruck, pairwise, binomial and scatter-
allgather; Hensgen, Finkel, Manber (1988) for dissemination; Cowan et al., "MSCCL" / Hwang et al.,
"Tutel" (MLSys 2023) for the two-dimensional hierarchical alltoall. Ranks are placed node by node.
"""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Step:
    """`count` messages of `size_bytes`, one after another.

    `crossing`: ranks of a node that send over the network at once; 0 where the partner is on the
    same node. `reduces`: what came is added up. `everywhere`: partners lie all over the fabric.
    """

    count: int
    size_bytes: int
    crossing: int
    reduces: bool = False
    everywhere: bool = False


@dataclass(frozen=True, slots=True)
class Ranks:
    """`per_node` ranks on each of `n_nodes`."""

    n_nodes: int
    per_node: int

    @property
    def n(self) -> int:
        """All of them."""
        return self.n_nodes * self.per_node

    def crossing(self, distance: int) -> int:
        """Ranks of a node whose partner at that distance is on another one."""
        return 0 if self.n_nodes == 1 else min(distance, self.per_node)


Schedule = Callable[[Ranks, int], list[Step]]


def log2_up(n: int) -> int:
    """Doublings until n is reached."""
    return (n - 1).bit_length()


def share(size_bytes: int, n: int) -> int:
    """One n-th, rounded up."""
    return -(-size_bytes // n)


def _doubling(ranks: Ranks, size_of: Callable[[int], int], *, reduces: bool) -> list[Step]:
    """Partners at distance 1, 2, 4 ... of the largest power of two."""
    whole = ranks.n.bit_length() - 1
    return [Step(1, size_of(k), ranks.crossing(1 << k), reduces=reduces) for k in range(whole)]


def _beyond_power_of_two(ranks: Ranks, size_bytes: int) -> list[Step]:
    """Ranks beyond a power of two hand their part over first and get the result at the end."""
    extra = ranks.n - (1 << (ranks.n.bit_length() - 1))
    if not extra:
        return []
    crossing = ranks.crossing(1)
    return [Step(1, size_bytes, crossing, reduces=True), Step(1, size_bytes, crossing)]


def recursive_doubling(ranks: Ranks, size_bytes: int) -> list[Step]:
    """Allreduce: the whole vector to partners at distance 1, 2, 4 ..."""
    steps = _doubling(ranks, lambda _: size_bytes, reduces=True)
    return steps + _beyond_power_of_two(ranks, size_bytes)


def rabenseifner(ranks: Ranks, size_bytes: int) -> list[Step]:
    """Allreduce: halves, quarters ... are exchanged and added, then collected again."""
    halving = recursive_halving(ranks, size_bytes)
    back = [Step(step.count, step.size_bytes, step.crossing) for step in halving[::-1]]
    return halving + back + _beyond_power_of_two(ranks, size_bytes)


def recursive_halving(ranks: Ranks, size_bytes: int) -> list[Step]:
    """Reduce-scatter: half of the vector to the farthest, a quarter to the next ..."""
    whole = ranks.n.bit_length() - 1
    return [
        Step(1, share(size_bytes, 2 << k), ranks.crossing(1 << (whole - 1 - k)), reduces=True)
        for k in range(whole)
    ]


def ring(ranks: Ranks, size_bytes: int) -> list[Step]:
    """Allreduce: n-ths around a ring twice, once adding."""
    once, part = ranks.n - 1, share(size_bytes, ranks.n)
    crossing = ranks.crossing(1)
    return [Step(once, part, crossing, reduces=True), Step(once, part, crossing)]


def ring_blocks(ranks: Ranks, size_bytes: int) -> list[Step]:
    """Allgather: every block passes every rank."""
    return [Step(ranks.n - 1, size_bytes, ranks.crossing(1))]


def doubling_blocks(ranks: Ranks, size_bytes: int) -> list[Step]:
    """Allgather: 1, 2, 4 ... blocks to partners at distance 1, 2, 4 ..."""
    steps = _doubling(ranks, lambda k: size_bytes << k, reduces=False)
    missing = ranks.n - (1 << (ranks.n.bit_length() - 1))
    tail = [Step(1, size_bytes * (ranks.n - missing), ranks.crossing(1))] if missing else []
    return steps + tail


def bruck_allgather(ranks: Ranks, size_bytes: int) -> list[Step]:
    """Allgather in as few steps as there are doublings, for any number of ranks."""
    held, steps = 1, []
    while held < ranks.n:
        sent = min(held, ranks.n - held)
        steps.append(Step(1, sent * size_bytes, ranks.crossing(held)))
        held += sent
    return steps


def pairwise(ranks: Ranks, size_bytes: int) -> list[Step]:
    """Alltoall: one partner at a time."""
    near, far = ranks.per_node - 1, ranks.n - ranks.per_node
    steps = [Step(near, size_bytes, 0)] if near else []
    if far:
        steps.append(Step(far, size_bytes, ranks.per_node, everywhere=True))
    return steps


def bruck_alltoall(ranks: Ranks, size_bytes: int) -> list[Step]:
    """Alltoall of small blocks: in step k those whose distance has bit k, all in one message."""
    steps = []
    for k in range(log2_up(ranks.n)):
        whole, remainder = divmod(ranks.n, 2 << k)
        blocks = (whole << k) + max(0, remainder - (1 << k))
        steps.append(Step(1, blocks * size_bytes, ranks.crossing(1 << k), everywhere=True))
    return steps


def hierarchical(ranks: Ranks, size_bytes: int) -> list[Step]:
    """Alltoall in two dimensions: within nodes for all nodes, then larger messages between them."""
    near = ranks.per_node - 1
    steps = [Step(near, size_bytes * ranks.n_nodes, 0)] if near else []
    if ranks.n_nodes > 1:
        block = size_bytes * ranks.per_node
        steps.append(Step(ranks.n_nodes - 1, block, ranks.per_node, everywhere=True))
    return steps


def pairwise_reduce_scatter(ranks: Ranks, size_bytes: int) -> list[Step]:
    """Reduce-scatter: one partner at a time, one n-th each."""
    part = share(size_bytes, ranks.n)
    return [
        Step(step.count, part, step.crossing, reduces=True, everywhere=step.everywhere)
        for step in pairwise(ranks, size_bytes)
    ]


def dissemination(ranks: Ranks, size_bytes: int) -> list[Step]:  # noqa: ARG001
    """Barrier: empty messages to partners at distance 1, 2, 4 ..."""
    return [Step(1, 0, ranks.crossing(1 << k)) for k in range(log2_up(ranks.n))]


def binomial(ranks: Ranks, size_bytes: int) -> list[Step]:
    """Broadcast: those who have it double each step; between nodes first."""
    between, inside = log2_up(ranks.n_nodes), log2_up(ranks.per_node)
    steps = [Step(between, size_bytes, 1)] if between else []
    return steps + ([Step(inside, size_bytes, 0)] if inside else [])


def binomial_reduce(ranks: Ranks, size_bytes: int) -> list[Step]:
    """Reduce: a broadcast backwards, adding."""
    return [
        Step(step.count, step.size_bytes, step.crossing, reduces=True)
        for step in binomial(ranks, size_bytes)
    ]


def scatter_allgather(ranks: Ranks, size_bytes: int) -> list[Step]:
    """Broadcast of a large vector: n-ths down a tree, then around a ring."""
    part = share(size_bytes, ranks.n)
    return [*binomial_blocks(ranks, part), *ring_blocks(ranks, part)]


def binomial_blocks(ranks: Ranks, size_bytes: int) -> list[Step]:
    """Gather and scatter of small blocks: 1, 2, 4 ... blocks up or down a tree."""
    steps = []
    for k in range(log2_up(ranks.n)):
        distance = 1 << k
        blocks = min(distance, ranks.n - distance)
        crossing = 1 if ranks.n_nodes > 1 and distance >= ranks.per_node else 0
        steps.append(Step(1, blocks * size_bytes, crossing))
    return steps


def _by_leaders(
    ranks: Ranks, between: list[Step], up_bytes: int | None, down_bytes: int | None
) -> list[Step]:
    """Up a node's tree to one rank, between those, and down again; None for a way not taken."""
    local = log2_up(ranks.per_node)
    up = [] if not local or up_bytes is None else [Step(local, up_bytes, 0, reduces=True)]
    down = [] if not local or down_bytes is None else [Step(local, down_bytes, 0)]
    return [*up, *between, *down]


def two_level(ranks: Ranks, size_bytes: int) -> list[Step]:
    """Allreduce: within nodes to one rank, between those, and back."""
    leaders = Ranks(ranks.n_nodes, 1)
    between = min(
        (recursive_doubling(leaders, size_bytes), rabenseifner(leaders, size_bytes)),
        key=lambda steps: sum(step.count * (step.size_bytes + 4096) for step in steps),
    )
    return _by_leaders(ranks, between, size_bytes, size_bytes)


def two_level_barrier(ranks: Ranks, size_bytes: int) -> list[Step]:
    """Barrier: within nodes to one rank, between those, and back."""
    leaders = Ranks(ranks.n_nodes, 1)
    return _by_leaders(ranks, dissemination(leaders, size_bytes), 0, 0)


def two_level_allgather(ranks: Ranks, size_bytes: int) -> list[Step]:
    """Allgather: a node's blocks to one rank, all of them between those, and to all of the node."""
    held, up = 1, []
    while held < ranks.per_node:
        up.append(Step(1, min(held, ranks.per_node - held) * size_bytes, 0))
        held *= 2
    leaders = Ranks(ranks.n_nodes, 1)
    between = bruck_allgather(leaders, size_bytes * ranks.per_node)
    return [*up, *_by_leaders(ranks, between, None, size_bytes * ranks.n)]


ALGORITHMS: dict[str, dict[str, Schedule]] = {
    "barrier": {"dissemination": dissemination, "two_level": two_level_barrier},
    "allreduce": {
        "recursive_doubling": recursive_doubling,
        "rabenseifner": rabenseifner,
        "ring": ring,
        "two_level": two_level,
    },
    "alltoall": {"bruck": bruck_alltoall, "pairwise": pairwise, "hierarchical": hierarchical},
    "allgather": {
        "recursive_doubling": doubling_blocks,
        "bruck": bruck_allgather,
        "ring": ring_blocks,
        "two_level": two_level_allgather,
    },
    "reduce_scatter": {"recursive_halving": recursive_halving, "pairwise": pairwise_reduce_scatter},
    # A binomial tree over ranks in the order of nodes is one of leaders, then of each node.
    "broadcast": {
        "binomial": binomial,
        "scatter_allgather": scatter_allgather,
        "two_level": binomial,
    },
    "reduce": {
        "binomial": binomial_reduce,
        "rabenseifner": rabenseifner,
        "two_level": binomial_reduce,
    },
    "gather": {"binomial": binomial_blocks},
    "scatter": {"binomial": binomial_blocks},
}
"""Schedules by benchmark and algorithm; the size is OSU's. `linear` is no schedule: see
`collectives`."""
ALGORITHMS["alltoallv"] = ALGORITHMS["alltoall"]
