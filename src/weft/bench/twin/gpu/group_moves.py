"""Messages of NCCL's collectives among some GPUs of a job, by rings and sends.

Where a group has several GPUs of each node, it has as many rings, each with its share of the
buffer: ring k leaves every node from another of its GPUs, so that their adapters share the traffic.
An alltoall is all its sends at once. GPUs count through the nodes in order.

SOURCE: NVIDIA/nccl, src/graph/connect.cc (ncclTopoPostset) and src/device/all_gather.h,
reduce_scatter.h, all_reduce.h (rings), v2.26.5.
"""

from collections import defaultdict
from collections.abc import Sequence

from weft.trace.blocks import Messages

RINGS = ("allgather", "reduce_scatter", "allreduce")
GROUP_COLLECTIVES = (*RINGS, "alltoall", "sendrecv")
"""Of those that `group_rounds` knows; sizes as nccl-tests counts them: the whole buffer of an
allgather, reduce-scatter, allreduce or alltoall, one message of a sendrecv."""


def ring_steps(collective: str, n: int) -> int:
    """Rounds of a ring of n; an alltoall and a sendrecv have one."""
    if collective not in RINGS:
        return 1
    return (2 if collective == "allreduce" else 1) * (n - 1)


def rings_of(members: Sequence[int], gpus_per_node: int) -> list[list[int]]:
    """The members in the order of each ring: node by node, in ring k beginning with the k-th of
    each node; one ring inside a node."""
    of_node: dict[int, list[int]] = defaultdict(list)
    for member in members:
        of_node[member // gpus_per_node].append(member)
    several = len(of_node) > 1
    n_rings = min(len(one) for one in of_node.values()) if several else 1
    return [
        [one[(at + ring) % len(one)] for one in of_node.values() for at in range(len(one))]
        for ring in range(n_rings)
    ]


def group_rounds(
    collective: str,
    size_bytes: float,
    members: Sequence[int],
    member: int,
    gpus_per_node: int,
    *,
    most_rounds: int | None = None,
) -> Messages:
    """What one member receives and sends, round by round, with the numbers of GPUs; of a ring at
    most so many rounds, because all are alike."""
    n = len(members)
    if collective == "sendrecv":
        place = members.index(member)
        there, back = members[(place + 1) % n], members[place - 1]
        return [([back], [(there, _whole(size_bytes))])]
    if collective == "alltoall":
        place = members.index(member)
        others = [members[(place + step) % n] for step in range(1, n)]
        block = _whole(size_bytes / n)
        return [(others[::-1], [(other, block) for other in others])]
    rings = rings_of(members, gpus_per_node)
    part = _whole(size_bytes / n / len(rings))
    receives, sends = [], []
    for ring in rings:
        place = ring.index(member)
        receives.append(ring[place - 1])
        sends.append((ring[(place + 1) % n], part))
    rounds = ring_steps(collective, n)
    return [(receives, sends)] * min(rounds, most_rounds or rounds)


def _whole(size_bytes: float) -> int:
    return max(1, round(size_bytes))
