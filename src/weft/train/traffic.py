"""Bytes that one token moves through a GPU's memory between products of matrices, forward pass.

Counted from what a layer does; 2 B an element. Products themselves are not counted: their rate
contains it. The backward pass moves twice as much.
"""

from weft.catalog.libraries.model_document import TransformerShape
from weft.train.layout import Layout, StepMethod
from weft.train.parameters import LayerParameters

ELEMENT = 2
"""Bytes of an activation in BF16."""
CAST_BYTES = 4
"""Of an element before a product in FP8: read 2, written 1, and 1 transposed."""


def layer_bytes(
    shape: TransformerShape,
    layer: LayerParameters,
    layout: Layout,
    method: StepMethod,
    sequence: int,
) -> float:
    """Of one layer and one token, on one of the GPUs that share the token."""
    h, tp = shape.hidden, layout.tp
    sequence_part = tp if method.sequence_parallel else 1
    # Two norms read and write h each; two residuals read two and write one.
    elements = 10.0 * h / sequence_part
    # Positions of queries and keys: read and written. Scores: q, k, v read, the result written.
    queries, keys = shape.heads * shape.head_size, shape.kv_heads * shape.head_size
    elements += (4.0 * queries + 4.0 * keys) / tp
    if not method.flash:
        # Scores written; softmax reads those below the diagonal and writes all; dropout reads and
        # writes, and writes its mask of 1 B; the product with values reads.
        elements += 6.0 * shape.heads * sequence / tp
    elements += _network_elements(shape, layer, tp)
    if layer.experts and shape.experts is not None:
        k = shape.experts.per_token
        # To experts and back: read and written on the token's GPU, then sorted on the experts'.
        elements += (2.0 + 2.0 * k) * h / tp + 4.0 * k * h
    return ELEMENT * elements


def _network_elements(shape: TransformerShape, layer: LayerParameters, tp: int) -> float:
    """The activation function: reads one or two of f, writes f."""
    return (3.0 if shape.gated else 2.0) * _inner_size(shape, layer) / tp


def _inner_size(shape: TransformerShape, layer: LayerParameters) -> float:
    """Columns between the matrices of the networks that a token passes."""
    experts = shape.experts
    if not layer.experts or experts is None:
        return shape.ffn
    return experts.ffn * (experts.per_token + experts.shared)


def cast_bytes(
    shape: TransformerShape, layer: LayerParameters, layout: Layout
) -> tuple[float, float]:
    """(forward, backward) of one layer and one token in FP8: inputs of products are cast before
    the forward pass, gradients of their outputs before the backward pass."""
    h, tp = shape.hidden, layout.tp
    queries, keys = shape.heads * shape.head_size, shape.kv_heads * shape.head_size
    inner = _inner_size(shape, layer)
    copies = 1.0
    if layer.experts and shape.experts is not None:
        copies = float(shape.experts.per_token + shape.experts.shared)
    inputs = h + queries / tp + copies * h + inner / tp
    outputs = (queries + 2 * keys) / tp + h + (2 if shape.gated else 1) * inner / tp + copies * h
    return CAST_BYTES * inputs, CAST_BYTES * outputs


def weight_bytes(layer: LayerParameters, layout: Layout, method: StepMethod) -> float:
    """Of one layer and one micro-batch, whatever its tokens: products of the backward pass add
    their gradients of weights to those of the micro-batches before, read and written."""
    own = (layer.attention + layer.dense) / layout.tp + layer.experts / layout.tp / layout.ep
    return own * method.gradient_bytes * (2 if layout.ga > 1 else 1)


def head_bytes(shape: TransformerShape, layout: Layout) -> float:
    """Of the logits of one token: written in 2 B, the loss reads and writes them in 4 B twice."""
    return 18.0 * shape.vocabulary / layout.tp
