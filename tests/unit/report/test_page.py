"""One page about real run directories: what a reader, an attacker and a printer find in it."""

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from tests.mock_backend import MockBackend

from weft.core.errors import InputError, MissingError
from weft.core.units import format_significant
from weft.report.page import write_report
from weft.study.run.store import read_run

Measure = Callable[..., Path]
MAX_PAGE_BYTES = 6_000_000
LATENCY = "latency: latency_us_p50, 2 nodes x 1 rank"
SIZE, MEDIAN, LOW, HIGH, LAUNCHES = range(5)


class Page(HTMLParser):
    """What a page holds: elements in order, texts, tables, chart specifications."""

    def __init__(self, path: Path) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.tables: dict[str, list[list[str]]] = {}
        self.captions: list[str] = []
        self._stack: list[str] = []
        self._cell: list[str] | None = None
        self.source = path.read_text("utf-8")
        self.feed(self.source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag in ("meta", "link", "img"):
            return
        self._stack.append(tag)
        if tag == "caption":
            self.captions.append("")
        if tag == "tr" and self.captions:
            self.tables.setdefault(self.captions[-1], []).append([])
        if tag in ("td", "th"):
            self._cell = []

    def handle_endtag(self, tag: str) -> None:
        while self._stack and self._stack.pop() != tag:
            pass
        if tag in ("td", "th") and self._cell is not None:
            if self.captions:
                self.tables[self.captions[-1]][-1].append("".join(self._cell))
            self._cell = None

    def handle_data(self, data: str) -> None:
        inside = self._stack[-1] if self._stack else ""
        if inside == "caption":
            self.captions[-1] += data
        if self._cell is not None:
            self._cell.append(data)
        if inside not in ("script", "style"):
            self.texts.append((inside, data))

    @property
    def text(self) -> str:
        return " ".join(" ".join(data for _, data in self.texts).split())

    @property
    def specs(self) -> list[dict[str, Any]]:
        pattern = r'<script type="application/json"[^>]*>(.*?)</script>'
        return [json.loads(found) for found in re.findall(pattern, self.source, re.DOTALL)]


@pytest.fixture
def page_of(tmp_path: Path) -> Callable[..., Page]:
    def page(*runs: Path, partial: bool = False) -> Page:
        write_report(list(runs), tmp_path / "page.html", partial=partial)
        return Page(tmp_path / "page.html")

    return page


def test_the_verdict_comes_before_every_chart_and_table(
    tmp_path: Path, measure: Measure, page_of: Callable[..., Page]
) -> None:
    slow = MockBackend(slow_nodes={"n003": 2.0})
    page = page_of(measure(tmp_path / "run", "pairs", backend=slow))
    tags = [tag for tag, _ in page.elements]
    classes = [attrs.get("class") or "" for _, attrs in page.elements]
    verdict = next(i for i, name in enumerate(classes) if name.startswith("verdict"))
    assert verdict < tags.index("table")
    assert verdict < tags.index("svg")
    assert page.text.index("n003 is slow") < page.text.index("Pairs")


def test_the_figures_of_a_table_are_the_samples_of_the_run(
    tmp_path: Path, measure: Measure, page_of: Callable[..., Page]
) -> None:
    run_dir = measure(tmp_path / "run", "curves")
    rows = page_of(run_dir).tables[LATENCY][1:]
    samples = [s for s in read_run(run_dir).samples if s.benchmark == "latency"]
    assert len(rows) == 21
    for exponent, row in enumerate(rows):
        values = [s.metrics["latency_us_p50"] for s in samples if s.size_bytes == 2**exponent]
        assert len(values) == 8
        assert row[MEDIAN] == format_significant(median(values))
        assert row[LAUNCHES] == "8"
        low, high = float(row[LOW]), float(row[HIGH])
        assert low <= median(values) <= high
        assert min(values) * 0.999 <= low
        assert high <= max(values) * 1.001


def test_the_charts_hold_the_same_figures_as_their_tables(
    tmp_path: Path, measure: Measure, page_of: Callable[..., Page]
) -> None:
    page = page_of(measure(tmp_path / "run", "curves"))
    values = page.specs[0]["data"]["values"]
    table = page.tables[LATENCY][1:]
    assert [format_significant(v["value"]) for v in values] == [row[MEDIAN] for row in table]


def test_the_page_fetches_nothing_and_allows_only_its_own_scripts(
    tmp_path: Path, measure: Measure, page_of: Callable[..., Page]
) -> None:
    page = page_of(measure(tmp_path / "run", "curves"))
    for tag, attrs in page.elements:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base"), tag
        assert "src" not in attrs
        assert not (attrs.get("href") or "#").startswith(("http", "//", "file"))
        assert not [name for name in attrs if name.startswith("on")]
    style = re.findall(r"<style>(.*?)</style>", page.source, re.DOTALL)
    assert len(style) == 1
    assert "url(" not in style[0]
    assert "@import" not in style[0]
    assert "://" not in json.dumps(page.specs)
    policy = next(a["content"] for t, a in page.elements if a.get("http-equiv"))
    assert policy is not None
    assert "default-src 'none'" in policy
    assert "unsafe-eval" not in policy
    assert re.search(r"script-src 'sha256-\S+' 'sha256-\S+';", policy)


def test_a_name_that_is_html_stays_a_name(
    tmp_path: Path, measure: Measure, page_of: Callable[..., Page]
) -> None:
    evil = "<script>alert()</script>"
    nodes = (evil, *(f"n{i}" for i in range(1, 8)))
    slow = MockBackend(slow_nodes={evil: 2.0})
    page = page_of(measure(tmp_path / "run", "pairs", backend=slow, nodes=nodes))
    assert evil in page.text, "the reader sees the name as it is"
    assert "<script>alert" not in page.source
    drawn = [text for tag, text in page.texts if tag == "text"]
    assert evil in drawn, "and so does the drawing"
    scripts = [attrs for tag, attrs in page.elements if tag == "script"]
    assert page.specs == []
    assert len(scripts) == 1, "no chart, so no library: the page's own script alone"


def test_an_arm_that_is_slower_is_the_headline(
    tmp_path: Path, measure: Measure, page_of: Callable[..., Page]
) -> None:
    backend = MockBackend(effects={"sharp=on": 1.3})
    page = page_of(measure(tmp_path / "run", "arms", backend=backend))
    sentence = next(text for tag, text in page.texts if "slower" in text)
    assert "sharp=on" in sentence
    rows = page.tables["allreduce: latency_us_p50, launch against launch"]
    ratios = [float(row[5]) for row in rows if "slower" in row[-1]]
    assert len(ratios) == 14
    assert all(1.25 < ratio < 1.35 for ratio in ratios)


def test_the_baselines_return_at_the_end_is_not_counted_with_its_launches(
    tmp_path: Path, measure: Measure, page_of: Callable[..., Page]
) -> None:
    run_dir = measure(tmp_path / "run", "arms")
    assert len(read_run(run_dir).launches) == 18
    tables = page_of(run_dir).tables
    assert {row[5] for row in tables["allreduce: latency_us_p50"][1:]} == {"8"}


def test_failed_launches_are_a_bad_verdict_and_listed(
    tmp_path: Path, measure: Measure, page_of: Callable[..., Page]
) -> None:
    backend = MockBackend(failing=["t002-barrier"])
    page = page_of(measure(tmp_path / "run", "curves", backend=backend))
    assert "BAD 8 of 24 launches failed." in page.text
    assert "rank 1 exited with code 134" in page.text
    assert any(row[0].startswith("t002-barrier repeat") for row in _all_rows(page))


def test_a_run_without_a_single_sample_says_so(
    tmp_path: Path, measure: Measure, page_of: Callable[..., Page]
) -> None:
    backend = MockBackend(failing=["latency", "bandwidth", "barrier"])
    run_dir = measure(tmp_path / "run", "curves", backend=backend)
    page = page_of(run_dir, partial=True)
    assert "Nothing was measured" in page.text
    assert page.specs == []


def test_one_launch_has_no_interval_and_says_so(
    tmp_path: Path, measure: Measure, page_of: Callable[..., Page]
) -> None:
    page = page_of(measure(tmp_path / "run", _one_latency(repeats=1)))
    assert "One launch: no interval." in page.text
    assert page.tables[LATENCY][1][LOW : LAUNCHES + 1] == ["-", "-", "1"]


def test_fewer_than_six_launches_get_a_range_that_is_not_called_an_interval(
    tmp_path: Path, measure: Measure, page_of: Callable[..., Page]
) -> None:
    page = page_of(measure(tmp_path / "run", _one_latency(repeats=5)))
    assert "smallest to the largest launch" in page.text
    assert "95 % intervals" not in page.text


def test_sizes_far_apart_are_not_joined(
    tmp_path: Path, measure: Measure, page_of: Callable[..., Page]
) -> None:
    page = page_of(measure(tmp_path / "run", _one_latency(repeats=1, sizes="8,32,4K")))
    values = page.specs[0]["data"]["values"]
    by_size = {value["size_bytes"]: value["segment"] for value in values}
    assert by_size[8] == by_size[32]
    assert by_size[4096] not in (by_size[8], by_size[32])


def test_secrets_of_the_environment_never_reach_the_page(
    tmp_path: Path, measure: Measure, page_of: Callable[..., Page]
) -> None:
    environ = {"UCX_TLS": "rc_x", "SLURM_JWT": "eyJhbGciOi", "AWS_SECRET_ACCESS_KEY": "hunter2"}
    page = page_of(measure(tmp_path / "run", "curves", environ=environ))
    assert "rc_x" in page.text
    assert "eyJhbGciOi" not in page.source
    assert "hunter2" not in page.source


def test_several_runs_share_one_page_and_one_library(
    tmp_path: Path, measure: Measure, page_of: Callable[..., Page]
) -> None:
    slow = MockBackend(slow_nodes={"n003": 2.0})
    first = measure(tmp_path / "first", "curves")
    second = measure(tmp_path / "second", "pairs", backend=slow)
    page = page_of(first, second)
    summary = page.tables["2 runs, each with its verdict"]
    # The worst verdict comes first, whatever the order of the runs.
    assert [row[0] for row in summary[1:]] == ["All pairs", "Two curves and a barrier"]
    assert "n003 is slow" in summary[1][1]
    names = [attrs["id"] for tag, attrs in page.elements if attrs.get("id")]
    assert len(names) == len(set(names))
    assert len(page.source.encode()) < 2_000_000


@pytest.mark.parametrize("n_drawn", [64, pytest.param(128, marks=pytest.mark.slow)])
def test_a_large_fabric_stays_readable_and_small(
    n_drawn: int,
    tmp_path: Path,
    measure: Measure,
    page_of: Callable[..., Page],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    n_nodes = n_drawn + 2
    nodes = tuple(f"n{i:03d}" for i in range(1, n_nodes + 1))
    study = (
        'schema = "weft.study/1"\nname = "big"\ntitle = "Big"\nquestion = "?"\nrepeats = 1\n'
        f'nodes = [{n_nodes}]\n[[benchmarks]]\nname = "pairs"\nsizes = "8,1M"\n'
    )
    backend = MockBackend(slow_nodes={"n060": 2.0}, iterations=1)
    monkeypatch.setattr("weft.report.sections.pairs.MAX_NODES", n_drawn)
    page = page_of(measure(tmp_path / "run", study, backend=backend, nodes=nodes))
    assert len(page.source.encode()) < MAX_PAGE_BYTES
    assert "more rows are left out here" in page.text
    assert f"Drawn: the {n_drawn} nodes of {n_nodes}" in page.text
    first = page.tables["Readings of bandwidth, slowest first"][1]
    assert "n060" in first[:2]


def test_an_unfinished_run_is_refused_with_what_is_missing(
    tmp_path: Path, measure: Measure
) -> None:
    run_dir = measure(tmp_path / "run", "curves", n_launches=20)
    with pytest.raises(InputError, match="unfinished: 4 of 24 launches are missing") as caught:
        write_report([run_dir], tmp_path / "page.html")
    assert "--resume" in str(caught.value)
    assert "--partial" in str(caught.value)
    assert not (tmp_path / "page.html").exists()


def test_an_unfinished_run_can_be_reported_on_and_says_so(
    tmp_path: Path, measure: Measure, page_of: Callable[..., Page]
) -> None:
    page = page_of(measure(tmp_path / "run", "curves", n_launches=20), partial=True)
    assert "Unfinished: 4 of 24 launches are missing." in page.text


def test_a_run_ended_before_its_plan_was_written_is_unfinished(
    tmp_path: Path, measure: Measure, page_of: Callable[..., Page]
) -> None:
    run_dir = measure(tmp_path / "run", "curves", n_launches=0)
    (run_dir / "plan.jsonl").unlink()
    with pytest.raises(InputError, match="ended before it had a plan"):
        write_report([run_dir], tmp_path / "page.html")
    assert "Nothing was measured" in page_of(run_dir, partial=True).text


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a run directory"):
        write_report([tmp_path], tmp_path / "page.html")
    with pytest.raises(InputError, match="no run to report"):
        write_report([], tmp_path / "page.html")


def test_a_run_of_another_schema_is_refused(tmp_path: Path, measure: Measure) -> None:
    first = measure(tmp_path / "first", "curves")
    second = measure(tmp_path / "second", "curves")
    toml = second / "run.toml"
    toml.write_text(toml.read_text().replace("weft.run/1", "weft.run/9"))
    with pytest.raises(InputError, match=r"weft\.run/9"):
        write_report([first, second], tmp_path / "page.html")


@pytest.mark.parametrize("figure", ["0.0", "-1.0", "NaN", "Infinity"])
def test_a_figure_no_backend_writes_is_refused(
    tmp_path: Path, measure: Measure, figure: str
) -> None:
    run_dir = measure(tmp_path / "run", _one_latency(repeats=1))
    (samples,) = (run_dir / "samples").glob("*.jsonl")
    changed, n_changed = re.subn(
        r'"latency_us_p50":[0-9.]+', f'"latency_us_p50":{figure}', samples.read_text()
    )
    assert n_changed == 2
    samples.write_text(changed)
    with pytest.raises(InputError) as caught:
        write_report([run_dir], tmp_path / "page.html")
    assert str(run_dir) in str(caught.value)


def test_a_run_that_says_little_about_itself_still_has_a_page(
    tmp_path: Path, measure: Measure, page_of: Callable[..., Page]
) -> None:
    run_dir = measure(tmp_path / "run", _one_latency(repeats=1))
    (run_dir / "run.toml").write_text('schema = "weft.run/1"\nstarted_unix_s = 1e300\n')
    page = page_of(run_dir)
    assert "weft report: run" in page.text
    assert "Backend unknown" in page.text


def test_a_page_that_cannot_be_written_says_where(tmp_path: Path, measure: Measure) -> None:
    run_dir = measure(tmp_path / "run", "curves")
    (tmp_path / "file").write_text("")
    with pytest.raises(MissingError, match="the report cannot be written") as caught:
        write_report([run_dir], tmp_path / "file" / "page.html")
    assert "-o FILE" in str(caught.value)


def test_charts_and_tables_can_be_read_without_seeing(
    tmp_path: Path, measure: Measure, page_of: Callable[..., Page]
) -> None:
    page = page_of(measure(tmp_path / "run", "curves"))
    charts = [attrs for _, attrs in page.elements if attrs.get("role") == "img"]
    assert len(charts) == len(page.specs)
    assert all(attrs["aria-label"] for attrs in charts)
    assert all(spec["description"] for spec in page.specs)
    headers = [attrs for tag, attrs in page.elements if tag == "th"]
    assert all(attrs.get("scope") in ("col", "row") for attrs in headers)
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert ("html", {"lang": "en"}) in page.elements


def _all_rows(page: Page) -> list[list[str]]:
    return [row for rows in page.tables.values() for row in rows]


def _one_latency(repeats: int, sizes: str = "8,16") -> str:
    return (
        'schema = "weft.study/1"\nname = "one"\ntitle = "One"\nquestion = "?"\n'
        f'repeats = {repeats}\n[[benchmarks]]\nname = "latency"\nsizes = "{sizes}"\n'
    )
