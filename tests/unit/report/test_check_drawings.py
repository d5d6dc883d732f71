"""The drawings of a check: nodes by leaf and rail, cables by what messages over them reached."""

import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from weft.check.pipeline import judge_run
from weft.check.readings.readings import Metric
from weft.check.verdict.pair_shares import PairShares, cable_shares, endpoints_of, shares_of
from weft.cli import run
from weft.report import heat_svg
from weft.report.page import write_report
from weft.study.run.store import read_run

SVG = "{http://www.w3.org/2000/svg}"
DARK = "#08284d"


def with_a_slow_cable(where: Path, twin: str, n_nodes: int, plant: str) -> Path:
    pytest.importorskip("weft._engine", reason="the engine is not built")
    argv = ["check", "--twin", twin, "--nodes", str(n_nodes), "--plant", plant]
    assert run([*argv, "--dir", str(where)]) == 1
    return where


@pytest.fixture(scope="module")
def rails(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six nodes of eight rails; rail 6 of n005 has a cable at a quarter of its rate."""
    where = tmp_path_factory.mktemp("rails") / "run"
    return with_a_slow_cable(where, "azure-ndv4", 6, "leaf-03[7] rate=0.25")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """16 nodes under four leaves; a cable between leaf-02 and spine-02 at half of its rate."""
    where = tmp_path_factory.mktemp("tree") / "run"
    return with_a_slow_cable(where, "fat-tree", 16, "leaf-02[6] rate=0.5")


def verdict_of(where: Path):  # type: ignore[no-untyped-def]
    verdict = judge_run(read_run(where))
    assert verdict is not None
    return verdict


def page_of(where: Path, tmp_path: Path) -> str:
    write_report([where], tmp_path / "page.html")
    return (tmp_path / "page.html").read_text()


Heat = tuple[PairShares, frozenset[str]]


def drawing(heat: Heat, **more: float) -> ElementTree.Element:
    return ElementTree.fromstring(heat_svg.draw(*heat, title="t", id_="x", **more))


def made(
    share: list[list[float]],
    *,
    slow: Callable[[np.ndarray], np.ndarray] | None = None,
    groups: tuple[str, ...] | None = None,
    bold: frozenset[str] = frozenset(),
) -> Heat:
    values = np.array(share)
    names = tuple(f"n{i}" for i in range(len(share)))
    marked = slow(values) if slow else np.zeros(values.shape, bool)
    return PairShares(names, groups or ("",) * len(share), values, marked), bold


def strokes(picture: ElementTree.Element) -> dict[str, set[tuple[int, int]]]:
    """By colour, the (row, column) of every cell that is filled with it."""
    found: dict[str, set[tuple[int, int]]] = {}
    for path in picture.iter(f"{SVG}path"):
        if path.get("shape-rendering") == "crispEdges":
            for x, y, w in re.findall(r"M(\d+) (\d+)h(\d+)", path.get("d") or ""):
                cells = {(int(y), int(x) + step) for step in range(int(w))}
                found.setdefault(str(path.get("stroke")), set()).update(cells)
    return found


def test_every_cell_has_the_colour_of_its_class_and_what_is_unknown_none() -> None:
    nan = float("nan")
    share = [[nan, 1.0, 0.98], [0.95, nan, 0.8], [0.6, 0.1, nan]]
    colours = strokes(drawing(made(share)))
    assert colours == {
        "#d6e3f0": {(0, 1), (0, 2)},
        "#bcd3e8": {(1, 0)},
        "#7fadd3": {(1, 2)},
        "#2f74b0": {(2, 0)},
        DARK: {(2, 1)},
    }


def test_a_slow_cell_has_an_edge_and_says_its_figures() -> None:
    picture = drawing(made([[1.0, 0.48], [1.0, 1.0]], slow=lambda values: values < 0.5))
    (edge,) = (p for p in picture.iter(f"{SVG}path") if p.get("stroke") == heat_svg.SLOW_EDGE)
    assert edge.get("d") == "M1 0h1v1h-1z"
    assert [t.text for t in picture.iter(f"{SVG}title")][1:] == ["n0 to n1: 48 % of normal"]


def test_lines_part_the_leaves_and_accused_names_are_bold() -> None:
    heat = made(
        [[1.0] * 4] * 4,
        groups=("leaf-1", "leaf-1", "leaf-2", "leaf-2"),
        bold=frozenset({"n2"}),
    )
    picture = drawing(heat)
    texts = list(picture.iter(f"{SVG}text"))
    assert [t.text for t in texts if t.get("class") == "odd"] == ["n2", "n2"]
    lines = [p for p in picture.iter(f"{SVG}path") if p.get("stroke") == "#555"]
    assert len(re.findall("M", lines[0].get("d") or "")) == 2, "one border: across and down"


def test_leaves_without_room_are_not_parted_and_small_slow_cells_are_ringed() -> None:
    """235 leaves on 560 pixels: lines would hide everything."""
    n = 470
    groups = tuple(f"leaf-{i // 2:03d}" for i in range(n))
    share = [[1.0] * n for _ in range(n)]
    share[10][20] = 0.4
    picture = drawing(made(share, groups=groups, slow=lambda values: values < 0.5), room=560.0)
    assert not [p for p in picture.iter(f"{SVG}path") if p.get("stroke") == "#555"]
    (ring,) = picture.iter(f"{SVG}circle")
    assert (ring.get("cx"), ring.get("cy")) == ("20.5", "10.5")


def test_of_many_nodes_some_names_and_always_the_accused_one() -> None:
    picture = drawing(made([[1.0] * 470] * 470, bold=frozenset({"n333"})))
    names = {text.text for text in picture.iter(f"{SVG}text")}
    assert "n333" in names
    assert 40 < len(names) < 200
    assert float(picture.get("width") or 0) < 1100
    assert len(ElementTree.tostring(picture)) < 100_000


def test_nodes_stand_by_leaf_and_the_slow_rail_alone_is_slow(rails: Path) -> None:
    verdict = verdict_of(rails)
    ends = endpoints_of(verdict.survey)
    assert ends.n_rails == 8
    slow_on = []
    for rail in range(8):
        found = shares_of(verdict.survey, Metric.BANDWIDTH, ends, rail)
        # Two nodes a leaf, by the platform; every leaf has the same rail of both.
        assert found.leaves[0] == found.leaves[1] != found.leaves[2]
        if found.slow.any():
            slow_on.append(rail)
            row = found.names.index("n005")
            assert found.slow.sum() == found.slow[row].sum() + found.slow[:, row].sum() == 10
            assert np.nanmax(found.share[row]) == pytest.approx(0.25, abs=0.01)
    assert slow_on == [6]
    worst = shares_of(verdict.survey, Metric.BANDWIDTH, ends, None)
    assert np.nanmax(worst.share[worst.names.index("n005")]) == pytest.approx(0.25, abs=0.01)


def test_a_matrix_a_rail_is_on_the_page(rails: Path, tmp_path: Path) -> None:
    text = page_of(rails, tmp_path)
    assert text.count("<strong>rail ") == 8
    assert "<strong>rail 6: 10 directions of pairs slow</strong>" in text
    assert "<strong>rail 5: no pair is slow</strong>" in text
    # A cable of a host is no cable between switches: it is told, not ringed.
    assert "At the edge: 1 HCA n005/hca6 or its cable" in unescape(text)


def test_the_suspect_cable_has_half_of_its_share_and_the_others_all(tree: Path) -> None:
    shares = cable_shares(verdict_of(tree).survey)
    assert len(shares) == 32
    bad = frozenset({"leaf-02[6]", "spine-02[2]"})
    assert shares.pop(bad) == pytest.approx(0.5, abs=0.02)
    # A host cable all of whose messages one way cross the suspect is slow that way, too.
    inner = [share for cable, share in shares.items() if not any("/" in end for end in cable)]
    assert len(inner) == 15
    assert min(inner) > 0.97


def test_the_fabric_has_a_ring_where_the_suspect_is_and_says_which(
    tree: Path, tmp_path: Path
) -> None:
    text = page_of(tree, tmp_path)
    svg = re.search(r'<svg[^>]*class="lit-matrix".*?</svg>', text, re.DOTALL)
    assert svg is not None
    picture = ElementTree.fromstring(svg[0])
    rings = [c for c in picture.iter(f"{SVG}circle") if c.get("class") == "ring"]
    assert len(rings) == 1
    lit = [t.text for t in picture.iter(f"{SVG}text") if t.get("class") == "lit"]
    assert lit == ["leaf-02[6] <-> spine-02[2]"]
    tip = [t.text or "" for t in picture.iter(f"{SVG}title")]
    assert any(t.startswith("1 cable leaf-02[6] <-> spine-02[2]: 50 % of others") for t in tip)
    # The ring is where row leaf-02 and column spine-02 meet, and the cell there is dark.
    fills = {p.get("fill"): p.get("d") or "" for p in picture.iter(f"{SVG}path")}
    corner = re.search(r"M([\d.]+) ([\d.]+)h([\d.]+)v([\d.]+)", fills["#2f74b0"])
    assert corner is not None
    x, y, w, h = map(float, corner.groups())
    assert float(rings[0].get("cx") or 0) == pytest.approx(x + w / 2, abs=0.1)
    assert float(rings[0].get("cy") or 0) == pytest.approx(y + h / 2, abs=0.1)


def test_a_page_without_charts_is_small(tree: Path, tmp_path: Path) -> None:
    assert len(page_of(tree, tmp_path).encode()) < 250_000
