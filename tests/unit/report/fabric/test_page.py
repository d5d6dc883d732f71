"""The page of a fabric: whole without a script, names escaped, nothing from elsewhere."""

import base64
import hashlib
import json
import re
import xml.etree.ElementTree as ElementTree
from html import unescape
from pathlib import Path

import pytest
from tests.unit.topology.hand_subnet import Ends, HandSubnet, described, tree_cables, tree_switches

from weft.report.fabric.page import fabric_page, write_fabric_page
from weft.report.html import render_fabric
from weft.topology.subnet.link_load import load_of
from weft.topology.subnet.traffic import Traffic

HOSTILE = "</script><script>alert('1')</script> \"quoted\" & <b>'x'"


def missing_one() -> HandSubnet:
    return described(tree_switches(), [c for c in tree_cables() if c[:2] != ("leaf2", 3)])


def text_of(subnet: HandSubnet, **more: object) -> str:
    return render_fabric(fabric_page(subnet, name="net", headline="A headline."))


def drawings_of(page: str) -> list[ElementTree.Element]:
    return [ElementTree.fromstring(svg) for svg in re.findall(r"<svg .*?</svg>", page, re.DOTALL)]


def test_the_title_of_the_page_is_what_is_missing() -> None:
    page = fabric_page(missing_one(), name="net", headline="A headline.")
    assert page.severity == "bad"
    assert page.sentences == ("1 of 16 up-links is missing: leaf2 to spine0.",)
    matrix, links = page.drawings
    assert matrix.title == "1 of 16 up-links is missing: leaf2 to spine0"
    assert matrix.table is not None
    assert matrix.table.rows == (
        ("leaf2", "spine0", "1 of 2 cables", "leaf2[3] has no cable that is up"),
    )
    assert links.id == "links"


def test_drawings_are_well_formed_and_say_what_they_show() -> None:
    drawings = drawings_of(text_of(missing_one()))
    whole = [one for one in drawings if one.get("id")]
    assert [one.get("id") for one in whole] == ["matrix0-svg", "links-svg"]
    title = whole[0].find("{http://www.w3.org/2000/svg}title")
    assert title is not None
    assert title.text == "1 of 16 up-links is missing: leaf2 to spine0"
    words = ["".join(text.itertext()) for text in whole[1].iter() if text.tag.endswith("title")]
    assert any("leaf2[2]" not in word and "leaf2[3]" not in word for word in words)
    assert any(word.startswith("leaf2[4]") or "leaf2[2]" in word for word in words)


def test_names_cannot_leave_their_places() -> None:
    cables: list[Ends] = [
        tuple(HOSTILE if end == "leaf2" else end for end in cable)  # type: ignore[misc]
        for cable in tree_cables()
        if cable[:2] != ("leaf2", 3)
    ]
    switches = {HOSTILE if name == "leaf2" else name: n for name, n in tree_switches().items()}
    hosts = [tuple("<img src=x>" if end == "h1-1" else end for end in c) for c in cables]
    page = text_of(described(switches, hosts))  # type: ignore[arg-type]
    assert page.count("<script") == page.count("</script>") == 2
    assert "<script>alert" not in page
    assert "<img" not in page
    assert "<b>'x'" not in page
    assert HOSTILE in unescape(page)
    values = re.search(r'id="fabric">(.*?)</script>', page)
    assert values is not None
    assert HOSTILE in json.loads(values.group(1))["switches"]
    drawings_of(page)


def test_only_the_pages_own_script_may_run_and_nothing_is_fetched() -> None:
    page = text_of(missing_one())
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digests = {base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts}
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    said = unescape(policy.group(1))
    assert said.startswith("default-src 'none'; script-src 'sha256-")
    assert digests == set(re.findall(r"'sha256-([^']+)'", said))
    addresses = set(re.findall(r"\w+://[^\"' ]+", page))
    # The name of SVG's language: nothing is read from there.
    assert addresses == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"\b(?:src|href|action)\s*=", page)


def test_the_script_knows_every_cell_with_both_ends_of_its_cables() -> None:
    values = fabric_page(missing_one(), name="net", headline="").values
    matrix = values["matrices"]["matrix0"]
    switches = values["switches"]
    cells = {(row, column): cell for row, column, *cell in matrix["cells"]}
    state, expected, cables = cells[2, 0]
    assert (values["states"][state], expected) == ("fewer", 2)
    ((a, a_port, b, b_port, word),) = cables
    # leaf2[2] is the first of its two; the second, leaf2[3], is gone.
    assert (switches[a], a_port, switches[b], b_port) == ("leaf2", 2, "spine0", 5)
    assert values["words"][word] == "4xHDR, active, link-up"
    assert ["h2-1", switches.index("leaf2"), 1] in values["hosts"]


def test_a_load_is_drawn_on_both_pictures_with_a_histogram_next_to() -> None:
    loads = {(cable[0], cable[1]): 2 for cable in tree_cables() if cable[2].startswith("spine")}
    loads["leaf1", 2] = 6
    subnet = described(tree_switches(), tree_cables(), loads=loads)
    load = load_of(subnet, Traffic("all to all", "paths", {}))
    page = fabric_page(subnet, name="net", headline="", load=load)
    # 36 paths over 16 cables are 2.25 each; 6 of them 2.67 times as much.
    sentence = (
        "all to all: the fullest cable, out of leaf1[2], carries 6 paths, 2.67 times its fair share"
    )
    assert page.sentences[-1] == f"{sentence}."
    assert [drawing.id for drawing in page.drawings] == ["matrix0", "links", "load"]
    darkest = "#08284d"
    assert all(darkest in drawing.svg for drawing in page.drawings[:2])
    assert page.drawings[2].title == sentence
    # All ports but one carry 2 paths, and a pointer at a bar reads how many there are.
    assert re.findall(r"<title>(.*?)</title>", page.drawings[2].svg) == [
        "times the fair share: 0.8 – 0.9; ports: 15",
        "times the fair share: 2.6 – 2.7; ports: 1",
    ]
    table = page.drawings[2].table
    assert table is not None
    assert table.rows == (("up from level 1 to 2", "16", "0.89", "2.67", "6", "leaf1[2]"),)


def test_a_ring_is_a_circle_and_a_matrix_of_all_by_all() -> None:
    ring: list[Ends] = [(f"s{at}", 1, f"s{(at + 1) % 5}", 2) for at in range(5)]
    page = fabric_page(described({f"s{at}": 1 for at in range(5)}, ring), name="r", headline="")
    assert page.severity == "note"
    assert [drawing.id for drawing in page.drawings] == ["matrix0", "links"]
    assert page.sentences == ("5 switches with 5 cables between them, without levels.",)
    assert len(page.values["matrices"]["matrix0"]["cells"]) == 10
    assert page.drawings[1].svg.count('class="link"') == 5


def test_a_matrix_that_would_not_open_is_left_out_and_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("weft.report.fabric.page.MOST_CELLS", 7)
    page = fabric_page(missing_one(), name="net", headline="")
    assert [drawing.id for drawing in page.drawings] == ["links"]
    assert page.problems == (
        "a matrix of 4 x 2 switches is not drawn: its 8 cells would be more than 7",
    )


def test_a_file_that_cannot_be_written_is_an_error_that_names_it(tmp_path: Path) -> None:
    from weft.core.errors import MissingError

    with pytest.raises(MissingError, match="the report cannot be written"):
        write_fabric_page(fabric_page(missing_one(), name="net", headline=""), tmp_path)
