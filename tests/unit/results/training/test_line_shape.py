"""Lines of a known shape are read by one match, as searches for names read them."""

import math

import pytest

from weft.results.training.formats.megatron_lm import FORMAT
from weft.results.training.line_shape import LineShape, shape_of
from weft.results.training.model import StepReading
from weft.results.training.rank_prefix import without_rank

LINE = (
    "[default3]: [2026-05-01 12:00:07.25] iteration       77/  500 | consumed samples:   78848 | "
    "elapsed time per iteration (ms): 3375.3 | throughput per GPU (TFLOP/s/GPU): 310.2 | "
    "learning rate: 1.365E-05 | global batch size:  1024 | lm loss: 2.38E+00 | grad norm: 0.2 |"
)


def by_searches(line: str) -> StepReading | None:
    return FORMAT.read(without_rank(line)[1])


def learned(line: str) -> LineShape | None:
    text = without_rank(line)[1]
    reading = FORMAT.read(text)
    assert reading is not None
    return shape_of(line.encode(), text, FORMAT, reading)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("77/", "123456/"),
        ("  77/", "7000001/"),
        ("3375.3", "0.125"),
        ("3375.3", "1e999"),
        ("12:00:07.25", "13:59:59.999"),
        ("2026-05-01", "2026-99-01"),
        ("2.38E+00", "1.1e-3"),
        ("1024 ", "2048 "),
    ],
)
def test_other_numbers_are_read_alike(old: str, new: str) -> None:
    shape = learned(LINE)
    assert shape is not None
    line = LINE.replace(old, new)
    assert line != LINE
    expected, raw = by_searches(line), line.encode()
    found = shape.reading(b"x\n" + raw + b"\n", 2, 2 + len(raw))
    assert found is not None
    assert expected is not None
    assert found.unit == expected.unit
    for one, other in zip(found.figures, expected.figures, strict=True):
        assert one == other or (math.isnan(one) and math.isnan(other))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[default3]", "[default4]"),
        ("3375.3", "3375"),
        ("3375.3", "nan"),
        ("3375.3", "3375.3/3370.1"),
        ("(ms)", "(s)"),
        ("2.38E+00", "-2.38E+00"),
        ("1024 ", "1,024 "),
        ("12:00:07.25", "12:00:07"),
        (" |", " | 1"),
    ],
)
def test_another_text_between_the_numbers_is_another_shape(old: str, new: str) -> None:
    shape = learned(LINE)
    assert shape is not None
    raw = LINE.replace(old, new).encode()
    assert raw.decode() != LINE
    assert shape.reading(raw, 0, len(raw)) is None


@pytest.mark.parametrize(
    "line",
    [
        LINE.replace("2.38E+00", "-2.38E+00"),
        LINE.replace("1024 ", "1_024 "),
        LINE.replace("3375.3", "3375.3,1"),
        LINE.replace("grad norm", "gräd norm"),
        LINE.replace("lm loss", "\x1b[31mlm loss"),
        "12 " + LINE.removeprefix("[default3]: "),
    ],
)
def test_a_line_whose_numbers_may_be_read_otherwise_has_no_shape(line: str) -> None:
    assert learned(line) is None


def test_a_field_that_equals_its_own_probe_is_no_constant() -> None:
    for step in range(7_000_000, 7_000_200):
        shape = learned(LINE.replace("  77/", f"{step}/"))
        assert shape is not None
        found = shape.reading(LINE.encode(), 0, len(LINE))
        assert found is not None
        assert found.step == 77
