"""The library that records: every call with its size and partner, on each MPI, in C and Fortran."""

import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.kernel.conftest import MPIS, STRICT, compiler_and_launcher
from tests.needs import absent, need

from weft.bench.replay import collective_moves
from weft.bench.twin.backend import simulate
from weft.core.errors import InputError
from weft.launch.kernel import LIBRARY_FLAGS
from weft.launch.launchers.recorder import recording_environment
from weft.trace.goal import goal_text
from weft.trace.iterations import iterations_of
from weft.trace.program import program_of
from weft.trace.recording import pack
from weft.trace.trace import Trace, read_trace

SOURCES = Path(__file__).parents[2] / "mpi/recorder"
HERE = Path(__file__).parent
N = 4
RING_BYTES = (*[400] * 10, 7, 9, 8, 8, *[21] * 3)
"""Of every rank to the next: the two-sided part, then the persistent one."""

RECORDED = (*MPIS, "abi")
"""And the ABI of the MPI standard, by the library of the embedded MPICH."""

Record = Callable[..., Trace]


def launch(
    mpi: str, folder: Path, argv: list[str], library: Path, *, check: bool = True
) -> subprocess.CompletedProcess[str]:
    """Ranks of a program that is recorded into a folder."""
    folder.mkdir()
    env = recording_environment(library, folder, os.environ)
    launcher = compiler_and_launcher(mpi)[1]
    done = subprocess.run(
        [*launcher, "-n", str(N), *argv],
        env=env, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert not check or done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Path, Path]]:
    """The library and the program, by MPI; the library with warnings as errors."""

    @cache
    def build(mpi: str) -> tuple[Path, Path]:
        compiler, _ = compiler_and_launcher(mpi)
        if compiler is None:
            absent(f"no {mpi} on this machine: its mpicc is not found (Debian: lib{mpi}-dev)")
        folder = tmp_path_factory.mktemp(mpi)
        library, program = folder / "libweft-recorder.so", folder / "program"
        sources = sorted(map(str, SOURCES.glob("*.c")))
        # GCC takes MPICH's MPI_STATUSES_IGNORE for an array of nothing: no -Werror for the program.
        plain = ["-std=c11", "-o", str(program), str(HERE / "recorded_program.c"), "-lpthread"]
        for words in ([*STRICT, *LIBRARY_FLAGS, "-o", str(library), *sources], plain):
            done = subprocess.run(
                [str(compiler), *words], capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr
        return library, program

    return build


def ring_of(trace: Trace, rank: int, *, sent: bool) -> Counter[int]:
    """By size, how many messages a rank sent to the next one, or received from the one before."""
    names, step = (("send", "isend"), 1) if sent else (("recv", "irecv"), -1)
    calls = [call for call in trace.ranks[rank].calls if call.name in names]
    of_ring = [c for c in calls if c.of("peer") - 1 == (rank + step) % N]
    return Counter(call.of("bytes") for call in of_ring if call.of("tag") - 1 in (0, 1, 2, 5))


def on_a_twin(step: Mapping[str, str]) -> Mapping[str, Any]:
    """What the engine says of a step of N ranks, all of whose messages arrive."""
    scenario = {
        "schema": "weft.scenario/1",
        "fabric": {
            "schema": "weft.fabric/1", "generate": "fat_tree", "levels": 2, "nodes": N,
            "hcas_per_node": 1, "nodes_per_leaf": N, "spines": 1, "cables_per_spine": 1,
            "host_bits_per_s": 10**11, "switch_bits_per_s": 10**11,
            "host_delay_ps": 5000, "switch_delay_ps": 5000,
        },
        "host": {"regimes": [{"send_overhead_ns": 300, "recv_overhead_ns": 300}]},
    }  # fmt: skip
    outcome = simulate({**scenario, "work": [step], "probes": {"flows": 10_000}})
    assert outcome["status"] == "complete", outcome["message"]
    assert outcome["flow_done"].all()
    return outcome


@pytest.mark.parametrize("mpi", RECORDED)
def test_every_call_is_written_down_with_its_size_and_partner(
    mpi: str, built: Callable[[str], tuple[Path, Path]], tmp_path: Path
) -> None:
    library, program = built(mpi)
    launch(mpi, tmp_path / "trace", [str(program)], library)
    pack(tmp_path / "trace")
    trace = read_trace(tmp_path / "trace")
    assert trace.n_ranks == N
    assert all(rank.is_whole for rank in trace.ranks)
    for rank in range(N):
        assert ring_of(trace, rank, sent=True) == Counter(RING_BYTES)
        received = ring_of(trace, rank, sent=False)
        # An open receive is as large as its buffer, one that is over as its message.
        assert received == Counter((*[1000] * 10, 7, 9, 8, 8, *[21] * 3))
    assert trace.n_messages == N * len(RING_BYTES) + 2 * (N - 1) + 2 * N
    assert trace.message_bytes == N * sum(RING_BYTES) + (11 + 12) * (N - 1) + (6 + 13) * N
    counts = {"allreduce": 7, "broadcast": 1, "reduce": 1, "allgather": 1, "alltoall": 1}
    counts |= {"alltoallv": 1, "gatherv": 1, "scatterv": 1, "allgatherv": 1, "gather": 1}
    counts |= {"scatter": 1, "reduce_scatter": 1, "scan": 1, "barrier": 1}
    assert {name: trace.calls[name] for name in counts} == {
        name: N * n for name, n in counts.items()
    }
    last = trace.ranks[3]
    by_name = {call.name: call for call in last.calls}
    assert by_name["broadcast"].of("bytes") == 30
    # Odd ranks, the last one first; freed handles come again as other groups.
    assert last.groups[by_name["broadcast"].of("group")] == (3, 1)
    assert last.groups[by_name["allgather"].of("group")] == (2, 3)
    # What each rank sends to this one.
    assert by_name["alltoallv"].of("blocks") == (3, 13, 23, 33)
    assert by_name["reduce_scatter"].of("bytes") == 4 * N
    assert 0 <= trace.computing_share <= 1


@pytest.mark.parametrize("mpi", RECORDED)
def test_what_was_recorded_runs_on_a_twin_and_as_goal(
    mpi: str, built: Callable[[str], tuple[Path, Path]], tmp_path: Path
) -> None:
    library, program = built(mpi)
    launch(mpi, tmp_path / "trace", [str(program)], library)
    trace = read_trace(tmp_path / "trace")
    marks = iterations_of(trace, "allreduce").marks
    written = program_of(trace, marks=marks)
    # A cancelled receive, a freed request and a message that was matched first all have both ends.
    assert (written.n_left_out, written.n_collectives_left_out) == (0, 0)
    assert written.text.count("\nmark\n") == 6 * N
    calls = {"benchmark": "schedule", "format": "calls", "text": written.text}
    goal = {
        "benchmark": "schedule",
        "text": "\n".join(goal_text(written.text, collective_moves)) + "\n",
    }
    sent = []
    for step in (calls, goal):
        outcome = on_a_twin(step)
        sent.append((len(outcome["flow_src"]), int(outcome["flow_size_bytes"].sum())))
    assert sent[0] == sent[1]


@pytest.mark.parametrize("mpi", RECORDED)
def test_communicators_of_communicators_keep_their_members_and_messages(
    mpi: str, built: Callable[[str], tuple[Path, Path]], tmp_path: Path
) -> None:
    library, program = built(mpi)
    launch(mpi, tmp_path / "trace", [str(program), "wrapped"], library)
    trace = read_trace(tmp_path / "trace")
    # Of the world's copy split into odd and even ranks, the last one first.
    halves = {0: (2, 0), 1: (3, 1), 2: (2, 0), 3: (3, 1)}
    for rank in trace.ranks:
        by_name = {call.name: call for call in rank.calls}
        members = {
            name: rank.groups[by_name[name].of("group")]
            for name in ("broadcast", "allreduce", "allgather", "reduce")
        }
        half, pair = halves[rank.rank], (0, 1) if rank.rank < 2 else (2, 3)
        assert members == {
            "broadcast": (0, 1, 2, 3), "allreduce": half, "allgather": half, "reduce": pair
        }  # fmt: skip
        # A copy has the same members, and messages of its own.
        assert by_name["allreduce"].of("group") != by_name["allgather"].of("group")
        partner = (rank.rank + 2) % N
        ends = [call for call in rank.calls if call.name in ("send", "isend", "recv", "irecv")]
        assert {call.of("peer") - 1 for call in ends} == {partner}
        sizes = [call.of("bytes") for call in ends if call.of("tag") - 1 == 5]
        # On the half and on its copy, received in reverse order.
        assert sizes == ([23, 29] if rank.rank >= 2 else [29, 23])
    assert (trace.n_messages, trace.message_bytes) == (N + 2 + 2, N * 19 + 2 * (23 + 29))
    written = program_of(trace)
    assert (written.n_left_out, written.n_collectives_left_out) == (0, 0)
    outcome = on_a_twin({"benchmark": "schedule", "format": "calls", "text": written.text})
    columns = (outcome[f"flow_{name}"].tolist() for name in ("src", "dst", "size_bytes"))
    flows = Counter(zip(*columns, strict=True))
    across = [(0, 2), (2, 0), (1, 3), (3, 1)]
    for n_bytes in (17, 19, 24):
        assert [flows[src, dst, n_bytes] for src, dst in across] == [1] * N
    for n_bytes in (23, 29):
        assert [flows[src, dst, n_bytes] for src, dst in across] == [0, 1, 0, 1]
    assert (flows[1, 0, 37], flows[3, 2, 37]) == (1, 1)
    assert sorted(dst for _, dst, n_bytes in flows.elements() if n_bytes == 31) == [0, 2, 3]
    assert flows.total() == 3 * N + 2 * 2 + 2 + 3


@pytest.mark.parametrize("mpi", RECORDED)
def test_the_trace_of_a_crash_is_read_to_its_end(
    mpi: str, built: Callable[[str], tuple[Path, Path]], tmp_path: Path
) -> None:
    library, program = built(mpi)
    done = launch(mpi, tmp_path / "trace", [str(program), "crash"], library, check=False)
    assert done.returncode != 0
    trace = read_trace(tmp_path / "trace")
    dead = trace.ranks[1]
    assert not dead.is_whole
    assert [call.name for call in dead.calls][-1] == "barrier"
    assert any("did not end in MPI_Finalize" in caveat for caveat in trace.caveats())
    # Other ranks were ended before they noted theirs.
    assert "isend 400b to 2" in program_of(trace).text


@pytest.mark.parametrize("mpi", RECORDED)
def test_asking_again_and_again_is_waiting_not_computing(
    mpi: str, built: Callable[[str], tuple[Path, Path]], tmp_path: Path
) -> None:
    library, program = built(mpi)
    launch(mpi, tmp_path / "trace", [str(program), "poll"], library)
    trace = read_trace(tmp_path / "trace")
    asking, sleeping = trace.ranks[0].calls, trace.ranks[N - 1].calls
    done = next(call for call in reversed(asking) if call.name == "wait")
    assert done.time_ns + done.gap_ns > 150e6
    # What passes between two polls while another process has the CPU counts as computing.
    assert done.time_ns > done.gap_ns
    slept = next(call for call in reversed(sleeping) if call.name == "send")
    assert slept.gap_ns > 190e6


def test_a_job_that_the_program_starts_leaves_its_trace_alone(
    built: Callable[[str], tuple[Path, Path]], tmp_path: Path
) -> None:
    library, program = built("openmpi")
    launch("openmpi", tmp_path / "trace", [str(program), "spawn"], library)
    trace = read_trace(tmp_path / "trace")
    assert (trace.n_ranks, trace.calls["spawn"]) == (N, N)
    assert trace.calls["barrier"] == 2 * N
    assert all(rank.is_whole for rank in trace.ranks)
    assert "4 spawn calls: not replayed" in trace.caveats()


def test_one_sided_calls_are_counted_and_threads_refused(
    built: Callable[[str], tuple[Path, Path]], tmp_path: Path
) -> None:
    library, program = built("mpich")
    launch("mpich", tmp_path / "one-sided", [str(program), "one-sided"], library)
    trace = read_trace(tmp_path / "one-sided")
    assert trace.calls["one_sided"] == 3 * N
    assert "12 one sided calls: not replayed" in trace.caveats()
    program_of(trace)
    launch("mpich", tmp_path / "threads", [str(program), "threads"], library)
    trace = read_trace(tmp_path / "threads")
    assert [rank.n_elsewhere for rank in trace.ranks] == [1] * N
    with pytest.raises(InputError, match="4 calls of other threads than the first"):
        program_of(trace)


@pytest.mark.parametrize("mpi", ["mpich", "openmpi"])
def test_a_program_in_fortran_is_recorded(
    mpi: str, built: Callable[[str], tuple[Path, Path]], tmp_path: Path
) -> None:
    compiler = f"mpif90.{mpi}"
    need(compiler, package=f"lib{mpi}-dev gfortran")
    library, _ = built(mpi)
    program = tmp_path / "program"
    source = str(HERE / "recorded_program.f90")
    words = [str(shutil.which(compiler)), "-ffree-line-length-none", "-o", str(program), source]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    launch(mpi, tmp_path / "trace", [str(program)], library)
    trace = read_trace(tmp_path / "trace")
    counts = {"isend": 9, "irecv": 9, "allreduce": 8, "broadcast": 1}
    assert {name: trace.calls[name] for name in counts} == {n: N * c for n, c in counts.items()}
    assert (trace.calls["send"], trace.calls["recv"]) == (N - 1, N - 1)
    assert trace.message_bytes == N * (8 * 800 + 24) + 8 * (1 + 2 + 3)
    sources = [c.of("peer") - 1 for c in trace.ranks[0].calls if c.name == "recv"]
    assert sorted(sources) == [1, 2, 3]
    assert {c.of("bytes") for c in trace.ranks[2].calls if c.name == "allreduce"} == {80}
    assert program_of(trace).n_left_out == 0


def test_a_program_with_the_module_of_fortran_2008_is_recorded(
    built: Callable[[str], tuple[Path, Path]], tmp_path: Path
) -> None:
    mpi = "openmpi"
    compiler = f"mpif90.{mpi}"
    need(compiler, package=f"lib{mpi}-dev gfortran")
    library, _ = built(mpi)
    program = tmp_path / "program"
    source = str(HERE / "recorded_f08.f90")
    words = [str(shutil.which(compiler)), "-ffree-line-length-none", "-o", str(program), source]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    launch(mpi, tmp_path / "trace", [str(program)], library)
    trace = read_trace(tmp_path / "trace")
    assert {name: trace.calls[name] for name in ("isend", "irecv", "allreduce")} == dict.fromkeys(
        ("isend", "irecv", "allreduce"), 5 * N
    )
    assert trace.message_bytes == N * 5 * 800
    assert all(rank.is_whole for rank in trace.ranks)
    assert program_of(trace).n_left_out == 0


@pytest.mark.parametrize("mpi", RECORDED)
def test_a_directory_that_takes_nothing_does_not_end_the_program(
    mpi: str, built: Callable[[str], tuple[Path, Path]], tmp_path: Path
) -> None:
    library, program = built(mpi)
    where = tmp_path / "trace"
    where.mkdir()
    for rank in range(N):
        (where / f"rank-{rank:05d}.trace").mkdir()
    env = recording_environment(library, where, os.environ)
    launcher = compiler_and_launcher(mpi)[1]
    done = subprocess.run(
        [*launcher, "-n", str(N), str(program)],
        env=env, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0
    assert "weft record: rank 0 records no more: File exists" in done.stderr
