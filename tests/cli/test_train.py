"""`weft train read` and `weft train compare`, as users see them."""

import csv
import io
import json
from pathlib import Path

import pytest
from tests.unit.train.log.drawn_runs import log_of, times

from weft.catalog.load import published_figures
from weft.catalog.published_figures import PublishedFigure
from weft.cli import run

FIXTURES = Path(__file__).parents[1] / "fixtures/training"
Capture = pytest.CaptureFixture[str]


def published() -> list[tuple[PublishedFigure, PublishedFigure]]:
    """Step times of Affaticati et al., tables 5 and 6, with their throughputs."""
    figures = {one.id: one for rows in published_figures().values() for one in rows}
    steps = [one for name, one in figures.items() if name[:5] in ("af-t5", "af-t6")]
    return [
        (one, figures[one.id.removesuffix("step") + "tput"])
        for one in steps
        if one.id.endswith("-step")
    ]


def test_there_are_sixteen_published_step_times() -> None:
    assert len(published()) == 16


@pytest.mark.parametrize(("step", "rate"), published(), ids=lambda one: one.id)
def test_published_throughputs_follow_from_the_step_times(
    step: PublishedFigure, rate: PublishedFigure, tmp_path: Path, capsys: Capture
) -> None:
    """A NeMo log with the published step time gives the published tokens/s within 0.5 %."""
    words = step.conditions.replace(",", "").split()
    gpus, sequence, batch = (
        words[0],
        words[words.index("SeqLen") + 1],
        words[words.index("GBS") + 1],
    )
    bars = "\r".join(
        f"Epoch 0: : 2%|x| {i + 1}/20 [01:04<18:20, reduced_train_loss=0.2, global_step={i:.2f}, "
        f"consumed_samples={(i + 1) * int(batch):.1f}, train_step_timing in s={step.value:.2f}]"
        for i in range(20)
    )
    (tmp_path / "job.out").write_text(bars + "\n")
    argv = ["train", "read", str(tmp_path / "job.out"), "--sequence", sequence, "--gpus", gpus]
    assert run([*argv, "--format", "json"]) == 0
    (log,) = json.loads(capsys.readouterr().out)["logs"]
    assert log["runs"][0]["rates"]["tokens_s"] == pytest.approx(rate.value, rel=0.005)


def test_the_text_says_what_was_read_left_out_and_slow(capsys: Capture) -> None:
    assert run(["train", "read", str(FIXTURES / "megatron-lm.log")]) == 0
    out = capsys.readouterr().out
    assert "2 runs" in out
    assert "left out: the first 2 steps, 427 % longer (MSER-1, White 1997)" in out
    assert "5 slow steps, one every 20 from step 21 on, each +1.349 s, 5 after a checkpoint" in out
    assert "8,192 tokens (line 5) x batch 1,024 (line 4) / step time" in out


def test_slow_steps_are_named_only_where_there_are_some(tmp_path: Path, capsys: Capture) -> None:
    series = times(40, 2.0, noise=0)
    for n_slow in (0, 1):
        series[20 : 20 + n_slow] *= 3
        path = tmp_path / f"{n_slow}.log"
        path.write_text(log_of(series))
        assert run(["train", "read", str(path)]) == 0
        out = capsys.readouterr().out
        # (40 x 2 s + 4 s) / 40 steps
        mean = (
            "mean      2.100 s a step with the slow ones" if n_slow else "mean      2.000 s a step"
        )
        assert any(line.split(",")[0] == mean for line in out.splitlines())
        assert ("slow" in out) == bool(n_slow)


def test_flops_and_mfu_come_from_stated_counts_only(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "job.log"
    path.write_text(log_of(times(40, 2.0, noise=0)))
    assert run(["train", "read", str(path)]) == 0
    assert "TFLOP/s" not in capsys.readouterr().out
    argv = ["train", "read", str(path), "--flop-per-step", "5.12e16", "--peak-tflops", "1000"]
    assert run(argv) == 0
    # 5.12e16 / 2 s / 64 GPUs
    assert "400.0 TFLOP/s a GPU (given FLOP count), MFU 40.0 % of 1000" in capsys.readouterr().out


def test_a_flop_count_without_gpus_is_refused(capsys: Capture) -> None:
    argv = ["train", "read", str(FIXTURES / "steps.csv"), "--flop-per-step", "1e18"]
    assert run(argv) == 2
    assert "expected: --gpus N" in capsys.readouterr().err


def test_csv_has_a_row_a_reading_with_its_line(capsys: Capture) -> None:
    assert run(["train", "read", str(FIXTURES / "nemo2.log"), "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len(rows) == 40
    assert (rows[0]["line"], rows[0]["step"], rows[0]["state"]) == ("4", "0", "beginning")
    assert {row["state"] for row in rows[1:]} == {"steady"}


def test_the_page_greys_what_was_left_out(tmp_path: Path, capsys: Capture) -> None:
    page = tmp_path / "page.html"
    assert run(["train", "read", str(FIXTURES / "nemo1.log"), "--report", str(page)]) == 0
    capsys.readouterr()
    text = page.read_text()
    assert "left out: the first 2 steps" in text
    assert text.count('"state":"left out"') == 2
    assert text.count('"state":"steady"') == 48
    assert '"#aaaaaa"' in text


def test_a_log_without_steady_state_is_5_and_a_bad_file_2(tmp_path: Path, capsys: Capture) -> None:
    short, notes = tmp_path / "short.log", tmp_path / "notes.txt"
    short.write_text(log_of(times(4)))
    notes.write_text("nothing to see\n")
    assert run(["train", "read", str(short)]) == 5
    assert capsys.readouterr().out.startswith("UNKNOWN  cannot tell: the steady step time: 4")
    assert run(["train", "read", str(notes)]) == 2
    assert "no training step in these 1 line" in capsys.readouterr().err
    assert run(["train", "read", str(notes), str(FIXTURES / "nemo1.log")]) == 2
    assert "381,300 tokens/s" in capsys.readouterr().out


@pytest.mark.parametrize("name", sorted(path.name for path in FIXTURES.glob("*.[lc]*")))
def test_judge_says_which_verb_reads_a_training_log(name: str, capsys: Capture) -> None:
    path = str(FIXTURES / name)
    assert run(["judge", path]) == 2
    err = capsys.readouterr().err
    assert "this is a t" in err
    assert f"hint: weft train read {path}" in err


@pytest.mark.parametrize(
    ("more", "tool"),
    [
        (" throughput per GPU (TFLOP/s/GPU): 310.2 |", "Megatron-LM"),
        (" samples per second: 5.380 |", "Megatron-DeepSpeed"),
        ("", "Megatron-DeepSpeed or Megatron-LM"),
    ],
)
def test_judge_and_read_tell_the_two_megatrons_apart(
    more: str, tool: str, tmp_path: Path, capsys: Capture
) -> None:
    path = tmp_path / "job.log"
    text = log_of(times(40))
    path.write_text(text.replace(" | lm loss", f" |{more} lm loss"))
    assert run(["judge", str(path)]) == 2
    assert f"this is a training log of {tool} (first step" in capsys.readouterr().err
    assert run(["train", "read", str(path)]) == 0
    assert f"read      {tool}, lines" in capsys.readouterr().out
    assert run(["train", "read", str(path), "--format", "json"]) == 0
    (log,) = json.loads(capsys.readouterr().out)["logs"]
    assert log["runs"][0]["tool"] == tool.lower()


def test_compare_names_the_speed_up_and_the_efficiency(tmp_path: Path, capsys: Capture) -> None:
    first, second = tmp_path / "a.log", tmp_path / "b.log"
    first.write_text(log_of(times(60), gpus=64))
    second.write_text(log_of(times(60, 1.6, seed=2), gpus=128))
    assert run(["train", "compare", str(first), str(second)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("NOTE  the second is faster: 1.87")
    assert "on 2 x the GPUs: scaling efficiency 93." in out
    assert run(["train", "compare", str(second), str(first), "--gpus", "64,64"]) == 0
    assert "WARNING  the second is slower" in capsys.readouterr().out


def test_compare_asks_which_of_several_runs(capsys: Capture) -> None:
    path = str(FIXTURES / "megatron-lm.log")
    assert run(["train", "compare", path, path]) == 2
    err = capsys.readouterr().err
    assert "2 runs (1: lines 9 to 119, 2: lines 128 to 181)" in err
    assert "--first-run N" in err
    assert run(["train", "compare", path, path, "--first-run", "1", "--second-run", "2"]) == 0
    assert "no difference" in capsys.readouterr().out
    assert run(["train", "compare", path, path, "--first-run", "3", "--second-run", "2"]) == 2


@pytest.mark.parametrize("separator", [";", "\t"])
def test_a_comma_in_a_figure_is_refused_by_line(
    separator: str, tmp_path: Path, capsys: Capture
) -> None:
    """2,43 s was read as 243 s."""
    path = tmp_path / "steps.csv"
    rows = (("step", "step_time_s"), ("1", "2.43"), ("2", "2,43"))
    path.write_text("\n".join(map(separator.join, rows)))
    assert run(["train", "read", str(path)]) == 2
    error = capsys.readouterr().err
    assert "line 3: '2,43' may be a decimal comma" in error


def test_one_column_of_step_times_is_read(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "steps.csv"
    path.write_text("\n".join(["step_time_s", *(f"{2 + (i % 3) / 100}" for i in range(40))]))
    assert run(["train", "read", str(path), "--format", "json"]) == 0
    assert '"n_readings": 40' in capsys.readouterr().out
