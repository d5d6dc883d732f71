import gzip
import time

import numpy as np
import pytest
from tests.unit.results.training.log_texts import FIXTURES, megatron, read

from weft.core.errors import InputError
from weft.results.training.log_reader import read_training_log


@pytest.mark.parametrize(
    ("name", "title", "n_runs", "n_steps", "first_s", "sequence", "batch", "gpus"),
    [
        ("nemo1.log", "NeMo", 1, 50, 71.2, 8192, 1024, 512),
        ("nemo2.log", "NeMo", 1, 40, 7.126, None, 256, 64),
        ("megatron-lm.log", "Megatron-LM", 2, 101, 30.39, 8192, 1024, 512),
        ("megatron-deepspeed.log", "Megatron-DeepSpeed", 1, 30, 190.3, 2048, 2048, 384),
        ("torchtitan.log", "torchtitan", 1, 300, 9.1, 8192, 32, 128),
        ("horovod.log", "Horovod", 1, 10, 32 / 301, None, 2048, 64),
        ("lightning.log", "Lightning", 1, 115, 8.77, None, None, 8),
        ("steps.csv", "CSV", 1, 40, 9.0, None, None, None),
    ],
)
def test_each_format_gives_its_steps_and_what_the_log_states(
    name: str,
    title: str,
    n_runs: int,
    n_steps: int,
    first_s: float,
    sequence: int | None,
    batch: int | None,
    gpus: int | None,
) -> None:
    log = read_training_log(FIXTURES / name)
    run = log.runs[0]
    assert (run.title, len(log.runs), run.n_steps.sum()) == (title, n_runs, n_steps)
    assert run.times_s[0] == pytest.approx(first_s, rel=0.02)
    facts = run.facts
    stated = [None if one is None else one.value for one in (facts.sequence, facts.gpus)]
    assert stated == [sequence, gpus]
    assert np.isnan(run.batches[-1]) if batch is None else run.batches[-1] == batch
    lines = (FIXTURES / name).read_text().split("\n")
    assert str(int(run.steps[0])) in lines[run.first_line - 1]


def test_two_runs_in_one_file_are_two_runs_also_where_the_second_goes_on() -> None:
    first, second = read_training_log(FIXTURES / "megatron-lm.log").runs
    assert (first.steps[0], first.steps[-1], second.steps[0], second.steps[-1]) == (
        1,
        101,
        101,
        150,
    )
    assert first.facts.gpus is not None
    assert second.facts.gpus is not None
    assert (first.facts.gpus.line, second.facts.gpus.line) == (1, 120)


def test_a_run_without_heading_begins_where_the_steps_go_back() -> None:
    log = read("".join(megatron(i) for i in (1, 2, 3, 4, 1, 2, 3)))
    assert [run.steps.tolist() for run in log.runs] == [[1, 2, 3, 4], [1, 2, 3]]


def test_steps_that_are_not_numbers_are_named_by_line() -> None:
    bad = megatron(2, "nan") + megatron(3, "-5.0") + megatron(4, "inf")
    (run,) = read(megatron(1) + bad + megatron(5) + megatron(6)).runs
    assert run.steps.tolist() == [1, 5, 6]
    assert [(one.line, one.text) for one in run.remarks] == [
        (2, "the step time is no number"),
        (3, "the step time is -0.005 s"),
        (4, "the step time is infinite"),
    ]


def test_a_log_most_of_whose_steps_have_no_time_is_refused() -> None:
    lines = [megatron(i, "nan" if i % 3 else "100.0") for i in range(1, 13)]
    with pytest.raises(InputError, match="only 4 usable step times in 12 steps: line 1: the step"):
        read("".join(lines))
    with pytest.raises(InputError, match="no usable step time in 2 steps: line 1: the step time"):
        read(megatron(1, "nan") + megatron(2, "nan"))


def test_a_cell_of_forty_thousand_spaces_costs_nothing() -> None:
    rows = "".join(f"{i},24{' ' * 40_000 if i == 3 else ''}x\n" for i in range(1, 9))
    began = time.process_time()
    with pytest.raises(InputError):
        read("step,step_time_ms\n" + rows)
    assert time.process_time() - began < 1


def test_a_loss_that_is_no_number_is_named_by_its_first_line() -> None:
    text = megatron(1) + megatron(2).replace("2.1E+00", "nan") + megatron(3)
    (run,) = read(text).runs
    assert (run.loss_nan_line, run.steps.tolist()) == (2, [1, 2, 3])


def test_gpus_that_contradict_the_clock_are_not_believed() -> None:
    text = (FIXTURES / "torchtitan.log").read_text().replace("dp_shard=16", "dp_shard=32")
    (run,) = read(text).runs
    assert np.median(run.times_s) == pytest.approx(1.16, rel=0.01)
    assert "the clock differ by a factor of 2" in run.remarks[0].text


def test_a_figure_that_a_log_states_twice_is_not_guessed() -> None:
    (run,) = read("seq_length ..... 2048\nseq_length ..... 4096\n" + megatron(1)).runs
    assert run.facts.sequence is None
    assert run.remarks[0].line == 1
    assert "4096 in line 2" in run.remarks[0].text


def test_two_values_in_one_line_are_two() -> None:
    (run,) = read("Namespace(seq_length=2048, encoder_seq_length=4096)\n" + megatron(1)).runs
    assert run.facts.sequence is None
    assert run.remarks[0].text.startswith("two sequence lengths: 2048 here, 4096 in line 1")


def test_an_option_that_contradicts_the_argument_is_named() -> None:
    (run,) = read("--global-batch-size 8\nglobal_batch_size ..... 16\n" + megatron(1)).runs
    assert (run.facts.batch, run.remarks[0].line) == (None, 1)
    assert "two global batches: 8 here, 16 in line 2" in run.remarks[0].text


def test_steps_of_another_batch_than_the_heading_says_are_named_and_kept() -> None:
    (run,) = read("global_batch_size ..... 16\n" + megatron(1) + megatron(2)).runs
    assert run.batches.tolist() == [8, 8]
    (remark,) = run.remarks
    assert (remark.line, "16 here, 8 of the step in line 2" in remark.text) == (1, True)


def test_a_batch_of_zero_in_the_last_step_is_none() -> None:
    zero = megatron(2).replace("batch size:     8", "batch size:     0")
    (run,) = read("global_batch_size ..... 8\n" + megatron(1) + zero).runs
    assert (run.batches[0], bool(run.batches[1] > 0), run.remarks) == (8, False, ())


def test_a_ramp_that_the_log_does_not_finish_is_no_contradiction() -> None:
    heading = "  global_batch_size ............................... 64\n"
    steps = [
        megatron(i).replace("size:     8", f"size:     {8 * (1 + i // 4)}") for i in range(1, 12)
    ]
    (run,) = read(heading + "".join(steps)).runs
    assert not run.remarks


def test_a_batch_that_grows_to_the_stated_one_is_no_contradiction() -> None:
    small = megatron(1).replace("batch size:     8", "batch size:     4")
    assert read("global_batch_size ..... 8\n" + small + megatron(2)).runs[0].remarks == ()


@pytest.mark.parametrize(
    ("name", "word"), [("global_batch_size", "global batches"), ("seq_length", "sequence lengths")]
)
def test_a_heading_with_another_figure_between_steps_begins_a_run(name: str, word: str) -> None:
    """Of a job that goes on from a checkpoint, its lines without a batch, and no slower."""
    one, two, three = (megatron(i).replace("batch size", "x") for i in (1, 2, 3))
    heading = "global_batch_size ..... 64\nseq_length ..... 64\n"
    changed = heading.replace(f"{name} ..... 64", f"{name} ..... 128")
    runs = read(heading + one + two + changed + three).runs
    assert [run.steps.tolist() for run in runs] == [[1, 2], [3]]
    assert f"the log states two {word}: 64 in line" in runs[1].remarks[0].text
    assert [run.steps.size for run in read(heading + one + two + heading + three).runs] == [3]


def test_axes_of_a_mesh_beyond_any_machine_are_no_number_of_gpus() -> None:
    text = (FIXTURES / "torchtitan.log").read_text().replace("dp_shard=16", "dp_shard=" + "9" * 400)
    assert read(text).runs[0].facts.gpus is None


@pytest.mark.parametrize("peak", ["0.0" + "0" * 300 + "1", "1e30", "312"])
def test_a_peak_of_no_gpu_is_none(peak: str) -> None:
    heading = f"[rank0]: Peak FLOPS used for computing MFU: {peak}\n"
    (run,) = read(heading + "".join(map(megatron, range(1, 12)))).runs
    assert run.facts.peak_flops is None


def test_a_checkpoint_between_two_steps_is_remembered_with_the_second() -> None:
    text = megatron(1) + "saving checkpoint at iteration 1 to /x\n" + megatron(2, "900.0")
    assert read(text).runs[0].follows.tolist() == [0, 1]


def test_steps_behind_megabytes_of_other_lines_have_their_line() -> None:
    noise = "node1:1:2 [0] NCCL INFO Channel 00/16 : 0[0] -> 1[1] via NET/IB/0\n" * 50_000
    (run,) = read(megatron(1) + noise + megatron(2) + noise + megatron(3)).runs
    assert run.lines.tolist() == [1, 50_002, 100_003]


def test_a_packed_log_and_one_in_utf_16_are_read() -> None:
    text = megatron(1) + megatron(2)
    assert read(gzip.compress(text.encode())).runs[0].steps.tolist() == [1, 2]
    assert read(text.encode("utf-16")).runs[0].steps.tolist() == [1, 2]


def test_units_of_a_csv_stand_in_its_header_or_cells() -> None:
    (run,) = read("step,step_time\n1,100 ms\n2,0.25 s\n").runs
    assert run.times_s.tolist() == [0.1, 0.25]
    with pytest.raises(InputError, match=r"line 3: 0.25 s in a column of ms") as caught:
        read("step,step_time_ms\n1,100\n2,0.25 s\n")
    assert str(caught.value.hint) == "in ms this is 250"
    with pytest.raises(InputError, match="line 2: a step time without a unit") as caught:
        read("step,step_time\n1,100\n2,200\n")
    assert "step_time_ms" in str(caught.value)


def test_a_csv_of_clocks_gives_times_by_differences() -> None:
    (run,) = read("Wall time,Step,Value\n1000.0,0,3.1\n1002.0,1,3.0\n1006.0,3,2.9\n").runs
    assert run.times_s.tolist() == [2.0, 2.0]
    assert run.lines.tolist() == [3, 4]


def test_bars_without_step_times_are_joined_until_their_time_is_known() -> None:
    bars = "".join(
        f"Epoch 0: {i:3d}%| | {i}/100 [00:{int(i * 0.25):02d}<00:10, {4.0:5.2f}it/s]\n"
        for i in range(101)
    )
    (run,) = read(bars).runs
    assert run.n_steps.max() < 20
    assert np.median(run.times_s) == pytest.approx(0.25, rel=0.05)


def test_rich_bars_count_by_their_clock() -> None:
    """As in Lightning-AI/pytorch-lightning issue 12720; newer bars have the epochs behind '/'."""
    for epochs, bar in (("4   ", "--------------- ----"), ("4/9 ", "\u2501\u2501\u2578\u2501")):
        lines = []
        for i in range(1, 60):
            minutes, seconds = divmod(25 * i, 60)
            lines.append(
                f"Epoch {epochs} {bar} {i}/291 0:{minutes:02d}:{seconds:02d} \u2022 0:00:09 "
                f"0.50it/s loss: 0.398 "
            )
        (run,) = read("\n".join(lines)).runs
        assert run.title == "Lightning"
        assert np.median(run.times_s) == pytest.approx(25, rel=0.05)
        assert (run.has_loss, run.loss_nan_line) == (True, 0)


def test_images_a_second_need_the_batch() -> None:
    with pytest.raises(InputError, match="no usable step time in 2 steps") as caught:
        read("Iter #0: 301.5 img/sec per GPU\nIter #1: 300.5 img/sec per GPU\n")
    assert "Batch size: N" in str(caught.value)


def test_what_is_no_training_log_is_refused() -> None:
    with pytest.raises(InputError, match="no training step in these 2 lines"):
        read("hello\nEpoch of great change: 100%\n")
    with pytest.raises(InputError, match="the file is empty"):
        read("")
    with pytest.raises(InputError, match="binary"):
        read(b"\x7fELF\x00\x01")
    with pytest.raises(InputError, match="cannot be read"):
        read_training_log(FIXTURES)


def test_json_of_dllogger_has_the_steps_of_nemo() -> None:
    """SOURCE: AI-Hypercomputer/gpu-recipes, README of a3ultra llama3.1-405b nemo."""
    lines = [
        f'DLLL {{"timestamp": "17392{i}", "datetime": "2025-02-10 17:{i}:51.717398", "elapsedt'
        f'ime": "1750.2", "type": "LOG", "step": {i}, "data": {{"reduced_train_loss": 10.914, '
        f'"lr": 1.2e-06, "global_step": {i}.0, "consumed_samples": {2016 * (i + 1)}.0, '
        '"train_backward_timing in s": 4.649162292480469e-05, '
        f'"train_step_timing in s": 92.{i}, "epoch": 0}}}}\n'
        for i in range(16, 30)
    ]
    (run,) = read("".join(lines)).runs
    assert (run.tool, run.steps.tolist()) == ("nemo", list(range(16, 30)))
    assert run.times_s.tolist() == [float(f"92.{i}") for i in range(16, 30)]
    assert set(run.batches.tolist()) == {2016}
    assert set(np.diff(run.stamps_s).tolist()) == {60}
    assert (run.has_loss, run.loss_nan_line) == (True, 0)
