"""`weft doctor` alone, on trees of machines."""

import json
from pathlib import Path

import pytest
from tests.unit.doctor.machine_trees import Tree, ndr

from weft.cli import run
from weft.doctor.machine.sysroot import MOST_NAMES

Capture = pytest.CaptureFixture[str]


def test_the_verdict_is_first_and_eleven_lines_are_all(tmp_path: Path, capsys: Capture) -> None:
    assert run(["doctor", "--sysroot", str(ndr(tmp_path).root)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "GOOD  8 InfiniBand adapters ready"
    assert lines[1].startswith("would show: an adapter without a driver among 18 PCI devices; ")
    assert len(lines) == 11


def test_a_fault_is_said_with_its_fix_and_is_exit_1(tmp_path: Path, capsys: Capture) -> None:
    tree = ndr(tmp_path)
    for number in range(8):
        (tree.root / f"dev/infiniband/uverbs{number}").unlink()
    assert run(["doctor", "--sysroot", str(tree.root)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 10
    assert lines[0].startswith("BAD   1 thing keeps jobs from the fabric")
    assert any("uverbs[0-7] is not there" in line and "modprobe" in line for line in lines)


def test_the_record_holds_everything(tmp_path: Path, capsys: Capture) -> None:
    tree = ndr(tmp_path)
    tree.machine(locked="65536", locked_hard="65536")
    assert run(["doctor", "--sysroot", str(tree.root), "--format", "json"]) == 1
    record = json.loads(capsys.readouterr().out)
    assert record["schema"] == "weft.doctor-machine/1"
    assert record["verdict"] == "bad"
    assert [one["facts"]["rule"] for one in record["findings"]] == ["locked-memory"]
    ports = [port for one in record["machine"]["adapters"] for port in one["ports"]]
    assert {"index": 1, "value": 0x7FFF} in ports[0]["p_keys"]
    assert record["machine"]["system"]["locked_soft_bytes"] == 65536


def test_this_machine_is_read_without_rights(capsys: Capture) -> None:
    """Whatever it is: no traceback, at most eleven lines."""
    assert run(["doctor"]) in (0, 1, 5)
    assert len(capsys.readouterr().out.splitlines()) in (10, 11)


def test_an_empty_root_is_a_machine_of_which_nothing_is_known(
    tmp_path: Path, capsys: Capture
) -> None:
    assert run(["doctor", "--sysroot", str(tmp_path)]) == 5
    assert capsys.readouterr().out.startswith("UNKNOWN  cannot tell: whether an adapter is here")


def test_a_root_that_is_none_is_wrong_input(tmp_path: Path, capsys: Capture) -> None:
    assert run(["doctor", "--sysroot", str(tmp_path / "missing")]) == 2
    assert "no such directory" in capsys.readouterr().err


def test_its_verbs_are_still_there(tmp_path: Path, capsys: Capture) -> None:
    script = tmp_path / "job.sh"
    script.write_text("export NCCL_IB_TIMEOUT=300\n")
    assert run(["doctor", "env", str(script)]) == 1
    assert "out-of-range" in capsys.readouterr().out


def test_options_of_the_machine_before_a_verb_are_refused(capsys: Capture) -> None:
    assert run(["doctor", "--format", "json", "env"]) == 2
    assert "env" in capsys.readouterr().err


def test_what_is_not_wholly_read_is_said_and_lists_are_short(
    tmp_path: Path, capsys: Capture
) -> None:
    tree = Tree(tmp_path).machine()
    for number in range(30):
        tree.pci(f"0000:{number:02x}:05.0", 0x15B3, 0x1021, 0x020700)
    folder = tree.root / "sys/bus/pci/devices"
    for number in range(MOST_NAMES):
        (folder / f"{number:04x}:00:00.0").symlink_to("nowhere")
    assert run(["doctor", "--sysroot", str(tree.root)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "0000:00:05.0, 0000:01:05.0, 0000:02:05.0 and 27 more are on PCI Express" in lines[2]
    assert lines[-1].endswith("; 1 path not wholly read: unread")
    line = ["doctor", "topo", "--generate", "this-machine", "--sysroot", str(tree.root)]
    assert run(line) == 2
    assert f"of which {MOST_NAMES} are read" in capsys.readouterr().err


def test_lines_are_short_whatever_files_hold(tmp_path: Path, capsys: Capture) -> None:
    tree = ndr(tmp_path)
    tree.write("proc/sys/kernel/osrelease", "x" * 60_000)
    assert run(["doctor", "--sysroot", str(tree.root)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 11
    assert max(map(len, lines)) < 1100


def test_hostile_content_is_not_printed_raw(tmp_path: Path, capsys: Capture) -> None:
    tree = Tree(tmp_path).machine()
    tree.hca(0, rate="\x1b]0;owned\x07400 Gb/sec")
    run(["doctor", "--sysroot", str(tree.root)])
    assert "\x1b" not in capsys.readouterr().out
