"""Logs with lines of several ranks, of several jobs, of several units, or torn ones."""

from collections.abc import Iterable
from datetime import datetime, timedelta

import numpy as np
import pytest
from tests.unit.results.training.log_texts import FIXTURES, megatron, read

from weft.core.errors import InputError


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
