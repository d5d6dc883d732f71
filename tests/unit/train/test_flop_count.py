"""Parameters and FLOPs against the closed forms of papers and the numbers of publishers."""

import pytest

from weft.catalog.load import facts, trained_model, trained_model_names
from weft.train.flop_count import model_flops, score_flops
from weft.train.parameters import total_parameters
from weft.train.published import reference_steps, shape_of

TRANSFORMERS = [name for name in trained_model_names() if trained_model(name).transformer]


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_a_model_has_the_parameters_its_publisher_states(name: str) -> None:
    model = trained_model(name)
    # Grok-1's recipe has another vocabulary than xAI's model, and no tied embeddings.
    within = 0.01 if name == "grok-1" else 0.001
    assert total_parameters(shape_of(model)) == pytest.approx(model.parameters, rel=within)


def test_the_catalogue_has_the_models_that_are_asked_for() -> None:
    wanted = {"grok-1", "llama-2-7b", "llama-2-13b", "llama-2-70b", "llama-3-8b", "llama-3-70b"}
    wanted |= {"llama-3-405b", "gpt-3-175b", "mixtral-8x7b", "deepseek-v3", "resnet-50"}
    assert wanted <= set(trained_model_names())
    assert all(trained_model(name).source for name in trained_model_names())


def test_flops_of_gpt_are_those_of_narayanan_2021() -> None:
    """Equation 3 is 72 B s l h^2 (1 + s / 6h + V / 12lh) without recomputation; the mask halves
    the term of s."""
    model = trained_model("gpt-3-175b")
    shape, s = shape_of(model), model.sequence
    h, layers, vocabulary = shape.hidden, shape.layers, shape.vocabulary
    causal = 72 * s * layers * h**2 * (1 + s / (12 * h) + vocabulary / (12 * layers * h))
    assert model_flops(shape, s) == pytest.approx(causal, rel=1e-9)


def test_flops_of_grok_are_what_nvidia_prints() -> None:
    printed = [f.value for f in facts() if f.unit == "FLOP" and "Grok-1" in f.topic]
    model = trained_model("grok-1")
    assert model_flops(shape_of(model), 8192) == pytest.approx(printed[0], rel=0.002)


def test_scores_of_compressed_attention_have_their_own_sizes() -> None:
    """DeepSeek-V3: keys of 128 + 64, values of 128, in 128 heads."""
    shape = shape_of(trained_model("deepseek-v3"))
    assert score_flops(shape, 10) == 2 * 10 * 128 * (128 + 64 + 128)


def test_published_tables_are_at_least_twenty_rows_with_a_source() -> None:
    tables = reference_steps()
    assert sum(len(table.rows) for table in tables) >= 20
    assert all(":" in table.source or "/" in table.source for table in tables)
