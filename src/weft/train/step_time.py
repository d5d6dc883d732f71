"""The time of a step: computing, what exchanges add to it, the pipeline's bubble, the rest.

`compute = products / (measured rate x matmul_share) + bytes / (bandwidth x memory_share)`; three
fitted figures (step_constants.toml), shared by all models, sizes and precisions.
"""

from dataclasses import dataclass, replace

from weft.catalog.libraries.model_document import ModelDocument, TransformerShape
from weft.catalog.libraries.training_gpus import TrainingGpu
from weft.train.communication import (
    Exchange,
    ExchangeCase,
    gradient_exchanges,
    layer_exchanges,
    layers_of_stage,
    micro_tokens,
    pipeline_exchange,
    stage_kinds,
    stage_parameters,
)
from weft.train.flop_count import BACKWARD, head_flops, model_flops, token_work
from weft.train.layout import DIMENSIONS, Dimension, ModelLayout, StepMethod
from weft.train.network_state import share_beyond_unit
from weft.train.parameters import LayerParameters
from weft.train.prices import CollectivePrices
from weft.train.step_constants import StepConstants
from weft.train.traffic import cast_traffic, head_bytes, layer_traffic, weight_bytes

SCORES_BACKWARD = 2.5
"""Products of attention's backward pass over those of its forward pass: five for two, as scores
are computed again. SOURCE: Dao et al., FlashAttention-2, arXiv:2307.08691, section 3.1.2."""
OPTIMIZER_BYTES = 30
"""Of a parameter of Adam: master, two moments and gradient read in 4 B, three written in 4 B, and
the weight in 2 B."""
PARTS = {
    "products": "products of matrices",
    "memory": "memory between products",
    "TP": "exposed exchanges of TP",
    "EP": "exposed exchanges of EP",
    "CP": "exposed exchanges of CP",
    "PP": "exposed exchanges of PP",
    "DP": "exposed exchanges of DP",
    "bubble": "bubble of the pipeline",
    "optimizer": "the optimizer",
    "waiting": "waiting for nodes over spines",
}
"""By part of a step what a reader calls it."""


@dataclass(frozen=True, slots=True)
class Compute:
    """Seconds of computing: products of matrices, and what memory carries between them."""

    products: float
    memory: float

    @property
    def total(self) -> float:
        """Both, one after the other."""
        return self.products + self.memory

    def __add__(self, other: "Compute") -> "Compute":
        return Compute(self.products + other.products, self.memory + other.memory)

    def times(self, n: float) -> "Compute":
        """n of them."""
        return Compute(n * self.products, n * self.memory)


@dataclass(frozen=True, slots=True)
class StepTime:
    """Seconds of a step by part; `exchanges` of a GPU of the slowest stage."""

    compute: Compute
    exposed: dict[Dimension, float]
    bubble: float
    optimizer: float
    waiting: float
    exchanges: tuple[Exchange, ...]
    flops: float

    @property
    def seconds(self) -> float:
        """The whole step."""
        exposed = sum(self.exposed.values())
        return self.compute.total + exposed + self.bubble + self.optimizer + self.waiting

    @property
    def parts(self) -> dict[str, float]:
        """Seconds by name, in the order of the page."""
        exposed = {name.upper(): self.exposed[name] for name in DIMENSIONS}
        computed = {"products": self.compute.products, "memory": self.compute.memory}
        rest = {"bubble": self.bubble, "optimizer": self.optimizer, "waiting": self.waiting}
        return computed | exposed | rest


@dataclass(frozen=True, slots=True)
class StepModel:
    """Everything that a step's time depends on."""

    model: ModelDocument
    shape: TransformerShape
    layout: ModelLayout
    method: StepMethod
    prices: CollectivePrices
    gpu: TrainingGpu
    constants: StepConstants

    @property
    def sequence(self) -> int:
        """Tokens of a sample."""
        return self.model.sequence

    @property
    def case(self) -> ExchangeCase:
        """What its exchanges depend on."""
        return ExchangeCase(self.shape, self.layout, self.method, self.prices, self.sequence)

    @property
    def tokens(self) -> float:
        """Tokens of a micro-batch on the GPUs of one TP group."""
        return micro_tokens(self.layout, self.sequence)

    @property
    def bandwidth(self) -> float:
        """Bytes a second that memory carries between products."""
        return self.gpu.bandwidth.value * 1e9 * self.constants.memory_share

    def rate(self, *, in_bf16: bool = False) -> float:
        """FLOP/s of products."""
        precision = "bf16" if in_bf16 else self.method.precision
        return self.gpu.matmul[precision].value * 1e12 * self.constants.matmul_share

    @property
    def score_rate(self) -> float:
        """FLOP/s of attention's scores: of a flash kernel, or of products in BF16."""
        if self.method.flash and self.gpu.scores is not None:
            return self.gpu.scores.value * 1e12
        return self.rate(in_bf16=True)

    def kinds(self) -> list[tuple[float, LayerParameters]]:
        """(share of the fullest stage's layers, parameters) of each kind of layer."""
        n = layers_of_stage(self.shape, self.layout)
        return [(count / n, layer) for count, layer in stage_kinds(self.shape, self.layout)]


def layer_compute(step: StepModel, layer: LayerParameters) -> Compute:
    """Of one layer and one micro-batch, forward, backward and what is computed again."""
    method, tp = step.method, step.layout.tp
    work = token_work(step.shape, layer, step.sequence, causal=method.flash)
    linear = step.tokens * work.linear / tp / step.rate()
    scores = step.tokens * work.scores / tp / step.score_rate
    traffic = layer_traffic(step.shape, layer, step.layout, method, step.sequence)
    traffic += cast_traffic(step.shape, layer, step.layout, method)
    forward = step.tokens * traffic.forward / step.bandwidth
    weights = weight_bytes(layer, step.layout, method) / step.bandwidth
    score_backward = SCORES_BACKWARD if method.flash else BACKWARD
    products = linear * (1 + BACKWARD) + scores * (1 + score_backward)
    moved = forward + step.tokens * traffic.backward / step.bandwidth + weights
    again = {
        "none": Compute(0.0, 0.0),
        "attention": Compute(scores, 0.0),
        "half": Compute(0.5 * linear, forward),
        "full": Compute(linear + scores, forward),
    }[method.recompute]
    return Compute(products, moved) + again


def head_compute(step: StepModel) -> Compute:
    """Of the logits of one micro-batch, in BF16."""
    flops = (1 + BACKWARD) * head_flops(step.shape) / step.layout.tp
    bytes_ = head_bytes(step.shape, step.layout)
    return Compute(
        step.tokens * flops / step.rate(in_bf16=True), step.tokens * bytes_ / step.bandwidth
    )


def step_time(step: StepModel) -> StepTime:
    """The time of one step. The layout must be one that can be (`check_layout`)."""
    layout, ga = step.layout, step.layout.ga
    per_layer = Compute(0.0, 0.0)
    found: list[Exchange] = []
    stage_layers = layers_of_stage(step.shape, layout)
    for share, layer in step.kinds():
        compute = layer_compute(step, layer)
        per_layer += compute.times(share)
        for one in layer_exchanges(step.case, layer):
            hidden = hidden_share(step, one, layer)
            count = one.count * share * stage_layers * ga
            found.append(replace(one, count=count, hidden=hidden))
    head = head_compute(step)
    stage = per_layer.times(stage_layers)
    # The last stage has the logits; where layers do not split evenly, it has fewer layers.
    has_room = step.shape.layers % layout.pp != 0
    if has_room:
        head = _beyond(head, per_layer)
    exchanged = sum(one.exposed_s for one in found)
    compute = (stage + head).times(ga)
    fill = (layout.pp - 1) / layout.vp * (stage.total + exchanged / ga)
    sent = pipeline_exchange(step.case)
    found += [sent] if sent is not None else []
    found += _replica_exchanges(step, stage.total + exchanged / ga)
    exposed = dict.fromkeys(DIMENSIONS, 0.0)
    for one in found:
        exposed[one.dimension] += one.exposed_s
    optimizer = optimizer_s(step)
    busy = compute.total + sum(exposed.values()) + fill + optimizer
    return StepTime(
        compute, exposed, fill, optimizer, busy * _waiting(step), tuple(found), step_flops(step)
    )


def step_flops(step: StepModel) -> float:
    """Model FLOPs of a step, all GPUs."""
    return step.layout.global_batch * model_flops(step.shape, step.sequence)


def _beyond(head: Compute, layer: Compute) -> Compute:
    left = max(0.0, head.total - layer.total)
    return head.times(left / head.total)


def hidden_share(step: StepModel, one: Exchange, layer: LayerParameters) -> float:
    """The share of a layer's exchange that runs beside computing, which must last as long."""
    if one.dimension == "cp":
        return _ring_hidden(step, one, layer)
    if one.dimension != "tp" or one.hidden == 0 or one.seconds == 0:
        return one.hidden
    passes = 1 + BACKWARD + {"full": 1.0, "half": 0.5}.get(step.method.recompute, 0.0)
    linear = 2.0 * (layer.attention + layer.dense) / step.layout.tp / step.rate()
    # As many reduce-scatters as allgathers share the products of a layer.
    beside = step.tokens * linear * passes / (2 * one.count)
    return min(one.hidden, beside / one.seconds)


def _ring_hidden(step: StepModel, one: Exchange, layer: LayerParameters) -> float:
    """The share of a ring's sends that runs beside the scores of the block before."""
    if "cp" not in step.method.overlap:
        return 0.0
    scores = token_work(step.shape, layer, step.sequence).scores / step.layout.tp
    beside = step.tokens * scores / step.score_rate / step.layout.cp
    return min(1.0, beside / one.seconds) if one.seconds > 0 else 1.0


def _replica_exchanges(step: StepModel, stage_s: float) -> list[Exchange]:
    """Exchanges of replicas with the share that the first forward pass (weights) or the last
    backward pass (gradients) hides; of FSDP each layer's hides the next one's. The first layer's
    weights and the last layer's gradients nothing hides."""
    found = []
    rows = list(gradient_exchanges(step.case))
    layers = layers_of_stage(step.shape, step.layout)
    forward = stage_s / (1 + BACKWARD)
    windows = {"allgather": forward, "reduce_scatter": stage_s - forward}
    windows["allreduce"] = windows["reduce_scatter"]
    used = dict.fromkeys(windows, 0.0)
    for one in rows:
        left = max(0.0, windows[one.collective] - used[one.collective])
        used[one.collective] += one.seconds
        beside = min(left, one.seconds * (1 - 1 / layers))
        hidden = beside / one.seconds if "dp" in step.method.overlap and one.seconds > 0 else 0.0
        found.append(replace(one, hidden=hidden))
    return found


def optimizer_s(step: StepModel) -> float:
    """Seconds of the optimizer's update of what a GPU owns."""
    own = stage_parameters(step.shape, step.layout)
    replicas = step.layout.dp * step.layout.cp
    if step.method.sharding == "none":
        parameters = own.total
    else:
        parameters = own.shared / replicas + own.experts / step.layout.expert_replicas
    return OPTIMIZER_BYTES * parameters / step.bandwidth


def _waiting(step: StepModel) -> float:
    """Share of a step that is waited for others, where messages cross the leaves of a unit."""
    nodes = step.layout.n_gpus / step.prices.gpus_per_node
    return step.constants.wait_beyond_unit * share_beyond_unit(step.prices.platform, nodes)
