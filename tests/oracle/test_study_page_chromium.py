"""The page of a study in a real browser: on a phone and on a desk, its map and its curves."""

from pathlib import Path

import pytest
from tests.oracle.chromium import Page, browser, chromium

from weft.cli import run

STUDY = """
schema = "weft.study/1"
name = "matrix"
title = "A matrix"
question = "Where does it help?"
repeats = 7
nodes = [2, 4, 8, 16, 32]
tasks_per_node = [1, 2, 4]

[[benchmarks]]
name = "allreduce"
sizes = "8,512,4K"

[[factors]]
name = "sharp"
settings = [{ name = "off" }, { name = "on" }]
"""


CONDITIONS = """
schema = "weft.study/1"
name = "conditions"
title = "Two conditions"
question = "Where does it help?"
repeats = 7
nodes = [2]

[[benchmarks]]
name = "barrier"

[[factors]]
name = "adaptive-routing"
settings = ["off", "on"]

[[factors]]
name = "placement"
condition = true
settings = ["packed", "scattered"]

[[factors]]
name = "routing-tables"
condition = true
settings = ["dmodk", "opensm-minhop"]
"""


@pytest.fixture(autouse=True)
def _browser() -> None:
    chromium()


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _page(tmp_path_factory.mktemp("study"), STUDY, "--mock", "--nodes", "32")


def _page(folder: Path, study: str, *argv: str) -> Path:
    (folder / "study.toml").write_text(study)
    where = folder / "run"
    begin = ["study", "run", str(folder / "study.toml"), "--dir", str(where)]
    assert run([*begin, *argv]) == 0
    assert run(["report", str(where)]) == 0
    return where / "report.html"


def _resize(tab: Page, width: int) -> None:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    tab.send("Emulation.setDeviceMetricsOverride", **size)


@pytest.mark.parametrize("width", [400, 1280])
def test_the_page_fits_and_every_text_of_the_map_is_inside_its_cell(
    page: Path, tmp_path: Path, width: int
) -> None:
    with browser(tmp_path / "profile") as tab:
        tab.open(page)
        _resize(tab, width)
        charts = "[...document.querySelectorAll('.chart')]"
        tab.wait_for(f"{charts}.length > 4 && {charts}.every((it) => it.querySelector('svg'))")
        assert tab.value("document.documentElement.scrollWidth") <= width
        assert tab.value("document.querySelectorAll('svg.verdicts').length") == 3
        assert tab.value("document.querySelectorAll('svg.verdicts g').length") == 3 * 5 * 3
        inside = "[...document.querySelectorAll('svg.verdicts g')].every((it) => {"
        inside += " const cell = it.querySelector('rect').getBoundingClientRect();"
        inside += " const at = it.querySelector('text').getBoundingClientRect();"
        inside += " return at.left >= cell.left && at.right <= cell.right"
        inside += " && at.height >= 10; })"
        assert tab.value(inside)
        assert tab.console == []


def test_a_caption_longer_than_its_panel_is_wide_is_whole(tmp_path: Path) -> None:
    with browser(tmp_path / "profile") as tab:
        tab.open(_page(tmp_path, CONDITIONS, "--twin", "fat-tree", "--nodes", "32"))
        captions = "[...document.querySelectorAll('svg.verdicts text.odd')]"
        words = tab.value(f"{captions}.map((it) => it.textContent)")
        assert (
            words.count("placement=scattered") == words.count("routing-tables=opensm-minhop") == 2
        )
        inside = f"{captions}.every((it) => {{"
        inside += " const panel = it.closest('svg').getBoundingClientRect();"
        inside += " const at = it.getBoundingClientRect();"
        inside += " return at.left >= panel.left && at.right <= panel.right"
        inside += " && at.top >= panel.top && at.bottom <= panel.bottom; })"
        assert tab.value(inside)


def test_no_marker_of_a_curve_covers_the_middle_of_another(page: Path, tmp_path: Path) -> None:
    with browser(tmp_path / "profile") as tab:
        tab.open(page)
        marks = "[...document.querySelectorAll('[id*=speed-up] .mark-symbol path')]"
        marks += ".filter((it) => it.getAttribute('aria-roledescription') === 'point')"
        tab.wait_for(f"{marks}.length === 45")
        apart = f"(() => {{ const all = {marks}.map((it) => [it.closest('.chart').id,"
        apart += " it.getBoundingClientRect()]);"
        apart += " return all.every(([id, a], i) => all.every(([of, b], j) => i === j || id !== of"
        apart += " || Math.hypot(a.x + a.width / 2 - b.x - b.width / 2,"
        apart += " a.y + a.height / 2 - b.y - b.height / 2) > 3)); })()"
        assert tab.value(apart)
