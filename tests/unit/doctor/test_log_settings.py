"""Variables that were set beside those that were read."""

from pathlib import Path

import pytest
from tests.unit.doctor.nccl_log import LoggedJob

from weft.bench.logs.ranks import job_log
from weft.bench.logs.said import read_logs
from weft.catalog.load import variable_lists
from weft.doctor.log.settings import judge_settings
from weft.doctor.read.shell import read_script

ECHO = "NCCL_SOCKET_IFNAME set by environment to eth0"


def said(tmp_path: Path, script: str, *echoes: str, complete: bool = True) -> list[str]:
    path = tmp_path / "job.log"
    path.write_text("\n".join(LoggedJob(before=echoes, complete=complete).lines()))
    log = job_log(read_logs([str(path)]))
    found = judge_settings(log, read_script("job.sh", script), variable_lists())
    return [finding.sentence for finding in found]


def test_what_was_read_is_not_mentioned(tmp_path: Path) -> None:
    script = "export NCCL_SOCKET_IFNAME=eth0 NCCL_IB_TIMEOUT=22 NCCL_BUFFSIZE=0x400000\n"
    echoes = (
        ECHO,
        "NCCL_IB_TIMEOUT set by environment to 22.",
        "NCCL_BUFFSIZE set by environment to 4194304.",
    )
    assert said(tmp_path, script, *echoes) == []


def test_what_no_rank_read_had_no_effect(tmp_path: Path) -> None:
    assert said(tmp_path, "export NCCL_IB_TIMEOUT=22\n", ECHO) == [
        "NCCL_IB_TIMEOUT=22 is set in job.sh, and no rank read it: it had no effect in this run"
    ]


def test_a_name_that_is_none_is_called_that(tmp_path: Path) -> None:
    assert said(tmp_path, "export NCCL_MIN_CHANNELS=32\n", ECHO) == [
        "NCCL_MIN_CHANNELS=32 is set in job.sh, and no rank read it: it is no variable of NCCL"
    ]


def test_another_value_than_the_one_that_was_set(tmp_path: Path) -> None:
    assert said(tmp_path, "export NCCL_SOCKET_IFNAME=ib0\n", ECHO) == [
        "NCCL_SOCKET_IFNAME is ib0 in job.sh, and 16 of 16 ranks read eth0"
    ]


@pytest.mark.parametrize("name", ["NCCL_DEBUG=INFO", "NCCL_NET_PLUGIN=ofi", "NCCL_P2P_DISABLE=0"])
def test_nothing_is_said_of_what_no_library_echoes(tmp_path: Path, name: str) -> None:
    assert said(tmp_path, f"export {name}\n", ECHO) == []


def test_a_log_without_echoes_or_without_an_end_cannot_tell(tmp_path: Path) -> None:
    script = "export NCCL_IB_TIMEOUT=22\n"
    assert said(tmp_path, script) == [
        "the log names no variable that was read: which of job.sh were read cannot be told"
    ]
    assert said(tmp_path, script, ECHO, complete=False) == [
        "the log ends before ranks are ready: which of job.sh were read cannot be told"
    ]
