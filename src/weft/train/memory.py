"""What one GPU of the fullest stage holds in a step, by part, in bytes.

SOURCE: Korthikanti et al. 2022, arXiv:2205.05198, section 4 (activations of a layer: 34 s b h and
5 a s^2 b without a flash kernel); Narayanan et al. 2021, arXiv:2104.04473, section 2.2 (how many
micro-batches are in flight); Rajbhandari et al., ZeRO, arXiv:1910.02054, section 3.1 (16 B a
parameter). Derived here: what a mixture keeps of each copy of a token.
"""

from dataclasses import dataclass
from typing import Literal

from weft.catalog.libraries.model_document import TransformerShape
from weft.catalog.libraries.training_gpus import TrainingGpu
from weft.train.communication import (
    layers_of_stage,
    micro_tokens,
    stage_kinds,
    stage_parameters,
)
from weft.train.layout import ModelLayout, StepMethod
from weft.train.parameters import LayerParameters
from weft.train.traffic import ELEMENT

MASTER_BYTES = 12
"""Of a parameter in the optimizer: its value and two moments in 4 B each."""
FP8_COPIES = 2
"""Of a weight in FP8: one to multiply with, one transposed; 1 B each."""
LOGIT_BYTES = 10
"""Of a logit: in BF16, again in 4 B for the loss, and its gradient in 4 B."""
RESERVED_BYTES = 4e9
"""Assumed: CUDA's context, NCCL's buffers and what the allocator cannot use."""

USABLE_SHARE = 0.9
"""Of a GPU's memory, that a sum may fill: published peaks of torchtitan lie above the sums, half of
them by 18 % or more (docs/reference/train_expect.md)."""

PEAK_OVER_SUM = 1.18
"""Median of published peaks over sums: torchtitan's twenty (docs/reference/train_expect.md)."""

Part = Literal["weights", "gradients", "optimizer", "activations", "logits", "reserved"]


@dataclass(frozen=True, slots=True)
class MemorySum:
    """Bytes by part, and how many the GPU has."""

    parts: dict[Part, float]
    capacity: float

    @property
    def total(self) -> float:
        """The sum."""
        return sum(self.parts.values())

    @property
    def fits(self) -> bool:
        """Whether the GPU holds it, with the rest that such a sum misses."""
        return self.total <= USABLE_SHARE * self.capacity

    @property
    def likely_peak(self) -> float:
        """Bytes at the peak, as far above the sum as the median of published peaks."""
        return PEAK_OVER_SUM * self.total

    @property
    def words(self) -> str:
        """'weights 2.9 + ... + reserved 4.0 = 68.1 GB of 80'."""
        terms = [f"{name} {n / 1e9:.1f}" for name, n in self.parts.items() if n >= 5e7]
        usable = f"{USABLE_SHARE * self.capacity / 1e9:.0f} usable of {self.capacity / 1e9:.0f}"
        return f"{' + '.join(terms)} = {self.total / 1e9:.1f} GB ({usable})"


def memory_sum(
    shape: TransformerShape,
    layout: ModelLayout,
    method: StepMethod,
    gpu: TrainingGpu,
    sequence: int,
) -> MemorySum:
    """Of the fullest GPU of a layout."""
    held = _held_parameters(shape, layout, method)
    tokens = micro_tokens(layout, sequence)
    kept = _activations(shape, layout, method, sequence) * tokens
    logits = tokens * shape.vocabulary / layout.tp * LOGIT_BYTES
    if layout.pp > 1:
        # The last stage has the logits, and one micro-batch in flight; the first one has more.
        logits = max(0.0, logits - kept * (1 - 1 / max(1.0, _in_flight(layout))))
    parts = {**held, "activations": kept, "logits": logits, "reserved": RESERVED_BYTES}
    return MemorySum(parts, gpu.memory.value * 1e9)


def _held_parameters(
    shape: TransformerShape, layout: ModelLayout, method: StepMethod
) -> dict[Part, float]:
    own = stage_parameters(shape, layout)
    replicas = layout.dp * layout.cp
    split = own.shared / replicas + own.experts / layout.expert_replicas
    weights, gradients = ELEMENT * own.total, method.gradient_bytes * own.total
    optimizer = MASTER_BYTES * (own.total if method.sharding == "none" else split)
    if method.sharding == "full":
        # Without a pipeline two layers at a time are whole; with one all of a stage stay whole.
        whole = own.total if layout.pp > 1 else own.total / layers_of_stage(shape, layout)
        weights = ELEMENT * whole * (1 if layout.pp > 1 else 2)
        gradients = method.gradient_bytes * split + ELEMENT * whole
    elif method.precision == "fp8":
        weights += FP8_COPIES * own.total
    return {"weights": weights, "gradients": gradients, "optimizer": optimizer}


def _in_flight(layout: ModelLayout) -> float:
    """Micro-batches whose activations the first stage keeps, in units of all its layers."""
    if layout.pp == 1:
        return 1.0
    if layout.vp == 1:
        return float(min(layout.pp, layout.ga))
    chunks = 2 * (layout.pp - 1) + (layout.vp - 1) * layout.pp + 1
    return min(chunks, layout.ga * layout.vp) / layout.vp


def _activations(
    shape: TransformerShape, layout: ModelLayout, method: StepMethod, sequence: int
) -> float:
    """Bytes of one token of a micro-batch in all layers of a stage, as many as are in flight."""
    kinds = stage_kinds(shape, layout)
    kept = _in_flight(layout) * sum(
        n * layer_activations(shape, layer, layout, method, sequence) for n, layer in kinds
    )
    if method.recompute == "full":
        # One layer at a time is computed again.
        kept += max(_whole_layer(shape, layer, layout, method, sequence) for _, layer in kinds)
    return kept


def layer_activations(
    shape: TransformerShape,
    layer: LayerParameters,
    layout: ModelLayout,
    method: StepMethod,
    sequence: int,
) -> float:
    """Bytes that one layer keeps of one token: its input alone where it is computed again."""
    part = layout.tp if method.sequence_parallel else 1
    if method.recompute == "full":
        return ELEMENT * shape.hidden / part
    whole = _whole_layer(shape, layer, layout, method, sequence)
    if method.recompute == "half":
        return 0.5 * (whole + ELEMENT * shape.hidden / part)
    return whole


def _whole_layer(
    shape: TransformerShape,
    layer: LayerParameters,
    layout: ModelLayout,
    method: StepMethod,
    sequence: int,
) -> float:
    h, tp = shape.hidden, layout.tp
    part = tp if method.sequence_parallel else 1
    # Inputs of two norms and of the first products, then queries, keys, values and the result.
    elements = 4 * h / part + shape.attention_columns / tp
    if not method.flash and method.recompute != "attention":
        # Scores after softmax, after dropout, and a mask of 1 B.
        elements += 2.5 * shape.heads * sequence / tp
    inner = (3 if shape.gated else 2) / tp
    experts = shape.experts
    if not layer.experts or experts is None:
        return ELEMENT * (elements + inner * shape.ffn)
    copies = experts.per_token
    # Of each copy: what was sent, what came back, and what the experts' GPUs gathered.
    elements += copies * (2 * h / part + h * layout.expert_tp / tp)
    elements += inner * experts.ffn * (copies + experts.shared)
    return ELEMENT * elements
