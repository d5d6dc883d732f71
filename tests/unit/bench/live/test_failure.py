"""What launchers said when ranks died, as recorded, and who is named for it."""

from pathlib import Path
from typing import Any

import pytest

from weft.bench.live.failure import (
    Blame,
    HangError,
    blame,
    containers_left,
    exit_text,
    expected_rows,
    failure_of,
)
from weft.bench.live.kernel_records import (
    End,
    Header,
    KernelFailure,
    KernelOutput,
    KernelRank,
    KernelRow,
    PairRow,
)
from weft.bench.model import Launch, Trial
from weft.bench.phase import PHASES
from weft.cluster.host_probe import HostProbe
from weft.core.errors import BenchmarkError, ExitCode
from weft.core.process import CommandEnd, Ending
from weft.core.process_tree import ProcessState

HYDRA_SIGNAL = """
===================================================================================
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   PID 101 RUNNING AT node2
=   EXIT CODE: 11
=   CLEANING UP REMAINING PROCESSES
=   YOU CAN IGNORE THE BELOW CLEANUP MESSAGES
===================================================================================
[mpiexec@node1] Exit codes: [node1] 0 [node2] 11
YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Segmentation fault (signal 11)
"""
HYDRA_EXIT = "[mpiexec@node1] Exit codes: [node1] 0,1792,0\n"
OPEN_MPI_SIGNAL = """
--------------------------------------------------------------------------
Primary job  terminated normally, but 1 process returned
a non-zero exit code. Per user-direction, the job has been aborted.
--------------------------------------------------------------------------
mpirun.openmpi noticed that process rank 1 with PID 0 on node node2 exited on signal 11 \
(Segmentation fault).
--------------------------------------------------------------------------
"""
OPEN_MPI_EXIT = """
mpirun.openmpi detected that one or more processes exited with non-zero status, thus causing
the job to be terminated. The first process to do so was:

  Process name: [[22668,1],1]
  Exit code:    7
"""
OPEN_MPI_5_SIGNAL = """
--------------------------------------------------------------------------
prterun noticed that process rank 1 with PID 26101 on node node2 exited on
signal 11 (Segmentation fault).
--------------------------------------------------------------------------
"""
SLURM = "srun: error: node2: task 1: Segmentation fault (core dumped)\n"
SLURM_OTHERS = f"""srun: error: node1: task 0: Terminated
srun: error: node4: task 3: Exited with exit code 143
{SLURM}srun: error: node3: task 2: Exited with exit code 1
"""
SLURM_EXIT = "srun: error: node2: task 1: Exited with exit code 7\n"

SEGV = "was killed by signal 11 (SIGSEGV)"
TABLE = [
    (HYDRA_SIGNAL, Blame(1, "node2", SEGV)),
    (HYDRA_EXIT, Blame(1, "node1", "ended with exit code 7")),
    (OPEN_MPI_SIGNAL, Blame(1, "node2", SEGV)),
    (OPEN_MPI_5_SIGNAL, Blame(1, "node2", SEGV)),
    (OPEN_MPI_EXIT, Blame(1, "node2", "ended with exit code 7")),
    (SLURM, Blame(1, "node2", SEGV)),
    (SLURM_OTHERS, Blame(1, "node2", SEGV)),
    (SLURM_EXIT, Blame(1, "node2", "ended with exit code 7")),
    ("ssh: connect to host node2 port 22: No route to host\n", Blame()),
    ("", Blame()),
]
RANKS = [
    KernelRank(rank=number, host=host, local_rank=0, tasks_per_node=1, pid=100 + number)
    for number, host in enumerate(("node1", "node2"))
]
HEADER = Header(
    schema="weft.kernel/1",
    kernel_version="0.1.0",
    mpi_library="MPICH",
    mpi_standard="4.1",
    n_ranks=2,
    started_unix_ns=1,
    clock="CLOCK_MONOTONIC",
    clock_resolution_ns=1,
)
ROW = KernelRow(benchmark="latency", size_bytes=8, iterations=1, warmup=0, times_ns=(5,))
END = End(elapsed_ns=1)
LAUNCH = Launch(Trial("t001", "latency", (8,), ("node1", "node2"), 1, timeout_s=9), 0, 0)


@pytest.mark.parametrize(("said", "expected"), TABLE)
def test_who_died_is_read_from_the_launchers_words(said: str, expected: Blame):
    assert blame(said, RANKS) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (7, "ended with exit code 7"),
        (-11, SEGV),
        (139, SEGV),
        (137, "was killed by signal 9 (SIGKILL)"),
        (255, "ended with exit code 255"),
    ],
)
def test_an_exit_code_in_words(code: int, expected: str):
    assert exit_text(code) == expected


class Files:
    def __init__(self, folder: Path) -> None:
        self.out, self.err = folder / "t.out", folder / "t.err"
        self.out.write_text("")
        self.err.write_text("")


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def fail(files: Files, ended: CommandEnd, stderr: str = "", **records: object) -> BenchmarkError:
    files.err.write_text(stderr)
    fields: dict[str, Any] = {"header": HEADER, "ranks": RANKS} | records
    output = KernelOutput(**fields)
    error = failure_of(LAUNCH, ended, output, files.out, files.err)
    assert error is not None
    assert error.exit_code == ExitCode.BENCHMARK
    return error


def test_a_launch_that_went_well_has_no_failure(files: Files):
    output = KernelOutput(header=HEADER, ranks=RANKS, rows=[ROW], end=END)
    ended = CommandEnd(Ending.EXITED, 0, 1.0)
    assert failure_of(LAUNCH, ended, output, files.out, files.err) is None


def test_what_the_kernel_says_of_itself_comes_first(files: Files):
    told = KernelFailure(rank=1, host="node2", where="MPI_Send", message="no route")
    error = fail(files, CommandEnd(Ending.EXITED, 4, 1.0), OPEN_MPI_EXIT, failures=[told])
    assert error.where == "host node2, rank 1"
    assert "stopped in MPI_Send: no route" in error.what


def test_a_crash_names_rank_host_signal_and_quotes_the_launcher(files: Files):
    error = fail(files, CommandEnd(Ending.EXITED, 139, 1.0), OPEN_MPI_SIGNAL)
    assert error.where == "host node2, rank 1"
    assert f"crashed: rank 1 {SEGV} (last record: all 2 ranks had started)" in error.what
    assert "| mpirun.openmpi noticed that process rank 1" in error.what


def test_a_crash_no_one_explains_names_the_hosts(files: Files):
    error = fail(files, CommandEnd(Ending.EXITED, 255, 1.0), "ssh: no route to node2\n", ranks=[])
    assert error.where == "node1, node2"
    assert "the launcher ended with exit code 255" in error.what
    assert "| ssh: no route to node2" in error.what


@pytest.mark.parametrize(
    ("sign", "hint"),
    [
        ("Host key verification failed.", "ssh to every host must work without a question"),
        ("pmix_ifinit: unable to find network interfaces.", "needs a network interface"),
        ("error while loading shared libraries: libmpi.so.12", "must be found on every node"),
        ("Runtime environment uses unsupported PMI version", "do not belong together"),
        ("There are not enough slots available", "fewer ranks a node"),
        ("Could not resolve hostname node9", "check the names given to --hosts"),
        ("Permission denied (publickey)", "ssh to every host must work without a question"),
        ("ui_cmd_cb (pmiserv_pmci.c:51): Launch proxy failed.", "check the names given to --hosts"),
        ("slurmstepd-n2: error: execve(): /k: No such file", "every node must find the kernel"),
        ("srun: error: n2: task 1: Exited with exit code 2", "every node must find the kernel"),
        ("error: mpi/pmi2: value not properly terminated in client request", "another MPI"),
        ("anything else", "see raw/*.err in the run directory"),
    ],
)
def test_known_signs_carry_their_remedy(files: Files, sign: str, hint: str):
    error = fail(files, CommandEnd(Ending.EXITED, 1, 1.0), sign + "\n")
    assert hint in (error.hint or "")


def test_the_line_that_tells_the_cause_is_quoted_however_much_follows_it(files: Files):
    said = "ssh: Could not resolve hostname node2\n" + "an apology of the launcher\n" * 50
    error = fail(files, CommandEnd(Ending.EXITED, 255, 1.0), said)
    assert "| ssh: Could not resolve hostname node2" in error.what
    assert len(error.what.splitlines()) < 10


LEFT = (
    ProcessState(50, "mpiexec", "S"),
    ProcessState(51, "hydra_pmi_proxy", "S"),
    ProcessState(100, "weft-kernel-3dc", "R"),
)
"""As podman 4.3.1 and Hydra 5.0.2 leave a launch whose rank 1 was killed."""


def test_a_rank_that_ends_in_podman_is_a_crash_not_a_hang(files: Files):
    ranks = [rank.model_copy(update={"host": "node1"}) for rank in RANKS]
    ended = CommandEnd(Ending.STALLED, -15, 9.0, processes=LEFT)
    error = fail(files, ended, ranks=ranks)
    assert error.where == "host node1, rank 1"
    assert "crashed: rank 1 ended, and the containers of other ranks went on" in error.what
    assert not isinstance(error, HangError)


@pytest.mark.parametrize(
    "name", ["podman", None], ids=["podman run goes on", "no container goes on"]
)
def test_other_launches_that_are_silent_are_no_crash(name: str | None):
    others = LEFT[:2] if name is None else (*LEFT, ProcessState(70, name, "S"))
    assert containers_left(LEFT)
    assert not containers_left(others)


def test_containers_of_another_program_are_known_by_its_name():
    left = (*LEFT[:2], ProcessState(100, "sendrecv_perf", "S"))
    assert containers_left(left, "sendrecv_perf")
    assert containers_left((ProcessState(100, "reduce_scatter_", "S"),), "reduce_scatter_perf")
    assert not containers_left(left)


def test_a_hang_names_the_one_rank_that_did_not_run(files: Files):
    seen = (ProcessState(100, "weft-kernel", "R"), ProcessState(101, "weft-kernel", "S"))
    ranks = [rank.model_copy(update={"host": "node1"}) for rank in RANKS]
    ended = CommandEnd(Ending.TIMED_OUT, -15, 9.0, processes=seen)
    error = fail(files, ended, ranks=ranks, rows=[ROW])
    assert isinstance(error, HangError)
    assert error.hung
    assert error.where == "host node1, rank 1"
    assert "no end after 9 s; last record: latency at 8 B" in error.what


PAIR_ROW = PairRow(
    round=0,
    n_concurrent=1,
    rank_a=0,
    rank_b=1,
    size_bytes=8,
    kind="latency",
    iterations=1,
    times_ns=(5,),
)


@pytest.mark.parametrize(
    ("n_ranks", "rounds", "n_rows", "states", "culprit"),
    [
        # Of five ranks two meet and one of them stopped; the others sleep as they should.
        (5, [[(1, 3)]], 0, "SRSSS", 3),
        (5, [[(1, 3)]], 0, "SSSRS", 1),
        # Two rows of the first round are missing; with the third the second round is under way.
        (4, [[(0, 1)], [(2, 3)]], 1, "RSSS", 1),
        (4, [[(0, 1)], [(2, 3)]], 3, "SSSR", 2),
        (4, [[(0, 1)], [], [(2, 3)]], 3, "SSSR", 2),
        # All rounds are over: nobody has to run.
        (4, [[(0, 1)]], 3, "RSSS", None),
        # The kernel's own rounds of an odd number: rank 0 rests in the first.
        (3, None, 0, "SRS", 2),
        (3, None, 3, "RSS", 2),
        (2, None, 0, "RS", 1),
    ],
)
def test_a_hang_in_a_round_of_pairs_is_not_laid_to_who_rests(
    files: Files,
    n_ranks: int,
    rounds: list[list[tuple[int, int]]] | None,
    n_rows: int,
    states: str,
    culprit: int | None,
):
    options = {} if rounds is None else {"rounds": rounds}
    trial = Trial("t", "pairs", (8, 64), ("node1",), n_ranks, options=options)
    ranks = [
        KernelRank(
            rank=number, host="node1", local_rank=number, tasks_per_node=n_ranks, pid=100 + number
        )
        for number in range(n_ranks)
    ]
    seen = tuple(ProcessState(100 + n, "weft-kernel", state) for n, state in enumerate(states))
    header = HEADER.model_copy(update={"n_ranks": n_ranks})
    output = KernelOutput(header=header, ranks=ranks, pair_rows=[PAIR_ROW] * n_rows)
    ended = CommandEnd(Ending.TIMED_OUT, -15, 9.0, processes=seen)
    error = failure_of(Launch(trial, 0, 0), ended, output, files.out, files.err)
    assert error is not None
    assert error.where == ("node1" if culprit is None else f"host node1, rank {culprit}")


def test_a_hang_of_everybody_names_the_hosts_and_blames_nothing(files: Files):
    seen = (ProcessState(100, "weft-kernel", "S"), ProcessState(101, "weft-kernel", "S"))
    error = fail(files, CommandEnd(Ending.TIMED_OUT, -15, 9.0, processes=seen))
    assert error.where == "node1, node2"
    assert "attach a debugger" in (error.hint or "")


def test_too_much_output_names_the_file(files: Files):
    files.out.write_text("x" * 100)
    error = fail(files, CommandEnd(Ending.OUTPUT_LIMIT, -15, 1.0))
    assert error.where == str(files.out)
    assert "wrote more than is kept" in error.what


def test_garbage_instead_of_records_names_host_and_rank(files: Files):
    error = fail(files, CommandEnd(Ending.EXITED, 0, 1.0), header=None, ranks=[], n_noise_lines=4)
    assert "wrote no records, but 4 other lines" in error.what
    assert "from rank 0 on node1, node2" in (error.where or "")


def test_output_without_its_end_says_where_it_stops(files: Files):
    error = fail(files, CommandEnd(Ending.EXITED, 0, 1.0))
    assert "the output stops after all 2 ranks had started" in error.what
    assert "rank 0 on node1" in (error.where or "")


def test_a_broken_record_matters_when_a_row_is_missing(files: Files):
    broken = "raw/t.out:3: a record that is cut or mixed with text"
    error = fail(files, CommandEnd(Ending.EXITED, 0, 1.0), broken=broken, end=END)
    assert "wrote 0 of 1 rows and 2 of 2 rank records" in error.what
    assert (error.where or "").startswith(broken)


def test_a_broken_line_is_noise_when_nothing_is_missing(files: Files):
    output = KernelOutput(header=HEADER, ranks=RANKS, rows=[ROW], end=END, broken="t.out:3: cut")
    assert (
        failure_of(LAUNCH, CommandEnd(Ending.EXITED, 0, 1.0), output, files.out, files.err) is None
    )


def test_a_launcher_of_another_mpi_is_recognised_by_its_worlds_of_one(files: Files):
    alone = HEADER.model_copy(update={"n_ranks": 1})
    error = fail(files, CommandEnd(Ending.EXITED, 0, 1.0), header=alone, end=END)
    assert "2 ranks were started, but each sees a world of 1" in error.what
    assert "--mpi" in (error.hint or "")


def test_the_kernels_complaint_about_a_lone_rank_is_the_same_error(files: Files):
    lonely = KernelFailure(rank=0, host="node1", message="latency needs two ranks or more")
    error = fail(files, CommandEnd(Ending.EXITED, 2, 1.0), header=None, failures=[lonely])
    assert "2 ranks were started, but each sees a world of 1" in error.what


@pytest.mark.parametrize(
    ("trial", "rows"),
    [
        (Trial("t", "latency", (1, 8, 64), ("a", "b"), 1), 3),
        (Trial("t", "barrier", (0,), ("a", "b"), 1), 1),
        (Trial("t", "pairs", (8, 64), ("a", "b", "c", "d"), 1), 18),
        (Trial("t", "pairs", (8, 64), ("a",), 4, options={"rounds": [[(0, 1), (2, 3)]]}), 6),
        (Trial("t", "pairs", (8, 64), ("a",), 4, options={"phases": ["latency"]}), 6),
        (Trial("t", "pairs", (8, 64), ("a",), 4, options={"phases": list(PHASES)}), 24),
    ],
)
def test_rows_of_a_whole_output(trial: Trial, rows: int):
    assert expected_rows(trial) == rows


@pytest.mark.parametrize(
    ("states", "where"),
    [
        ("RS", "host node2, rank 1"),
        ("ST", "host node2, rank 1"),
        ("DS", "host node1, rank 0"),
        ("TT", "node1, node2"),
        ("SS", "node1, node2"),
    ],
)
def test_a_hang_on_other_hosts_names_the_rank_that_does_not_go_on(
    files: Files, states: str, where: str
):
    """Process ids are of different hosts: the same one may be there on each, and here."""
    ranks = [rank.model_copy(update={"pid": 70}) for rank in RANKS]
    probes = {f"node{n + 1}": HostProbe(states={70: state}) for n, state in enumerate(states)}
    here = (ProcessState(70, "ssh", "R"),)
    ended = CommandEnd(Ending.TIMED_OUT, -15, 9.0, processes=here)
    output = KernelOutput(header=HEADER, ranks=ranks)
    error = failure_of(LAUNCH, ended, output, files.out, files.err, probes=probes)
    assert isinstance(error, HangError)
    assert error.where == where
    assert ("stopped" in (error.hint or "")) is ("T" in states)
