"""The text of a verdict: columns that fit the terminal, colours only where they are wanted."""

import sys
from dataclasses import replace
from pathlib import Path

import click
import pytest

from weft.catalog.load import platform
from weft.check.external_evidence.platform_choice import ExpectedPlatform
from weft.check.verdict.verdict import judge_check
from weft.cli.check import answer as cli_answer
from weft.cli.check.answer import CheckAnswer
from weft.cli.check.text import packed, verdict_text
from weft.cli.output import fold_prose
from weft.core.finding import FindingKind, Severity


@pytest.fixture
def answer(make_tree, make_slow, make_fabric):
    tree = make_tree(4, 4, 4)
    slow = [make_slow(0.5, frozenset({"leaf-02[6]", "spine-02[2]"})), make_slow(0.3, node="n013")]
    verdict = judge_check(make_fabric(tree, slow).all_pairs(), tree)
    return CheckAnswer(verdict, Path("runs/x"), 1.5, (), ("weft", "check"), fabric_time="about 1 s")


def test_columns_of_two_faults_stand_under_each_other(answer):
    bad = [line for line in verdict_text(answer, matrix=False).splitlines() if line[:3] == "BAD"]
    assert len(bad) == 2
    for word in ("1 ", "readings over it slow"):
        assert len({line.index(word) for line in bad}) == 1, bad


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_column_is_wider_than_the_terminal(answer, width):
    text = fold_prose(verdict_text(answer, matrix=False, width=width), width)
    lines = [line for line in text.splitlines() if not line.startswith("  ")]
    # A column is not cut: only what is wider by itself may stand out.
    longest_column = len("BAD  n013, its HCA or its cable n013/hca0[1] <-> leaf-04[1]")
    assert max(map(len, lines)) <= max(width, longest_column)
    whole = " ".join(verdict_text(answer, matrix=False).split())
    assert " ".join(text.split()) == whole, "nothing is lost"


def test_what_fits_stays_on_one_line():
    assert packed("OK   ", ["a", "b", "c"], 80) == ["OK   a   b   c"]
    assert packed("OK   ", ["a", "b", "c"], 10) == ["OK   a   b", "     c"]
    assert packed("OK   ", ["a", "b", "c"], None) == ["OK   a   b   c"]


def test_colours_are_for_terminals_that_want_them(answer, monkeypatch):
    assert "\x1b" not in verdict_text(answer, matrix=False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured = verdict_text(answer, matrix=False)
    assert coloured.startswith("\x1b[31m\x1b[1mBAD\x1b[0m  ")
    monkeypatch.setenv("NO_COLOR", "1")
    assert verdict_text(answer, matrix=False) == click.unstyle(coloured)


def test_the_nodes_that_are_well_are_those_that_nothing_accuses(answer):
    (good,) = [x for x in verdict_text(answer, matrix=False).splitlines() if x[:3] == "OK "]
    # The cable between switches is no node's.
    columns = good.removeprefix("OK").strip().split("   ")
    assert columns[0] == "15 of 16 nodes"
    assert columns[1].startswith("pairs 120 of 120 measured, every cable filled >= ")
    assert columns[2] == "fabric time about 1 s, took 1.5 s"
    assert columns[3] == "whether all are slow alike is not known without --platform"


def test_nothing_is_well_where_all_pairs_are_bad(make_tree, make_fabric):
    tree = make_tree(4, 4, 4)
    faster = ExpectedPlatform(platform("generic-ndr"), "of a test")
    verdict = judge_check(make_fabric(tree).all_pairs(), tree, machine=faster)
    assert verdict.findings[0].kind is FindingKind.BELOW_EXPECTED
    text = verdict_text(CheckAnswer(verdict, Path("runs/x"), 1.5, (), ()), matrix=False)
    assert text.startswith("BAD  All pairs deliver ")
    assert "16 of 16 nodes" not in text
    (measured,) = [line for line in text.splitlines() if "pairs 120 of 120 measured" in line]
    assert not measured.startswith("OK")


def test_nodes_are_well_where_only_pairs_of_one_kind_are_bad(make_tree, make_slow, make_fabric):
    """All that leaves a leaf is half as fast as it should be; what stays there is well."""
    tree = make_tree(4, 4, 4)
    up = frozenset(end for link in tree.links if "spine" in link[1] for end in link)
    fabric = make_fabric(tree, [make_slow(0.5, up, metrics=("bandwidth",))])
    machine = ExpectedPlatform(platform("fat-tree"), "of a test")
    verdict = judge_check(fabric.all_pairs(), tree, machine=machine)
    (bad,) = [f for f in verdict.findings if f.severity is Severity.BAD]
    assert bad.kind is FindingKind.BELOW_EXPECTED
    text = verdict_text(CheckAnswer(verdict, Path("runs/x"), 1.5, (), ()), matrix=False)
    (good,) = [line for line in text.splitlines() if line.startswith("OK ")]
    assert good.split()[1:5] == ["16", "of", "16", "nodes"]


def test_ends_of_a_bad_pair_are_not_called_well(make_tree, make_fabric):
    tree = make_tree(4, 4, 4)
    samples = make_fabric(tree).all_pairs()
    pair = next(s.pair for s in samples if s.pair is not None)
    wrong = [replace(s, flags=("invalid_data",)) if s.pair == pair else s for s in samples]
    text = verdict_text(
        CheckAnswer(judge_check(wrong, tree), Path("runs/x"), 1.5, (), ()), matrix=False
    )
    assert "\nOK   14 of 16 nodes   " in text


def test_text_needs_no_row_a_reading(answer, monkeypatch):
    """45,000 rows of a large check are built where somebody wants rows."""
    monkeypatch.setattr(cli_answer, "rows_of", lambda survey: pytest.fail("rows were built"))
    assert verdict_text(answer, matrix=False)
    assert answer.to_record()["findings"]
