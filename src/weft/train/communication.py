"""What a step exchanges: by dimension which collective, of what size, how often, over which link.

SOURCE: Narayanan et al. 2021, arXiv:2104.04473, section 3 (volumes of TP, PP, DP); Korthikanti et
al. 2022, arXiv:2205.05198, section 4.2.2 (sequence parallelism: an allgather and a reduce-scatter
where an allreduce was). Derived here: a mixture sends each token to its experts and back, and the
GPUs that share an expert gather what reaches it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from weft.catalog.libraries.model_document import TransformerShape
from weft.train.layout import Dimension, ModelLayout, StepMethod
from weft.train.parameters import (
    LayerParameters,
    dense_layer,
    dense_layers,
    embedding_parameters,
    mixture_layer,
)
from weft.train.prices import (
    CollectivePrices,
    RankGroup,
    group_of,
    joined_groups,
    stage_pair,
)
from weft.train.traffic import ELEMENT


@dataclass(frozen=True, slots=True)
class Exchange:
    """One kind of exchange. `size_bytes` as nccl-tests counts; `count` a step and GPU; `seconds`
    of one. `hidden`: the share of each that runs beside computing whatever happens."""

    dimension: Dimension
    what: str
    collective: str
    size_bytes: float
    count: float
    group: RankGroup
    seconds: float
    hidden: float = 0.0

    @property
    def total_s(self) -> float:
        """All of a step."""
        return self.count * self.seconds

    @property
    def exposed_s(self) -> float:
        """What computing does not hide."""
        return self.total_s * (1 - self.hidden)


@dataclass(frozen=True, slots=True)
class ExchangeGroups:
    """Who exchanges with whom."""

    tp: RankGroup
    expert_tp: RankGroup
    ep: RankGroup
    cp: RankGroup
    pp: RankGroup
    replicas: RankGroup
    expert_replicas: RankGroup


def exchange_groups(layout: ModelLayout, gpus_per_node: int) -> ExchangeGroups:
    """The groups of a layout, where ranks fill nodes in the order TP, CP, EP, DP, PP."""
    g, n = gpus_per_node, layout.n_gpus
    tp, cp, ep = layout.tp, layout.cp, layout.ep
    context = group_of(cp, tp, g, n)
    if layout.etp:
        etp = layout.etp
        expert_tp, experts = group_of(etp, 1, g, n), group_of(ep, etp, g, n)
        expert_replicas = group_of(layout.expert_replicas, etp * ep, g, n)
    else:
        expert_tp, experts = group_of(tp, 1, g, n), group_of(ep, tp * cp, g, n)
        outer = group_of(layout.dp // ep, tp * cp * ep, g, n)
        expert_replicas = joined_groups(context, outer, g)
    return ExchangeGroups(
        tp=group_of(tp, 1, g, n),
        expert_tp=expert_tp,
        ep=experts,
        cp=context,
        pp=stage_pair(layout.pp, n, g),
        replicas=group_of(layout.dp * cp, tp, g, n),
        expert_replicas=expert_replicas,
    )


def micro_tokens(layout: ModelLayout, sequence: int) -> float:
    """Tokens of a micro-batch on the GPUs of one TP group."""
    return layout.micro_batch * sequence / layout.cp


@dataclass(frozen=True, slots=True)
class ExchangeCase:
    """What exchanges depend on: the model, its layout, how a step is computed, and what collectives
    take. `sequence`: tokens of a sample."""

    shape: TransformerShape
    layout: ModelLayout
    method: StepMethod
    prices: CollectivePrices
    sequence: int

    @property
    def groups(self) -> ExchangeGroups:
        """Who exchanges with whom."""
        return exchange_groups(self.layout, self.prices.gpus_per_node)

    @property
    def tokens(self) -> float:
        """Tokens of a micro-batch on the GPUs of one TP group."""
        return micro_tokens(self.layout, self.sequence)


def layer_exchanges(case: ExchangeCase, layer: LayerParameters) -> Iterator[Exchange]:
    """Of one layer and one micro-batch, forward and backward."""
    shape, layout, prices = case.shape, case.layout, case.prices
    again = 0.5 if case.method.recompute == "full" else 0.0
    yield from _tensor(case, layer, 1 + again)
    yield from _expert_tensor(case, layer, 1 + again)
    if layer.experts and shape.experts is not None and layout.ep > 1:
        group = case.groups.ep
        size = case.tokens / layout.tp * shape.experts.per_token * shape.hidden * ELEMENT
        seconds = prices.seconds("alltoall", size, group)
        what = "tokens to experts and back"
        hidden = 1.0 if "ep" in case.method.overlap else 0.0
        yield Exchange("ep", what, "alltoall", size, 4 + 4 * again, group, seconds, hidden)
    if layout.cp > 1:
        group = case.groups.cp
        size = case.tokens * (shape.key_columns + shape.value_columns) / layout.tp * ELEMENT
        seconds = prices.seconds("sendrecv", size, group)
        what = "keys and values round the ring"
        # Keys and values forward; back they go round again with their gradients. Scores that are
        # computed again need the ring once more.
        rounds = 4 if case.method.recompute in ("attention", "full") else 3
        yield Exchange("cp", what, "sendrecv", size, rounds * (layout.cp - 1), group, seconds)


def _tensor(case: ExchangeCase, layer: LayerParameters, passes: float) -> Iterator[Exchange]:
    """Allgather before and reduce-scatter after attention and network, in both passes."""
    group, tp = case.groups.tp, case.layout.tp
    if tp == 1:
        return
    size = case.tokens * case.shape.hidden * ELEMENT
    # Products that are cut into TP pieces hide all but the first piece of what they wait for.
    hidden = 1 - 1 / tp if "tp" in case.method.overlap else 0.0
    count = 2 * passes * (1 if layer.experts else 2)
    for collective in ("allgather", "reduce_scatter"):
        seconds = case.prices.seconds(collective, size, group)
        yield Exchange("tp", "activations", collective, size, count, group, seconds, hidden)


def _expert_tensor(case: ExchangeCase, layer: LayerParameters, passes: float) -> Iterator[Exchange]:
    """Tokens that the GPUs of an expert gather, and sum up after it, in both passes."""
    group, etp = case.groups.expert_tp, case.layout.expert_tp
    if etp == 1 or not layer.experts or case.shape.experts is None:
        return
    own = case.tokens / case.layout.tp * case.shape.hidden * ELEMENT
    size = own * etp * case.shape.experts.per_token
    for collective in ("allgather", "reduce_scatter"):
        seconds = case.prices.seconds(collective, size, group)
        yield Exchange("tp", "tokens of experts", collective, size, 2 * passes, group, seconds)


def pipeline_exchange(case: ExchangeCase) -> Exchange | None:
    """What a stage sends on in a step; None without a pipeline. With virtual stages and overlap
    only the sends of the pipeline's filling and emptying are waited for."""
    layout = case.layout
    if layout.pp == 1:
        return None
    size = case.tokens * case.shape.hidden * ELEMENT / layout.tp
    count = waited = 2.0 * layout.vp * layout.ga
    if "pp" in case.method.overlap and layout.vp > 1:
        waited = min(count, 2.0 * (2 * (layout.pp - 1) + (layout.vp - 1) * layout.pp))
    group = case.groups.pp
    seconds = case.prices.seconds("sendrecv", size, group)
    what, hidden = "activations to the next stage", 1 - waited / count
    return Exchange("pp", what, "sendrecv", size, count, group, seconds, hidden)


@dataclass(frozen=True, slots=True)
class StageParameters:
    """Parameters of the fullest stage on one GPU: those all replicas share, and routed experts."""

    shared: float
    experts: float

    @property
    def total(self) -> float:
        """Both."""
        return self.shared + self.experts


def stage_parameters(shape: TransformerShape, layout: ModelLayout) -> StageParameters:
    """Of one GPU. The first stage has the embeddings, the last the logits' table; both have them
    where one stage is both."""
    layers = stage_kinds(shape, layout)
    shared = float(sum(n * (one.attention + one.dense) for n, one in layers))
    experts = float(sum(n * one.experts for n, one in layers))
    tables = 2 if layout.pp == 1 and not shape.tied_embeddings else 1
    shared += tables * embedding_parameters(shape)
    return StageParameters(shared / layout.tp, experts / layout.expert_tp / layout.ep)


def layers_of_stage(shape: TransformerShape, layout: ModelLayout) -> int:
    """Layers of the fullest stage."""
    return -(-shape.layers // layout.pp)


def stage_kinds(shape: TransformerShape, layout: ModelLayout) -> list[tuple[int, LayerParameters]]:
    """(layers, parameters of one) by kind in the fullest stage. The dense layers of a mixture are
    the first ones, so that a later stage has experts in as many layers as it can."""
    n = layers_of_stage(shape, layout)
    mixed = min(n, shape.layers - dense_layers(shape))
    kinds = [(n - mixed, dense_layer(shape)), (mixed, mixture_layer(shape))]
    return [(count, layer) for count, layer in kinds if count > 0]


def gradient_exchanges(case: ExchangeCase) -> Iterator[Exchange]:
    """Gradients summed over replicas, and weights gathered where replicas share them out."""
    layout, method, prices, groups = case.layout, case.method, case.prices, case.groups
    own = stage_parameters(case.shape, layout)
    for what, parameters, group in (
        ("", own.shared, groups.replicas),
        (" of experts", own.experts, groups.expert_replicas),
    ):
        if group.n < 2 or parameters == 0:
            continue
        gradients, weights = method.gradient_bytes * parameters, ELEMENT * parameters
        if method.sharding == "none":
            rows = [(f"gradients{what}", "allreduce", gradients, 1.0)]
        else:
            full = method.sharding == "full" and layout.pp == 1
            gathers = 2.0 * layout.ga if full else 1.0
            sums = float(layout.ga) if full else 1.0
            rows = [
                (f"gradients{what}", "reduce_scatter", gradients, sums),
                (f"weights{what}", "allgather", weights, gathers),
            ]
        for name, collective, size, count in rows:
            seconds = prices.seconds(collective, size, group)
            yield Exchange("dp", name, collective, size, count, group, seconds)
