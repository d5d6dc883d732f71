"""Models that are trained (schema weft.model/1): sizes of a transformer, or a synthetic benchmark.

`layers` x (attention + feed-forward) between two embeddings; sizes are numbers of elements.
"""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from weft.catalog.document import Document, Slug, Text

Whole = Annotated[int, Field(gt=0, strict=True, lt=2**40)]
Natural = Annotated[int, Field(ge=0, strict=True, lt=2**40)]


class Experts(Document):
    """A mixture: `count` experts of size `ffn`, of which a token takes `per_token`, and `shared`
    ones that every token takes. The first `dense_layers` have none, but one network of `ffn`."""

    count: Whole
    per_token: Whole
    ffn: Whole
    shared: Natural = 0
    dense_layers: Natural = 0

    @model_validator(mode="after")
    def _enough(self) -> Self:
        if self.per_token > self.count:
            raise ValueError(f"per_token of at most {self.count}, the experts there are")
        return self


class LatentAttention(Document):
    """Attention over compressed keys (MLA): ranks of the compressed queries and keys, sizes of a
    head's part with positions and of its value. SOURCE: DeepSeek-AI, DeepSeek-V2, arXiv:2405.04434.
    """

    query_rank: Whole
    kv_rank: Whole
    rope_size: Whole
    value_size: Whole


class TransformerShape(Document):
    """Sizes of a decoder. `ffn` is of the dense layers; `gated`: three matrices in place of two.
    `kv_heads` below `heads`: several queries share keys and values (GQA)."""

    layers: Whole
    hidden: Whole
    heads: Whole
    kv_heads: Whole
    head_size: Whole
    ffn: Whole
    gated: bool
    vocabulary: Whole
    tied_embeddings: bool
    learned_positions: Natural = 0
    experts: Experts | None = None
    latent: LatentAttention | None = None

    @property
    def key_size(self) -> int:
        """Elements of a query or key of one head."""
        return self.head_size + (self.latent.rope_size if self.latent else 0)

    @property
    def value_size(self) -> int:
        """Elements of a value of one head."""
        return self.latent.value_size if self.latent else self.head_size

    @property
    def query_columns(self) -> int:
        """Elements of the queries of a token."""
        return self.heads * self.key_size

    @property
    def key_columns(self) -> int:
        """Elements of the keys of a token, as attention reads them."""
        return self.kv_heads * self.key_size

    @property
    def value_columns(self) -> int:
        """Elements of the values of a token, as attention reads them."""
        return self.kv_heads * self.value_size

    @property
    def result_columns(self) -> int:
        """Elements of what attention writes of a token."""
        return self.heads * self.value_size

    @property
    def attention_columns(self) -> int:
        """Elements of queries, keys, values and results of a token."""
        return self.query_columns + self.key_columns + self.value_columns + self.result_columns

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.heads % self.kv_heads:
            near = nearest_divisor(self.heads, self.kv_heads)
            raise ValueError(
                f"kv_heads that divides {self.heads} heads, not {self.kv_heads}; the nearest is"
                f" {near}"
            )
        if self.experts is not None and self.experts.dense_layers > self.layers:
            raise ValueError(f"at most {self.layers} dense layers, as the model has layers")
        return self


class ModelDocument(Document):
    """A model. `source` is of every figure that `sources` does not name; `parameters` is the number
    its publisher states, `sequence` the tokens of a sample."""

    schema_: Literal["weft.model/1"] = Field(alias="schema")
    name: Slug
    title: Text
    source: Text
    sources: dict[Slug, Text] = Field(default_factory=dict)
    parameters: Annotated[float, Field(gt=0, lt=1e15)]
    sequence: Natural = 0
    transformer: TransformerShape | None = None
    synthetic_benchmark: Slug | None = None
    notes: tuple[Text, ...] = ()

    @model_validator(mode="after")
    def _is_one_kind(self) -> Self:
        if (self.transformer is None) == (self.synthetic_benchmark is None):
            raise ValueError("either a table [transformer] or a synthetic_benchmark")
        if self.transformer is not None and self.sequence < 1:
            raise ValueError("a sequence of 1 token or more")
        return self


def nearest_divisor(whole: int, wanted: int) -> int:
    """The divisor of `whole` that is nearest to `wanted`; the smaller of two."""
    divisors = (one for one in range(1, whole + 1) if whole % one == 0)
    return min(divisors, key=lambda one: (abs(one - wanted), one))
