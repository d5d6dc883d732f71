"""`weft doctor topo`: what it says of a file, in every format, and of files that are none."""

import io
import json
from pathlib import Path

import pytest
from tests.unit.doctor.topo.cases import RIGHT
from tests.unit.doctor.topo.test_generate import machine

from weft.cli import run

TABBED = RIGHT.replace("<pci", "\t<pci", 1).replace("16 GT/s", "Gen4")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "topo.xml"
    path.write_text(RIGHT)
    return path


def test_a_plain_file_is_good_and_drawn(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "topo", str(file)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == (
        f"GOOD  {file}: NCCL takes it, 5 of 255 elements; checked: its form, classes, links, "
        "CPU masks; not the machine (--against)"
    )
    assert said[1].startswith("would show: an element that the library refuses or ignores among 5;")
    assert said[3:] == [
        "system",
        "└─ cpu 0  x86_64 AuthenticAMD 23/49  CPUs 0-31",
        "   └─ bridge 0000:01:00.0  16 GT/s x16  24 GB/s",
        "      ├─ GPU 0001:00:00.0  16 GT/s x16  24 GB/s",
        "      └─ adapter 0101:00:00.0  16 GT/s x16  24 GB/s",
        "",
        "GPUs to adapters; * GPUDirect RDMA (NCCL_NET_GDR_LEVEL P2C)",
        "                   N0",
        "G0 0001:00:00.0  PIX*",
        "adapters: N0 0101:00:00.0",
        "",
        "PIX one bridge",
    ]


def test_nvlink_that_no_one_tells_is_said_to_be_missing(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The V100s of an NDv2 are joined by NVLink; by which bus ids is not published."""
    assert run(["doctor", "topo", "--generate", "azure-ndv2", "-o", str(file)]) == 0
    assert run(["doctor", "topo", str(file)]) == 0
    assert "NCCL asks the driver (--platform)\n" in capsys.readouterr().out
    assert run(["doctor", "topo", str(file), "--platform", "azure-ndv2"]) == 0
    said = capsys.readouterr().out
    assert "NCCL asks the driver; its answer on azure-ndv2 is unknown\n" in said
    assert said.endswith("\nPHB through the processor, SYS between NUMA nodes\n")


def test_a_file_that_nccl_refuses(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(TABBED)
    assert run(["doctor", "topo", str(file)]) == 1
    said = capsys.readouterr().out
    assert said.startswith(f"BAD   {file}: NCCL refuses it; 1 mistake, 3 warnings\n")
    assert f"BAD  {file}:3:1  a tab between elements [topo-tab]" in said
    assert "it counts as 8 GT/s, 12 GB/s with its lanes" in said


def test_json_csv_and_sarif(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(TABBED)
    assert run(["doctor", "topo", str(file), "--format", "json"]) == 1
    record = json.loads(capsys.readouterr().out)
    assert (record["schema"], record["verdict"]) == ("weft.doctor-topo/1", "bad")
    assert record["is_refused"]
    places = [(one["facts"]["rule"], one["facts"]["line"]) for one in record["findings"]]
    speeds = [("topo-link-speed", line) for line in (3, 4, 5)]
    assert places == [("topo-tab", 3), *speeds]
    assert record["distances"]["gpu_net"] == [[{"way": "PIX", "gb_s": 12, "gdr": True}]]
    assert run(["doctor", "topo", str(file), "--format", "csv"]) == 1
    assert len(capsys.readouterr().out.splitlines()) == 5
    assert run(["doctor", "topo", str(file), "--format", "sarif"]) == 1
    (result, *_) = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    region = result["locations"][0]["physicalLocation"]["region"]
    assert (result["level"], region["startLine"], region["startColumn"]) == ("error", 3, 1)


def test_the_reader_is_that_of_the_file_or_as_asked(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(RIGHT.replace('version="1"', 'version="2"'))
    assert run(["doctor", "topo", str(file)]) == 1
    assert "those of RCCL 2 (--rccl)" in capsys.readouterr().out
    assert run(["doctor", "topo", str(file), "--rccl"]) == 0
    assert "valid for RCCL" in capsys.readouterr().out
    file.write_text(file.read_text().replace("<pci ", '<pci vendor="0x1002" ', 1))
    assert run(["doctor", "topo", str(file)]) == 0
    assert run(["doctor", "topo", str(file), "--nccl"]) == 1
    assert "NCCL refuses it" in capsys.readouterr().out
    file.write_text(RIGHT)
    assert run(["doctor", "topo", str(file), "--rccl"]) == 1
    assert "Version 1 is not 2: RCCL gives up" in capsys.readouterr().out


def test_the_level_and_the_platform(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "topo", str(file), "--gdr-level", "0", "--platform", "azure-ndv4"]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"WARN  {file}: ")
    assert "is at PHB and NCCL_NET_GDR_LEVEL at LOC" in said
    assert run(["doctor", "topo", str(file), "--platform", "azure-ndv44"]) == 2
    assert run(["doctor", "topo", str(file), "--gdr-level", "NEAR"]) == 2


def test_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    right = RIGHT.encode()
    for content, code in ((right, 0), (b"\xff" + right, 1), (b"\0" * 9, 2)):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
        assert run(["doctor", "topo", "-"]) == code
    assert capsys.readouterr().out.startswith("GOOD  standard input: ")


def test_what_steers_a_terminal_is_shown(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(RIGHT.replace("0x030200", "\x1b]0;owned\x07\x1b[2J\x1b[31m"))
    run(["doctor", "topo", str(file)])
    said = capsys.readouterr().out
    assert "\\x1b]0;owned\\x07" in said
    assert "\x1b" not in said
    assert "\x07" not in said


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"\0" * 64, "it is not text"),
        (RIGHT.encode("utf-16"), "it is not text"),
        (b" " * ((1 << 20) + 1), "it is larger than 1 MiB"),
    ],
)
def test_files_that_are_none(
    file: Path, capsys: pytest.CaptureFixture[str], content: bytes, why: str
) -> None:
    file.write_bytes(content)
    assert run(["doctor", "topo", str(file)]) == 2
    assert why in capsys.readouterr().err


def test_a_file_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "topo", str(tmp_path / "none.xml")]) == 2
    assert "NCCL says so at NCCL_DEBUG=INFO alone" in capsys.readouterr().err
    assert run(["doctor", "topo", "/dev/zero"]) == 2


def test_bytes_that_are_no_utf_8_are_no_reason_to_refuse(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """NCCL looks at bytes."""
    file.write_bytes(b"<!-- caf\xe9 -->" + RIGHT.encode())
    assert run(["doctor", "topo", str(file)]) == 0
    file.write_bytes(b"\xef\xbb\xbf" + RIGHT.encode())
    assert run(["doctor", "topo", str(file)]) == 1
    assert "topo-byte-order-mark" in capsys.readouterr().out


def test_a_file_is_generated_and_good(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "topo", "--generate", "azure-ndv4"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith('<system version="1">\n  <cpu numaid="0" affinity="')
    assert said.err.startswith("8 GPUs and 8 adapters on 4 NUMA nodes of azure-ndv4\n")
    path = tmp_path / "new" / "topo.xml"
    assert run(["doctor", "topo", "--generate", "azure-ndv4", "-o", str(path)]) == 0
    assert path.read_text() == said.out
    assert run(["doctor", "topo", str(path)]) == 0
    assert "GOOD" in capsys.readouterr().out


def test_a_file_of_what_lspci_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "lspci.txt"
    path.write_text(
        "0001:00:00.0 3D controller [0302]: NVIDIA [10de:2330]\n\tNUMA node: 0\n"
        "\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported\n\n"
        "0101:00:00.0 Infiniband controller [0207]: Mellanox [15b3:101e]\n\tNUMA node: 0\n"
    )
    assert run(["doctor", "topo", "--generate", str(path), "--bridges"]) == 0
    said = capsys.readouterr()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    assert run(["doctor", "topo", "--generate", "-", "--bridges"]) == 0
    assert capsys.readouterr().out == said.out
    assert '<pci busid="ffff:ff:01.0" class="0x060400" link_speed="32.0 GT/s PCIe"' in said.out
    assert "bridges pair GPUs and adapters in the order of bus ids" in said.err


def test_a_machine_without_gpus_and_what_is_no_machine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here = ["doctor", "topo", "--generate", "this-machine", "--sysroot", str(tmp_path)]
    assert run(here) == 2
    assert "no GPU and no adapter of a fabric in it" in capsys.readouterr().err
    assert run(["doctor", "topo", "--generate", "azure-ndv44"]) == 2
    assert "did you mean 'azure-ndv4'?" in capsys.readouterr().err
    assert run(["doctor", "topo", "--generate", str(tmp_path / "none.txt")]) == 2


@pytest.mark.parametrize(
    "line",
    [
        [],
        ["a.xml", "--generate", "x"],
        ["a.xml", "-o", "b.xml"],
        ["a.xml", "--sysroot", "b"],
        ["--generate", "azure-ndv4", "--format", "json"],
        ["--generate", "azure-ndv4", "--platform", "azure-ndv4"],
    ],
)
def test_options_that_do_not_go_together(line: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NCCL_TOPO_FILE", raising=False)
    assert run(["doctor", "topo", *line]) == 2


def test_a_file_of_another_machine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "topo.xml"
    assert run(["doctor", "topo", "--generate", "azure-ndv4", "-o", str(path)]) == 0
    assert run(["doctor", "topo", str(path), "--against", "azure-ndv4"]) == 0
    assert run(["doctor", "topo", str(path), "--against", "azure-ndv5"]) == 1
    said = capsys.readouterr().out
    assert "azure-ndv5 has no GPU 0004:00:00.0 000d:00:00.0 000e:00:00.0: " in said
    # Once for all four NUMA nodes; and NVLink is that of the platform.
    assert said.count("Vendor is AuthenticAMD in the file and GenuineIntel on azure-ndv5") == 1
    assert "without NVLink" not in said
    assert run(["doctor", "topo", str(path), "--against", "azure-hbv3"]) == 2


def test_the_file_that_nccl_would_read(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("weft.cli.doctor.topo.HOST_FILE", file)
    other = file.with_name("other.xml")
    other.write_text(RIGHT)
    monkeypatch.setenv("NCCL_TOPO_FILE", str(other))
    assert run(["doctor", "topo"]) == 0
    assert capsys.readouterr().out.startswith(f"GOOD  {other}: ")
    monkeypatch.delenv("NCCL_TOPO_FILE")
    assert run(["doctor", "topo"]) == 0
    assert capsys.readouterr().out.startswith(f"GOOD  {file}: ")


def test_a_file_next_to_this_machine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree = machine(tmp_path / "root")
    root = ["--sysroot", str(tree.root)]
    path = tmp_path / "topo.xml"
    assert run(["doctor", "topo", "--generate", "this-machine", *root, "-o", str(path)]) == 0
    assert run(["doctor", "topo", str(path), "--against", "this-machine", *root]) == 0
    path.write_text(path.read_text().replace("0000:04:00.0", "0000:05:00.0"))
    capsys.readouterr()
    assert run(["doctor", "topo", str(path), "--against", "this-machine", *root]) == 1
    said = capsys.readouterr().out
    assert "this-machine has no adapter 0000:05:00.0" in said
    assert "the file lacks adapter 0000:04:00.0 of this-machine" in said.lower()
