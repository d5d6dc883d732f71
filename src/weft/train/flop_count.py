"""Floating point operations of a step, as training counts them: 2 a multiplication and addition.

SOURCE: Narayanan et al. 2021, arXiv:2104.04473, section 5.1: a product of (m x k) and (k x n) takes
2 m k n; the backward pass takes twice the forward pass. Their equation 3 counts the whole square of
attention scores and a second forward pass (full recomputation); here a causal mask halves the
scores, and recomputation is counted apart.

Derived here: with GQA keys and values have kv_heads x head_size columns; of a mixture a token
multiplies with its own experts, the shared ones and the router.
"""

from dataclasses import dataclass

from weft.catalog.libraries.model_document import TransformerShape
from weft.train.parameters import LayerParameters, dense_layer, dense_layers, mixture_layer

BACKWARD = 2
"""FLOPs of the backward pass over those of the forward pass: to inputs, and to weights."""


@dataclass(frozen=True, slots=True)
class TokenWork:
    """FLOPs of the forward pass of one token in one layer: products with weights, and of queries
    with keys and scores with values (causal: half of the square)."""

    linear: float
    scores: float


def token_work(
    shape: TransformerShape, layer: LayerParameters, sequence: int, *, causal: bool = True
) -> TokenWork:
    """Of a layer, for a token of a sequence of that length."""
    return TokenWork(2.0 * layer.active, score_flops(shape, sequence) * (0.5 if causal else 1.0))


def score_flops(shape: TransformerShape, sequence: int) -> float:
    """Of one token with the whole sequence: 4 s h for plain attention."""
    return 2.0 * sequence * (shape.query_columns + shape.result_columns)


def head_flops(shape: TransformerShape) -> float:
    """Forward FLOPs of the logits of one token."""
    return 2.0 * shape.hidden * shape.vocabulary


def model_flops(shape: TransformerShape, sequence: int) -> float:
    """FLOPs of one sequence, forward and backward, without recomputation: what MFU counts."""
    n_dense = dense_layers(shape)
    layers = ((n_dense, dense_layer(shape)), (shape.layers - n_dense, mixture_layer(shape)))
    forward = head_flops(shape)
    for n, layer in layers:
        work = token_work(shape, layer, sequence)
        forward += n * (work.linear + work.scores)
    return (1 + BACKWARD) * sequence * forward
