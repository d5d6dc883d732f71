"""The order in which a GPU does the nodes of its trace, stream by stream.

A GPU computes, exchanges in collectives, sends and receives at the same time, each in an order of
its own; a node waits for those that it needs in other streams.

SOURCE: astra-sim/astra-sim, astra-sim/workload/HardwareResource.cc: one computation and one
communication of a GPU, and one operation of its CPU, at a time.
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from weft.core.errors import InputError
from weft.trace.chakra.node import COLLECTIVE, COLLECTIVES, COMP, METADATA, RECV, SEND, ChakraNode

STREAMS = ("compute", "cpu", "collective", "send", "recv")
MOST_BYTES = 1 << 40
MOST_US = 1 << 40
_OF_KIND = {COLLECTIVE: "collective", SEND: "send", RECV: "recv"}
_NEEDED = {
    "send": ("comm_size", "comm_dst"),
    "recv": ("comm_src",),
    "collective": ("comm_size", "comm_type"),
}
"""Attributes without which a node cannot be repeated."""


@dataclass(frozen=True, slots=True)
class StreamNode:
    """A node that a twin repeats. `after`: the last node of each other stream that must be over, as
    its place there."""

    node: ChakraNode
    after: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class GpuOrder:
    """Nodes by stream in their order; how many were left out, by reason."""

    streams: Mapping[str, list[StreamNode]]
    left_out: Counter[str] = field(default_factory=Counter)


def gpu_order(nodes: tuple[ChakraNode, ...], gpu: int) -> GpuOrder:
    """The order of one GPU. Nodes that cannot be repeated take no time, but others wait for those
    before them. Raises InputError for nodes that need each other."""
    streams: dict[str, list[StreamNode]] = defaultdict(list)
    left_out: Counter[str] = Counter()
    # By node: the last place of each stream that is over when it is over.
    over: dict[int, dict[str, int]] = {}
    waited: dict[str, dict[str, int]] = defaultdict(dict)
    known = {one.number for one in nodes}
    for node in _sorted(nodes, gpu):
        before: dict[str, int] = {}
        for need in node.needs:
            if need not in known:
                left_out["a need of a node that the file lacks"] += 1
                continue
            for stream, place in over[need].items():
                before[stream] = max(before.get(stream, -1), place)
        over[node.number] = before
        if node.kind == METADATA:
            continue
        reason = _why_not(node)
        if reason:
            left_out[reason] += 1
            continue
        own = _stream(node)
        done = waited[own]
        after = {s: at for s, at in before.items() if s != own and at > done.get(s, -1)}
        done.update(after)
        over[node.number] = {**before, own: len(streams[own])}
        streams[own].append(StreamNode(node, after))
    return GpuOrder(streams, left_out)


def _sorted(nodes: tuple[ChakraNode, ...], gpu: int) -> Iterator[ChakraNode]:
    """Each after those that it needs; else by number."""
    of_number = {one.number: one for one in nodes}
    missing = {one.number: sum(need in of_number for need in set(one.needs)) for one in nodes}
    users: dict[int, list[int]] = defaultdict(list)
    for one in nodes:
        for need in set(one.needs):
            users[need].append(one.number)
    ready = [number for number, n in missing.items() if n == 0]
    heapq.heapify(ready)
    n_done = 0
    while ready:
        number = heapq.heappop(ready)
        n_done += 1
        yield of_number[number]
        for user in users[number]:
            missing[user] -= 1
            if missing[user] == 0:
                heapq.heappush(ready, user)
    if n_done < len(nodes):
        stuck = min(number for number, n in missing.items() if n > 0)
        raise InputError(
            f"node {stuck} of GPU {gpu} needs nodes that need it",
            expected="dependencies without a circle",
        )


def _stream(node: ChakraNode) -> str:
    if node.kind == COMP and node.attributes.get("is_cpu_op") is True:
        return "cpu"
    return _OF_KIND.get(node.kind, "compute")


def _why_not(node: ChakraNode) -> str:
    """Why a node cannot be repeated; '' if it can."""
    if node.kind == COMP:
        known = 0 < node.duration_us <= MOST_US
        return "" if known else "computation without a duration of up to 12 days"
    if node.kind not in _OF_KIND:
        return f"node of type {node.kind} (memory, storage)"
    return _why_not_sent(node)


def _why_not_sent(node: ChakraNode) -> str:
    """The same of a message or collective."""
    lacking = [name for name in _NEEDED[_OF_KIND[node.kind]] if node.whole(name) is None]
    if lacking:
        return f"communication without {lacking[0]}"
    if (node.whole("comm_size") or 0) > MOST_BYTES:
        return "communication of more than 1 TiB"
    dims = node.attributes.get("involved_dim")
    if isinstance(dims, tuple) and not all(dims) and "pg_name" not in node.attributes:
        return "collective of some dimensions of another network (involved_dim)"
    if node.kind == COLLECTIVE and (node.whole("comm_type") or 0) >= len(COLLECTIVES):
        return "collective of an unknown type"
    return ""
