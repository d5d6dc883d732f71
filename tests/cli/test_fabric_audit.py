"""`weft fabric audit`: verdict first, both ends of every cable, exit codes, coverage."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from weft.cli import run


def tree(*, without: tuple[tuple[int, int], ...] = (), slow: tuple[int, int] | None = None) -> Any:
    """Four leaves of four nodes below two spines; ports 5 and 6 go up. Cables by leaf and port."""
    leaves, spines = range(1, 5), (1, 2)
    nodes = [(leaf, n) for leaf in leaves for n in range(1, 5)]
    links = [(f"leaf{leaf}[{n}]", f"h{leaf}{n}/hca0[1]", 100) for leaf, n in nodes]
    links += [
        (f"leaf{leaf}[{4 + spine}]", f"spine{spine}[{leaf}]", 100 if slow == (leaf, spine) else 200)
        for leaf in leaves
        for spine in spines
        if (leaf, 4 + spine) not in without
    ]
    return {
        "schema": "weft.fabric/1",
        "name": "tree",
        "nodes": [{"name": f"h{leaf}{n}", "hcas": [f"h{leaf}{n}/hca0"]} for leaf, n in nodes],
        "switches": [{"name": f"leaf{leaf}", "ports": 6, "level": 1} for leaf in leaves]
        + [{"name": f"spine{spine}", "ports": 4, "level": 2} for spine in spines],
        "links": [
            {"a": a, "b": b, "bits_per_s": gbps * 10**9, "delay_ps": 1000} for a, b, gbps in links
        ],
    }


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def written(document: Any, name: str = "fabric.json") -> str:
        path = tmp_path / name
        path.write_text(json.dumps(document))
        return str(path)

    return written


def audit(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = run(["fabric", "audit", *argv])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_a_healthy_fabric_is_good(capsys: pytest.CaptureFixture[str], write: Any) -> None:
    path = write(tree())
    code, out, _ = audit(capsys, path)
    lines = out.splitlines()
    assert code == 0
    assert lines[0].startswith("GOOD  no fault found; ")
    assert any(
        line.startswith("judged   isolated (22 nodes), missing-up-links (4 switches), slow")
        for line in lines
    )
    assert any("no counters: perfquery" in line for line in lines)
    assert lines[-1] == f"next     dump_fts > more.out; weft fabric audit {path} more.out"


def test_a_missing_cable_is_bad_and_named_by_both_ends(
    capsys: pytest.CaptureFixture[str], write: Any
) -> None:
    path = write(tree(without=((3, 6),)))
    code, out, _ = audit(capsys, path)
    lines = out.splitlines()
    assert code == 1
    assert lines[0].startswith("BAD  1 fault; ")
    assert lines[2] == "BAD  leaf3 lacks 1 of 2 up-links: port 6 to spine2 port 3"
    assert lines[3].startswith("  - leaf3 port 6 (GUID 0x")
    assert " -- spine2 port 3 (GUID 0x" in lines[3]
    assert "  fix: plug in or replace the cable" in out
    assert lines[-1].endswith(f"after the repair: weft fabric audit NEW-FILES --before {path}")


def test_faults_come_before_warnings(capsys: pytest.CaptureFixture[str], write: Any) -> None:
    notes = write({}, "notes")
    code, out, _ = audit(capsys, notes, write(tree(slow=(2, 1))))
    bad, warning = out.index("\nBAD  "), out.index("\nWARNING  ")
    assert code == 1
    assert bad < warning
    assert "leaf2 port 5 -- spine1 port 2 runs 2xHDR instead of 4xHDR" in out


def test_json_is_the_whole_answer(capsys: pytest.CaptureFixture[str], write: Any) -> None:
    code, out, _ = audit(capsys, write(tree(without=((3, 6),))), "--format", "json")
    record = json.loads(out)
    assert code == 1
    assert record["schema"] == "weft.fabric_audit/1"
    assert record["is_bad"] is True
    (finding,) = record["findings"]
    assert finding["facts"]["rule"] == "missing-up-links"
    (cable,) = finding["facts"]["cables"]
    assert (cable["a"]["node"], cable["a"]["port"]) == ("leaf3", 6)
    assert (cable["b"]["node"], cable["b"]["port"]) == ("spine2", 3)
    rules = {rule["rule"]: rule for rule in record["rules"]}
    assert rules["missing-up-links"]["n_findings"] == 1
    assert rules["error-rates"]["judged"] is None
    assert rules["error-rates"]["missing"]


def test_csv_has_a_row_for_each_cable(capsys: pytest.CaptureFixture[str], write: Any) -> None:
    document = write(tree(without=((3, 6),), slow=(2, 1)))
    code, out, _ = audit(capsys, document, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert code == 1
    assert {(row["rule"], row["a"], row["a_port"], row["b"], row["b_port"]) for row in rows} == {
        ("missing-up-links", "leaf3", "6", "spine2", "3"),
        ("slow-cables", "leaf2", "5", "spine1", "2"),
    }


def test_what_was_there_before_is_missed(capsys: pytest.CaptureFixture[str], write: Any) -> None:
    before, now = write(tree(), "before"), write(tree(without=((3, 6),)), "now")
    code, out, _ = audit(capsys, now, "--before", before)
    assert code == 1
    assert "BAD  leaf3 port 6 -- spine2 port 3 missing since the earlier files" in out


def test_nothing_understood_is_exit_2(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "notes"
    path.write_text("buy milk\n")
    code, out, err = audit(capsys, str(path))
    assert (code, out) == (2, "")
    assert "buy milk" in err


def test_an_unknown_platform_is_exit_2(capsys: pytest.CaptureFixture[str], write: Any) -> None:
    code, _, err = audit(capsys, write(tree()), "--platform", "azure-ndv44")
    assert code == 2
    assert "azure-ndv4" in err


FABRIC = Path(__file__).resolve().parent.parent / "fixtures" / "fabric"


def test_counters_alone_are_no_fabric(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = audit(capsys, str(FABRIC / "counters" / "perfquery.out"))
    assert (code, out) == (2, "")
    assert "no nodes, cables, counters or logs to audit" in err
    assert "name ports that no file here describes" in err


def test_earlier_counters_find_their_ports_by_the_cables_of_now(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    # perfquery names ports by LID only.
    text = (FABRIC / "counters" / "perfquery.out").read_text()
    now = tmp_path / "perfquery.out"
    now.write_text(text.replace("SymbolErrorCounter:..............42", f"SymbolErrorCounter:{99}"))
    assert "SymbolErrorCounter:99" in now.read_text()
    code, out, _ = audit(
        capsys,
        str(FABRIC / "small" / "ibnetdiscover.out"),
        str(now),
        "--before",
        str(FABRIC / "counters" / "perfquery.out"),
        "--seconds",
        "1800",
    )
    assert code == 1
    # 57 in half an hour.
    assert "leaf000 port 5: SymbolErrorCounter grew by 57 in 30 min, 114 an hour" in out
    assert "not      gone: no earlier cables" in out
