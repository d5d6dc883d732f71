"""Models trained on made-up images (schema weft.training/1): gradients, and when they are ready."""

from functools import cache
from typing import Annotated, Literal

from pydantic import Field

from weft.catalog.document import Document, Slug, SourceClass, Text
from weft.catalog.libraries.nccl import Architecture
from weft.catalog.toml_file import catalogue_document
from weft.core.errors import InputError, unknown_name

GRADIENT_BYTES = 4
"""Of a parameter: single precision."""

Count = Annotated[int, Field(gt=0)]


class ModelPart(Document):
    """Layers next to each other: their parameters, and multiplications of a forward pass."""

    name: Slug
    parameters: Count
    multiplications: Count


class ImageRate(Document):
    """Images a second that one GPU trains on alone."""

    value: float = Field(gt=0, allow_inf_nan=False)
    class_: SourceClass = Field(alias="class")
    source: Text


class TrainingModel(Document):
    """A model: its parts in the order of the forward pass, its rate by the GPU's architecture."""

    name: Slug
    title: Text
    source: Text
    parts: tuple[ModelPart, ...] = Field(min_length=1)
    images_per_s: dict[Architecture, ImageRate]

    @property
    def gradient_bytes(self) -> int:
        """Bytes of all gradients."""
        return GRADIENT_BYTES * sum(part.parameters for part in self.parts)


class Framework(Document):
    """How a framework joins gradients into allreduces: the largest size of the first and of the
    others, in the order in which gradients are ready."""

    name: Slug
    first_bytes: Count
    bytes: Count
    source: Text


class SyntheticBenchmarks(Document):
    """All of them. `backward_share` is the backward pass's part of a step's computing; `batch` the
    images of a GPU's step."""

    schema_: Literal["weft.training/1"] = Field(alias="schema")
    backward_share: float = Field(gt=0, lt=1)
    backward_source: Text
    batch: Count
    batch_source: Text
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
        return self.batch / rate.value * 1e9


@cache
def synthetic_benchmarks() -> SyntheticBenchmarks:
    """The catalogue's. Raises InputError."""
    path = "training/synthetic_benchmarks.toml"
    return catalogue_document(SyntheticBenchmarks, path, "table of training")
