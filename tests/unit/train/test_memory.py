"""Memory against the closed forms of papers, and what is refused for it."""

from dataclasses import replace
from statistics import median

import pytest

from weft.catalog.libraries.reference_steps import reference_steps
from weft.catalog.libraries.training_gpus import PRECISIONS, training_gpus
from weft.catalog.load import platform, trained_model
from weft.train.layout import ModelLayout, StepMethod
from weft.train.memory import layer_activations, memory_sum
from weft.train.network_state import NetworkState
from weft.train.parameters import dense_layer
from weft.train.prices import CollectivePrices
from weft.train.published import reference_step, shape_of
from weft.train.step_constants import step_constants

H100 = training_gpus()["H100-SXM5"]
RECIPE = ModelLayout(512, tp=4, pp=8, cp=2, ep=8, vp=8, ga=128)
"""Of 64 layers, in table 3 of Affaticati et al."""


def test_activations_of_a_layer_are_those_of_korthikanti_2022() -> None:
    """34 h + 5 a s a token, of which two masks of dropout around attention take 2 h; a GPU of T
    with sequence parallelism keeps a T-th."""
    shape, s = shape_of(trained_model("gpt-3-175b")), 2048
    layer, unfused = dense_layer(shape), StepMethod(flash=False)
    whole = layer_activations(shape, layer, ModelLayout(8), unfused, s)
    assert whole == pytest.approx(32 * shape.hidden + 5 * shape.heads * s)
    split = layer_activations(shape, layer, ModelLayout(8, tp=8), unfused, s)
    assert split == pytest.approx(whole / 8)
    again = layer_activations(
        shape, layer, ModelLayout(8), replace(unfused, recompute="attention"), s
    )
    assert again == pytest.approx(32 * shape.hidden)
    full = layer_activations(shape, layer, ModelLayout(8), replace(unfused, recompute="full"), s)
    assert full == 2 * shape.hidden


def test_adam_takes_sixteen_bytes_a_parameter_and_zero_divides_twelve() -> None:
    """SOURCE: Rajbhandari et al., ZeRO, section 3.1; with gradients in 2 B."""
    model = trained_model("llama-3-8b")
    shape = shape_of(model)
    n = model.parameters
    alone = memory_sum(shape, ModelLayout(1), StepMethod(), H100, 8192).parts
    assert alone["weights"] + alone["gradients"] + alone["optimizer"] == pytest.approx(16 * n, 1e-3)
    many = memory_sum(shape, ModelLayout(64), StepMethod(), H100, 8192).parts
    assert many["optimizer"] == pytest.approx(12 * n / 64, rel=1e-3)
    assert many["weights"] == alone["weights"]


@pytest.mark.parametrize("precision", PRECISIONS)
def test_grok_with_64_layers_fits_on_512_gpus_and_on_no_fewer(precision: str) -> None:
    """As the source needed: its recipe, the pipeline as long as the GPUs allow."""
    shape = shape_of(trained_model("grok-1"))
    method = StepMethod(precision=precision)  # type: ignore[arg-type]
    fits = {
        n: memory_sum(shape, replace(RECIPE, n_gpus=n, pp=n // 64), method, H100, 8192).fits
        for n in (128, 256, 512)
    }
    assert fits == {128: False, 256: False, 512: True}
    one_stage = replace(RECIPE, n_gpus=64, pp=1, vp=1)
    assert not memory_sum(shape, one_stage, method, H100, 8192).fits


def test_the_sum_is_shown_by_part() -> None:
    shape = shape_of(trained_model("grok-1"))
    words = memory_sum(shape, RECIPE, StepMethod(), H100, 8192).words
    assert words.startswith("weights 3.2 + gradients 3.2 + optimizer 7.5 + activations ")
    assert words.endswith("GB (72 usable of 80)")


def test_published_peaks_lie_above_the_sum_by_what_the_page_says() -> None:
    """Median of the twenty peaks of torchtitan: 18 %."""
    above = []
    for table in reference_steps():
        prices = CollectivePrices(platform(table.platform), NetworkState())
        for row in table.rows:
            if row.memory_gib is not None:
                gpu = training_gpus()[table.gpu]
                step = reference_step(table, row, prices, gpu, step_constants())
                asked = (step.shape, step.layout, step.method, step.gpu, step.sequence)
                above.append(row.memory_gib * 2**30 / memory_sum(*asked).total - 1)
    assert len(above) == 20
    assert median(above) == pytest.approx(0.18, abs=0.005)
