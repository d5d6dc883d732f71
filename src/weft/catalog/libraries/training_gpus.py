"""What GPUs multiply, hold and carry (schema weft.training-gpus/1)."""

from functools import cache
from typing import Annotated, Literal

from pydantic import Field

from weft.catalog.document import Document, Figure, GBps, Text, in_unit
from weft.catalog.machine.platform import Platform
from weft.catalog.toml_file import catalogue_document
from weft.core.errors import InputError

Precision = Literal["bf16", "fp8"]
PRECISIONS: tuple[Precision, ...] = ("bf16", "fp8")

Gigabytes = Annotated[Figure, in_unit("GB", above=0)]
TeraflopRate = Annotated[Figure, in_unit("TFLOP/s", above=0)]


class TrainingGpu(Document):
    """A GPU: memory, its bandwidth, and by precision the rate of its data sheet (`peak`) and the
    rate that somebody measured of products of matrices (`matmul`). `scores`: what a kernel of
    attention that keeps scores out of memory reaches in BF16."""

    model: Text
    memory: Gigabytes
    bandwidth: GBps
    peak: dict[Precision, TeraflopRate]
    matmul: dict[Precision, TeraflopRate]
    scores: TeraflopRate | None = None


class TrainingGpus(Document):
    """All of them."""

    schema_: Literal["weft.training-gpus/1"] = Field(alias="schema")
    gpus: tuple[TrainingGpu, ...]


@cache
def training_gpus() -> dict[str, TrainingGpu]:
    """By model, as platforms name them."""
    path = "training/gpus.toml"
    document = catalogue_document(TrainingGpus, path, "table of GPUs")
    return {gpu.model: gpu for gpu in document.gpus}


def gpu_of(platform: Platform, precision: Precision) -> TrainingGpu:
    """The GPU of a platform. Raises InputError where it has none, none whose rates are known, or
    none that multiplies in that precision."""
    if platform.gpus is None:
        raise InputError(
            f"platform '{platform.name}' has no GPUs",
            expected="a platform with [gpus]; `weft platform list` names them",
        )
    known = training_gpus()
    gpu = known.get(platform.gpus.model)
    if gpu is None:
        raise InputError(
            f"no rates of '{platform.gpus.model}' are known, the GPU of {platform.name}",
            expected=f"one of {', '.join(known)}",
        )
    if precision not in gpu.matmul:
        raise InputError(
            f"{gpu.model} does not multiply in {precision.upper()}",
            expected=f"--precision {' or '.join(gpu.matmul)}",
        )
    return gpu
