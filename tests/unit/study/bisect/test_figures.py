"""The figures of a launch: readers' tables, a number behind words, and what cannot be judged."""

from pathlib import Path

import pytest

from weft.core.errors import InputError
from weft.study.bisect.figures import (
    WALL,
    FigureChoice,
    NoFigureError,
    TwiceError,
    figures_of,
    has_tables,
    pattern_of,
)

OSU = "# OSU MPI Latency Test v5.9\n# Size          Latency (us)\n8{:27.2f}\n65536{:23.2f}\n"
RATE = (
    "# OSU MPI Bandwidth Test v5.9\n# Size      Bandwidth (MB/s)\n"
    f"8{20.5:27.2f}\n65536{9000.25:23.2f}\n"
)


def of(folder: Path, text: str, err: str = "", **options: object) -> dict[str, float]:
    out, errors = folder / "launch.out", folder / "launch.err"
    out.write_text(text)
    errors.write_text(err)
    found = figures_of(out, errors, 0.5, FigureChoice(**options))  # type: ignore[arg-type]
    return {figure.name: value for figure, value in found.items()}


def test_the_main_metric_of_a_table_at_each_size(tmp_path: Path) -> None:
    text = OSU.format(1.5, 30)
    assert of(tmp_path, text) == {"latency_us at 8 B": 1.5, "latency_us at 64 KiB": 30}
    assert of(tmp_path, text, size_bytes=8) == {"latency_us at 8 B": 1.5}
    assert of(tmp_path, RATE) == {
        "bandwidth_mb_s at 8 B": 20.5,
        "bandwidth_mb_s at 64 KiB": 9000.25,
    }
    assert of(tmp_path, text, metric=WALL) == {WALL: 500_000}
    assert not has_tables(tmp_path / "launch.err")


def test_a_rate_is_better_when_it_is_higher() -> None:
    choice = FigureChoice()
    assert choice.lower_is_better("latency_us at 8 B")
    assert choice.lower_is_better(WALL)
    assert not choice.lower_is_better("bandwidth_mb_s at 8 B")
    assert choice.lower_is_better("printed")
    assert not FigureChoice(printed="{} x", higher=True).lower_is_better("printed")


def test_a_figure_that_is_printed_twice_is_named_with_its_lines(tmp_path: Path) -> None:
    twice = OSU.format(1.5, 30) + OSU.format(2.5, 40)
    with pytest.raises(TwiceError, match=r"it prints latency_us at 8 B twice \(lines 3 and 7\)"):
        of(tmp_path, twice)
    assert of(tmp_path, twice, take="first")["latency_us at 8 B"] == 1.5
    assert of(tmp_path, twice, take="last")["latency_us at 8 B"] == 2.5
    with pytest.raises(TwiceError, match=r"it prints 'time {} s' 2 times \(lines 1 and 3\)"):
        of(tmp_path, "time 1 s\n\ntime 2 s\n", printed="time {} s")


@pytest.mark.parametrize(
    ("line", "printed", "value"),
    [
        ("step time:   12.5 ms", "step time: {} ms", 12.5),
        ("loss=3e-4;", "loss={}", 3e-4),
        ("throughput 1,234.5 img/s", "throughput {} img/s", 1234.5),
        ("a+b (c) [7]", "(c) [{}]", 7),
    ],
)
def test_a_number_behind_words(tmp_path: Path, line: str, printed: str, value: float) -> None:
    assert of(tmp_path, f"other\n{line}\n", printed=printed) == {"printed": value}
    assert of(tmp_path, "", f"{line}\n", printed=printed) == {"printed": value}


@pytest.mark.parametrize("printed", ["time", "{}", "{} and {}", ""])
def test_words_that_name_no_number_are_refused(printed: str) -> None:
    with pytest.raises(InputError, match="where the number is"):
        pattern_of(printed)


def test_output_without_a_figure_is_named(tmp_path: Path) -> None:
    with pytest.raises(NoFigureError, match=r"no line has 'time \{\} s'"):
        of(tmp_path, "time: 3\n", printed="time {} s")
    with pytest.raises(NoFigureError, match="its table has no busbw_gb_s at 8 B"):
        of(tmp_path, OSU.format(1, 2), metric="busbw_gb_s", size_bytes=8)
    with pytest.raises(NoFigureError, match="no table of a known tool"):
        of(tmp_path, "Segmentation fault\n")


def test_wrong_data_is_no_figure(tmp_path: Path) -> None:
    title = "# OSU MPI Latency Test v7.0\n# Size  Avg Latency(us)  Validation\n"
    wrong = f"{title}8 1.5 Fail\n16 1.6 Pass\n"
    with pytest.raises(NoFigureError, match="line 3: the data were wrong"):
        of(tmp_path, wrong)


@pytest.mark.parametrize("number", ["0", "-0.5", "1e999"])
def test_a_number_without_a_ratio_is_no_figure(tmp_path: Path, number: str) -> None:
    with pytest.raises(NoFigureError, match=r"line 1: 'loss \{\}' is .*, not above 0"):
        of(tmp_path, f"loss {number}\n", printed="loss {}")
    text = OSU.format(0.0, 30)
    assert of(tmp_path, text) == {"latency_us at 64 KiB": 30}
