"""Bytes that a token moves through a GPU's memory between products of matrices.

Counted from what a layer does, a read or a write of an activation in BF16 as one element. Products
themselves are not counted: their rate contains it.
"""

from dataclasses import dataclass

from weft.catalog.libraries.model_document import TransformerShape
from weft.train.layout import ModelLayout, StepMethod
from weft.train.parameters import LayerParameters

ELEMENT = 2
"""Bytes of an activation in BF16."""
CAST_BYTES, SCALE_BYTES = 4, 2
"""Of an element before a product in FP8: read 2, written 1, and 1 transposed; read 2 more where
its scale follows from the same values. SOURCE: NVIDIA/TransformerEngine, docs/examples/fp8_primer:
delayed scaling takes the scales of steps before."""


@dataclass(frozen=True, slots=True)
class PassCounts:
    """Elements read and written, of each of h: by two norms and two residuals (`around`); of each
    query and key: by positions; of each inner column: by a gated activation function."""

    around: float
    around_back: float
    positions: float
    gate: float
    gate_back: float


FUSED = PassCounts(around=10, around_back=12, positions=2, gate=3, gate_back=5)
"""A kernel each. A norm reads and writes; back it reads the gradient and the input and writes. A
residual reads two and writes one, either way. Positions: read and written. A gated activation
function reads two and writes one; back it reads three and writes two."""
EAGER = PassCounts(around=42, around_back=72, positions=10, gate=5, gate_back=8)
"""A kernel for each operation of PyTorch. RMSNorm casts to 4 B, squares, averages, multiplies,
casts back and multiplies by its weights: 36 B of each element forward, 66 B back. Positions are
multiplied as complex numbers of 4 B: 20 B. SwiGLU takes two kernels.

SOURCE: pytorch/pytorch, aten/src/ATen/native/layer_norm.cpp: rms_norm as a composite;
pytorch/torchtitan, torchtitan/models/llama: apply_rotary_emb, FeedForward."""


@dataclass(frozen=True, slots=True)
class MemoryTraffic:
    """Bytes of the forward and of the backward pass."""

    forward: float
    backward: float

    def __add__(self, other: "MemoryTraffic") -> "MemoryTraffic":
        return MemoryTraffic(self.forward + other.forward, self.backward + other.backward)


def layer_traffic(
    shape: TransformerShape,
    layer: LayerParameters,
    layout: ModelLayout,
    method: StepMethod,
    sequence: int,
) -> MemoryTraffic:
    """Of one layer and one token, on one of the GPUs that share the token."""
    h, tp = shape.hidden, layout.tp
    part = tp if method.sequence_parallel else 1
    counts = FUSED if method.fused else EAGER
    turned, attention = shape.query_columns + shape.key_columns, shape.attention_columns
    # Flash reads q, k, v and writes the result; back it reads those and writes gradients.
    found = _elements(counts.around * h / part, counts.around_back * h / part)
    found += _elements(
        (counts.positions * turned + attention) / tp,
        (counts.positions * turned + 2 * attention) / tp,
    )
    if not method.flash:
        found += _scores_in_memory(shape.heads * sequence / tp)
    inner = _inner_size(shape, layer) / tp
    if shape.gated:
        found += _elements(counts.gate * inner, counts.gate_back * inner)
    else:
        found += _elements(2 * inner, 3 * inner)
    return found + _sorting(shape, layer, layout)


def _elements(forward: float, backward: float) -> MemoryTraffic:
    return MemoryTraffic(ELEMENT * forward, ELEMENT * backward)


def _scores_in_memory(n: float) -> MemoryTraffic:
    """Of n scores without a flash kernel. Written by the first product; softmax reads those below
    the diagonal and writes all; dropout reads, writes and writes a mask of 1 B; the second product
    reads. Back: the second product reads scores and writes gradients, dropout reads and writes
    with its mask, softmax reads twice half and writes, and the first product reads twice.

    SOURCE: Korthikanti et al. 2022, arXiv:2205.05198, figure 3: what of attention is stored.
    """
    return _elements(6 * n, 8.5 * n)


def _sorting(shape: TransformerShape, layer: LayerParameters, layout: ModelLayout) -> MemoryTraffic:
    """Of a token's copies to experts: read and written on the token's GPU on both ways, and sorted
    by expert on theirs, in either pass."""
    if not layer.experts or shape.experts is None:
        return MemoryTraffic(0.0, 0.0)
    k, h = shape.experts.per_token, shape.hidden
    elements = (2 + 2 * k) * h / layout.tp + 4 * k * h * layout.expert_tp / layout.tp
    return _elements(elements, elements)


def _inner_size(shape: TransformerShape, layer: LayerParameters) -> float:
    """Columns between the matrices of the networks that a token passes."""
    experts = shape.experts
    if not layer.experts or experts is None:
        return shape.ffn
    return experts.ffn * (experts.per_token + experts.shared)


def cast_traffic(
    shape: TransformerShape, layer: LayerParameters, layout: ModelLayout, method: StepMethod
) -> MemoryTraffic:
    """Of one layer and one token in FP8: inputs of products are cast before the forward pass,
    gradients of their outputs before the backward pass. Nothing in BF16."""
    if method.precision != "fp8":
        return MemoryTraffic(0.0, 0.0)
    h, tp = shape.hidden, layout.tp
    projected = shape.query_columns + shape.key_columns + shape.value_columns
    inner = _inner_size(shape, layer)
    copies = 1.0
    if layer.experts and shape.experts is not None:
        gathered = layout.expert_tp / tp
        copies = shape.experts.per_token * gathered + shape.experts.shared
    inputs = h + shape.result_columns / tp + copies * h + inner / tp
    outputs = projected / tp + h + (2 if shape.gated else 1) * inner / tp + copies * h
    each = CAST_BYTES + (SCALE_BYTES if method.dynamic_scaling else 0)
    return MemoryTraffic(each * inputs, each * outputs)


def weight_bytes(layer: LayerParameters, layout: ModelLayout, method: StepMethod) -> float:
    """Of one layer and one micro-batch, whatever its tokens: products of the backward pass add
    their gradients of weights to those of the micro-batches before, read and written."""
    own = (layer.attention + layer.dense) / layout.tp + layer.experts / layout.expert_tp / layout.ep
    return own * method.gradient_bytes * (2 if layout.ga > 1 else 1)


def head_bytes(shape: TransformerShape, layout: ModelLayout) -> float:
    """Of the logits of one token: written in 2 B, the loss reads and writes them in 4 B twice."""
    return 18.0 * shape.vocabulary / layout.tp
