"""Published tables of training (schema weft.training-steps/1): what ran, and how fast."""

from functools import cache
from typing import Annotated, Literal

from pydantic import Field

from weft.catalog.document import Document, Slug, Text
from weft.catalog.libraries.training_gpus import Precision
from weft.catalog.toml_file import catalogue_document

Ways = Annotated[int, Field(gt=0, strict=True)]
Exchanged = Literal["tp", "ep", "cp", "pp", "dp"]


class PublishedMethod(Document):
    """How a step was computed, as `weft.train.layout.StepMethod` has it."""

    precision: Precision
    recompute: Literal["none", "attention", "half", "full"] = "none"
    sharding: Literal["none", "optimizer", "full"] = "optimizer"
    overlap: tuple[Exchanged, ...] = ()
    flash: bool = True
    dynamic_scaling: bool = False
    sequence_parallel: bool = True
    gradient_bytes: Ways = 4


class PublishedStep(Document):
    """A row: the layout, `batch` sequences a step, and `value` of one GPU in the table's unit.
    `memory_gib`: the peak of a GPU.
    `layers`, `hidden` and `heads` of a GPT; precision, overlap and sequence where a row has its
    own."""

    gpus: Ways
    tp: Ways = 1
    pp: Ways = 1
    cp: Ways = 1
    ep: Ways = 1
    vp: Ways = 1
    micro_batch: Ways
    batch: Ways
    value: Annotated[float, Field(gt=0)]
    memory_gib: Annotated[float, Field(gt=0)] | None = None
    layers: Ways | None = None
    hidden: Ways | None = None
    heads: Ways | None = None
    sequence: Ways | None = None
    precision: Precision | None = None
    overlap: tuple[Exchanged, ...] | None = None
    fused: bool = True
    notes: str = ""


class PublishedSteps(Document):
    """A table. `unit`: TFLOP/s as the source counts FLOPs, or tokens/s, of one GPU. `platform`: the
    machine of the catalogue whose network is alike."""

    name: Slug
    title: Text
    source: Text
    unit: Literal["TFLOP/s", "tokens/s"]
    platform: Slug
    gpu: Text
    model: Slug | None = None
    sequence: Ways = 8192
    method: PublishedMethod
    rows: Annotated[tuple[PublishedStep, ...], Field(min_length=1)]


class ReferenceSteps(Document):
    """All tables."""

    schema_: Literal["weft.training-steps/1"] = Field(alias="schema")
    tables: tuple[PublishedSteps, ...]


@cache
def reference_steps() -> tuple[PublishedSteps, ...]:
    """Every table of the catalogue."""
    path = "training/reference_steps.toml"
    return catalogue_document(ReferenceSteps, path, "list of tables").tables
