"""`weft fabric show`: the picture on the terminal and as a page, over files of real tools."""

import csv
import json
import re
from pathlib import Path

import pytest
from tests.oracle.ibsim import fat_tree

from weft.cli import run

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "tests" / "fixtures" / "fabric"
UNLINKED = str(SAMPLES / "fault" / "nd_after_unlink.out")
PORTS = str(SAMPLES / "fault" / "iblinkinfo_after_unlink.out")
TABLES = str(SAMPLES / "fault" / "lfts_after_unlink.dump")


def shown(capsys: pytest.CaptureFixture[str], *argv: str, code: int = 1) -> str:
    """The output of the fabric with a cut cable, which ends with 1."""
    assert run(["fabric", "show", *argv]) == code
    return capsys.readouterr().out


def test_a_cable_that_was_cut_in_ibsim_is_the_odd_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """fault.sh unlinked leaf000[5] from spine00[1]."""
    out = shown(capsys, UNLINKED, PORTS)
    assert "\n1 of 16 up-links is missing: leaf000 to spine00.\n" in out
    assert "\n  leaf000             -2\n  leaf001 to leaf003  22\n" in out
    assert "leaf000[5] has no cable that is up (polling)" in out
    assert "free at the other end: spine00[1]" in out


def test_the_reference_shows_what_the_program_prints(capsys: pytest.CaptureFixture[str]) -> None:
    reference = (ROOT / "docs" / "reference" / "fabric.md").read_text()
    block = re.search(
        r"nd_after_unlink.out lfts_after_unlink.dump --load.*?\n(.*?)```", reference, re.S
    )
    assert block is not None
    out = shown(capsys, UNLINKED, TABLES, "--load", "all-to-all")
    assert block.group(1).strip() in out


def test_the_load_follows_the_tables(capsys: pytest.CaptureFixture[str]) -> None:
    """16 hosts on 4 leaves: 4 x 4 x 12 paths go up over 15 cables, 12.8 each."""
    out = shown(capsys, UNLINKED, TABLES, "--load", "all-to-all")
    up = re.search(r"up from level 1 to 2 +15 +\S+ +(\S+) +(\d+) paths", out)
    assert up is not None
    assert float(up.group(1)) == pytest.approx(int(up.group(2)) / 12.8, abs=0.006)


def test_the_page_is_written_and_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert run(["fabric", "show", UNLINKED, "--report", str(page), "--fail-on", "never"]) == 0
    assert capsys.readouterr().err == f"written: {page}\n"
    text = page.read_text()
    assert "1 of 16 up-links is missing: leaf000 to spine00." in text
    assert len(text) < 60_000


def test_a_load_without_tables_and_an_engine_without_a_load_are_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["fabric", "show", UNLINKED, "--load", "all-to-all"]) == 2
    assert "--engine minhop, updn or ftree" in capsys.readouterr().err
    assert run(["fabric", "show", UNLINKED, "--engine", "updn"]) == 2
    assert "expected: --load all-to-all" in capsys.readouterr().err


def test_an_engine_gives_a_load_where_no_tables_were_read(
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = shown(capsys, UNLINKED, "--load", "shift:4", "--engine", "updn")
    # Every host sends to the next leaf: 16 paths up, 16 down.
    assert "Load of a shift by 4" in out


def test_nothing_wide_goes_into_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(capsys, UNLINKED)
    picture = out[out.index("1 of 16") : out.index("read  ")]
    assert max(map(len, picture.splitlines())) <= 110
    assert "\x1b" not in out


def test_as_json_and_csv_what_is_odd_and_the_load_are_values(
    capsys: pytest.CaptureFixture[str],
) -> None:
    record = json.loads(shown(capsys, UNLINKED, TABLES, "--load", "all-to-all", "--format", "json"))
    (odd,) = record["odd"]
    assert (odd["from"], odd["to"], odd["n_cables"], odd["n_expected"]) == (
        "leaf000",
        "spine00",
        1,
        2,
    )
    assert [way["n_ports"] for way in record["load"]["directions"]] == [15, 15]
    rows = shown(capsys, UNLINKED, TABLES, "--load", "all-to-all", "--format", "csv")
    cables = list(csv.DictReader(rows.splitlines()))
    loads = [row[f"load_from_{side}_paths"] for row in cables for side in "ab"]
    # 192 paths go up and come down; cables of hosts are not counted.
    assert sum(int(load) for load in loads if load) == 2 * 192


def test_guesses_of_a_generated_fabric_stand_on_its_page(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    document = {
        "schema": "weft.fabric/1",
        "generate": "fat_tree",
        "levels": 2,
        "nodes": 4,
        "nodes_per_leaf": 2,
        "spines": 1,
        "host_bits_per_s": 100_000_000_000,
        "switch_bits_per_s": 100_000_000_000,
        "host_delay_ps": 0,
        "switch_delay_ps": 0,
        "assumed": ["the spine is a guess"],
    }
    file = tmp_path / "fabric.json"
    file.write_text(json.dumps(document))
    assert run(["fabric", "show", str(file), "--report", str(page)]) == 5
    assert "<li>assumed: the spine is a guess</li>" in page.read_text()


def test_of_two_leaves_the_wrong_one_is_unknown(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    net = fat_tree(2, 3, 2)
    file = tmp_path / "net.out"
    file.write_text(net.text())
    out = shown(capsys, str(file), code=5)
    assert out.startswith("UNKNOWN  cannot tell: whether a cable is missing")
    assert "4 up-links, without a pattern that shows missing ones" in out


def test_a_whole_fabric_ends_with_zero(capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(capsys, str(SAMPLES / "small" / "ibnetdiscover.out"), code=0)
    assert "All 16 up-links match their siblings." in out
