"""Modulefiles are read by Tcl's rules for words; tclsh, where it is, says the same."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.needs import need

from weft.doctor.job import HOLE, JobKind
from weft.doctor.readers.file import read_job
from weft.launch.tcl import tcl_word

HEAD = "#%Module1.0\n"
VALUES = (
    "0",
    "^mlx5_an0:1",
    "AWS Libfabric",
    "a{b",
    "}",
    "{a}{",
    "\\",
    "$HOME [exit 3] ; exit 4",
    "quote \" and ' and `id`",
    "line\nline",
    "#no comment",
    "",
    "tab\tü \u2028",
)


def values(text: str) -> dict[str, str | None]:
    job = read_job("weft/1.0", HEAD + text)
    assert job.kind is JobKind.MODULEFILE
    return {one.name: one.value for one in job.settings}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("setenv NCCL_DEBUG {WARN}", "WARN"),
        ("setenv NCCL_DEBUG WARN", "WARN"),
        ("  pushenv  NCCL_DEBUG\tWARN ;# why", "WARN"),
        ('setenv NCCL_DEBUG "WARN it"', "WARN it"),
        ("setenv NCCL_DEBUG {a {b} $c [d]}", "a {b} $c [d]"),
        ("setenv NCCL_DEBUG a\\ b", "a b"),
        ("setenv NCCL_DEBUG $level", f"{HOLE}level"),
        ('setenv NCCL_DEBUG "[exec date]"', f"{HOLE}exec date]"),
        ("if {1} { setenv NCCL_DEBUG {WARN} }", "WARN"),
    ],
)
def test_words(text: str, value: str) -> None:
    assert values(text) == {"NCCL_DEBUG": value}


@pytest.mark.parametrize(
    "text",
    [
        "# setenv NCCL_DEBUG WARN",
        "setenv NCCL_DEBUG",
        "setenv NCCL_DEBUG {open",
        "prepend-path A b",
    ],
)
def test_what_sets_nothing(text: str) -> None:
    assert values(text) == {}


def test_a_value_is_no_place_for_commands() -> None:
    assert values("setenv A {x; setenv B y}") == {"A": "x; setenv B y"}


@pytest.mark.parametrize("value", VALUES)
def test_what_is_written_is_read_back(value: str) -> None:
    assert values(f"setenv A {tcl_word(value)}\n") == {"A": value}


def test_tclsh_reads_the_same(tmp_path: Path) -> None:
    """Every hostile value arrives whole, and nothing in it runs."""
    need("tclsh", package="tcl")
    script = "proc setenv {name value} { set f [open $name wb]; fconfigure $f -encoding utf-8; "
    script += "puts -nonewline $f $value; close $f }\n"
    script += "\n".join(f"setenv V{i} {tcl_word(value)}" for i, value in enumerate(VALUES))
    (tmp_path / "module.tcl").write_text(script, "utf-8")
    argv = ["tclsh", "-encoding", "utf-8", "module.tcl"]
    done = subprocess.run(argv, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    for i, value in enumerate(VALUES):
        assert (tmp_path / f"V{i}").read_bytes().decode() == value
    assert len(list(tmp_path.iterdir())) == len(VALUES) + 1


@given(st.text(st.characters(blacklist_characters="\0\r", blacklist_categories=["Cs"])))
@settings(max_examples=200)
def test_any_text_is_read_back(value: str) -> None:
    assert values(f"setenv A {tcl_word(value)}\n") == {"A": value}
