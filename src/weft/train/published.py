"""Published step times next to the model's: Grok-1 by Affaticati et al. and by NVIDIA, and tables
of Megatron-LM and torchtitan, which no constant was fitted to."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from weft.catalog.libraries.model_document import ModelDocument, TransformerShape
from weft.catalog.libraries.reference_steps import PublishedStep, PublishedSteps, reference_steps
from weft.catalog.libraries.training_gpus import (
    PRECISIONS,
    Precision,
    TrainingGpu,
    gpu_of,
    training_gpus,
)
from weft.catalog.load import facts, platform, published_figures, trained_model
from weft.train.layout import ModelLayout, StepMethod
from weft.train.network_state import NetworkState
from weft.train.prices import CollectivePrices
from weft.train.step_constants import StepConstants
from weft.train.step_time import StepModel, step_time

GROK_SIZES = (8, 16, 32, 64, 128, 256, 512, 1024)
"""GPUs of table 3."""


@dataclass(frozen=True, slots=True)
class GrokRow:
    """A column of table 3 with its step time: `sequence` tokens, `layers` of the model; `batch`
    sequences a step. The layout has DP and GA that fit the batch; `printed_dp` and `printed_ga` are
    the source's (its errata)."""

    precision: Precision
    sequence: int
    layers: int
    batch: int
    layout: ModelLayout
    printed_dp: int
    printed_ga: int
    seconds: float
    tokens_per_s: float


@cache
def _figures() -> dict[str, float]:
    every = (figure for figures in published_figures().values() for figure in figures)
    return {figure.id: figure.value for figure in every}


def grok_rows() -> list[GrokRow]:
    """The sixteen step times of tables 5 and 6."""
    return [grok_row_of(precision, n) for precision in PRECISIONS for n in GROK_SIZES]


def grok_row_of(precision: Precision, n_gpus: int) -> GrokRow:
    """A column of table 3 in a precision. On 2,048 GPUs, which NVIDIA's table alone has, that of
    1,024 with twice the replicas and the batch; it has no time of the source."""
    known = _figures()
    column = min(n_gpus, GROK_SIZES[-1])
    more = n_gpus // column
    row = {
        name: round(known[f"af-t3-{column}-{name}"])
        for name in ("seqlen", "layers", "tp", "pp", "cp", "ep", "dp", "mbs", "gbs", "ga")
    }
    dp = n_gpus // (row["tp"] * row["pp"] * row["cp"])
    layout = ModelLayout(
        n_gpus,
        tp=row["tp"],
        pp=row["pp"],
        cp=row["cp"],
        ep=row["ep"],
        vp=round(known.get(f"af-t3-{column}-vp", 1)),
        micro_batch=row["mbs"],
        ga=row["gbs"] * more // (row["mbs"] * dp),
    )
    table = "t5" if precision == "fp8" else "t6"
    return GrokRow(
        precision=precision,
        sequence=row["seqlen"],
        layers=row["layers"],
        batch=row["gbs"] * more,
        layout=layout,
        printed_dp=row["dp"],
        printed_ga=row["ga"],
        seconds=known.get(f"af-{table}-{n_gpus}-step", math.nan),
        tokens_per_s=known.get(f"af-{table}-{n_gpus}-tput", math.nan),
    )


def nvidia_seconds() -> dict[tuple[Precision, int], float]:
    """NVIDIA's reference step times of the same recipe, by precision and GPUs."""
    found: dict[tuple[Precision, int], float] = {}
    for fact in facts():
        what = fact.what.removeprefix("training step time, ")
        if what != fact.what and fact.value is not None:
            precision, gpus = what.split(", ")
            name: Precision = "fp8" if precision == "FP8" else "bf16"
            found[name, int(gpus.split()[0])] = fact.value
    return found


def grok_step(row: GrokRow, prices: CollectivePrices, constants: StepConstants) -> StepModel:
    """The step of a row on the platform of `prices`. SOURCE: NVIDIA/dgxc-benchmarking, grok1:
    overlap_grad_sync, overlap_param_sync, overlap_p2p_comm, ub_tp_comm_overlap, gradients in BF16.
    """
    model = resized(trained_model("grok-1"), layers=row.layers, sequence=row.sequence)
    method = StepMethod(precision=row.precision)
    return StepModel(
        model,
        shape_of(model),
        row.layout,
        method,
        prices,
        gpu_of(prices.platform, row.precision),
        constants,
    )


def resized(model: ModelDocument, *, layers: int = 0, sequence: int = 0) -> ModelDocument:
    """The model with other layers (a proxy of fewer) or another sequence; 0 leaves it."""
    shape = model.transformer
    if shape is not None and layers:
        sizes: dict[str, object] = {"layers": layers}
        if shape.experts is not None and shape.experts.dense_layers > layers:
            sizes["experts"] = shape.experts.model_copy(update={"dense_layers": layers})
        shape = shape.model_copy(update=sizes)
    return model.model_copy(update={"transformer": shape, "sequence": sequence or model.sequence})


def shape_of(model: ModelDocument) -> TransformerShape:
    """The transformer of a model that is one."""
    assert model.transformer is not None
    return model.transformer


@dataclass(frozen=True, slots=True)
class ReferenceRow:
    """A row of a published table next to the model: seconds of a step."""

    table: PublishedSteps
    row: PublishedStep
    published_s: float
    modelled_s: float

    @property
    def error(self) -> float:
        """Modelled over published, less 1."""
        return self.modelled_s / self.published_s - 1


def reference_rows(constants: StepConstants) -> Iterator[ReferenceRow]:
    """Every row that no constant was fitted to."""
    for table in reference_steps():
        prices = CollectivePrices(platform(table.platform), NetworkState())
        gpu = training_gpus()[table.gpu]
        for row in table.rows:
            step = reference_step(table, row, prices, gpu, constants)
            yield ReferenceRow(table, row, published_seconds(table, row), step_time(step).seconds)


def reference_step(
    table: PublishedSteps,
    row: PublishedStep,
    prices: CollectivePrices,
    gpu: TrainingGpu,
    constants: StepConstants,
) -> StepModel:
    """The step of a published row."""
    sequence = row.sequence or table.sequence
    model = trained_model(table.model or "gpt-3-175b")
    model = resized(model, sequence=sequence)
    shape = shape_of(model)
    if row.layers and row.hidden and row.heads:
        sizes = {
            "layers": row.layers,
            "hidden": row.hidden,
            "heads": row.heads,
            "kv_heads": row.heads,
            "head_size": row.hidden // row.heads,
            "ffn": 4 * row.hidden,
        }
        shape = shape.model_copy(update=sizes)
        model = model.model_copy(update={"transformer": shape})
    given = table.method.model_dump()
    given["precision"] = row.precision or table.method.precision
    given["overlap"] = frozenset(table.method.overlap if row.overlap is None else row.overlap)
    given["fused"] = row.fused
    dp = row.gpus // (row.tp * row.pp * row.cp)
    layout = ModelLayout(
        row.gpus,
        tp=row.tp,
        pp=row.pp,
        cp=row.cp,
        ep=row.ep,
        vp=row.vp,
        micro_batch=row.micro_batch,
        ga=row.batch // (row.micro_batch * dp),
    )
    return StepModel(model, shape, layout, StepMethod(**given), prices, gpu, constants)


def published_seconds(table: PublishedSteps, row: PublishedStep) -> float:
    """The step time that a row states: by its tokens, or by FLOPs as its source counts them
    (Narayanan et al. 2021, equation 3, with the forward pass computed again)."""
    sequence = row.sequence or table.sequence
    if table.unit == "tokens/s":
        return row.batch * sequence / (row.value * row.gpus)
    assert row.layers
    assert row.hidden
    layers, h, vocabulary = row.layers, row.hidden, 51200
    share = 1 + sequence / (6 * h) + vocabulary / (16 * layers * h)
    flops = 96 * row.batch * sequence * layers * h**2 * share
    return flops / (row.value * 1e12 * row.gpus)
