"""`weft train expect` and `weft train plan`: answers, refusals, and documents of one's own."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from weft.cli import run

GROK = Path(__file__).parents[2] / "src/weft/catalog/models/grok-1.toml"
RECIPE = ("--model", "grok-1", "--tp", "4", "--cp", "2", "--ep", "8", "--vp", "8")
NDV5 = "azure-ndv5"
TRANSFORMERS = sorted(
    path.stem for path in GROK.parent.iterdir() if "[transformer]" in path.read_text()
)


def test_the_limit_comes_first_and_the_memory_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["train", "expect", NDV5, *RECIPE, "--gpus", "512", "--pp", "8", "--ga", "128"]
    assert run(argv) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("EXPECT   22.")
    assert "goes into products of matrices" in lines[0]
    memory = next(line for line in lines if line.startswith("memory"))
    assert "activations" in memory
    assert "does not fit" not in lines[0]
    assert any("3 fitted figures" in line for line in lines)
    assert max(len(line) for line in lines if "  " in line and not line.startswith("memory")) <= 80


@pytest.mark.parametrize("model", TRANSFORMERS)
def test_fp8_is_faster_for_each_model(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    """On 64 GPUs that hold all of DeepSeek-V3, which none can, both are alike: exchanges bind."""
    layout = ("--ep", "64", "--pp", "8", "--ga", "16") if model == "deepseek-v3" else ()
    gpus = ("--gpus", "1024" if layout else "64")
    times = []
    for precision in ("fp8", "bf16"):
        argv = ["train", "expect", NDV5, "--model", model, *gpus, *layout, "--precision", precision]
        assert run([*argv, "--ignore-memory", "--format", "json"]) == 0
        times.append(json.loads(capsys.readouterr().out)["step_s"])
    assert times[0] < times[1]


def test_parts_add_up_to_the_step(capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["train", "expect", NDV5, "--model", "mixtral-8x7b", "--gpus", "64", "--ep", "8"]
    assert run([*argv, "--tp", "2", "--format", "json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert sum(record["parts_s"].values()) == pytest.approx(record["step_s"])
    exposed = dict.fromkeys(("tp", "ep", "cp", "pp", "dp"), 0.0)
    for one in record["exchanges"]:
        exposed[one["dimension"]] += one["exposed_s"]
        assert one["exposed_s"] <= one["total_s"] * (1 + 1e-9)
    for name, seconds in exposed.items():
        assert record["parts_s"][name.upper()] == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--tp", "5"], "--tp 4"),
        (["--tp", "4", "--dp", "3"], "--dp 128"),
        (["--tp", "4", "--ep", "7"], "--ep 8"),
        (["--global-batch", "700"], "--global-batch 512"),
        (["--lost-rails", "8"], "--lost-rails 7"),
        (["--ga", "2", "--global-batch", "512"], "give one of them"),
        (["--overlap", "none,tp"], "contradicts"),
        (["--overlap", "tp,xp"], "'xp' is not one of"),
    ],
)
def test_what_cannot_be_is_exit_2_with_the_nearest(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["train", "expect", NDV5, "--model", "grok-1", "--gpus", "512", *options]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("kv_heads = 8", "kv_head = 8", 23, "did you mean 'kv_heads'"),
        ("kv_heads = 8\n", "", 19, "key 'transformer.kv_heads' is missing"),
        ("kv_heads = 8", "kv_heads = 7", 19, "the nearest is 6"),
        ("hidden = 6144", "hidden = nan", 21, "finite"),
        ("hidden = 6144", "hidden = 0", 21, "greater than 0"),
        ("per_token = 2\n", 'per_token = "two"\n', 32, "a whole number"),
        ("parameters = 314e9", "parameters = -1", 5, "greater than 0"),
        # 64 layers of 8 experts have two matrices in place of three: a third less.
        ("gated = true", "gated = false", 5, "key 'parameters' is 3.14e+11, the sizes of"),
        ("parameters = 314e9", "parameters = 314e6", 5, "if the sizes are right: parameters = 3.1"),
    ],
)
def test_a_wrong_model_names_key_line_and_remedy(
    old: str,
    new: str,
    line: int,
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = GROK.read_text("utf-8")
    assert text.count(old) == 1
    path = tmp_path / "mine.toml"
    path.write_text(text.replace(old, new), encoding="utf-8")
    assert run(["train", "expect", NDV5, "--model", str(path), "--gpus", "8"]) == 2
    error = capsys.readouterr().err
    assert f"mine.toml, line {line}: " in error
    assert message in error


def test_a_model_of_ones_own_is_priced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(GROK.read_text("utf-8").replace("grok-1", "mine"), encoding="utf-8")
    assert run(["train", "expect", NDV5, "--model", str(path), "--gpus", "8", "--layers", "1"]) == 0
    assert " mine in BF16 on 8 " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([NDV5, "--model", "resnet-50", "--gpus", "8"], "no rate of resnet50 on GPUs of hopper"),
        (["alps-a100", "--model", "resnet-50", "--gpus", "8", "--tp", "2"], "--tp 1"),
        (["alps-a100", "--model", "resnet-50", "--gpus", "8", "--layers", "3"], "--layers"),
        (["alps-a100", "--model", "resnet-50", "--gpus", "8", "--dp", "4"], "--dp 8"),
        (["generic-hdr", "--model", "grok-1", "--gpus", "8"], "has no GPUs"),
        (["azure-ndv4", "--model", "grok-1", "--gpus", "8", "--precision", "fp8"], "FP8"),
        (["azure-ndv2", "--model", "grok-1", "--gpus", "8"], "no rates of"),
        ([NDV5, "--model", "grok", "--gpus", "8"], "did you mean 'grok-1'"),
    ],
)
def test_machines_and_models_that_do_not_go_together(
    argv: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["train", "expect", *argv]) == 2
    assert message in capsys.readouterr().err


def test_a_synthetic_benchmark_has_images(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["train", "expect", "alps-a100", "--model", "resnet-101", "--gpus", "32"]) == 0
    out = capsys.readouterr().out
    assert "images/s of resnet-101 on 32 GPUs of alps-a100: computing binds" in out


def test_a_sum_near_the_limit_is_doubted(capsys: pytest.CaptureFixture[str]) -> None:
    """Half of the published peaks lie 18 % or more above such sums; and long rings are slower."""
    argv = ["train", "expect", NDV5, "--model", "llama-3-8b", "--gpus", "8", "--cp", "4"]
    assert run([*argv, "--sequence", "32768", "--recompute", "full"]) == 0
    out = capsys.readouterr().out
    assert "18% above" in out
    assert "CP 4 or more took 1.4 to 1.8 times" in out


def test_one_gpu_is_a_number_of_gpus(capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["train", "expect", NDV5, "--model", "llama-3-8b", "--gpus", "1"]
    assert run([*argv, "--layers", "8"]) == 0
    assert "on 1 H100-SXM5" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--gpus", "7", "--tp", "2"], "--gpus 6"),
        (["--gpus", "16", "--tp", "5"], "--tp 4"),
        (["--gpus", "16", "--vp", "3"], "the nearest possible value is --vp 2"),
        (["--gpus", "16", "--sweep", "8:16"], "contradict"),
        (["--sweep", "0:8"], "from 1 on"),
    ],
)
def test_a_plan_that_cannot_be_names_the_option_to_blame(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["train", "plan", NDV5, "--model", "llama-3-8b", *options]) == 2
    assert message in capsys.readouterr().err


def test_changes_that_a_plan_has_already_are_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    network = ["--taper", "4", "--lost-rails", "7", "--static-routes", "--transport", "sockets"]
    options = ["--tp", "2", "--pp", "1", "--gpus", "8", *network]
    found = plan("--model", "llama-3-8b", *options, capsys=capsys)
    assert {name.split()[0] for name, _ in changes_of(found)} == {"FP8"}


def plan(*argv: str, capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    assert run(["train", "plan", NDV5, *argv, "--format", "json"]) == 0
    return dict(json.loads(capsys.readouterr().out))


def changes_of(record: dict[str, object]) -> Iterator[tuple[str, float]]:
    changes = record["changes"]
    assert isinstance(changes, list)
    for row in changes:
        yield row["change"], row["factor"]


def test_a_plan_ranks_layouts_that_fit(capsys: pytest.CaptureFixture[str]) -> None:
    found = plan("--model", "llama-3-8b", "--gpus", "16", "--tp", "2", capsys=capsys)
    rows = found["layouts"]
    assert isinstance(rows, list)
    times = [row["step_s"] for row in rows]
    assert times == sorted(times)
    assert all(row["tp"] == 2 and row["memory_gb"] <= 72 for row in rows)
    changes = dict(changes_of(found))
    assert set(changes) >= {"a taper of 2:1", "one lost rail of 8", "static routes", "FP8"}
    assert changes["NCCL over sockets"] > 1.0 > changes["FP8"]


@pytest.mark.parametrize("gpus", ["128", "256"])
def test_64_layers_by_the_recipe_are_refused_below_512_with_the_memory_sum(
    gpus: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--micro-batch", "1", "--recompute", "none", "--global-batch", "1024"]
    assert run(["train", "plan", NDV5, *RECIPE, *options, "--gpus", gpus]) == 2
    error = capsys.readouterr().err
    assert f"grok-1 with 64 layers does not fit on {gpus} GPUs" in error
    assert "weights " in error
    assert "GB (72 usable of 80)" in error
    assert run(["train", "plan", NDV5, *RECIPE, *options, "--gpus", "512"]) == 0


@pytest.mark.parametrize(("gpus", "needs"), [("128", True), ("256", False)])
def test_a_plan_says_where_only_recomputation_makes_room(
    gpus: str, needs: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["train", "plan", NDV5, "--model", "grok-1", "--global-batch", "1024", "--gpus", gpus]
    assert run(words) == 0
    out = capsys.readouterr().out
    assert ("fits only with recomputation: without it weights" in out) == needs
    # Without recomputation the same number of GPUs is refused, or is not.
    assert run([*words, "--recompute", "none", "--format", "json"]) == (2 if needs else 0)


def test_what_a_refusal_offers_fits_and_half_of_it_does_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["train", "plan", NDV5, "--model", "grok-1", "--global-batch", "1024"]
    assert run([*words, "--gpus", "8"]) == 2
    offer = re.search(r"--gpus (\d+), or a proxy.*--layers (\d+)\n", capsys.readouterr().err)
    assert offer is not None
    gpus, layers = map(int, offer.groups())
    assert run([*words, "--gpus", str(gpus)]) == 0
    assert run([*words, "--gpus", str(gpus // 2)]) == 2
    assert run([*words, "--gpus", "8", "--layers", str(layers)]) == 0
    assert run([*words, "--gpus", "8", "--layers", str(2 * layers)]) == 2


def test_a_sweep_warns_of_long_rings_as_the_single_case_does(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = (
        "train",
        "plan",
        NDV5,
        "--model",
        "llama-3-8b",
        "--sequence",
        "32768",
        "--sweep",
        "8:8",
    )
    assert run([*words, "--cp", "4"]) == 0
    assert "CP 4 or more took 1.4 to 1.8 times" in capsys.readouterr().out
    assert run([*words, "--cp", "2"]) == 0
    assert "CP 4 or more" not in capsys.readouterr().out


def test_a_sweep_has_a_row_a_size(capsys: pytest.CaptureFixture[str]) -> None:
    found = plan("--model", "llama-3-70b", "--sweep", "8:32", capsys=capsys)
    sizes = found["sizes"]
    assert isinstance(sizes, list)
    assert [row["n_gpus"] for row in sizes] == [8, 16, 32]
    assert sizes[0]["step_s"] is None
    assert sizes[0]["memory_gb"] > 72
    assert run(["train", "plan", NDV5, "--model", "grok-1", "--sweep", "16:8"]) == 2
    assert "two numbers of GPUs" in capsys.readouterr().err
