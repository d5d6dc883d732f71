"""The page of a fabric in a real browser: it finds, zooms, pans, and says what is pointed at."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.oracle.chromium import Page, browser, chromium
from tests.unit.topology.hand_subnet import described, tree_cables, tree_switches

from weft.report.fabric.page import fabric_page, write_fabric_page

SVG = "document.getElementById('matrix0-svg')"


@pytest.fixture(autouse=True)
def _browser() -> None:
    chromium()


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """12 leaves, 60 spines; the cable of leaf7 to spine30 is missing."""
    out = tmp_path_factory.mktemp("fabric") / "page.html"
    cables = [
        cable
        for cable in tree_cables(leaves=12, spines=60, per_spine=1)
        if (cable[0], cable[2]) != ("leaf7", "spine30")
    ]
    subnet = described(tree_switches(12, 60), cables)
    write_fabric_page(fabric_page(subnet, name="net", headline="A headline."), out)
    return out


@pytest.fixture
def page(page_file: Path, tmp_path: Path) -> Iterator[Page]:
    with browser(tmp_path / "profile") as found:
        found.open(page_file)
        yield found
        assert found.console == []


def box(page: Page) -> list[float]:
    return [float(part) for part in page.value(f"{SVG}.getAttribute('viewBox')").split()]


def middle_of_cell(page: Page, row: int, column: int) -> tuple[float, float]:
    """In the window, once the drawing is in view."""
    x, y = page.value(
        f"(() => {{ {SVG}.scrollIntoView({{block: 'center'}});"
        f" const at = {SVG}.getBoundingClientRect(); const view = views[0];"
        f" const [x, y] = view.corner({row}, {column}); const [w, h] = view.values.cell;"
        " return [at.left + (x + w / 2 - view.box[0]) / view.box[2] * at.width,"
        " at.top + (y + h / 2 - view.box[1]) / view.box[3] * at.height]; })()"
    )
    return x, y


def readout(page: Page) -> str:
    return str(page.value("document.querySelector('.readout').textContent"))


def test_pointing_at_a_cell_tells_both_ends_and_what_is_missing(page: Page) -> None:
    page.mouse("mouseMoved", *middle_of_cell(page, 7, 29))
    # Port 1 is the host's, so spine29 is at port 31; leaf7 is at its port 8.
    assert readout(page) == (
        "leaf7 - spine29: 1 cable, as expected\nleaf7[31] - spine29[8], 4xHDR, active, link-up"
    )
    page.mouse("mouseMoved", *middle_of_cell(page, 7, 30))
    assert readout(page) == "leaf7 - spine30: 0 cables (siblings: 1), missing"


def test_the_keyboard_walks_zooms_and_returns(page: Page) -> None:
    whole = box(page)
    page.value(f"{SVG}.focus()")
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        page.key(key)
    assert readout(page).startswith("leaf1 - spine1: 1 cable")
    page.key("+", "+")
    zoomed = box(page)
    assert zoomed[2] == pytest.approx(whole[2] / 1.6)
    names = page.value(f"[...{SVG}.querySelectorAll('.rows text')].map((it) => it.textContent)")
    assert "leaf1" in names
    page.key("-", "-")
    page.key("0", "0")
    assert box(page) == whole


def test_the_mouse_zooms_with_ctrl_and_drags(page: Page) -> None:
    place = middle_of_cell(page, 6, 30)
    page.mouse("mouseWheel", *place, deltaX=0, deltaY=-100, modifiers=2)
    page.mouse("mouseWheel", *place, deltaX=0, deltaY=-100, modifiers=2)
    page.wait_for(f"Number({SVG}.getAttribute('viewBox').split(' ')[2]) < views[0].values.size[0]")
    page.mouse("mouseMoved", *middle_of_cell(page, 6, 30))
    assert readout(page).startswith("leaf6 - spine30: 1 cable")
    before = box(page)
    page.drag(place, (place[0] - 60, place[1]))
    after = box(page)
    assert after[0] > before[0]
    assert after[2:] == before[2:]


def test_a_host_is_found_and_its_row_and_its_paths_up_are_marked(page: Page) -> None:
    page.value("document.getElementById('find').focus()")
    for letter in "h7-1":
        page.key(letter, letter)
    page.key("Enter", "\r")
    said = page.value("document.querySelector('#search p').textContent")
    assert said == "h7-1 is on leaf7[1]; framed: the 59 cables its traffic may go up by."
    assert page.value(f"{SVG}.querySelectorAll('.found .line').length") == 1
    assert page.value(f"{SVG}.querySelectorAll('.found .path').length") == 59
    assert page.value("location.hash") == "#find=h7-1"


def test_a_link_opens_the_page_where_it_points(page_file: Path, tmp_path: Path) -> None:
    with browser(tmp_path / "profile") as found:
        found.open(page_file, "#find=leaf7&zoom=3")
        assert box(found)[2] == pytest.approx(found.value("views[0].values.size[0]") / 3)
        assert found.console == []


def test_a_script_from_elsewhere_does_not_run_and_the_console_tells(
    page_file: Path, tmp_path: Path
) -> None:
    """The listener above works: a page that was tampered with does complain."""
    broken = tmp_path / "broken.html"
    text = re.sub(
        "</body>", "<script>document.title = 'run'</script></body>", page_file.read_text()
    )
    broken.write_text(text)
    with browser(tmp_path / "profile") as found:
        found.open(broken)
        assert found.value("document.title") == "weft fabric show: net"
        found.wait_for("true")
        assert any("Content Security Policy" in line for line in found.console)
