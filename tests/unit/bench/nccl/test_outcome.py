"""What became of a launch of nccl-tests, by its text and its end."""

from pathlib import Path

import pytest
from tests.nccl_simulation import GIB, table_text

from weft.bench.model import State
from weft.bench.nccl.outcome import LaunchStage, NcclOutcome, outcome_of
from weft.bench.nccl.program import NcclGroup, NcclTests
from weft.core.process import CommandEnd, Ending

TESTS = NcclTests("nccl", "/opt/nccl-tests/build/all_reduce_perf", 8)
PAIR = NcclGroup(("n001", "n002"))
REAL = Path(__file__).parents[3] / "fixtures" / "results"
ENDED = CommandEnd(Ending.EXITED, 0, 8.0)


def outcome(
    out: str, err: str = "", ended: CommandEnd = ENDED, group: NcclGroup = PAIR
) -> NcclOutcome:
    return outcome_of(TESTS, group, ended, (out, err), 60.0)


def exited(code: int) -> CommandEnd:
    return CommandEnd(Ending.EXITED, code, 8.0)


def test_the_listing_of_two_h100_nodes_gives_its_largest_size() -> None:
    text = (REAL / "nccl-tests" / "h100-16-two-nodes.txt").read_text()
    found = outcome(text)
    assert found.state is State.OK
    # The figure that the listing prints for 2 GiB, out of place.
    assert found.busbw_gb_s[2147483648] == 318.40
    assert found.n_wrong == 0


def test_the_listing_of_rccl_tests_is_read_as_well() -> None:
    found = outcome((REAL / "rccl-tests" / "mi300x-8.txt").read_text())
    assert found.state is State.OK
    assert found.busbw_gb_s


def test_wrong_elements_keep_their_figures_though_the_program_fails() -> None:
    found = outcome(table_text(PAIR.hosts, 8, 340.0, wrong=7), ended=exited(1))
    assert found.state is State.OK
    assert found.n_wrong == 14
    assert found.busbw_gb_s[GIB] == 340.0


def test_a_hang_says_how_far_the_launch_came() -> None:
    timed_out = CommandEnd(Ending.TIMED_OUT, 0, 60.0)
    found = outcome(table_text(PAIR.hosts, 8, None), ended=timed_out)
    assert (found.state, found.stage) == (State.HUNG, LaunchStage.INIT)
    assert found.reason == "did not end in 60 s (stopped while NCCL was starting)"
    silent = outcome("", ended=timed_out)
    assert (silent.state, silent.stage) == (State.HUNG, LaunchStage.NOTHING)


def test_containers_that_outlive_a_rank_are_a_crash_not_a_hang() -> None:
    stalled = CommandEnd(Ending.STALLED, -15, 12.0)
    found = outcome(table_text(PAIR.hosts, 8, None), ended=stalled)
    assert (found.state, found.stage) == (State.FAILED, LaunchStage.INIT)
    assert found.reason.startswith("lost a rank, and the containers of the others went on")


def test_a_cuda_failure_names_its_host() -> None:
    said = "n002: Test CUDA failure common.cu:1022 'out of memory'\n .. n002 pid 7: Test failure\n"
    found = outcome(table_text(PAIR.hosts, 8, None) + said, ended=exited(2))
    assert found.blamed == "n002"
    assert found.reason == "CUDA failure on n002: 'out of memory'"


def test_a_host_that_noticed_the_end_of_its_partner_is_not_blamed() -> None:
    said = "n001: Test NCCL failure common.cu:961 'remote process exited or there was a network"
    died = "mpirun noticed that process rank 9 with PID 7 on node n002 exited on signal 9"
    found = outcome(said + " error / '\n", died, ended=exited(137))
    assert found.blamed == "n002"
    assert found.reason.startswith("was killed by signal 9 (SIGKILL)")


@pytest.mark.parametrize(
    ("err", "host"),
    [
        (
            "[proxy:0@n002] HYD_spawn (lib/utils/launch.c:151): [proxy:0@n002] execvp error on"
            " file /opt/nccl-tests/build/all_reduce_perf (No such file or directory)",
            "n002",
        ),
        (
            "mpirun was unable to find the specified executable file, and therefore did not"
            " launch the job.\n\n  Executable: /opt/x\n  Node:       n002\n",
            "n002",
        ),
        ("slurmstepd: error: execve(): /opt/x: No such file or directory\n", None),
    ],
)
def test_a_missing_program_is_told_from_a_crash(err: str, host: str | None) -> None:
    found = outcome("", err, ended=exited(255))
    assert found.is_missing
    assert found.blamed == host
    assert found.reason == f"{TESTS.path} is missing or cannot be executed"


def test_a_missing_library_is_named() -> None:
    err = (
        "/opt/x/all_reduce_perf: error while loading shared libraries: libnccl.so.2: cannot open"
        " shared object file: No such file or directory"
    )
    found = outcome("", err, ended=exited(127))
    assert found.is_missing
    assert found.reason == "all_reduce_perf does not find libnccl.so.2"


def test_no_output_is_said_as_it_is() -> None:
    assert outcome("").reason == "ended with exit code 0 and printed nothing"


def test_processes_of_another_mpi_are_no_pair() -> None:
    # Each process prints a list of its own, in which it is rank 0.
    found = outcome(table_text(PAIR.hosts, 1, 340.0).replace("Rank  1", "Rank  0"))
    assert found.state is State.FAILED
    assert "was built without MPI, or for another MPI than its launcher" in found.reason


def test_versions_and_adapters_come_from_the_log() -> None:
    log = (
        "NCCL version 2.20.5+cuda12.4\nn001:7:7 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB"
        " [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>\n"
    )
    found = outcome(table_text(PAIR.hosts, 8, 340.0, log=log))
    assert found.version == "2.20.5"
    assert found.adapters == ("mlx5_0:1", "mlx5_1:1")


def test_a_check_that_failed_is_wrong_though_no_row_counts_it() -> None:
    text = table_text(["n1", "n2"], 8, 340.0).replace("values : 0 OK", "values : 3 FAILED")
    assert outcome_of(TESTS, PAIR, CommandEnd(Ending.EXITED, 0, 5.0), (text, ""), 60.0).n_wrong == 1


def test_a_shell_that_misses_another_command_is_no_missing_program() -> None:
    begun = table_text(["n1", "n2"], 8, None)
    for out, err in (
        (begun, "bash: module: command not found\n"),
        ("", "orted: command not found\n"),
    ):
        ended = CommandEnd(Ending.EXITED, 139, 5.0)
        assert not outcome_of(TESTS, PAIR, ended, (out, err), 60.0).is_missing
