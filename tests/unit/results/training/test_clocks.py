"""Times by the clock: its jumps are named, and are no steps."""

import re

import pytest
from tests.unit.results.training.log_texts import FIXTURES, megatron, read

from weft.core.errors import InputError
from weft.results.training.collector import EVALUATION


def test_a_clock_that_goes_back_is_named() -> None:
    stamps = ("2026-05-01 12:00:00", "2026-05-01 12:00:05", "2026-05-01 11:00:05")
    text = "".join(f" [{one}]{megatron(i)}" for i, one in enumerate(stamps, start=1))
    (run,) = read(text).runs
    assert run.remarks == ((3, "the clock goes back by 3,600 s"),)
    assert run.steps.size == 3


def test_a_clock_that_jumps_ahead_of_the_tokens_a_second_is_named() -> None:
    text = (FIXTURES / "torchtitan.log").read_text()
    lines = text.split("\n")
    lines[9:] = [line.replace("2026-05-01 12:", "2026-05-01 13:") for line in lines[9:]]
    (run,) = read("\n".join(lines)).runs
    assert [one.line for one in run.remarks] == [11]
    assert run.remarks[0].text.startswith("the clock jumps by +3.6e+03 s")


@pytest.mark.parametrize("hours", [11, 13])
def test_a_jump_of_the_clock_is_no_step_where_only_the_clock_gives_times(hours: int) -> None:
    lines = (FIXTURES / "torchtitan.log").read_text().split("\n")
    lines = [line for line in lines if "step:" in line]
    whole = read("\n".join(lines)).runs[0]
    lines[9:] = [line.replace("2026-05-01 12:", f"2026-05-01 {hours}:") for line in lines[9:]]
    (run,) = read("\n".join(lines)).runs
    (remark,) = (one for one in run.remarks if "jumps" in one.text)
    assert remark.line == 10 + ("2026-05-01 12:" not in lines[8])
    assert f"{3600 * (hours - 12):+.3g} s" in remark.text
    assert sorted(set(whole.steps) - set(run.steps)) == [whole.steps[8]]
    assert run.times_s.max() == whole.times_s.max()


def test_the_time_of_a_validation_is_no_jump_of_the_clock() -> None:
    """torchtitan begins to count tokens anew behind it, and its line is none of a step."""
    lines = (FIXTURES / "torchtitan.log").read_text().split("\n")
    lines = [line for line in lines if "step:" in line]
    whole = read("\n".join(lines)).runs[0]
    lines[9:] = [line.replace("2026-05-01 12:", "2026-05-01 13:") for line in lines[9:]]
    validation = lines[8].replace("step:", "validate step:")
    (run,) = read("\n".join([*lines[:9], validation, *lines[9:]])).runs
    assert run.steps.tolist() == whole.steps.tolist()
    assert run.n_repeated == 0
    assert not run.remarks
    assert run.follows[8] == EVALUATION


def test_a_line_whose_rate_is_rounded_to_zero_has_no_jump() -> None:
    lines = (FIXTURES / "torchtitan.log").read_text().split("\n")
    lines = [line for line in lines if "step:" in line]
    rate = re.search(r"tps: \S*?[\d,]+", lines[8])
    assert rate is not None
    lines[8] = lines[8].replace(rate.group(), "tps: 0")
    (run,) = read("\n".join(lines)).runs
    assert not [one for one in run.remarks if "jumps" in one.text]


def test_steps_without_a_number_have_no_jumps() -> None:
    """Eighteen digits are no number of a step: no reading is left."""
    line = "2026-05-01 12:00:00,100 step: 999999999999999999 memory: 49GiB(35%) tps: 7,026\n"
    with pytest.raises(InputError, match="no usable step time in 0 steps: line 1: the number of"):
        read(line)


def test_a_column_of_clocks_that_goes_back_is_named() -> None:
    clocks = (1000, 1002, 1004, 404, 406, 408)
    rows = "".join(f"{clock},{i}\n" for i, clock in enumerate(clocks))
    (run,) = read("Wall time,Step\n" + rows).runs
    assert run.times_s.tolist() == [2.0] * 4
    assert run.remarks == ((5, "the clock goes back by 600 s: left out"),)
    (run,) = read("Wall time,Step\n1000,0\n900,1\n902,2\n904,3\n").runs
    assert run.remarks == ((3, "the clock goes back by 100 s: left out"),)
