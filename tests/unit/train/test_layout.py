"""Layouts that cannot be are refused with the nearest value that can."""

import pytest

from weft.catalog.load import trained_model
from weft.core.errors import InputError
from weft.train.layout import ModelLayout, check_layout
from weft.train.parameters import total_parameters
from weft.train.published import grok_rows, resized, shape_of


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        (ModelLayout(512, tp=5), r"TP 5: 48 heads.*\n.*\n.*--tp 4"),
        (ModelLayout(512, tp=4, pp=65), r"PP 65: grok-1 has 64 layers.*\n.*\n.*--pp 64"),
        (ModelLayout(500, tp=4, pp=8), r"500 GPUs do not split.*\n.*multiple of 32\n.*--gpus 512"),
        (ModelLayout(512, tp=4, pp=8, ep=7), r"EP 7.*\n.*\n.*--ep 8"),
        (ModelLayout(64, tp=4, pp=4, ep=8), r"EP 8: 8 experts and DP 4.*\n.*\n.*--ep 4"),
        (ModelLayout(512, tp=4, cp=3), r"CP 3: 8192 tokens.*\n.*\n.*--cp 2"),
        (ModelLayout(512, tp=4, vp=8), r"VP 8 without a pipeline\n.*\n.*--vp 1"),
        (ModelLayout(512, tp=4, pp=8, vp=3, ga=8), r"VP 3: 64 layers.*\n.*\n.*--vp 2"),
        (ModelLayout(512, tp=4, pp=8, vp=8, ga=12), r"GA 12 with virtual stages\n.*\n.*--ga 8"),
        (ModelLayout(512, tp=0), "tp = 0"),
        # 8192 tokens are 2 x CP parts at most 4096 wide, and TP splits each.
        (ModelLayout(8192, cp=8192), r"CP 8192: .* 2 x 8192 parts\n.*\n.*--cp 4096"),
        (ModelLayout(1 << 14, tp=4, cp=4096), r"into TP 4 x CP 4096 .*\n.*\n.*--sequence 16384"),
    ],
)
def test_an_impossible_layout_names_the_nearest_possible(layout: ModelLayout, message: str) -> None:
    model = trained_model("grok-1")
    with pytest.raises(InputError, match=message):
        check_layout(model, shape_of(model), layout)


@pytest.mark.parametrize(
    ("sizes", "tp", "reason", "near"),
    [
        # Qwen2-0.5B's 14 heads and 4864 columns; its hidden size is 14 x 64.
        ({"heads": 14, "kv_heads": 2, "hidden": 896, "ffn": 4864}, 7, "4864 columns of ffn", 2),
        ({"heads": 14, "kv_heads": 2, "hidden": 896, "ffn": 4863}, 2, "4863 columns of ffn", 1),
        ({"heads": 12, "ffn": 4096}, 8, "12 heads of", 4),
        ({"heads": 12, "ffn": 4095}, 8, "12 heads and 4095 columns of ffn", 1),
    ],
)
def test_tp_that_cannot_be_names_the_size_that_does_not_split(
    sizes: dict[str, int], tp: int, reason: str, near: int
) -> None:
    model = trained_model("llama-3-8b")
    shape = shape_of(model).model_copy(update=sizes)
    with pytest.raises(InputError) as caught:
        check_layout(model, shape, ModelLayout(8 * tp, tp=tp))
    assert caught.value.what.startswith(f"TP {tp}: {reason}")
    assert str(caught.value.hint).endswith(f"--tp {near}")


def test_fewer_layers_than_dense_ones_are_all_dense() -> None:
    shape = shape_of(resized(trained_model("deepseek-v3"), layers=2))
    assert shape.experts is not None
    assert shape.experts.dense_layers == 2
    assert total_parameters(shape) > 0


def test_a_model_without_experts_has_no_expert_parallelism() -> None:
    model = trained_model("llama-3-8b")
    with pytest.raises(InputError, match="EP 2: llama-3-8b has no experts"):
        check_layout(model, shape_of(model), ModelLayout(8, ep=2))


def test_every_layout_of_the_source_is_possible_and_its_batch_is_the_printed_one() -> None:
    """With DP and GA as they must be: errata of table 3."""
    for row in grok_rows():
        model = resized(trained_model("grok-1"), layers=row.layers, sequence=row.sequence)
        check_layout(model, shape_of(model), row.layout)
        assert row.layout.global_batch == row.batch


def test_the_errata_of_table_3_are_those_of_two_columns() -> None:
    wrong_ga = {r.layout.n_gpus: r.layout.ga for r in grok_rows() if r.layout.ga != r.printed_ga}
    assert wrong_ga == {8: 512, 16: 256}
    dp = {r.layout.n_gpus: (r.printed_dp, r.layout.dp) for r in grok_rows()}
    assert {n: true for n, (printed, true) in dp.items() if printed != true} == {
        **{8: 2, 16: 4, 32: 8, 64: 8, 128: 8, 256: 8, 512: 8},
        1024: 16,
    }
    # The printed DP is the replicas of an expert.
    assert all(r.layout.dp // r.layout.ep == r.printed_dp for r in grok_rows())
