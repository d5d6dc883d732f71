"""A Chakra trace as calls of a twin's ranks: a rank for each stream of a GPU, so that computing
and exchanges go on at the same time.

Streams of a GPU wait for each other by messages of 1 B that take no time. Collectives are rings and
sends (`group_moves`) after NCCL's latency; the others are those of the engine.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from weft.bench.twin.gpu.group_moves import GROUP_COLLECTIVES, group_rounds
from weft.catalog.libraries.nccl import PAYLOAD_SHARES, PROTOCOLS
from weft.catalog.machine.platform import Platform
from weft.core.errors import InputError
from weft.expect.model import Conditions
from weft.expect.nccl.collectives import nccl
from weft.trace.chakra.files import ChakraTrace
from weft.trace.chakra.node import COLLECTIVE, COLLECTIVES, COMP, SEND, ChakraNode
from weft.trace.chakra.order import STREAMS, GpuOrder, gpu_order


@dataclass(frozen=True, slots=True)
class ChakraProgram:
    """The calls, how many nodes and ranks a GPU they take, and what was left out, by reason."""

    calls: str
    n_nodes: int
    streams: tuple[str, ...]
    left_out: Counter[str]
    n_repeated: int


def chakra_program(trace: ChakraTrace, platform: Platform, gpus_per_node: int) -> ChakraProgram:
    """The program of a trace. Raises InputError."""
    orders = [gpu_order(nodes, gpu) for gpu, nodes in enumerate(trace.gpus)]
    left_out: Counter[str] = sum((one.left_out for one in orders), Counter())
    used = tuple(name for name in STREAMS if any(one.streams.get(name) for one in orders))
    if not used:
        raise InputError(
            "nothing to repeat", where=str(trace.path), expected="nodes with durations"
        )
    n_nodes = -(-len(trace.gpus) // gpus_per_node)
    writer = _Writer(trace, platform, gpus_per_node, used)
    lines = [f"num_ranks {n_nodes * gpus_per_node * len(used)}"]
    bodies: list[str] = []
    for gpu, order in enumerate(orders):
        for stream in used:
            bodies.append(f"rank {writer.rank(gpu, stream)} {{")
            bodies += writer.stream(gpu, stream, order)
            bodies.append("}")
    lines += [f"group {name} {' '.join(map(str, ranks))}" for ranks, name in writer.named.items()]
    n_repeated = sum(len(nodes) for one in orders for nodes in one.streams.values())
    return ChakraProgram("\n".join([*lines, *bodies]) + "\n", n_nodes, used, left_out, n_repeated)


@dataclass(slots=True)
class _Writer:
    trace: ChakraTrace
    platform: Platform
    gpus_per_node: int
    used: tuple[str, ...]
    named: dict[tuple[int, ...], str] = field(default_factory=dict)
    known: dict[tuple[str, int, int, int], tuple[int, float]] = field(default_factory=dict)

    def rank(self, gpu: int, stream: str) -> int:
        """Tasks of a node: those of the first stream by GPU, then those of the next one."""
        node, local = divmod(gpu, self.gpus_per_node)
        place = self.used.index(stream)
        return (node * len(self.used) + place) * self.gpus_per_node + local

    def stream(self, gpu: int, stream: str, order: GpuOrder) -> Iterator[str]:
        """The calls of a stream of a GPU."""
        awaited: dict[int, list[str]] = {}
        for other, nodes in order.streams.items():
            for one in nodes:
                if stream in one.after:
                    awaited.setdefault(one.after[stream], []).append(other)
        for place, one in enumerate(order.streams.get(stream, [])):
            for other in one.after:
                yield f"recv from {self.rank(gpu, other)} tag after"
            yield from self._lines(gpu, one.node)
            for other in awaited.get(place, ()):
                yield f"send 1b to {self.rank(gpu, other)} tag after"

    def _lines(self, gpu: int, node: ChakraNode) -> Iterator[str]:
        if node.kind == COMP:
            yield f"calc {node.duration_us * 1000}"
        elif node.kind == COLLECTIVE:
            yield from self._collective(gpu, node)
        else:
            yield self._message(gpu, node)

    def _message(self, gpu: int, node: ChakraNode) -> str:
        tag = f"tag m{node.whole('comm_tag') or 0}"
        is_send = node.kind == SEND
        peer = node.whole("comm_dst" if is_send else "comm_src") or 0
        if peer >= len(self.trace.gpus) or peer == gpu:
            raise self._wrong(gpu, node, f"its partner is GPU {peer}")
        if is_send:
            to = self.rank(peer, "recv") if "recv" in self.used else -1
            if to < 0:
                raise self._wrong(gpu, node, "no GPU receives")
            return f"isend {max(1, node.whole('comm_size') or 0)}b to {to} {tag}"
        if "send" not in self.used:
            raise self._wrong(gpu, node, "no GPU sends")
        return f"recv from {self.rank(peer, 'send')} {tag}"

    def _collective(self, gpu: int, node: ChakraNode) -> Iterator[str]:
        members = self._members(gpu, node)
        if len(members) < 2:
            return
        name = COLLECTIVES[node.whole("comm_type") or 0]
        # Chakra counts what a GPU puts in: of an allgather its part.
        size = (node.whole("comm_size") or 0) * (len(members) if name == "allgather" else 1)
        if name not in GROUP_COLLECTIVES:
            ranks = tuple(self.rank(one, "collective") for one in members)
            group = self.named.setdefault(ranks, f"g{len(self.named)}")
            part = "" if name == "barrier" else f" {max(1, size)}b"
            yield f"{name}{part} in {group}"
            return
        latency_ns, share = self._nccl(name, size, members)
        yield f"calc {latency_ns}"
        rounds = group_rounds(name, size / share, members, gpu, self.gpus_per_node)
        tag = f"tag c{min(members)}x{len(members)}"
        for receives, sends in rounds:
            for peer in receives:
                yield f"irecv from {self.rank(peer, 'collective')} {tag}"
            for peer, part_bytes in sends:
                yield f"isend {part_bytes}b to {self.rank(peer, 'collective')} {tag}"
            yield "wait"

    def _members(self, gpu: int, node: ChakraNode) -> tuple[int, ...]:
        group = str(node.attributes.get("pg_name", "0"))
        if group in self.trace.groups:
            members = self.trace.groups[group]
        elif group in ("", "0"):
            members = tuple(range(len(self.trace.gpus)))
        else:
            raise self._wrong(gpu, node, f"no group '{group}'")
        if gpu not in members:
            raise self._wrong(gpu, node, f"group '{group}' has no GPU {gpu}")
        return members

    def _nccl(self, name: str, size: int, members: tuple[int, ...]) -> tuple[int, float]:
        """(ns of latency, share of payload) by NCCL's model."""
        nodes = Counter(one // self.gpus_per_node for one in members)
        key = (name, size, len(nodes), max(nodes.values()))
        if key not in self.known:
            conditions = Conditions(
                benchmark=name,
                size_bytes=max(1, size),
                n_nodes=key[2],
                tasks_per_node=key[3],
                memory="gpu",
                library="nccl",
                transport="rdma" if key[2] > 1 else "",
                gpudirect=True,
            )
            found = nccl(self.platform, conditions)
            self.known[key] = (round(found.terms[0].time_ns), payload_share(found.algorithm))
        return self.known[key]

    def _wrong(self, gpu: int, node: ChakraNode, what: str) -> InputError:
        return InputError(
            f"node {node.number} ('{node.name[:60]}') of GPU {gpu}: {what}",
            where=str(self.trace.path),
            expected=f"GPUs 0 to {len(self.trace.gpus) - 1}, and groups of comm_group.json",
        )


def payload_share(algorithm: str) -> float:
    """The share of payload in what the protocol of 'ring simple' sends."""
    protocol = algorithm.rpartition(" ")[2]
    spoken = next((one for one in PROTOCOLS if one == protocol), None)
    return 1.0 if spoken is None else PAYLOAD_SHARES[spoken]
