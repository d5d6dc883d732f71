"""One step as a schedule: nodes of each stage of the pipeline, in a GPU's order.

A stage computes and waits for exchanges one after the other; the share of an exchange that is
hidden is a node of its own beside computing. SOURCE: NVIDIA/Megatron-LM,
megatron/core/pipeline_parallel/schedules.py (one forward, one backward; with virtual stages
interleaved, get_schedule_table).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from weft.train.communication import Exchange, layer_exchanges, pipeline_exchange, stage_kinds
from weft.train.flop_count import BACKWARD
from weft.train.layout import ModelLayout
from weft.train.parameters import LayerParameters
from weft.train.step_time import (
    StepModel,
    head_compute,
    hidden_share,
    layer_compute,
    optimizer_s,
    step_time,
)

AGAIN = {"full": 1.0, "half": 0.5}


@dataclass(frozen=True, slots=True)
class StepNode:
    """A node of a stage: computing of some us, or a collective of a kind of group, or a message to
    or from another GPU: `stage_offset` stages further, or the next of a ring of CP."""

    name: str
    needs: tuple[int, ...]
    kind: str
    duration_us: int = 0
    exchange: Exchange | None = None
    size_bytes: int = 0
    peer_stage: int = -1
    tag: int = 0


@dataclass(slots=True)
class StageSchedule:
    """The nodes of one stage; the number of a node is its place."""

    step: StepModel
    stage: int
    layers: list[list[LayerParameters]]
    nodes: list[StepNode] = field(default_factory=list)
    chain: tuple[int, ...] = ()
    beside: list[int] = field(default_factory=list)
    owed_us: float = 0.0

    def compute(self, name: str, seconds: float) -> None:
        """Computing; what rounding to whole us leaves goes to the next one."""
        self.owed_us += 1e6 * seconds
        whole = round(self.owed_us)
        self.owed_us -= whole
        if whole > 0:
            self._next(StepNode(name, self.chain, "compute", whole))

    def exchange(self, one: Exchange, after: tuple[int, ...]) -> None:
        """One of a kind: its exposed share in the chain, the hidden one from `after` on."""
        size = one.size_bytes
        if one.hidden > 0:
            part = max(1, round(size * min(1.0, one.hidden)))
            self._beside(StepNode(one.what, after, "exchange", 0, one, part))
        if one.hidden < 1:
            part = max(1, round(size * (1 - one.hidden)))
            self._next(StepNode(one.what, self.chain, "exchange", 0, one, part))

    def message(self, kind: str, peer_stage: int, size: int, tag: int) -> None:
        """A message of the pipeline: the chain waits for those that come."""
        node = StepNode(f"{kind} activations", self.chain, kind, 0, None, size, peer_stage, tag)
        if kind == "recv":
            # It may come while the stage does what is before.
            self._beside(replace(node, needs=()))
            return
        self.nodes.append(node)

    def wait_beside(self) -> None:
        """The chain goes on only after what ran beside it."""
        self.chain = (*self.chain, *self.beside)
        self.beside = []

    def _next(self, node: StepNode) -> None:
        self.chain = (len(self.nodes),)
        self.nodes.append(node)

    def _beside(self, node: StepNode) -> None:
        self.beside.append(len(self.nodes))
        self.nodes.append(node)


def stage_schedule(step: StepModel, stage: int) -> list[StepNode]:
    """All nodes of a stage in one step."""
    layout = step.layout
    kinds = [layer for n, layer in stage_kinds(step.shape, layout) for _ in range(n)]
    per_chunk = max(1, len(kinds) // layout.vp)
    chunks = [kinds[at : at + per_chunk] for at in range(0, len(kinds), per_chunk)]
    made = StageSchedule(step, stage, chunks)
    replicas = [one for one in step_time(step).exchanges if one.dimension == "dp"]
    before = [one for one in replicas if one.collective == "allgather"]
    after = [one for one in replicas if one.collective != "allgather"]
    for one in before:
        _repeated(made, one, ())
    units = list(pipeline_order(layout, stage))
    last_backward = max(at for at, (way, _, _) in enumerate(units) if way == "backward")
    for at, (way, chunk, batch) in enumerate(units):
        begin = made.chain
        _unit(made, way, chunk, batch)
        if at == last_backward:
            for one in after:
                _repeated(made, one, begin)
    made.wait_beside()
    made.compute("optimizer", optimizer_s(step))
    return made.nodes


def _repeated(made: StageSchedule, one: Exchange, after: tuple[int, ...]) -> None:
    for _ in range(max(1, round(one.count))):
        made.exchange(one, after)


def pipeline_order(layout: ModelLayout, stage: int) -> Iterator[tuple[str, int, int]]:
    """(way, virtual stage, micro-batch) of each pass of a stage, in its order."""
    pp, vp, total = layout.pp, layout.vp, layout.ga * layout.vp
    warmup = pp - stage - 1 if vp == 1 else 2 * (pp - stage - 1) + (vp - 1) * pp
    warmup = min(warmup, total)

    def place(number: int) -> tuple[int, int]:
        if vp == 1:
            return 0, number
        return number % (pp * vp) // pp, number // (pp * vp) * pp + number % pp

    for number in range(total + warmup):
        if number < total:
            yield ("forward", *place(number))
        if number >= warmup:
            chunk, batch = place(number - warmup)
            yield "backward", vp - 1 - chunk, batch


def _unit(made: StageSchedule, way: str, chunk: int, batch: int) -> None:
    """One pass of a virtual stage: what comes, its layers, what goes."""
    step, layout = made.step, made.step.layout
    sent = pipeline_exchange(step.case)
    place = chunk * layout.pp + made.stage
    n_places = layout.vp * layout.pp
    forward = way == "forward"
    source, target = (place - 1, place + 1) if forward else (place + 1, place - 1)
    if sent is not None and 0 <= source < n_places:
        tag = _tag(layout, batch, place, forward=forward)
        made.message("recv", source % layout.pp, round(sent.size_bytes), tag)
    made.wait_beside()
    layers = made.layers[chunk % len(made.layers)]
    is_last = place == n_places - 1
    if is_last and not forward:
        _head(made, BACKWARD)
    for layer in layers if forward else layers[::-1]:
        _layer(made, layer, way)
    if is_last and forward:
        _head(made, 1)
    if sent is not None and 0 <= target < n_places:
        tag = _tag(layout, batch, target, forward=forward)
        made.message("send", target % layout.pp, round(sent.size_bytes), tag)


def _tag(layout: ModelLayout, batch: int, place: int, *, forward: bool) -> int:
    """Of a message by its receiver's place in the whole pipeline."""
    return 2 * (batch * layout.vp * layout.pp + place) + forward


def _head(made: StageSchedule, passes: float) -> None:
    made.compute("logits", head_compute(made.step).total * passes / (1 + BACKWARD))


def _layer(made: StageSchedule, layer: LayerParameters, way: str) -> None:
    """A layer's pass: computing cut into as many pieces as exchanges wait between them."""
    step = made.step
    begin = made.chain
    again = AGAIN.get(step.method.recompute, 0.0)
    passes = 1.0 if way == "forward" else BACKWARD + again
    share = passes / (1 + BACKWARD + again)
    exposed: list[Exchange] = []
    for one in layer_exchanges(step.case, layer):
        hidden = hidden_share(step, one, layer)
        exposed += [replace(one, hidden=hidden)] * _of_pass(step, one, way)
    seconds = layer_compute(step, layer).total * share
    for one in exposed:
        made.exchange(one, begin)
        made.compute(way, seconds / (len(exposed) + 1))
    made.compute(way, seconds / (len(exposed) + 1))


def _of_pass(step: StepModel, one: Exchange, way: str) -> int:
    """How many of a layer's exchanges its forward pass has, or its backward pass."""
    if one.dimension == "cp":
        forward = step.layout.cp - 1
    else:
        passes = 1.5 if step.method.recompute == "full" else 1.0
        forward = round(one.count / passes / 2)
    return forward if way == "forward" else round(one.count) - forward
