"""`weft check` with files of the fabric: rates and counters beside the readings."""

import json
import os
import re
from pathlib import Path

import pytest

from weft.cli import run
from weft.report.verdict import judge
from weft.study.run.store import read_run

REAL = Path(__file__).parent.parent / "fixtures" / "fabric"
CABLES = REAL / "small" / "ibnetdiscover.out"
TABLES = REAL / "opensm" / "opensm-lfts.dump"
COUNTERS = REAL / "counters" / "ibqueryerrors.out"
"""ibqueryerrors found 42 symbol errors at port 5 of leaf000; spine00's port 1 is the other end."""
Capture = pytest.CaptureFixture[str]

pytest.importorskip("weft._engine", reason="the engine is not built")


def check(where: Path, capsys: Capture, *more: str, cables: Path = CABLES) -> tuple[int, dict]:
    files = ["--fabric", str(cables), "--fabric", str(TABLES)]
    argv = ["check", "--twin", "azure-hbv3", *files, *more, "--dir", str(where)]
    code = run([*argv, "--format", "json"])
    return code, json.loads(capsys.readouterr().out)


def test_counters_of_a_tool_stand_next_to_an_accused_cable(tmp_path: Path, capsys: Capture) -> None:
    plant = ("--plant", "MF0;leaf000:MQM8700/U1[5] rate=0.3")
    code, answer = check(tmp_path / "r", capsys, *plant, "--counters", str(COUNTERS))
    assert code == 1
    (bad,) = (f for f in answer["findings"] if f["severity"] == "bad")
    (suspect,) = bad["facts"]["suspects"]
    assert set(suspect["ends"]) == {"MF0;leaf000:MQM8700/U1[5]", "MF0;spine00:MQM8700/U1[1]"}
    assert "the files say: SymbolErrorCounter of leaf000 port 5 is at 42" in bad["evidence"]


def test_counters_come_through_a_pipe(tmp_path: Path, capsys: Capture) -> None:
    """As `--counters <(zcat FILE)` gives them."""
    read, write = os.pipe()
    os.write(write, COUNTERS.read_bytes())
    os.close(write)
    try:
        code, answer = check(tmp_path / "r", capsys, "--counters", f"/dev/fd/{read}")
    finally:
        os.close(read)
    assert code == 0
    assert "SymbolErrorCounter of leaf000 port 5 is at 42" in json.dumps(answer["findings"])


def test_counters_that_no_reading_bears_out_are_a_warning(tmp_path: Path, capsys: Capture) -> None:
    code, answer = check(tmp_path / "r", capsys, "--counters", str(COUNTERS))
    assert code == 0
    warning, healthy = answer["findings"]
    assert (warning["severity"], healthy["severity"]) == ("warning", "good")
    assert "SymbolErrorCounter of leaf000 port 5 is at 42" in warning["sentence"]
    (advice,) = [line for line in warning["evidence"] if line.startswith("to do: ")]
    options = set(re.findall(r"--[a-z]+", advice.partition("weft check")[2]))
    assert options == {"--counters"}, "the audit's own options are none of a check"
    first, good = judge(read_run(tmp_path / "r")).findings
    assert first.sentence == warning["sentence"]
    assert good.sentence.startswith("16 of 16 nodes, pairs 120 of 120 measured, ")
    assert healthy["sentence"] in good.evidence


def narrow_host_cable(path: Path) -> Path:
    """The file of the fabric with the cable of c103-003 on one lane instead of two."""
    lines, where = CABLES.read_text().splitlines(), ""
    for number, line in enumerate(lines):
        where = line if line.startswith(("Switch", "Ca")) else where
        at_leaf = "leaf002" in where and line.startswith("[3]")
        at_host = "c103-003" in where and "leaf002" in line
        if at_leaf or at_host:
            lines[number] = line.replace("2xHDR", "1xHDR")
    path.write_text("\n".join(lines))
    assert sum("1xHDR" in line for line in lines) == 2
    return path


def test_a_cable_on_half_its_lanes_is_held_against_its_siblings(
    tmp_path: Path, capsys: Capture
) -> None:
    cables = narrow_host_cable(tmp_path / "ibnetdiscover.out")
    code, answer = check(tmp_path / "r", capsys, cables=cables)
    assert code == 1
    (bad,) = (f for f in answer["findings"] if f["severity"] == "bad")
    assert "c103-003" in bad["sentence"]
    # 50 of 100 Gb/s: the twin sends as slowly as the file says, and siblings are the norm.
    assert bad["facts"]["measured"] / bad["facts"]["expected"] == pytest.approx(0.5, rel=0.03)
    assert any("runs 1xHDR instead of 2xHDR" in line for line in bad["evidence"])
    assert len(answer["findings"]) == 1


def test_counters_of_a_generated_twin_are_read_by_its_own_names(
    tmp_path: Path, capsys: Capture
) -> None:
    twin = ["check", "--twin", "fat-tree", "--nodes", "8"]
    # Nodes have the LIDs 1 to 8, then leaves follow: 9 is leaf-01, whose port 1 is n001's cable.
    counters = tmp_path / "perfquery.out"
    counters.write_text(
        "# Port counters: Lid 9 port 1 (CapMask: 0x1300)\n"
        "PortSelect:......................1\n"
        "CounterSelect:...................0x0000\n"
        "SymbolErrorCounter:..............42\n"
    )
    argv = [*twin, "--counters", str(counters), "--dir", str(tmp_path / "r"), "--format", "json"]
    assert run(argv) == 0
    (warning, _) = json.loads(capsys.readouterr().out)["findings"]
    assert warning["facts"]["things"] == [["cable", ["leaf-01[1]", "n001/hca0[1]"]]]


def test_counters_need_the_files_of_the_fabric(tmp_path: Path, capsys: Capture) -> None:
    argv = ["check", "--mock", "--counters", str(COUNTERS), "--dir", str(tmp_path / "r")]
    assert run(argv) == 2
    assert "--counters needs --fabric" in capsys.readouterr().err
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize(
    ("text", "said"), [(None, "no file"), ("no counters\n", "cannot read this format")]
)
def test_a_wrong_file_is_refused_before_anything_is_measured(
    tmp_path: Path, capsys: Capture, text: str | None, said: str
) -> None:
    file = tmp_path / "counters.out"
    if text is not None:
        file.write_text(text)
    argv = ["check", "--twin", "fat-tree", "--nodes", "8", "--counters", str(file)]
    assert run([*argv, "--dir", str(tmp_path / "r")]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "r").exists()


def test_counters_that_a_twin_kept_decide_among_cables_of_adaptive_routing(
    tmp_path: Path, capsys: Capture
) -> None:
    twin = ["check", "--twin", "fat-tree", "--nodes", "16", "--adaptive"]
    twin += ["--plant", "leaf-02[6] corrected=0.3,2000", "--format", "json"]
    assert run([*twin, "--dir", str(tmp_path / "before")]) == 1
    (bad, *_) = json.loads(capsys.readouterr().out)["findings"]
    assert len(bad["facts"]["suspects"]) > 1
    counters = tmp_path / "before" / "counters.out"
    assert run([*twin, "--dir", str(tmp_path / "r"), "--counters", str(counters)]) == 1
    answer = json.loads(capsys.readouterr().out)
    (bad, *_) = answer["findings"]
    (suspect,) = bad["facts"]["suspects"]
    assert "leaf-02[6]" in suspect["ends"]
    assert any("the files fault this one only" in line for line in bad["evidence"])
    assert answer["planted"][0]["named"] == "yes"


def test_a_cable_that_loses_packets_is_named_by_counters_that_grew(
    tmp_path: Path, capsys: Capture
) -> None:
    twin = ["check", "--twin", "fat-tree", "--nodes", "24", "--seed", "2", "--format", "json"]
    lost = ["--plant", "leaf-02[6] lost=0.001"]
    assert run([*twin, "--dir", str(tmp_path / "healthy")]) == 0
    capsys.readouterr()
    assert run([*twin, *lost, "--dir", str(tmp_path / "lost")]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["findings"][0]["facts"]["standing"] == "comes and goes"
    assert answer["planted"][0]["named"] == "no"
    counters = [str(tmp_path / name / "counters.out") for name in ("healthy", "lost")]
    files = [word for name in counters for word in ("--counters", name)]
    assert run([*twin, *lost, *files, "--dir", str(tmp_path / "r")]) == 1
    answer = json.loads(capsys.readouterr().out)
    (bad,) = answer["findings"]
    assert "loses packets" in bad["sentence"]
    assert answer["planted"][0]["named"] == "yes"
