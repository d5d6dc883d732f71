"""`weft platform detect` on trees of machines, and the verbs that take the machine they run on."""

import json
import os
import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.unit.doctor.machine_trees import Tree, aws, ndr, slingshot

from weft.cli import run

Capture = pytest.CaptureFixture[str]
SSH = """\
#!/bin/sh
while [ "$1" != -- ]; do shift; done
[ -d "$WEFT_HOSTS/$2" ] || { echo "ssh: Could not resolve hostname $2" >&2; exit 255; }
cd "$WEFT_HOSTS/$2" && exec sh -c "$3"
"""
LATENCY = """\
# OSU MPI Bandwidth Test v7.4
# Datatype: MPI_CHAR.
# Size      Bandwidth (MB/s)
1048576             {value}
2097152             {value}
4194304             {value}
"""


def hdr(root: Path, *, n: int = 1, **hca: Any) -> Tree:
    tree = Tree(root).machine()
    tree.write("proc/sys/kernel/hostname", "node001")
    gen4 = {"speed": "16.0 GT/s PCIe", "most_speed": "16.0 GT/s PCIe"}
    for number in range(n):
        tree.hca(number, rate="HDR", n_keys=1, **{**gen4, **hca})
    return tree


def detect(tree: Tree, *more: str) -> int:
    return run(["platform", "detect", "--sysroot", str(tree.root), *more])


def rows(out: str) -> dict[str, str]:
    """The lines of the table by their first word."""
    return {line.split()[0]: line for line in out.splitlines() if "  " in line}


def test_hdr_in_a_wide_slot(tmp_path: Path, capsys: Capture) -> None:
    assert detect(hdr(tmp_path)) == 0
    out = capsys.readouterr().out
    first = "GOOD  node001: 1 rail of InfiniBand HDR (200 Gb/s), PCIe Gen4 x16, 96 CPUs in 2"
    assert out.startswith(first)
    table = rows(out)
    assert "200 Gb/s  /sys/class/infiniband/mlx5_0/ports/1/rate" in table["links.host.rate"]
    assert "31.5075 GB/s  /sys/class/infiniband/mlx5_0/device/current" in table["node.hca_pcie"]
    assert "assumed: as generic-hdr" in table["packets.mtu"]
    assert "NUMA node 0" in table["mlx5_0"]
    assert "WARNING" not in out


def test_a_narrow_slot_is_named_with_its_remedy(tmp_path: Path, capsys: Capture) -> None:
    """8 lanes of 32 GT/s: 252 Gb/s, below NDR's 400."""
    tree = Tree(tmp_path).machine()
    tree.hca(0, lanes=8)
    assert detect(tree) == 0
    out = capsys.readouterr().out
    assert out.startswith("WARN  detected: 1 rail of InfiniBand NDR (400 Gb/s), PCIe Gen5 x8")
    assert "WARNING  mlx5_0: 32 GT/s x8 carries 252 Gb/s, the port 400 Gb/s; fix: move it" in out


def test_a_rail_that_is_down_is_named_and_not_counted(tmp_path: Path, capsys: Capture) -> None:
    tree = hdr(tmp_path)
    tree.hca(1, rate="HDR", state="DOWN", physical="Polling")
    assert detect(tree) == 0
    out = capsys.readouterr().out
    assert "WARNING  mlx5_1:1 is DOWN (Polling), while others of the same kind are active" in out
    assert " 1 HCAs " in rows(out)["node.hcas"]
    assert "note: adapters that carry no data are not counted: mlx5_1 (DOWN)" in out


def test_ethernet_alone(tmp_path: Path, capsys: Capture) -> None:
    tree = Tree(tmp_path).machine()
    tree.interface(0, mtu=9000, lanes=8, most_lanes=8)
    assert detect(tree, "--out", str(tmp_path / "x.toml")) == 0
    out = capsys.readouterr().out
    assert out.startswith("GOOD  detected: 1 rail of Ethernet 25 GbE (25 Gb/s), PCIe Gen5 x8")
    assert "9,000 B  /sys/class/net/eth0/mtu" in rows(out)["packets.mtu"]
    document = tomllib.loads((tmp_path / "x.toml").read_text())
    assert document["packets"]["headers"] == "ethernet"


def test_efa_and_slingshot(tmp_path: Path, capsys: Capture) -> None:
    assert detect(aws(tmp_path / "aws")) == 0
    out = capsys.readouterr().out
    assert out.startswith("GOOD  detected: 4 rails of EFA 100 (100 Gb/s)")
    assert "note: older efa drivers state 100 Gb/s for every adapter" in out
    assert detect(slingshot(tmp_path / "cxi")) == 0
    out = capsys.readouterr().out
    assert out.startswith("GOOD  detected: 4 rails of Slingshot 11 (200 Gb/s), PCIe Gen4 x16")


def test_no_network_is_told_and_has_no_links(tmp_path: Path, capsys: Capture) -> None:
    assert detect(Tree(tmp_path).machine(), "--out", str(tmp_path / "x.toml")) == 0
    out = capsys.readouterr().out
    assert out.startswith("NONE  detected: no network of known rate, 96 CPUs")
    assert out.rstrip().endswith("next: weft study run smoke")
    assert "links" not in tomllib.loads((tmp_path / "x.toml").read_text())


def test_the_file_is_shown_and_judges(tmp_path: Path, capsys: Capture) -> None:
    """HDR carries at most 25 GB/s; a tenth of it is low, the double impossible."""
    out, file = tmp_path / "node.toml", tmp_path / "bw.txt"
    assert detect(hdr(tmp_path / "a"), "-o", str(out)) == 0
    said = capsys.readouterr()
    assert f"next: weft judge FILE --platform {out}" in said.out
    assert f"wrote {out}" in said.err
    assert run(["platform", "show", str(out)]) == 0
    assert "mlx5_0.pcie_lanes" in capsys.readouterr().out
    judge = ["judge", str(file), "--platform", str(out), "--nodes", "2", "--tasks-per-node", "1"]
    for value, code in ((24400, 0), (2400, 1), (50000, 1)):
        file.write_text(LATENCY.format(value=value))
        assert run(judge) == code, capsys.readouterr().out
        assert "platform node001" in capsys.readouterr().out


def test_the_record_holds_the_platform_and_its_sources(tmp_path: Path, capsys: Capture) -> None:
    assert detect(ndr(tmp_path), "--format", "json") == 0
    record = json.loads(capsys.readouterr().out)
    assert record["schema"] == "weft.platform-detection/1"
    assert record["platform"]["schema"] == "weft.platform/1"
    assert record["platform"]["gpus"]["model"] == "H100 SXM"
    figures = {row["figure"]: row for row in record["figures"]}
    assert figures["node.hcas"]["value"] == 8
    assert all(row["source"] for row in record["figures"])
    assert record["warnings"] == []


def test_this_machine_is_read_whatever_it_is(capsys: Capture) -> None:
    assert run(["platform", "detect"]) == 0
    assert capsys.readouterr().out.split()[0] in ("GOOD", "WARN", "NONE")


def test_bad_input_is_named(tmp_path: Path, capsys: Capture) -> None:
    assert run(["platform", "detect", "--sysroot", str(tmp_path / "missing")]) == 2
    assert "no such directory" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert run(["platform", "detect", "--sysroot", str(tmp_path / "empty")]) == 2
    assert "nothing there tells what this machine is" in capsys.readouterr().err
    assert run(["platform", "detect", "--ssh-config", __file__]) == 2
    assert "--ssh-config goes with --hosts" in capsys.readouterr().err


def test_a_file_that_exists_is_replaced_and_a_folder_is_refused(
    tmp_path: Path, capsys: Capture
) -> None:
    tree, out = hdr(tmp_path / "a"), tmp_path / "x.toml"
    out.write_text("old")
    assert detect(tree, "--out", str(out)) == 0
    assert out.read_text().startswith('schema = "weft.platform/1"')
    assert detect(tree, "--out", str(tmp_path)) == 3
    assert "the platform cannot be written" in capsys.readouterr().err


def test_hostile_content_is_not_printed_raw(tmp_path: Path, capsys: Capture) -> None:
    tree = hdr(tmp_path)
    tree.write("sys/class/infiniband/mlx5_0/ports/1/rate", "200 Gb/sec \x1b]0;owned\x07(4X HDR)")
    tree.write("proc/sys/kernel/hostname", "\x1b[2Jx")
    assert detect(tree) == 0
    assert "\x1b" not in capsys.readouterr().out


@pytest.fixture
def hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of made-up hosts, which an ssh reaches that runs everything here."""
    (tmp_path / "bin").mkdir()
    ssh = tmp_path / "bin/ssh"
    ssh.write_text(SSH)
    ssh.chmod(ssh.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("WEFT_HOSTS", str(tmp_path / "hosts"))
    return tmp_path / "hosts"


def on_hosts(nodeset: str, *more: str) -> int:
    return run(["platform", "detect", "--hosts", nodeset, "--sysroot", ".", *more])


def test_equal_hosts_are_one_platform(hosts: Path, tmp_path: Path, capsys: Capture) -> None:
    for name in ("n1", "n2", "n3"):
        hdr(hosts / name)
    out = tmp_path / "x.toml"
    assert on_hosts("n[1-3]", "--out", str(out)) == 0
    said = capsys.readouterr().out
    assert said.startswith("GOOD  3 hosts: 1 rail of InfiniBand HDR (200 Gb/s), PCIe Gen4 x16")
    document = tomllib.loads(out.read_text())
    assert document["name"] == "detected"
    assert "The files are those of n1" in document["notes"][-1]


def test_hosts_that_differ_are_named(hosts: Path, capsys: Capture) -> None:
    for name in ("n1", "n2", "n3"):
        hdr(hosts / name, lanes=8 if name == "n1" else 16)
    assert on_hosts("n[1-3]") == 1
    said = capsys.readouterr().out
    assert said.startswith("DIFFER  1 of 3 hosts differs; most have: 1 rail of InfiniBand HDR")
    assert "WARNING  n1 has slots PCIe Gen4 x8; 2 hosts have PCIe Gen4 x16" in said


def test_a_host_that_does_not_answer_is_named(hosts: Path, capsys: Capture) -> None:
    hdr(hosts / "n1")
    (hosts / "n3").mkdir(parents=True)
    assert on_hosts("n[1-3]") == 2
    said = capsys.readouterr().out
    assert said.startswith("WARN  1 host: 1 rail of InfiniBand HDR")
    assert "2 hosts did not answer" in said
    assert "WARNING  n2 is not read: its name is not known here" in said
    assert "WARNING  n3 is not read: it shows neither /sys nor /proc" in said
    assert on_hosts("n[7-8]") == 2
    assert "2 of 2 hosts cannot be reached" in capsys.readouterr().err


def test_the_next_line_repeats_the_detection(hosts: Path, capsys: Capture) -> None:
    hdr(hosts / "n1")
    assert on_hosts("n[1-1]") == 0
    line = capsys.readouterr().out.splitlines()[-1]
    assert line.startswith("next: weft platform detect --hosts 'n[1-1]' --sysroot . --out ")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    """This machine has one HDR adapter."""
    tree = hdr(tmp_path / "here")
    monkeypatch.setattr("weft.doctor.machine.detection.document.ROOT", tree.root)
    return tree


@pytest.mark.usefixtures("here")
def test_verbs_take_this_machine(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "bw.txt"
    file.write_text(LATENCY.format(value=24400))
    layout = ["--nodes", "2", "--tasks-per-node", "1"]
    assert run(["judge", str(file), "--platform", "here", *layout]) == 0
    assert "platform here: --platform here: 1 rail of InfiniBand HDR" in capsys.readouterr().out
    assert run(["expect", "bandwidth"]) == 0
    assert "next: weft expect here bandwidth --explain" in capsys.readouterr().out
    assert run(["recipe", "here"]) == 0
    assert run(["recipe"]) == 0
    assert "next: weft recipe here" in capsys.readouterr().err
    assert run(["platform", "show", "here"]) == 0


def test_a_machine_without_a_network_is_no_platform(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    root = Tree(tmp_path).machine().root
    monkeypatch.setattr("weft.doctor.machine.detection.document.ROOT", root)
    for line in (["expect", "bandwidth"], ["recipe", "here"], ["platform", "show", "here"]):
        assert run(line) == 2
        assert "neither an active RDMA adapter nor a GPU" in capsys.readouterr().err
    assert run(["expect"]) == 2
    assert "neither an active RDMA adapter nor a GPU" in capsys.readouterr().err
    assert run(["recipe"]) == 0
    assert "here" not in capsys.readouterr().err


@pytest.mark.usefixtures("here")
def test_a_stranger_s_file_is_not_judged_on_this_machine(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "bw.txt"
    file.write_text(LATENCY.format(value=24400))
    run(["judge", str(file), "--format", "json"])
    assert json.loads(capsys.readouterr().out)["platform"] == ""
