"""One step as a Chakra execution trace: nodes of every GPU."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from weft.core.errors import InputError
from weft.trace.chakra.files import MOST_NODES, write_chakra
from weft.trace.chakra.node import (
    COLLECTIVE,
    COLLECTIVES,
    COMP,
    RECV,
    SEND,
    ChakraNode,
    encode_attribute,
    encode_node,
)
from weft.trace.chakra.wire import bytes_field
from weft.train.step_time import StepModel
from weft.train.twin.rank_groups import GroupNames, kind_of
from weft.train.twin.schedule import StepNode, stage_schedule

NAME = "step"
_ATTRIBUTE = 10


@dataclass(frozen=True, slots=True)
class WrittenTrace:
    """What a trace holds: micro-batches of the step's, GPUs, nodes, groups."""

    path: Path
    ga: int
    of_ga: int
    n_gpus: int
    n_nodes: int
    n_groups: int


def write_step_trace(step: StepModel, folder: Path) -> WrittenTrace:
    """Write the schedule of a step: as many micro-batches as a trace can hold. Raises InputError,
    StorageError."""
    asked = step.layout.ga
    step = _shortened(step)
    layout = step.layout
    stages = [stage_schedule(step, stage) for stage in range(layout.pp)]
    names = GroupNames(layout, {})
    write_chakra(folder, NAME, _gpus(step, stages, names), names.named)
    n_nodes = sum(len(one) for one in stages) * layout.n_gpus // layout.pp
    return WrittenTrace(folder, layout.ga, asked, layout.n_gpus, n_nodes, len(names.named))


def _shortened(step: StepModel) -> StepModel:
    """The step with fewer micro-batches, if all are too many nodes."""
    layout = step.layout
    least = layout.pp if layout.vp > 1 else 1
    one = replace(step, layout=replace(layout, ga=min(layout.ga, least)))
    per_gpu = max(len(stage_schedule(one, stage)) for stage in {0, layout.pp - 1})
    n_least = per_gpu * layout.n_gpus
    if n_least > MOST_NODES:
        raise InputError(
            f"a schedule of {n_least:,} nodes: {per_gpu:,} a GPU",
            expected=f"at most {MOST_NODES:,}",
            hint="fewer --gpus, or a proxy of fewer --layers",
        )
    units = max(1, MOST_NODES // n_least) * least
    return replace(step, layout=replace(layout, ga=min(layout.ga, units)))


def _gpus(
    step: StepModel, stages: Sequence[Sequence[StepNode]], names: GroupNames
) -> Iterator[list[bytes]]:
    """The encoded nodes of each GPU. GPUs of a stage differ in groups and partners only."""
    layout = step.layout
    per_stage = layout.n_gpus // layout.pp
    for stage, nodes in enumerate(stages):
        alike = [_encoded(number, node) for number, node in enumerate(nodes)]
        for gpu in range(stage * per_stage, (stage + 1) * per_stage):
            own = _OwnParts(names, gpu, per_stage)
            yield [body + own.part(node) for body, node in zip(alike, nodes, strict=True)]


def _encoded(number: int, node: StepNode) -> bytes:
    attributes: dict[str, int | bool] = {"is_cpu_op": False}
    if node.kind == "compute":
        return encode_node(
            ChakraNode(number, node.name, COMP, node.needs, node.duration_us, attributes)
        )
    attributes["comm_size"] = node.size_bytes
    if node.exchange is None:
        attributes["comm_tag"] = node.tag
        kind = SEND if node.kind == "send" else RECV
        return encode_node(ChakraNode(number, node.name, kind, node.needs, 0, attributes))
    one = node.exchange
    # A ring of keys and values passes as much as an alltoall of two GPUs keeps and sends.
    collective = "alltoall" if one.collective == "sendrecv" else one.collective
    if one.collective == "sendrecv":
        attributes["comm_size"] = node.size_bytes * one.group.n // (one.group.n - 1)
    elif collective == "allgather":
        attributes["comm_size"] = max(1, node.size_bytes // one.group.n)
    attributes["comm_type"] = COLLECTIVES.index(collective)
    name = f"{one.dimension.upper()} {node.name}"
    return encode_node(ChakraNode(number, name, COLLECTIVE, node.needs, 0, attributes))


@dataclass(slots=True)
class _OwnParts:
    """What only one GPU's nodes have."""

    names: GroupNames
    gpu: int
    per_stage: int

    def part(self, node: StepNode) -> bytes:
        """The encoded attributes."""
        if node.exchange is not None:
            return _part("pg_name", self.names.name(kind_of(node.exchange), self.gpu))
        if node.peer_stage < 0:
            return b""
        peer = node.peer_stage * self.per_stage + self.gpu % self.per_stage
        return _part("comm_dst" if node.kind == "send" else "comm_src", peer)


def _part(name: str, value: str | int) -> bytes:
    return bytes_field(_ATTRIBUTE, encode_attribute(name, value))
