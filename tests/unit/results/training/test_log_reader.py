import gzip
import time
from collections.abc import Iterable
from datetime import datetime, timedelta

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


def test_ranks_that_print_the_same_steps_are_taken_apart_by_their_prefix() -> None:
    lines = [f"[default{rank}]:{megatron(i)}" for i in range(1, 5) for rank in (3, 7)]
    (run,) = read("".join(lines)).runs
    assert (run.rank, run.n_ranks, run.n_repeated) == ("3", 2, 0)
    assert run.steps.tolist() == [1, 2, 3, 4]
    assert run.lines.tolist() == [1, 3, 5, 7]


def test_ranks_without_a_prefix_are_one_run_whose_steps_come_again() -> None:
    lines = [megatron(i) for i in (1, 1, 1, 2, 2, 3, 2, 3, 3)]
    (run,) = read("".join(lines)).runs
    assert run.steps.tolist() == [1, 2, 3]
    assert run.n_repeated == 6
    assert [one.line for one in run.remarks] == [2]
    assert run.remarks[0].text.startswith("step 1 again: 9 lines state 3 steps, 3 each")


def test_ranks_without_a_prefix_a_few_steps_apart_are_one_run() -> None:
    """Three ranks, two and four steps behind; every step is counted once, by its first line."""
    ahead = [(i, rank) for i in range(1, 25) for rank in (0, 1, 2) if i - 2 * rank > 0]
    lines = [megatron(i - 2 * rank, f"{100 * (i - 2 * rank)}.0") for i, rank in ahead]
    (run,) = read("".join(lines)).runs
    assert run.steps.tolist() == list(range(1, 25))
    assert run.times_s == pytest.approx(run.steps / 10)
    assert "lines state 24 steps" in run.remarks[0].text


def test_eight_ranks_about_a_step_apart_are_one_run() -> None:
    """Each step is begun again so often that the pieces outnumber the steps."""
    order = [(i + 1.5 * (rank % 3), rank, i) for i in range(1, 25) for rank in range(8)]
    (run,) = read("".join(megatron(i) for _, _, i in sorted(order))).runs
    assert run.steps.tolist() == list(range(1, 25))


def test_a_job_that_fails_twenty_times_at_one_step_is_no_crowd_of_ranks() -> None:
    """Its lines state a step twice on average, but most steps once."""
    steps = [*range(1, 31), *(i for n in range(20) for i in range(28 - n % 4, 31)), *range(31, 60)]
    assert len(steps) > 1.8 * 59
    assert len(read("".join(map(megatron, steps))).runs) > 1


def test_a_job_that_fails_again_and_again_is_no_crowd_of_ranks() -> None:
    lines = [megatron(i) for _ in range(6) for i in range(1, 6)]
    assert [run.steps.size for run in read("".join(lines)).runs] == [5] * 6


@pytest.mark.parametrize("prefix", ["", "[default7]:", "[2026-05-01 12:00:00] "])
def test_two_steps_in_one_line_are_two(prefix: str) -> None:
    lines = [f"{prefix}{megatron(i, f'{i}00.0')}" for i in range(1, 7)]
    lines[2] = lines[2].rstrip("\n")
    lines[4] = lines[4][:150]
    (run,) = read("".join(lines)).runs
    assert run.steps.tolist() == [1, 2, 3, 4, 5, 6]
    assert run.times_s.tolist() == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    assert run.lines.tolist() == [1, 2, 3, 3, 4, 4]
    assert (3, "two steps in one line, read as two (and in 1 more lines)") in run.remarks


_PLACES = ("before", "between", "behind")


@pytest.mark.parametrize("size", [100, 8_000, 9_000, 100_000])
@pytest.mark.parametrize("place", _PLACES)
def test_two_steps_in_one_line_of_any_length_are_two(place: str, size: int) -> None:
    """Of lines longer than 8 KiB weft reads so much around a mark: a second head may lie there."""
    noise = "x " * (size // 2)
    before, between, behind = (noise if one == place else "" for one in _PLACES)
    lines = [megatron(i, f"{i}00.0") for i in range(1, 7)]
    lines[2:4] = [f"{before}{lines[2]}".strip() + between + f"{lines[3].strip()}{behind}\n"]
    (run,) = read("".join(lines)).runs
    assert run.steps.tolist() == [1, 2, 3, 4, 5, 6]
    assert run.times_s.tolist() == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    assert run.lines.tolist() == [1, 2, 3, 3, 4, 5]
    assert run.remarks == ((3, "two steps in one line, read as two"),)


@pytest.mark.parametrize("name", ["nemo2.log", "torchtitan.log", "horovod.log", "lightning.log"])
def test_merged_lines_of_each_format_have_all_steps(name: str) -> None:
    whole = (FIXTURES / name).read_text()
    lines = whole.split("\n")
    at = len(lines) // 2
    merged = "\n".join([*lines[:at], lines[at] + lines[at + 1], *lines[at + 2 :]])
    assert read(merged).runs[0].steps.tolist() == read(whole).runs[0].steps.tolist()


def test_a_rank_that_prints_on_where_the_main_one_falls_silent_is_read_again() -> None:
    both = [f"{rank}: {megatron(i)}" for i in range(1, 1500) for rank in (0, 1)]
    alone = [f"1: {megatron(i)}" for i in range(1500, 6000)]
    (run,) = read("".join(both + alone)).runs
    assert run.rank == "1"
    assert run.steps[-1] == 5999


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


@pytest.mark.parametrize(("factor", "near"), [(1000, "3.02 s"), (0.001, "3.02 s")])
def test_units_that_are_mixed_in_silence_are_refused(factor: float, near: str) -> None:
    times = [3.0 + i / 100 for i in range(12)]
    times[2:9:3] = [one * factor for one in times[2:9:3]]
    lines = [megatron(i, f"{one:.5f}", unit="s") for i, one in enumerate(times, start=1)]
    with pytest.raises(InputError, match=r"line 3: .* units are mixed in 3 of 12") as caught:
        read("".join(lines))
    assert str(caught.value.hint) == f"the nearest possible value of line 3 is {near}"


@pytest.mark.parametrize(("at", "is_mixed"), [((4, 19, 33), False), (range(30, 40), True)])
def test_long_steps_are_of_another_unit_where_they_last(at: Iterable[int], is_mixed: bool) -> None:
    """Three stalls that happen to take a thousand steps each are stalls; a unit that changes in
    step 30 stays changed."""
    seconds = [3000.0 if i in at else 3.0 for i in range(40)]
    log = "".join(megatron(i, f"{one:.1f}", unit="s") for i, one in enumerate(seconds, start=1))
    if is_mixed:
        with pytest.raises(InputError, match=r"line 31: .* mixed in 10 of 40"):
            read(log)
    else:
        assert read(log).runs[0].times_s.tolist() == seconds


def test_a_unit_that_changes_is_seen_in_times_that_spread_by_a_third() -> None:
    seconds = 3 * np.exp(0.3 * np.random.default_rng(1).standard_normal(60))
    seconds[40:] *= 1000
    log = "".join(megatron(i, f"{one:.3f}", unit="s") for i, one in enumerate(seconds, start=1))
    with pytest.raises(InputError, match=r"line 41: .* mixed in 20 of 60"):
        read(log)


def test_a_clock_that_confirms_long_steps_leaves_their_unit() -> None:
    """Six of twelve steps take 50 minutes by the clocks of their lines too."""
    seconds = [3] * 6 + [3000] * 6
    clock = datetime(2026, 5, 1, 12, 0, 0)
    lines = []
    for i, one in enumerate(seconds, start=1):
        clock += timedelta(seconds=one)
        lines.append(f" [{clock:%Y-%m-%d %H:%M:%S}]{megatron(i, f'{one}.0', unit='s')}")
    assert read("".join(lines)).runs[0].times_s.tolist() == seconds
    frozen = [f" [2026-05-01 12:00:00]{line[22:]}" for line in lines]
    with pytest.raises(InputError, match="units are mixed in 6 of 12"):
        read("".join(frozen))


def test_half_of_the_readings_in_another_unit_are_refused() -> None:
    lines = [megatron(i, "3000.0" if i % 2 else "3.0", unit="s") for i in range(1, 13)]
    with pytest.raises(InputError, match="units are mixed in 6 of 12 readings"):
        read("".join(lines))


def test_checkpoints_that_take_a_thousand_steps_are_no_other_unit() -> None:
    saved = "  successfully saved checkpoint from iteration 3 to /scratch\n"
    lines = [
        saved + megatron(i, "10000.0") if i % 4 == 3 else megatron(i, "10.0") for i in range(1, 17)
    ]
    assert read("".join(lines)).runs[0].times_s.size == 16


def test_one_long_hang_is_no_other_unit() -> None:
    lines = [megatron(i, "3000.0" if i == 4 else "3.0", unit="s") for i in range(1, 13)]
    assert read("".join(lines)).runs[0].times_s.size == 12


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


def test_mixed_units_are_converted_and_named() -> None:
    (run,) = read(megatron(1, "250.0") + megatron(2, "0.25", unit="s")).runs
    assert run.times_s.tolist() == [0.25, 0.25]
    assert run.remarks[0] == (2, "step times in s from here, in ms before")


def test_a_time_in_another_unit_than_it_says_is_left_out() -> None:
    good = megatron(1, "0.1", unit="s", more=" samples per second: 80.0 |")
    wrong = megatron(2, "100.0", unit="s", more=" samples per second: 80.0 |")
    (run,) = read(good + wrong).runs
    assert run.steps.tolist() == [1]
    assert "the time seems to be in ms" in run.remarks[0].text


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
