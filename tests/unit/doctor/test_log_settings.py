"""Variables that were set beside those that were read."""

from pathlib import Path

import pytest
from tests.unit.doctor.nccl_log import LoggedJob

from weft.bench.logs.log_facts import read_logs
from weft.bench.logs.ranks import job_log
from weft.catalog.load import variable_lists
from weft.doctor.log.settings import judge_settings
from weft.doctor.readers.shell import read_script

ECHO = "NCCL_SOCKET_IFNAME set by environment to eth0"


def said(
    tmp_path: Path,
    script: str,
    *echoes: str,
    complete: bool = True,
    version: str = "2.18.3+cuda12.2",
) -> list[str]:
    lines = LoggedJob(before=echoes, complete=complete, version=version).lines()
    return judged(tmp_path, script, lines)


def judged(tmp_path: Path, script: str, lines: list[str]) -> list[str]:
    path = tmp_path / "job.log"
    path.write_text("\n".join(lines))
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


@pytest.mark.parametrize(("version", "is_told"), [("2.27.3", False), ("2.32.3+cuda12.9", True)])
def test_what_a_version_reads_without_a_word_cannot_be_reported(
    tmp_path: Path, version: str, is_told: bool
) -> None:
    """2.32.3 says that it reads NCCL_NET_PLUGIN, and no version does of the others; NCCL_UCX_TLS is
    for the plug-in of HPC-X."""
    script = "export NCCL_DEBUG=INFO NCCL_NET_PLUGIN=ofi NCCL_P2P_DISABLE=0 NCCL_UCX_TLS=rc\n"
    *told, untold = said(tmp_path, script, ECHO, version=version)
    names = ["NCCL_DEBUG", "NCCL_P2P_DISABLE", "NCCL_UCX_TLS"]
    names[1:1] = [] if is_told else ["NCCL_NET_PLUGIN"]
    assert untold == (
        f"unknown whether {', '.join(names)} of job.sh took effect: no library "
        "logs that it reads them"
    )
    assert told == (
        ["NCCL_NET_PLUGIN=ofi is set in job.sh, and no rank read it: it had no effect in this run"]
        if is_told
        else []
    )


@pytest.mark.parametrize(
    ("setting", "version", "why"),
    [
        # SOURCE: names in NVIDIA's libraries and tags (the catalogue's since and until).
        ("NCCL_RAS_ENABLE=0", "2.18.3", "NCCL 2.18.3 does not know it, it came with 2.24.3"),
        ("NCCL_MNNVL=1", "2.26.2", "NCCL 2.26.2 does not know it, it went with 2.20.5"),
        ("NCCL_RAS_ENABLE=0", "2.24.3", "it had no effect in this run"),
    ],
)
def test_a_name_of_another_version_is_called_that(
    tmp_path: Path, setting: str, version: str, why: str
) -> None:
    found = said(tmp_path, f"export {setting}\n", ECHO, version=version)
    assert found == [f"{setting} is set in job.sh, and no rank read it: {why}"]


def test_rccl_may_know_what_nccl_does_not(tmp_path: Path) -> None:
    lines = [line.replace("NCCL version", "RCCL version :") for line in LoggedJob().lines()]
    echo = f"node0:1000:2000 [0] NCCL INFO {ECHO}"
    assert judged(tmp_path, "export NCCL_OF_RCCL=1\n", [*lines, echo]) == [
        "unknown whether NCCL_OF_RCCL of job.sh took effect: no library logs that it reads them"
    ]


def test_only_the_beginning_of_a_number_is_another_value(tmp_path: Path) -> None:
    echo = "NCCL_BUFFSIZE set by environment to 2."
    assert said(tmp_path, "export NCCL_BUFFSIZE=2M\n", ECHO, echo) == [
        "NCCL_BUFFSIZE is 2M in job.sh, and 16 of 16 ranks read 2"
    ]


@pytest.mark.parametrize(("number", "level"), [(0, "LOC"), (3, "PHB"), (5, "SYS"), (9, "SYS")])
def test_levels_are_echoed_by_name(tmp_path: Path, number: int, level: str) -> None:
    echo = f"NCCL_NET_GDR_LEVEL set by environment to {level}"
    assert said(tmp_path, f"export NCCL_NET_GDR_LEVEL={number}\n", echo) == []


@pytest.mark.parametrize(
    ("setting", "line", "why"),
    [
        (
            "MV2_ENABLE_SHARP=1",
            "\tMV2_ENABLE_SHARP               : 0",
            "MV2_ENABLE_SHARP is 1 in job.sh, and 1 of 1 process read 0",
        ),
        (
            "UCX_TLS=rc",
            "[1.2] [a:7 :0] parser.c:1916 UCX  INFO  UCX_* env variable: UCX_TLS=tcp",
            "UCX_TLS is rc in job.sh, and 1 of 1 process read tcp",
        ),
    ],
)
def test_other_libraries_read_other_values_too(
    tmp_path: Path, setting: str, line: str, why: str
) -> None:
    assert judged(tmp_path, f"export {setting}\n", [line]) == [why]
    name = setting.partition("=")[0]
    assert judged(tmp_path, f"export {name}={why.rpartition(' ')[2]}\n", [line]) == []


def test_a_variable_that_reached_one_host_only_is_seen(tmp_path: Path) -> None:
    echo = "NCCL_IB_TIMEOUT set by environment to 22."
    lines = [*LoggedJob(before=(ECHO,)).lines(), f"node1:1000:2000 [0] NCCL INFO {echo}"]
    assert judged(tmp_path, "export NCCL_IB_TIMEOUT=22\n", lines) == [
        "NCCL_IB_TIMEOUT was read on node1 and not on node0: it was not passed on, or no "
        "library there needs it"
    ]


def test_a_log_without_echoes_or_without_an_end_cannot_tell(tmp_path: Path) -> None:
    script = "export NCCL_IB_TIMEOUT=22\n"
    assert said(tmp_path, script) == [
        "the log names no variable that was read: variables of job.sh are not judged"
    ]
    assert said(tmp_path, script, ECHO, complete=False) == [
        "the log ends before ranks are ready: variables of job.sh are not judged"
    ]
