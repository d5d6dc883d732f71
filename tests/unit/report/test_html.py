"""What goes into the file: JSON that cannot break out, scripts pinned by their digest."""

import base64
import hashlib
import json
import re
from html import unescape

from weft.core.finding import Finding, FindingKind, Severity
from weft.report.html import content_policy, render, script_json
from weft.report.model import MAX_TABLE_ROWS, RunPage, Section, cut_table


def page_with(findings: int = 1) -> RunPage:
    finding = Finding(
        FindingKind.SUSPECT_NODE,
        Severity.BAD,
        "Node <b>n1</b> is slow.",
        evidence=("a & b",),
        next_command="weft report 'x'",
    )
    table = cut_table("A table", ["name", "#time (µs)"], [("x", "1")])
    sections = (Section("Section", ("A paragraph.",), tables=(table,)),)
    return RunPage("run1", "Title", "subtitle", (finding,) * findings, ("A caveat.",), sections)


def test_json_in_a_script_survives_and_cannot_end_it() -> None:
    hostile = {"name": "</script><script>alert(1)</script><!--", "line": "a\u2028b & c"}
    text = str(script_json(hostile))
    assert json.loads(text) == hostile
    assert not set("<>&\u2028") & set(text)


def test_the_policy_names_the_digest_of_each_script() -> None:
    digest = base64.b64encode(hashlib.sha256(b"let a = 1;").digest()).decode()
    assert f"script-src 'sha256-{digest}';" in content_policy(["let a = 1;"])


def test_the_scripts_in_the_page_are_the_ones_the_policy_allows() -> None:
    page = render("Title", [page_with()])
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digests = {base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts}
    allowed = re.search(r"script-src ([^;]*);", unescape(page))
    assert allowed is not None
    assert digests == set(re.findall(r"'sha256-([^']+)'", allowed.group(1)))


def test_text_is_escaped_and_columns_of_figures_are_set_right() -> None:
    page = render("A < B", [page_with()])
    assert "<title>A &lt; B</title>" in page
    assert "Node &lt;b&gt;n1&lt;/b&gt; is slow." in page
    assert "a &amp; b" in page
    assert '<th scope="col" class="figure">time (µs)</th>' in page
    assert '<td class="figure">1</td>' in page


def test_many_findings_are_cut_and_counted() -> None:
    page = render("Title", [page_with(findings=40)])
    assert page.count("is slow.") == 12
    assert "28 more findings" in page


def test_a_table_is_cut_and_says_how_many_rows_it_left_out() -> None:
    table = cut_table("t", ["#n"], [(str(i),) for i in range(MAX_TABLE_ROWS + 7)])
    assert table.rows[-1] == (str(MAX_TABLE_ROWS - 1),)
    assert table.n_cut == 7
