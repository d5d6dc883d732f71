"""Layouts that cannot be: `weft train expect` and `weft train plan` refuse them alike."""

import json
import re

import pytest

from weft.catalog.libraries.training_gpus import training_gpus
from weft.catalog.load import platform
from weft.cli import run
from weft.train.memory import memory_sum
from weft.train.network_state import NetworkState
from weft.train.prices import CollectivePrices
from weft.train.published import grok_rows, grok_step, reference_rows, reference_step
from weft.train.step_constants import step_constants

GROK = ("azure-ndv5", "--model", "grok-1")
RECIPE = ("--tp", "4", "--cp", "2", "--ep", "8", "--vp", "8")


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        (["--gpus", "512", "--tp", "3"], "--tp 2"),
        (["--gpus", "512", "--pp", "65"], "--pp 64"),
        (["--gpus", "512", "--cp", "3"], "--cp 2"),
        (["--gpus", "512", "--ep", "3"], "--ep 2"),
        (["--gpus", "512", "--etp", "3"], "--etp 2"),
        (["--gpus", "512", "--pp", "8", "--vp", "3"], "--vp 2"),
        (["--gpus", "100", "--tp", "8", "--pp", "8"], "--gpus 128"),
        (["--gpus", "512", "--tp", "8", "--pp", "7"], "--gpus 504"),
    ],
)
def test_both_verbs_refuse_a_layout_with_the_same_words(
    options: list[str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    errors = []
    for verb in ("expect", "plan"):
        assert run(["train", verb, *GROK, *options]) == 2
        errors.append(capsys.readouterr().err)
    assert errors[0] == errors[1]
    assert f"hint: the nearest possible value is {hint}\n" in errors[0]


@pytest.mark.parametrize(("gpus", "pipeline"), [("128", "2"), ("256", "4")])
def test_64_layers_below_512_gpus_are_refused_with_the_memory_sum(
    gpus: str, pipeline: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """As the source needed: it has fewer layers there."""
    argv = ["train", "expect", *GROK, *RECIPE, "--ga", "64"]
    assert run([*argv, "--gpus", gpus, "--pp", pipeline]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"weft: grok-1 with 64 layers does not fit on {gpus} GPUs with TP 4 x ")
    terms = re.search(r": (weights .*) = ([\d.]+) GB \(72 usable of 80\)\n", error)
    assert terms is not None
    sizes = [float(term.split()[1]) for term in terms[1].split(" + ")]
    assert sum(sizes) == pytest.approx(float(terms[2]), abs=0.05 * len(sizes))
    assert run([*argv, "--gpus", "512", "--pp", "8"]) == 0


def test_options_that_a_refusal_of_memory_names_make_the_layout_fit(
    capsys: pytest.CaptureFixture[str],
) -> None:
    argv = ["train", "expect", *GROK, *RECIPE, "--gpus", "256", "--pp", "4", "--ga", "64"]
    assert run(argv) == 2
    hint = capsys.readouterr().err.split("hint: ")[1]
    ways = re.findall(r"--(?:recompute full|gpus \d+|layers \d+)", hint)
    assert [way.split()[0] for way in ways] == ["--recompute", "--gpus", "--layers"]
    for way in ways:
        assert run([*argv, *way.split()]) == 0
    capsys.readouterr()
    # The next number of layers that virtual stages divide is too large.
    layers = int(ways[2].split()[1]) + 4 * 8
    assert run([*argv, "--layers", str(layers)]) == 2


def test_a_layout_that_does_not_fit_is_priced_where_memory_is_ignored(
    capsys: pytest.CaptureFixture[str],
) -> None:
    argv = ["train", "expect", *GROK, "--gpus", "64", "--tp", "8", "--pp", "8", "--ignore-memory"]
    assert run(argv) == 0
    assert capsys.readouterr().out.splitlines()[0].endswith("; does not fit into memory")
    assert run([*argv, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["fits"] is False


def test_no_published_step_is_refused() -> None:
    prices = CollectivePrices(platform("azure-ndv5"), NetworkState())
    steps = [grok_step(row, prices, step_constants()) for row in grok_rows()]
    for one in reference_rows(step_constants()):
        gpu = training_gpus()[one.table.gpu]
        steps.append(reference_step(one.table, one.row, prices, gpu, step_constants()))
    assert len(steps) == 16 + 36
    for step in steps:
        memory = memory_sum(step.shape, step.layout, step.method, step.gpu, step.sequence)
        assert memory.fits, step.layout.words


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        # TP 8 x PP 8 leave 8 replicas, 4 with CP 2, 2 with CP 4: multiples of 6.
        (["--tp", "8", "--pp", "8", "--micro-batch", "3", "--global-batch", "1024"], "1026"),
        # Stages that take turns need a multiple of 8 micro-batches: of 16 sequences with CP 4.
        (["--tp", "8", "--pp", "8", "--vp", "8", "--global-batch", "100"], "96"),
    ],
)
def test_a_plan_names_the_batch_next_to_one_that_cannot_be(
    options: list[str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = ["train", "plan", *GROK, "--gpus", "512", *options]
    assert run(argv) == 2
    assert f"the nearest possible value is --global-batch {hint}\n" in capsys.readouterr().err
    assert run([*argv[:-1], hint]) == 0
