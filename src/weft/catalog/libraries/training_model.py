"""Models trained on made-up images (schema weft.training/1): gradients, and when they are ready."""

from functools import cache
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from weft.catalog.document import Bytes, Document, Figure, Slug, Text, in_unit
from weft.catalog.libraries.nccl import Architecture
from weft.catalog.toml_file import catalogue_document
from weft.core.errors import InputError, unknown_name

GRADIENT_BYTES = 4
"""Of a parameter: single precision."""

Count = Annotated[int, Field(gt=0)]


def _is_a_share(figure: Figure) -> Figure:
    if not 0 < figure.value < 1:
        raise ValueError(f"a figure between 0 and 1, not {figure.value:g}")
    return figure


Share = Annotated[Figure, in_unit("1"), AfterValidator(_is_a_share)]
Images = Annotated[Figure, in_unit("images", above=0)]
ImageRate = Annotated[Figure, in_unit("images/s", above=0)]
"""Images that one GPU alone trains on in a second."""
Cycle = Annotated[Figure, in_unit("ns", above=0)]


class ModelPart(Document):
    """Layers next to each other: their parameters, and multiplications of a forward pass."""

    name: Slug
    parameters: Count
    multiplications: Count


class TrainingModel(Document):
    """A model: its parts in the order of the forward pass, its rate by the GPU's architecture.

    The backward pass goes through the parts in reverse, for as long as they multiply; the gradients
    of a part become ready at a constant rate.
    """

    name: Slug
    title: Text
    source: Text
    parts: tuple[ModelPart, ...] = Field(min_length=1)
    images_per_s: dict[Architecture, ImageRate]

    @property
    def gradient_bytes(self) -> int:
        """Bytes of all gradients."""
        return GRADIENT_BYTES * sum(part.parameters for part in self.parts)

    def backward_share(self, n_bytes: int) -> float:
        """The share of the backward pass after which so many bytes of gradients are ready."""
        done = 0.0
        for part in reversed(self.parts):
            own = GRADIENT_BYTES * part.parameters
            done += min(1.0, n_bytes / own) * part.multiplications
            n_bytes -= own
            if n_bytes <= 0:
                break
        return done / self._multiplications

    def ready_bytes(self, share: float) -> int:
        """The bytes of gradients that are ready after that share of the backward pass, whole
        gradients only: what `backward_share` turns back."""
        if share >= 1:
            return self.gradient_bytes
        left, ready = share * self._multiplications, 0.0
        for part in reversed(self.parts):
            ready += min(1.0, left / part.multiplications) * part.parameters
            left -= part.multiplications
            if left <= 0:
                break
        return GRADIENT_BYTES * int(ready)

    @property
    def _multiplications(self) -> int:
        return sum(part.multiplications for part in self.parts)


class Framework(Document):
    """How a framework joins gradients into allreduces, in the order in which they are ready: up to
    `bytes` (`first_bytes` in the first); with a `cycle`, those that became ready in one."""

    name: Slug
    title: Text
    first_bytes: Bytes | None = None
    bytes: Bytes
    cycle: Cycle | None = None


class SyntheticBenchmarks(Document):
    """All of them. `backward_share` is the backward pass's part of a step's computing; `batch` the
    images of a GPU's step."""

    schema_: Literal["weft.training/1"] = Field(alias="schema")
    backward_share: Share
    batch: Images
    models: tuple[TrainingModel, ...]
    frameworks: tuple[Framework, ...]

    def model(self, name: str) -> TrainingModel:
        """The model of that name. Raises InputError."""
        known = {one.name: one for one in self.models}
        if name not in known:
            raise unknown_name(f"no model '{name}'", name, known)
        return known[name]

    def framework(self, name: str) -> Framework:
        """The framework of that name. Raises InputError."""
        known = {one.name: one for one in self.frameworks}
        if name not in known:
            raise unknown_name(f"no framework '{name}'", name, known)
        return known[name]

    def compute_ns(self, model: TrainingModel, architecture: Architecture) -> float:
        """The time of a step on one GPU alone. Raises InputError."""
        rate = model.images_per_s.get(architecture)
        if rate is None:
            known = ", ".join(model.images_per_s)
            raise InputError(
                f"no rate of {model.name} on GPUs of {architecture}", expected=f"one of {known}"
            )
        return self.batch.value / rate.value * 1e9


@cache
def synthetic_benchmarks() -> SyntheticBenchmarks:
    """The catalogue's. Raises InputError."""
    path = "training/synthetic_benchmarks.toml"
    return catalogue_document(SyntheticBenchmarks, path, "table of training")
