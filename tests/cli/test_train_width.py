"""Every `weft train` verb in a terminal of 60 and of 80 columns."""

from pathlib import Path

import pytest

from weft.cli import output, run
from weft.cli.train import curve_text, expect_text, plan_text, read_text
from weft.cli.train.comparison import text as comparison_text

GROK = ("azure-ndv5", "--model", "grok-1", "--gpus", "512", "--tp", "4", "--cp", "2", "--ep", "8")
RECIPE = (*GROK, "--pp", "8", "--vp", "8", "--ga", "128")
LLAMA = ("azure-ndv5", "--model", "llama-3-8b", "--tp", "2", "--micro-batch", "1", "--cp", "1")
FIXTURES = Path(__file__).parents[1] / "fixtures/training"
LOG = str(FIXTURES / "nemo2.log")
CALLS = {
    "read": ("read", LOG, str(FIXTURES / "megatron-lm.log")),
    "expect": ("expect", *RECIPE),
    "expect of images": ("expect", "alps-a100", "--model", "resnet-50", "--gpus", "64"),
    "plan": ("plan", *GROK, "--micro-batch", "1"),
    "plan that computes again": ("plan", *GROK, "--micro-batch", "1", "--recompute", "full"),
    "sweep": ("plan", *LLAMA, "--sweep", "8:16", "--vp", "1"),
    "compare": ("compare", LOG, LOG, "--sequence", "8192"),
    "compare of prices": (
        "compare", *("--platform", "azure-ndv5", "--batch", "1024", "--precision", "bf16,fp8"),
        *("--model", "grok-1", "--gpus", "512", "--tp", "4", "--pp", "8", "--cp", "2"),
        *("--ep", "8", "--vp", "8", "--micro-batch", "1"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("width", [60, 80])
@pytest.mark.parametrize("name", CALLS)
def test_every_verb_fits_the_terminal(
    name: str, width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    modules = (output, comparison_text, curve_text, expect_text, plan_text, read_text)
    for module in modules:
        monkeypatch.setattr(module, "terminal_width", lambda *_: width)
    code = run(["train", *CALLS[name]])
    said = capsys.readouterr()
    assert code in (0, 5), said.err
    wide = [
        line for line in said.out.splitlines() if len(line) > width and str(FIXTURES) not in line
    ]
    assert wide == []
