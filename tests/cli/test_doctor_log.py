"""`weft doctor log`: text, formats, exit codes, standard input."""

import json
from pathlib import Path

import pytest
from tests.unit.doctor.nccl_log import LoggedJob

from weft.cli import run


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    path = tmp_path / "job.log"
    before = ("NET/Plugin: Could not find: ofi libnccl-net-ofi.so. Using internal net plugin.",)
    lines = LoggedJob(network="Socket", direct=False, before=before).lines()
    path.write_text("\n".join(lines))
    return path


def test_the_verdict_comes_first(bad: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "log", str(bad)]) == 1
    said = capsys.readouterr().out
    assert said.startswith(
        "BAD   16 of 16 ranks used NET/Socket: plug-in not found (libnccl-net-ofi.so)\n"
    )
    assert "\nchannels   NET/Socket 2, P2P/IPC 14\n" in said
    assert "\nranks      16 of 16 ranks on 2 hosts, 16 initialised\n" in said


def test_a_good_log_exits_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "job.log"
    path.write_text("\n".join(LoggedJob().lines()))
    assert run(["doctor", "log", str(path), "--ranks"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("GOOD  16 of 16 ranks used NET/IB")
    rows = [line.split() for line in said.splitlines() if line[:1].isdigit()]
    assert [row[0] for row in rows] == [str(rank) for rank in range(16)]


def test_json_and_csv(bad: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "log", str(bad), "--format", "json"]) == 1
    record = json.loads(capsys.readouterr().out)
    assert (record["schema"], record["verdict"]) == ("weft.doctor-log/1", "bad")
    assert record["aspects"]["channels"] == {"NET/Socket": 2, "P2P/IPC": 14}
    assert [row["channels"] for row in record["ranks"]] == [*["P2P/IPC 1"] * 7, "NET/Socket 1"] * 2
    assert record["unverified"] == {}
    assert run(["doctor", "log", str(bad), "--format", "csv"]) == 1
    rows = capsys.readouterr().out.splitlines()
    assert rows[0] == ("rank,n_ranks,host,pid,device,network,gpu_direct,channels,pxn,initialised")
    assert len(rows) == 17


def test_one_rank_is_shown_by_itself(bad: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "log", str(bad), "--rank", "7"]) == 1
    whole, own = capsys.readouterr().out.split("\nrank 7\n")
    assert "channels   NET/Socket 2, P2P/IPC 14\n" in whole
    assert "channels   NET/Socket 1\n" in own
    assert run(["doctor", "log", str(bad), "--rank", "7", "--format", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["rank"]["channels"] == {"NET/Socket": 1}
    assert run(["doctor", "log", str(bad), "--rank", "16"]) == 2
    assert "no rank 16 in the logs" in capsys.readouterr().err


def test_settings_are_held_against_what_was_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Read as it was set; of a later NCCL; read as the beginning of what was set."""
    log, script = tmp_path / "job.log", tmp_path / "job.sh"
    echoes = (
        "NCCL_SOCKET_IFNAME set by environment to eth0",
        "NCCL_BUFFSIZE set by environment to 2.",
    )
    log.write_text("\n".join(LoggedJob(before=echoes).lines()))
    script.write_text(
        "export NCCL_SOCKET_IFNAME=eth0 NCCL_RAS_ENABLE=0 NCCL_BUFFSIZE=2M\nsrun ./train\n"
    )
    assert run(["doctor", "log", str(log), "--env", str(script)]) == 0
    said = capsys.readouterr().out
    assert "NCCL_SOCKET_IFNAME" not in said.partition("\n\n")[0]
    assert "NCCL 2.18.3 does not know it, it came with 2.24.3" in said
    assert f"NCCL_BUFFSIZE is 2M in {script}, and 16 of 16 ranks read 2" in said


def test_what_is_unverified_is_in_the_record(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "new.log"
    path.write_text("\n".join(LoggedJob(version="2.32.3 compiled with CUDA 12.9").lines()))
    assert run(["doctor", "log", str(path), "--format", "json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert list(record["unverified"]) == ["NCCL 2.32.3+cuda12.9"]
    assert [row["is_verified"] for row in record["aspects"]["version"]] == [False]


def test_a_log_of_nothing_is_the_users_mistake(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "empty.log"
    path.write_text("")
    assert run(["doctor", "log", str(path)]) == 2
    said = capsys.readouterr().err
    assert "understood no line of NCCL, RCCL, UCX, libfabric, an MPI or SHARP" in said
    assert "NCCL_DEBUG" in said


def test_names_in_a_log_do_not_steer_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "evil.log"
    path.write_text("h:1:2 [0] NCCL INFO Using network \x1b]0;evil\x07\x1b[2Jx\n")
    run(["doctor", "log", str(path)])
    said = capsys.readouterr()
    assert "\x1b" not in said.out
    assert "\x07" not in said.out
