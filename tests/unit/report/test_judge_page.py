"""A judged file as a page: the verdict, a chart a table, causes, thresholds, coverage, sources."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from weft.core.errors import MissingError
from weft.core.finding import Finding, FindingKind, Severity
from weft.expect.model import Expectation
from weft.judge.model import (
    FieldVerdict,
    FileJudgement,
    JudgedRow,
    LikelyCause,
    RowState,
)
from weft.report.judge_page import judge_page, write_judge_page
from weft.report.sections.judged_tables import groups_of, speed_of, title_of
from weft.results.model import Row, Table, Unread

NORMAL, LOW, HIGH = RowState.NORMAL, RowState.LOW, RowState.HIGH
IMPOSSIBLE, UNJUDGED = RowState.IMPOSSIBLE, RowState.UNJUDGED


def expected(
    value: float = 20000.0, unit: str = "MB/s", limit: float | None = 24500.0
) -> Expectation:
    metric = "latency_us" if unit == "us" else "bandwidth_mb_s"
    ends = (0.9 * value, 1.1 * value)
    return Expectation(
        metric, value, unit, *ends, "link rate", "rate x efficiency", "platform x: sourced",
        limit, "HDR line rate",
    )  # fmt: skip


def judged(
    states: list[tuple[int | None, float, RowState]],
    *,
    test: str = "osu_bw",
    line: int = 2,
    known: Expectation | None = None,
    metric: str = "bandwidth_mb_s",
    odd: bool = False,
    **labels: str,
) -> tuple[JudgedRow, ...]:
    rows = tuple(
        Row(line + 1 + i, size, {metric: v}, labels) for i, (size, v, _) in enumerate(states)
    )
    table = Table("osu", test, "bandwidth", rows, line)
    return tuple(
        JudgedRow(table, row, metric, value, state, None, expectation_of(state, known), odd)
        for row, (_, value, state) in zip(rows, states, strict=True)
    )


def expectation_of(state: RowState, known: Expectation | None) -> Expectation | None:
    return None if state is UNJUDGED else known or expected()


def judgement(*rows: JudgedRow, **more: Any) -> FileJudgement:
    verdict = Finding(FindingKind.HEALTHY, Severity.GOOD, "NORMAL: <all> rows & more")
    fields: dict[str, Any] = {
        "path": "/data/<x>.txt",
        "platform": "azure-hbv2",
        "platform_because": "you said so",
        "findings": (verdict,),
        "causes": (),
        "field": (),
    }
    return FileJudgement(rows=rows, **{**fields, **more})


def titles(*rows: JudgedRow) -> list[str]:
    return [title_of(group) for group in groups_of(judgement(*rows))]


@pytest.mark.parametrize(
    ("rows", "title"),
    [
        (
            judged([(8, 19000.0, NORMAL), (64, 21000.0, NORMAL)]),
            "all 2 judged rows are normal, 0.95 to 1.05 of the expected speed",
        ),
        (judged([(8, 20000.0, NORMAL)]), "osu_bw, bandwidth: 20000 MB/s is normal"),
        (
            judged([(8, 20000.0, NORMAL), (2**20, 10000.0, LOW)]),
            "1 of 2 rows is low, at worst 0.50 of the expected speed at 1 MiB",
        ),
        (
            judged([(8, 49000.0, IMPOSSIBLE), (64, 20000.0, NORMAL)]),
            "1 of 2 rows is impossible: 2.00 times the limit (HDR line rate) at 8 B",
        ),
        (
            judged([(8, 24000.0, HIGH), (64, 23000.0, HIGH)]),
            "2 of 2 rows are high, at most 1.20 of the expected speed at 8 B",
        ),
        (judged([(8, 5.0, UNJUDGED)]), "1 row, nothing to compare with"),
        (judged([(8, 2e4, NORMAL), (64, 5.0, UNJUDGED)]), "20000 MB/s is normal (1 not judged)"),
        (judged([(8, 2e4, NORMAL)], odd=True), "1 of 1 rows stands out of its own table"),
    ],
)  # fmt: skip
def test_a_title_states_what_the_chart_shows(rows: tuple[JudgedRow, ...], title: str) -> None:
    assert titles(*rows)[0].endswith(title)


def test_speed_is_below_one_for_what_is_slow_whichever_way_it_counts() -> None:
    (slow,) = judged([(8, 4.0, LOW)], metric="latency_us", known=expected(2.0, "us", 1.0))
    assert speed_of(slow) == pytest.approx(0.5)
    (slow,) = judged([(8, 10000.0, LOW)])
    assert speed_of(slow) == pytest.approx(0.5)


def test_tables_with_something_to_notice_come_first() -> None:
    fine = judged([(8, 2e4, NORMAL), (64, 2e4, NORMAL)], test="osu_bibw", line=2)
    low = judged([(8, 2e3, LOW), (64, 2e4, NORMAL)], line=20)
    assert [group.test for group in groups_of(judgement(*fine, *low))] == ["osu_bw", "osu_bibw"]


def marks(spec: Any) -> list[str]:
    """Mark types of every layer that has a row of data, at any depth."""
    found = []
    for layer in (*spec.get("vconcat", ()), *spec.get("layer", ())):
        found += marks(layer)
    if "mark" in spec:
        name = spec["data"]["name"] if "name" in spec.get("data", {}) else None
        values = spec.get("data", {}).get("values", [name])
        found += [spec["mark"]["type"]] if values else []
    return found


def figures(*rows: JudgedRow, **more: Any) -> list[Any]:
    page = judge_page(judgement(*rows, **more))
    return [figure for section in page.sections for figure in section.figures]


def test_sizes_make_a_curve_with_band_line_limit_points_and_shares_below() -> None:
    (figure,) = figures(*judged([(8, 2e4, NORMAL), (64, 2e4, NORMAL), (512, 1e4, LOW)]))
    top, below = figure.spec["vconcat"]
    assert set(marks(top)) == {"area", "line", "text", "point"}
    assert set(marks(below)) == {"area", "rule", "point"}
    assert "share of" in json.dumps(below)


def test_a_single_row_is_a_strip() -> None:
    (figure,) = figures(*judged([(None, 2e4, NORMAL)]))
    assert "vconcat" not in figure.spec
    assert set(marks(figure.spec)) == {"bar", "tick", "point"}


def test_many_rows_of_one_size_stand_in_order_slowest_first() -> None:
    rows = judged([(4096, 2e4 - 10 * (i % 7), NORMAL) for i in range(200)])
    (figure,) = figures(*rows)
    assert "row, slowest first" in json.dumps(figure.spec)
    assert figure.table.n_cut == 0
    assert len(figure.table.rows) == 200


def test_rows_without_an_expectation_are_drawn_as_measured() -> None:
    (figure,) = figures(*judged([(8, 2e4, UNJUDGED), (64, 2e4, UNJUDGED)]))
    assert set(marks(figure.spec)) == {"point"}
    assert figure.how_to_read == "No expectation covers these rows; they are shown as measured."


def test_a_zero_is_in_the_table_only() -> None:
    (figure,) = figures(*judged([(8, 0.0, UNJUDGED), (64, 2e4, NORMAL), (128, 2e4, NORMAL)]))
    assert "Rows printed as 0 are in the table only." in figure.how_to_read
    assert '"value": 0.0' not in json.dumps(figure.spec)
    assert len(figure.table.rows) == 3


def test_a_limit_far_from_every_figure_does_not_flatten_the_chart() -> None:
    rows = judged([(8, 2e4, NORMAL), (64, 2e4, NORMAL)], known=expected(2e4, limit=1e9))
    (figure,) = figures(*rows)
    assert "The limit is too far away here to be drawn" in figure.how_to_read
    assert "1000000000" in figure.table.rows[0]


def test_states_differ_in_shape_not_in_colour_only() -> None:
    rows = judged([(8, 2e4, NORMAL), (64, 1e3, LOW), (512, 2.3e4, HIGH), (4096, 1e6, IMPOSSIBLE)])
    (figure,) = figures(*rows)
    text = json.dumps(figure.spec)
    for shape in ("circle", "triangle-down", "triangle-up", "cross"):
        assert shape in text


def test_placements_are_filled_and_hollow() -> None:
    out = judged([(8, 2e4, NORMAL), (64, 2e4, NORMAL)], placement="out-of-place")
    inside = judged([(8, 2e4, NORMAL), (64, 2e4, NORMAL)], placement="in-place")
    (figure,) = figures(*out, *inside)
    assert "Filled: out-of-place; hollow: in-place." in figure.how_to_read
    fills = re.findall(r'"filled": (true|false)', json.dumps(figure.spec))
    assert set(fills) == {"true", "false"}


@pytest.mark.parametrize(
    ("threshold", "unit", "measured", "drawn"),
    [(22.0, "GB/s", 20.0, 22000.0), (176.0, "Gb/s", 160.0, 22000.0), (1.9, "us", 2e4, None)],
)
def test_a_threshold_is_a_rule_in_the_charts_unit_where_it_was_applied_to_its_rows(
    threshold: float, unit: str, measured: float, drawn: float | None
) -> None:
    verdict = FieldVerdict(
        "Azure HBv2", "ib_write_bw", threshold, unit, "fail", measured, True, "x"
    )
    rows = judged([(8, 2e4, NORMAL), (64, 1.9e4, NORMAL)])
    (figure,) = figures(*rows, field=(verdict,))
    is_said = "Dotted: thresholds of Azure HBv2." in figure.how_to_read
    assert is_said is (drawn is not None)
    if drawn is not None:
        (mark,) = re.findall(r'\{"value": [^{}]*"label": [^{}]*\}', json.dumps(figure.spec))[:1]
        assert json.loads(mark)["value"] == drawn
        assert json.loads(mark)["label"] in ("22.0 GB/s", "176 Gb/s")


def test_a_row_that_is_low_is_named_where_rows_have_no_axis_of_their_own() -> None:
    rows = judged([(4096, 2e4, NORMAL)] * 15) + judged([(4096, 5e3, LOW)], pair="n7,n9")
    (figure,) = figures(*rows)
    texts = [layer for layer in figure.spec["layer"] if layer.get("mark", {}).get("type") == "text"]
    names = [row["label"] for layer in texts for row in values_of(figure.spec, layer)]
    assert "4 KiB, n7,n9" in names


def values_of(spec: Any, layer: Any) -> list[Any]:
    """The rows a layer draws; datasets may be named and stand at the top."""
    found = layer["data"]
    values = found.get("values") or spec.get("datasets", {}).get(found.get("name"), [])
    assert isinstance(values, list)
    return values


def test_systems_with_one_threshold_share_its_mark() -> None:
    verdicts = tuple(
        FieldVerdict(name, "x", 22.0, "GB/s", "fail", 20.0, True, "x") for name in ("A", "B")
    )
    (figure,) = figures(*judged([(None, 2e4, NORMAL)]), field=verdicts)
    assert "A and 1 more: fail 22.0 GB/s" in json.dumps(figure.spec)


def test_a_threshold_for_one_size_is_no_rule_across_all() -> None:
    verdict = FieldVerdict("Azure", "ib_write_bw", 22.0, "GB/s", "fail", 20.0, True, "x")
    rows = judged([(8, 1.9e4, NORMAL), (2**20, 2e4, NORMAL), (2**22, 1.9e4, NORMAL)])
    (figure,) = figures(*rows, field=(verdict,))
    (mark,) = re.findall(r'\{"value": [^{}]*"size_low": [^{}]*\}', json.dumps(figure.spec))[:1]
    found = json.loads(mark)
    assert 8 < found["size_low"] < 2**20 < found["size_high"] < 2**22


CAUSE = LikelyCause(
    "pcie", "PCIe Gen3 x8", 0.034, 5, "7.9 GB/s", "lspci says Width x8", "another slot", "PCI-SIG"
)


def test_the_page_holds_every_part(tmp_path: Path) -> None:
    rows = (
        *judged([(8, 2e4, NORMAL), (64, 1e4, LOW)]),
        *judged([(8, 5.0, UNJUDGED)], test="other", line=30),
    )
    field = FieldVerdict("Azure", "ib_write_bw", 20.0, "GB/s", "fail", 10.0, False, "azurehpc")
    said = judgement(
        *rows,
        causes=(CAUSE,),
        field=(field,),
        remarks=("2 nodes taken",),
        unread=(Unread(7, "what?", "no number"),),
        n_unread=1,
        next_command="lspci -vv",
    )
    page = write_judge_page(said, tmp_path / "j.html").read_text()
    body = page[: page.index("<footer>")]
    order = [
        "NORMAL: &lt;all&gt; rows &amp; more",
        "lspci -vv",
        "2 nodes taken",
        "compared with platform azure-hbv2 (you said so)",
        "osu_bw, bandwidth: 1 of 2 rows is low",
        "lspci says Width x8",
        "Field thresholds",
        "no expectation covers it",
        "Sources of the expectations",
    ]
    places = [body.index(text) for text in order]
    assert places == sorted(places)
    assert "<x>" not in body
    assert "what?" in body
    assert body.count('class="spec"') == 2


def test_a_file_without_a_platform_and_without_rows_still_has_a_page(tmp_path: Path) -> None:
    said = judgement(platform="", platform_because="the file names none", generic=("HDR: 24 GB/s",))
    page = write_judge_page(said, tmp_path / "j.html").read_text()
    assert "compared with no platform. the file names none" in page
    assert "HDR: 24 GB/s" in page


def test_a_page_that_cannot_be_written_says_where(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(MissingError, match="the report cannot be written") as caught:
        write_judge_page(judgement(), tmp_path / "file" / "j.html")
    assert caught.value.hint == "name another with --report FILE"
