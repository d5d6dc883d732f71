"""`weft doctor env`: files, formats, corrections, and the exit code."""

import io
import json
import os
from pathlib import Path

import pytest

from weft.cli import run

SCRIPT = """#!/bin/bash
#SBATCH -N 2
export NCCL_MIN_CHANNELS=32
export NCCL_IGNORE_CPU_AFFINITY=true
srun ./train
"""
CORRECTED = SCRIPT.replace("MIN_CHANNELS", "MIN_NCHANNELS").replace("=true", "=1")


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "job.sbatch"
    path.write_text(SCRIPT)
    return path


def test_text(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "env", str(script), "--nccl", "2.26.5"]) == 1
    said = capsys.readouterr().out
    assert said.startswith(f"BAD   {script}: 2 mistakes, 0 warnings\n")
    assert f"{script}:3  NCCL_MIN_CHANNELS" in said
    assert "fix: write NCCL_MIN_NCHANNELS" in said
    assert "`true` is read as 0." in said
    assert said.rstrip().endswith("judged   for NCCL 2.26.5; machine unknown (--platform)")


def test_a_line_of_versions_is_its_newest(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "env", str(script), "--nccl", "2.26"]) == 1
    assert "judged   for NCCL 2.26.6;" in capsys.readouterr().out


def test_the_version_decides(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "env", str(script), "--nccl", "2.32.3"]) == 1
    said = capsys.readouterr().out
    assert "`true` is no number: since 2.32.3 the default, 0, is taken" in said


def test_json_csv_and_sarif(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "env", str(script), "--format", "json"]) == 1
    record = json.loads(capsys.readouterr().out)
    assert (record["schema"], record["verdict"]) == ("weft.doctor-env/1", "bad")
    (file,) = record["files"]
    assert [one["facts"]["rule"] for one in file["findings"]] == ["unknown-name", "word-refused"]
    assert [one["facts"]["line"] for one in file["findings"]] == [3, 4]
    assert run(["doctor", "env", str(script), "--format", "csv"]) == 1
    rows = capsys.readouterr().out.splitlines()
    assert rows[0] == "file,line,severity,rule,name,happens,fix,source"
    assert len(rows) == 3
    assert run(["doctor", "env", str(script), "--format", "sarif"]) == 1
    assert len(json.loads(capsys.readouterr().out)["runs"][0]["results"]) == 2


def test_fix(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "env", str(script), "--fix"]) == 0
    said = capsys.readouterr()
    assert said.out == CORRECTED
    assert "2 mended, 0 left" in said.err
    assert script.read_text() == SCRIPT
    script.write_text(CORRECTED)
    assert run(["doctor", "env", str(script)]) == 0
    assert capsys.readouterr().out.startswith(f"GOOD  {script}")


def test_an_environment_is_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "env", "--fix"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "an environment is no file to correct" in said.err


def test_fix_leaves_what_needs_a_decision(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script.write_text("export NCCL_TOPO_FILE=\n")
    assert run(["doctor", "env", str(script), "--fix"]) == 1
    said = capsys.readouterr()
    assert said.out == "export NCCL_TOPO_FILE=\n"
    assert "0 mended, 1 left" in said.err


def test_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    give(monkeypatch, b"mpirun -x NCCL_BUFFSIZE=4MB ./a\n")
    assert run(["doctor", "env", "-"]) == 1
    assert "standard input:1" in capsys.readouterr().out


def give(monkeypatch: pytest.MonkeyPatch, content: bytes | None) -> None:
    """Standard input; None never ends."""
    source = open("/dev/zero", "rb") if content is None else io.BytesIO(content)  # noqa: SIM115
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(source))


@pytest.mark.parametrize("content", [None, b"\x00", b"\xff\xfe\x00a", b"NCCL_DEBUG=\xff"])
def test_standard_input_that_is_no_text(
    content: bytes | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    give(monkeypatch, content)
    assert run(["doctor", "env", "-"]) == 2
    assert "standard input" in capsys.readouterr().err


def test_an_empty_environment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.environ", {})
    assert run(["doctor", "env"]) == 5
    assert capsys.readouterr().out.startswith("UNKNOWN  cannot tell: ")


@pytest.mark.parametrize("conf", ["/dev/zero", "pipe"])
def test_an_own_nccl_conf_that_never_ends_is_left_alone(
    conf: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if conf == "pipe":
        conf = str(tmp_path / "pipe")
        os.mkfifo(conf)
    monkeypatch.setenv("NCCL_CONF_FILE", conf)
    monkeypatch.setenv("NCCL_IB_TIMEOUT", "22")
    assert run(["doctor", "env"]) == 0


def test_the_environment_and_its_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("NCCL_IB_HCA", "NCCL_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    conf = tmp_path / "own.conf"
    conf.write_text("NCCL_IB_TIMEOUT=21\nNCCL_IB_RETRY_CNT=6\n")
    monkeypatch.setenv("NCCL_CONF_FILE", str(conf))
    monkeypatch.setenv("NCCL_IB_TIMEOUT", "22")
    assert run(["doctor", "env", "--format", "json"]) == 0
    (file,) = json.loads(capsys.readouterr().out)["files"]
    (found,) = [one for one in file["findings"] if one["facts"]["rule"] == "hidden-by-environment"]
    assert found["facts"]["name"] == "NCCL_IB_TIMEOUT"
    assert str(conf) in found["sentence"]


def test_files_that_must_be_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    there, script = tmp_path / "topo.xml", tmp_path / "a.sh"
    there.write_text("<system/>")
    script.write_text(f"export NCCL_TOPO_FILE={there}\n")
    assert run(["doctor", "env", str(script), "--check-files"]) == 0
    there.unlink()
    assert run(["doctor", "env", str(script), "--check-files"]) == 1
    assert "is not there" in capsys.readouterr().out
    assert run(["doctor", "env", str(script)]) == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--nccl", "new"], "is not a version of NCCL"),
        (["--platform", "azure-ndv55"], "did you mean"),
        (["--libnccl", "/bin/sh"], "no variables of NCCL"),
        (["--libnccl", "/etc/passwd"], "no shared library"),
        (["/nonexistent/job.sh"], "cannot be read"),
        (["/dev/zero"], "it is a device"),
        (["/tmp"], "it is a directory"),
    ],
)
def test_what_cannot_be_judged(
    words: list[str], said: str, script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [] if words[0].startswith("/") else [str(script)]
    assert run(["doctor", "env", *files, *words]) == 2
    assert said in capsys.readouterr().err


def test_names_that_would_steer_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "nccl.conf"
    path.write_text("NCCL_BUFFSIZE=\x1b[2Jx\n")
    assert run(["doctor", "env", str(path)]) == 1
    assert "\x1b" not in capsys.readouterr().out


TOPOLOGY = """<system version="1">
  <cpu numaid="0" affinity="000000ff" arch="x86_64" vendor="AuthenticAMD">
    <pci busid="0000:03:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16"/>
    <pci busid="0000:04:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16"/>
  </cpu>
  <cpu numaid="1" affinity="0000ff00" arch="x86_64" vendor="AuthenticAMD">
    <pci busid="0000:01:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16"/>
    <pci busid="0000:02:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16"/>
  </cpu>
</system>
"""
"""As on ND A100 v4, the GPUs with the lower addresses are on the second NUMA node."""


def test_masks_lie_next_to_the_gpus_of_a_topology(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    topology, script = tmp_path / "topo.xml", tmp_path / "job.sh"
    topology.write_text(TOPOLOGY)
    script.write_text("srun --ntasks-per-node=4 --cpu-bind=mask_cpu:f,f0,f00,f000 ./a\n")
    arguments = ["doctor", "env", str(script), "--topology", str(topology)]
    assert run(arguments) == 0
    out = capsys.readouterr().out
    assert "Ranks 0, 1, 2, 3 run on no processor near their GPU" in out
    assert "of rank 0 on 0-3, the GPU's are 8-15" in out
    script.write_text("srun --ntasks-per-node=4 --cpu-bind=mask_cpu:f00,f000,f,f0 ./a\n")
    assert run(arguments) == 0
    assert "masks-far" not in capsys.readouterr().out


def test_masks_lie_next_to_the_gpus_of_a_platform(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The lower GPUs of ND H100 v5 are on the lower half of its cores, those of ND A100 v4 not."""
    masks = ",".join("fff" + "000" * i for i in range(8))
    script = tmp_path / "job.sh"
    script.write_text(f"srun --ntasks-per-node=8 --cpu-bind=mask_cpu:{masks} ./a\n")
    assert run(["doctor", "env", str(script), "--platform", "azure-ndv5"]) == 0
    assert "masks-far" not in capsys.readouterr().out
    assert run(["doctor", "env", str(script), "--platform", "azure-ndv4"]) == 0
    said = capsys.readouterr().out
    assert "of rank 0 on 0-11, the GPU's are 24-47" in said
    assert run(["doctor", "env", str(script), "--platform", "perlmutter"]) == 0
    assert "masks-far" not in capsys.readouterr().out


def test_one_variable(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "env", "--explain", "NCCL_IB_TIMEOUT"]) == 0
    said = capsys.readouterr().out
    assert "14 since 2.3.5; 18 since 2.14.3; 20 since 2.23.4" in said
    assert "1 to 31" in said
    assert run(["doctor", "env", "--explain", "NCCL_DEBUG", "--format", "json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["schema"] == "weft.variable/1"
    assert "ATTN (since 2.32.3)" in record["values"]
    assert run(["doctor", "env", "--explain", "NCCL_TUNER_PLUGIN", "--format", "csv"]) == 0
    assert "NCCL_ALGO: the list overrules" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--explain", "NCCL_IB_TIMEOUTS"], "did you mean 'NCCL_IB_TIMEOUT'"),
        (["--explain", "NCCL_DEBUG", "--format", "sarif"], "SARIF is for findings"),
    ],
)
def test_a_variable_that_is_none(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["doctor", "env", *words]) == 2
    assert said in capsys.readouterr().err


def test_a_topology_that_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "job.sh").write_text("srun --cpu-bind=mask_cpu:f ./a\n")
    missing = str(tmp_path / "none.xml")
    assert run(["doctor", "env", str(tmp_path / "job.sh"), "--topology", missing]) == 2
    assert "none.xml" in capsys.readouterr().err


def test_the_environment_names_devices_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("class/net/eth0", "class/net/lo", "class/infiniband/mlx5_0"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.setattr("os.environ", {"WEFT_SYSFS": str(tmp_path)})
    for name, right, wrong in (
        ("NCCL_SOCKET_IFNAME", "eth", "ib"),
        ("NCCL_SOCKET_IFNAME", "^docker", "=eth"),
        ("NCCL_IB_HCA", "=mlx5_0:1", "mlx5_1"),
        ("NCCL_IB_HCA", "^mlx4", "mlx4"),
    ):
        monkeypatch.setitem(os.environ, name, right)
        assert run(["doctor", "env"]) == 0
        assert "no-such-device" not in capsys.readouterr().out
        monkeypatch.setitem(os.environ, name, wrong)
        assert run(["doctor", "env"]) == 1
        assert "no-such-device" in capsys.readouterr().out
        monkeypatch.delitem(os.environ, name)
