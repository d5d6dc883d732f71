"""The page in a real browser, without a network: no console message, every chart drawn."""

import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tests.oracle.chromium import browser, chromium, without_network

from weft.cli import run

STUDY = """
schema = "weft.study/1"
name = "browser"
title = "<script>Two arms & a barrier</script>"
question = "Does it draw?"
repeats = 8

[[benchmarks]]
name = "latency"
sizes = "0:1M"

[[benchmarks]]
name = "barrier"

[[factors]]
name = "sharp"
settings = [{ name = "off" }, { name = "on" }]
"""


class Drawn(HTMLParser):
    """How many marks stand in each chart's SVG after the page's scripts have run."""

    def __init__(self, dom: str) -> None:
        super().__init__()
        self.marks: dict[str, int] = {}
        self._chart: str | None = None
        self._depth = 0
        self.feed(dom)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "div" and (values.get("class") or "").startswith("chart"):
            self._chart = values.get("id")
            self.marks[str(self._chart)] = 0
        if tag == "figcaption" or tag == "details":
            self._chart = None
        if self._chart and tag in ("path", "line") and self._is_mark(values):
            self.marks[self._chart] += 1

    def _is_mark(self, values: dict[str, str | None]) -> bool:
        return values.get("aria-roledescription") in (
            "point",
            "rect mark",
            "rule mark",
            "line mark",
        )


@pytest.fixture(autouse=True)
def _browser() -> None:
    chromium()


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    study = folder / "study.toml"
    study.write_text(STUDY)
    runs = [folder / "study", folder / "check"]
    assert run(["study", "run", str(study), "--mock", "--dir", str(runs[0])]) == 0
    assert run(["check", "--mock", "--nodes", "8", "--dir", str(runs[1])]) == 0
    out = folder / "page.html"
    assert run(["report", *map(str, runs), "-o", str(out)]) == 0
    return out


FIXTURES = Path(__file__).parents[1] / "fixtures"
RESULTS = FIXTURES / "results"
JUDGED = {
    "a curve with everything": ("results/osu/kaneshiro_2014_bibw.txt", "azure-a9"),
    "two placements": ("results/nccl-tests/h100-16-two-nodes.txt", "azure-ndv5"),
    "no platform": ("results/osu/alps_7.5_bw_host.txt", None),
    "many rows of one size": ("judged/ndv4_pairs_gpu.txt", "azure-ndv4"),
    "tests of one row": ("results/hpcc/hpcc-1.5.0-openmpi-2-ranks.txt", "generic-hdr"),
}


@pytest.fixture(scope="module")
def imported_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two files imported, beside a mock run of the same benchmark at the same scale."""
    folder = tmp_path_factory.mktemp("imported")
    files = [str(RESULTS / "osu" / f"kaneshiro_2014_{name}.txt") for name in ("latency", "bibw")]
    runs = [str(folder / "files"), str(folder / "mock")]
    assert run(["import", *files, "-o", runs[0]]) == 0
    assert run(["bench", "latency", "--mock", "--nodes", "2", "--dir", runs[1]]) == 0
    out = folder / "page.html"
    assert run(["report", *runs, "-o", str(out)]) == 0
    return out


def assert_quiet_and_drawn(page: Path, profile: Path, *, at_least: int) -> None:
    visit = browse(page, profile, "--dump-dom")
    assert [line for line in visit.stderr.splitlines() if "CONSOLE" in line] == []
    marks = Drawn(visit.stdout).marks
    assert len(marks) == page.read_text().count('class="spec"')
    assert len(marks) >= at_least
    assert all(count > 0 for count in marks.values()), marks


def test_imported_files_are_drawn_next_to_a_measured_run(
    imported_page: Path, tmp_path: Path
) -> None:
    assert_quiet_and_drawn(imported_page, tmp_path / "profile", at_least=4)


FIRST, *OTHERS = JUDGED


@pytest.mark.parametrize(
    "name", [FIRST, *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)]
)
def test_every_chart_of_a_judged_file_is_drawn(name: str, tmp_path: Path) -> None:
    file, platform = JUDGED[name]
    out = tmp_path / "judged.html"
    argv = ["judge", str(FIXTURES / file), "--report", str(out)]
    assert run([*argv, *(["--platform", platform] if platform else [])]) in (0, 1, 5)
    assert_quiet_and_drawn(out, tmp_path / "profile", at_least=1)


def browse(page: Path, profile: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """One headless visit with a new profile and every host name unresolvable."""
    argv = [
        *without_network(profile),
        "--disable-component-update",
        "--disable-sync",
        "--disable-default-apps",
        "--enable-logging=stderr",
        "--v=0",
        "--virtual-time-budget=10000",
        *more,
        page.as_uri(),
    ]
    return subprocess.run(argv, capture_output=True, text=True, timeout=100, check=True)


def test_the_browser_says_nothing_and_draws_every_chart(page: Path, tmp_path: Path) -> None:
    assert_quiet_and_drawn(page, tmp_path / "profile", at_least=3)


def test_a_checks_drawings_need_no_script_and_say_nothing(tmp_path: Path) -> None:
    """Pairs by leaf and the fabric with its suspect, of a twin with a slow cable."""
    pytest.importorskip("weft._engine", reason="the engine is not built")
    where, out = tmp_path / "run", tmp_path / "page.html"
    argv = ["check", "--twin", "fat-tree", "--nodes", "16", "--dir", str(where)]
    assert run([*argv, "--plant", "leaf-02[6] rate=0.5"]) == 1
    assert run(["report", str(where), "-o", str(out)]) == 0
    visit = browse(out, tmp_path / "profile", "--dump-dom")
    assert [line for line in visit.stderr.splitlines() if "CONSOLE" in line] == []
    assert visit.stdout.count('class="heat"') == 2
    assert visit.stdout.count('class="lit-matrix"') == 1
    with browser(tmp_path / "other") as tab:
        tab.open(out)
        ring = "document.querySelector('.lit-matrix .ring').getBoundingClientRect()"
        assert tab.value(f"{ring}.width > 10 && {ring}.right < document.body.clientWidth")
        inside = "[...document.querySelectorAll('.lit-matrix text.lit')].every((it) => {"
        inside += " const svg = it.ownerSVGElement.getBoundingClientRect();"
        inside += " const at = it.getBoundingClientRect();"
        inside += " return at.left >= svg.left && at.right <= svg.right; })"
        assert tab.value(inside), "the suspect's name is cut off"
        assert tab.console == []


def test_a_broken_chart_would_be_noticed(page: Path, tmp_path: Path) -> None:
    """The listener above works: a page that loads a script from elsewhere does complain."""
    broken = tmp_path / "broken.html"
    text = page.read_text().replace("</body>", '<script src="https://example.org/x.js"></script>')
    broken.write_text(text)
    visit = browse(broken, tmp_path / "profile", "--dump-dom")
    assert re.search(r"CONSOLE.*example\.org", visit.stderr)


@pytest.mark.slow
def test_tables_that_are_folded_on_screen_are_open_on_paper(page: Path, tmp_path: Path) -> None:
    without = tmp_path / "without.html"
    without.write_text(re.sub(r"<details>.*?</details>", "", page.read_text(), flags=re.DOTALL))
    n_pages = [
        pages_on_paper(path, tmp_path / f"profile{number}", tmp_path / f"{number}.pdf")
        for number, path in enumerate((page, without))
    ]
    assert n_pages[0] > n_pages[1]


def pages_on_paper(page: Path, profile: Path, out: Path) -> int:
    browse(page, profile, f"--print-to-pdf={out}", "--no-pdf-header-footer")
    return len(re.findall(rb"/Type\s*/Page\b", out.read_bytes()))


@pytest.mark.parametrize("width", [400, 1280, 3840])
def test_a_page_fits_its_screen_and_can_be_read_in_the_dark(
    page: Path, tmp_path: Path, width: int
) -> None:
    with browser(tmp_path / "profile") as tab:
        tab.open(page)
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        tab.send("Emulation.setDeviceMetricsOverride", **size)
        for scheme in ("light", "dark"):
            feature = {"name": "prefers-color-scheme", "value": scheme}
            tab.send("Emulation.setEmulatedMedia", features=[feature])
            assert tab.value("document.documentElement.scrollWidth") <= width
            assert tab.value(LEAST_CONTRAST) >= 4.5
        assert tab.console == []


LEAST_CONTRAST = """(() => {
  const light = (text) => {
    const [r, g, b] = text.match(/[\\d.]+/g).map((x) => x / 255).map(
      (x) => x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const paper = (it) => {
    while (it && getComputedStyle(it).backgroundColor === "rgba(0, 0, 0, 0)") it = it.parentElement;
    return it ? getComputedStyle(it).backgroundColor : "rgb(255, 255, 255)";
  };
  const words = [...document.querySelectorAll("h1, h2, h3, p, th, td, li, a, summary, svg text")];
  return Math.min(...words.filter((it) => it.textContent.trim()).map((it) => {
    const style = getComputedStyle(it);
    const ink = light(it instanceof SVGElement ? style.fill : style.color);
    const ground = light(paper(it));
    return (Math.max(ink, ground) + 0.05) / (Math.min(ink, ground) + 0.05);
  }));
})()"""
"""Of words against what they stand on. SOURCE: WCAG 2.2, relative luminance and contrast ratio; 4.5
is its level AA."""
