"""The page of a study over several scales: answer, map, curves, anomalies, threats."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.mock_backend import MockBackend
from tests.unit.report.test_page import Measure, Page

from weft.report.page import write_report
from weft.report.study import verdict_map
from weft.report.study.conclusion import THREATS
from weft.report.study.verdict_map import MapClass
from weft.study.comparison.comparison import Comparison, compare_arms
from weft.study.run.store import read_run

STUDY = """
schema = "weft.study/1"
name = "matrix"
title = "A matrix"
question = "Where does it help?"
repeats = 8
nodes = [2, 4, 8]
tasks_per_node = [1, 2]

[[benchmarks]]
name = "allreduce"
sizes = "8,4K,64K"

[[benchmarks]]
name = "message_rate"
sizes = "8,64K"

[[benchmarks]]
name = "barrier"

[[factors]]
name = "sharp"
settings = [{ name = "off" }, { name = "on", evidence = { transport = "mock" } }]
"""


@pytest.fixture
def run_dir(tmp_path: Path, measure: Measure) -> Path:
    backend = MockBackend(effects={"sharp=on": 0.5}, noise=0.002)
    return measure(tmp_path / "run", STUDY, backend=backend)


@pytest.fixture
def compared(run_dir: Path) -> Comparison:
    return compare_arms(read_run(run_dir))


def _page(run_dir: Path) -> Page:
    write_report([run_dir], run_dir / "page.html")
    return Page(run_dir / "page.html")


def _cells(svg: str) -> list[str]:
    return re.findall(r"<g><title>(.*?)</title>", svg)


def test_the_answer_stands_first_with_its_range_and_no_effect_repeats_it(run_dir: Path) -> None:
    page = _page(run_dir)
    sentences = [text for tag, text in page.texts if tag == "p" and "sharp=on" in text]
    assert "with sharp=on are faster in all 36 cells (up to " in sentences[0]
    assert "Valid for " in page.text[: page.text.index("Verdicts over the matrix")]
    head = page.text[: page.text.index("Verdicts over the matrix")]
    assert "than with sharp=off" not in head


def test_sections_come_in_the_order_of_interest(run_dir: Path) -> None:
    headings = [text for tag, text in _page(run_dir).texts if tag == "h3"]
    wanted = ["Verdicts over the matrix", "Speed-up by ranks a node", THREATS, "Arms compared"]
    assert [one for one in headings if one in wanted] == wanted


def test_every_cell_is_drawn_once_with_its_class_in_words(compared: Comparison) -> None:
    drawn = verdict_map.drawings(compared, "run1")
    assert [one.title.partition(",")[0] for one in drawn] == [
        "allreduce with sharp=on",
        "barrier with sharp=on",
        "message_rate with sharp=on",
    ]
    tips = [tip for one in drawn for tip in _cells(one.svg)]
    assert len(tips) == len(set(tips)) == len(compared.rows) == 36
    assert all(": helps, speed-up " in tip for tip in tips)
    # A rate that doubles and a time that halves are one speed-up.
    assert all(1.9 < float(re.findall(r"speed-up (\S+)", tip)[0]) < 2.1 for tip in tips)
    assert drawn[0].title.endswith("18 cells: helps in 18.")
    assert [key.words for key in drawn[0].legend] == [
        "helps (+)",
        "hurts (\N{MINUS SIGN})",
        "no difference within 5 % (=)",
        "not decided (?)",
    ]


@pytest.mark.parametrize(
    ("effect", "noise", "word", "sign"),
    [
        (1.5, 0.002, MapClass.HURTS, "\N{MINUS SIGN}"),
        (1.0, 0.002, MapClass.NO_DIFFERENCE, "="),
        (1.0, 0.5, MapClass.NOT_DECIDED, "?"),
    ],
)
def test_the_other_classes(
    tmp_path: Path, measure: Measure, effect: float, noise: float, word: MapClass, sign: str
) -> None:
    backend = MockBackend(effects={"sharp=on": effect}, noise=noise)
    run = read_run(measure(tmp_path / "run", STUDY, backend=backend))
    for one in verdict_map.drawings(compare_arms(run), "run1"):
        assert all(f": {word}, speed-up" in tip for tip in _cells(one.svg))
        numbers = re.findall(r">(\d\.\d\d .)</text>", one.svg)
        assert numbers
        assert {number[-1] for number in numbers} == {sign}


def test_classes_differ_in_grey_by_lightness_or_pattern() -> None:
    """Blue and orange of equal lightness would be one grey: one of them is striped."""

    def lightness(colour: str) -> float:
        digits = colour.removeprefix("#")
        digits = digits if len(digits) == 6 else "".join(2 * digit for digit in digits)
        red, green, blue = (int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4))
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    fills = {one: lightness(fill) for one, (fill, _) in verdict_map._FILLS.items()}
    texts = {one: lightness(text) for one, (_, text) in verdict_map._FILLS.items()}
    assert fills[MapClass.HELPS] < 0.5 < min(fills[one] for one in MapClass if one != "helps")
    assert all(abs(fills[one] - texts[one]) > 0.5 for one in MapClass)


def test_a_verdict_that_another_constant_overturns_is_marked(compared: Comparison) -> None:
    row = compared.rows[0]
    marked = replace(compared, overturned={(row.second, row.cell): ("reduction_ns x 2",)})
    first, *others = verdict_map.drawings(marked, "run1")
    assert first.svg.count(verdict_map.DAGGER) == 1
    assert first.legend[-1].words == "changes with another value of an assumed constant"
    assert not any(verdict_map.DAGGER in one.svg for one in others)
    unmarked, *_ = verdict_map.drawings(compared, "run1")
    assert verdict_map.DAGGER not in unmarked.svg


def _rows_of(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of a chart's curves."""
    found = []

    def walk(part: Any) -> None:
        if isinstance(part, dict):
            values = part.get("values")
            if isinstance(values, list) and values and isinstance(values[0], dict):
                found.append(values)
            for one in part.values():
                walk(one)
        elif isinstance(part, list):
            for one in part:
                walk(one)

    walk(spec)
    return max((rows for rows in found if "wide_low" in rows[0]), key=len)


def test_curves_are_drawn_by_ranks_faceted_by_nodes_with_intervals(
    run_dir: Path, compared: Comparison
) -> None:
    specs = [one for one in _page(run_dir).specs if "at best" in one["description"]]
    # Two benchmarks with sizes on three numbers of nodes; the barrier by nodes.
    assert len(specs) == 3 + 3 + 1
    rows = [row for spec in specs for row in _rows_of(spec)]
    assert len(rows) == len(compared.rows)
    known = {(r.cell.benchmark, r.cell.scale, r.cell.size_bytes): r for r in compared.rows}
    row = known["allreduce", "8 nodes x 2 ranks", 4096]
    (drawn,) = [
        one
        for one in _rows_of(specs[2])
        if (one["scale"], one["size_bytes"]) == ("8 nodes x 2 ranks", 4096)
    ]
    assert drawn["value"] == pytest.approx(1 / row.effect.ratio)
    assert drawn["low"] == pytest.approx(1 / row.effect.high)  # type: ignore[union-attr]
    assert drawn["high"] == pytest.approx(1 / row.effect.low)  # type: ignore[union-attr]
    rate = known["message_rate", "8 nodes x 2 ranks", 8]
    (of_rate,) = [
        one
        for one in _rows_of(specs[-1])
        if (one["scale"], one["size_bytes"]) == ("8 nodes x 2 ranks", 8)
    ]
    assert of_rate["value"] == pytest.approx(rate.effect.ratio)
    assert of_rate["low"] == pytest.approx(rate.effect.low)  # type: ignore[union-attr]


def test_no_marker_hides_another(run_dir: Path) -> None:
    for spec in _page(run_dir).specs:
        if "at best" in spec["description"]:
            rows = _rows_of(spec)
            places = [row["x"] for row in rows]
            assert len(set(places)) == len(places)
            key = "size_bytes" if len({row["size_bytes"] for row in rows}) > 1 else "nodes"
            assert all(0.7 < row["x"] / row[key] < 1.4 for row in rows)


def test_an_anomaly_and_the_threats_are_tables(tmp_path: Path, measure: Measure) -> None:
    where = measure(tmp_path / "run", STUDY, backend=MockBackend(effects={"sharp=on": 0.5}))
    (file,) = (where / "samples").glob("*.jsonl")
    lines = file.read_text().splitlines()
    slow = re.compile(r'"latency_us_p50":([\d.]+)')
    is_it = '"trial":"t001-allreduce","repeat":3'
    file.write_text(
        "".join(
            (
                slow.sub(lambda m: f'"latency_us_p50":{3 * float(m[1])}', line)
                if is_it in line
                else line
            )
            + "\n"
            for line in lines
        )
    )
    page = _page(where)
    header, *rows = page.tables["Launches that lie off the median of the others"]
    assert header[-1] == "verdicts without it"
    ((launch, nodes, sizes, farthest, others, changes),) = rows
    assert launch.endswith("repeat 3")
    assert nodes == "n[001-002]" or nodes.startswith("n")
    assert sizes == "8 B, 4 KiB, 64 KiB"
    assert 2.7 < float(farthest.removesuffix("x")) < 3.3
    assert (others, changes) == ("7", "stay")
    threats = [
        row[0] for row in page.tables["What weakens these verdicts, from the data of this run"]
    ]
    assert any(one.startswith("Few node sets") for one in threats)
    assert any(one.startswith("One fabric") for one in threats)
    assert page.text.count("Few node sets") == 1
