"""Parameters of a transformer, by where parallelism splits them.

Attention and dense networks are split by TP and PP, routed experts by EP, too. Norms and biases
are left out: a layer of GPT has 13 h of them beside 12 h^2 (Narayanan et al. 2021, equation 2).
"""

from dataclasses import dataclass

from weft.catalog.libraries.model_document import ModelDocument, TransformerShape
from weft.core.errors import InputError

PARAMETERS_WITHIN = 0.05
"""How far the published number may lie from the shape's: a number of two digits is rounded by up to
5 %. Norms and biases, which the sum leaves out, are 0.1 %; the catalogue's models lie within 1 %.
"""


@dataclass(frozen=True, slots=True)
class LayerParameters:
    """Of one layer. `dense`: the network that every token takes (shared experts and the router of
    a mixture); `experts`: all routed ones; `active_experts`: those that one token takes."""

    attention: int
    dense: int
    experts: int
    active_experts: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.attention + self.dense + self.experts

    @property
    def active(self) -> int:
        """Those that one token multiplies with."""
        return self.attention + self.dense + self.active_experts


def attention_parameters(shape: TransformerShape) -> int:
    """Of the projections of one layer's attention."""
    h, heads, d = shape.hidden, shape.heads, shape.head_size
    latent = shape.latent
    if latent is None:
        return 2 * h * heads * d + 2 * h * shape.kv_heads * d
    queries = h * latent.query_rank + latent.query_rank * heads * (d + latent.rope_size)
    keys = h * (latent.kv_rank + latent.rope_size)
    keys += latent.kv_rank * heads * (d + latent.value_size)
    return queries + keys + heads * latent.value_size * h


def dense_layer(shape: TransformerShape) -> LayerParameters:
    """A layer without experts."""
    matrices = 3 if shape.gated else 2
    return LayerParameters(
        attention_parameters(shape),
        matrices * shape.hidden * shape.ffn,
        experts=0,
        active_experts=0,
    )


def mixture_layer(shape: TransformerShape) -> LayerParameters:
    """A layer with experts; a dense one where the model has none."""
    experts = shape.experts
    if experts is None:
        return dense_layer(shape)
    one = (3 if shape.gated else 2) * shape.hidden * experts.ffn
    router = shape.hidden * experts.count
    return LayerParameters(
        attention_parameters(shape),
        experts.shared * one + router,
        experts.count * one,
        experts.per_token * one,
    )


def dense_layers(shape: TransformerShape) -> int:
    """Layers without experts."""
    return shape.layers if shape.experts is None else shape.experts.dense_layers


def embedding_parameters(shape: TransformerShape) -> int:
    """Of one table of the vocabulary, and the positions beside the first."""
    return shape.vocabulary * shape.hidden


def total_parameters(shape: TransformerShape) -> int:
    """All of the model."""
    n_dense = dense_layers(shape)
    layers = n_dense * dense_layer(shape).total
    layers += (shape.layers - n_dense) * mixture_layer(shape).total
    tables = 1 if shape.tied_embeddings else 2
    positions = shape.learned_positions * shape.hidden
    return layers + tables * embedding_parameters(shape) + positions


def check_parameters(model: ModelDocument, where: str) -> None:
    """Raises InputError where the published number contradicts the shape: one of them is wrong."""
    if model.transformer is None:
        return
    total = total_parameters(model.transformer)
    if abs(model.parameters / total - 1) <= PARAMETERS_WITHIN:
        return
    raise InputError(
        f"key 'parameters' is {model.parameters:.4g}, the sizes of [transformer] give {total:.4g}",
        where=where,
        expected=f"the same within {100 * PARAMETERS_WITHIN:g} %",
        hint="gated, tied_embeddings, ffn or kv_heads may be wrong; if the sizes are right:"
        f" parameters = {total:.4g}",
    )
