"""OTF2 archives, written by the format's own library, as traces."""

import contextlib
import itertools
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.unit.trace.otf2_files import Writer, convert, library_folder
from tests.unit.trace.trace_files import record, ring, write

from weft.cli import run
from weft.core.errors import InputError, MissingError
from weft.trace.otf2 import archive
from weft.trace.program import program_of
from weft.trace.trace import Trace, read_trace

Capture = pytest.CaptureFixture[str]
US = 1000


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The library of OTF2, visible to weft and to its children."""
    folder = tmp_path / "library"
    folder.mkdir()
    return library_folder(monkeypatch, folder)


@pytest.fixture
def made(library: Path, tmp_path: Path) -> Callable[..., Trace]:
    """A trace of what a function writes into an archive of so many ranks."""
    numbers = itertools.count()

    def make(fill: Callable[[Writer], None], n: int = 2, **how: Any) -> Trace:
        folder = tmp_path / f"archive{next(numbers)}"
        writer = Writer(folder, [f"n{rank // 2}" for rank in range(n)], **how)
        fill(writer)
        writer.close()
        return read_trace(folder / "traces.otf2")

    return make


def body(text: str, rank: int) -> list[str]:
    """The statements of a rank."""
    return text.split(f"rank {rank} {{\n")[1].split("}", maxsplit=1)[0].splitlines()


def test_what_weft_recorded_is_the_same_program_as_an_archive(
    library: Path, tmp_path: Path
) -> None:
    bodies = []
    for rank in range(4):
        parts = [
            record("allreduce", 24, 0, 0, 0, gap=20_000, time=700)
            + ring(rank, 4, 1 << 16, 2 * k + 1)
            for k in range(7)
        ]
        half = record("group", 3, [rank % 2 + 1, rank % 2 + 3])
        more = (
            record("broadcast", 80, 1, 3, 0, gap=5) + record("reduce", 48, 0, 0, 0)
            + record("gatherv", [rank + 1], 2, 0, 0)
            + record("scatterv", [3, 0, 5, 7] if rank == 1 else [7], 1, 0, 0)
            + record("allgatherv", [8, 16, 0, 24], 0, 0, 0) + record("barrier", 0, 0, 0, 0)
            + record("alltoall", 40, 0, 0, 0) + record("scan", 16, 0, 0, 0)
            + record("allreduce", 24, 0, 0, 99) + record("wait", [99, 0, 0], gap=3000)
        )  # fmt: skip
        bodies.append(half + b"".join(parts) + more)
    own = read_trace(write(tmp_path / "t", bodies))
    other = read_trace(convert(own, tmp_path / "a"))
    assert program_of(other).text == program_of(own).text
    assert (other.n_messages, other.message_bytes) == (own.n_messages, own.message_bytes) == (
        28, 28 * (1 << 16),
    )  # fmt: skip
    assert other.calls == own.calls
    assert other.tasks_by_host == own.tasks_by_host
    assert other.seconds == pytest.approx(own.seconds)
    assert other.caveats() == own.caveats()


def test_computing_is_the_time_between_functions_of_mpi(made: Callable[..., Trace]) -> None:
    def fill(writer: Writer) -> None:
        work = writer.known.region("solve")
        for rank in range(2):
            writer.put(rank, 0, "Enter", work)
            writer.call(rank, 90 * US, 95 * US, "MPI_Init")
            writer.call(rank, 100 * US, 101 * US, "MPI_Comm_rank")
            writer.put(rank, 102 * US, "BufferFlush", 105 * US * 4)
            writer.call(
                rank,
                110 * US,
                112 * US,
                "MPI_Send" if rank == 0 else "MPI_Recv",
                ["MpiSend" if rank == 0 else "MpiRecv", 1 - rank, writer.world, 7, 64],
            )
            writer.call(rank, 115 * US, 116 * US, "MPI_Finalize")

    trace = made(fill)
    (send,) = trace.ranks[0].calls
    # From the end of MPI_Init, with what MPI_Comm_rank took, without the flush of 3 us.
    assert (send.name, send.gap_ns, send.time_ns) == ("send", 12 * US, 2 * US)
    assert trace.ranks[0].seconds == pytest.approx(17e-6)
    assert body(program_of(trace).text, 1) == ["calc 12000", "recv from 0", "calc 3000"]
    assert trace.caveats() == []


def test_a_sendrecv_sends_and_receives_at_once(made: Callable[..., Trace]) -> None:
    def fill(writer: Writer) -> None:
        for rank in range(2):
            other = 1 - rank
            writer.call(
                rank, US, 2 * US, "MPI_Sendrecv",
                ["MpiSend", other, writer.world, 0, 40], ["MpiRecv", other, writer.world, 0, 40],
            )  # fmt: skip

    text = program_of(made(fill)).text
    assert body(text, 0) == ["q1: irecv from 1", "q2: isend 40b to 1", "wait q1 q2"]


def test_polls_are_waiting_and_requests_may_be_cancelled_or_freed(
    made: Callable[..., Trace],
) -> None:
    def fill(writer: Writer) -> None:
        put = writer
        put.call(0, 0, 10, "MPI_Irecv", ["MpiIrecvRequest", 5])
        for k in range(10):
            at = 100 + 400 * k
            put.call(0, at, at + 100, "MPI_Test", ["MpiRequestTest", 5])
        put.call(0, 50_000, 50_100, "MPI_Test", ["MpiIrecv", 1, put.world, 0, 8, 5])
        put.call(0, 50_200, 50_300, "MPI_Irecv", ["MpiIrecvRequest", 6])
        put.call(0, 50_400, 50_500, "MPI_Wait", ["MpiRequestCancelled", 6])
        put.call(0, 50_500, 50_600, "MPI_Isend", ["MpiIsend", 1, put.world, 0, 9, 7])
        put.call(0, 50_600, 50_700, "MPI_Request_free", ["MpiIsendComplete", 7])
        put.call(0, 50_700, 50_800, "MPI_Irecv", ["MpiIrecvRequest", 8])
        put.call(1, 0, 10, "MPI_Send", ["MpiSend", 0, put.world, 0, 8])
        put.call(1, 10, 20, "MPI_Recv", ["MpiRecv", 0, put.world, 0, 9])

    trace = made(fill)
    calls = trace.ranks[0].calls
    assert [call.name for call in calls] == ["irecv", "wait", "irecv", "wait", "isend", "irecv"]
    # From the last failed test on the rank computed; tests 300 ns apart are waiting.
    assert calls[1].gap_ns == 50_000 - 3_800
    assert body(program_of(trace).text, 0) == [
        "q1: irecv from 1", "calc 46200", "wait q1", "calc 100", "calc 100", "q3: isend 9b to 1",
        "calc 100",
    ]  # fmt: skip
    assert trace.caveats() == [
        "1 receive or collectives with a request of which the archive has no end: not replayed"
    ]


def test_what_is_not_replayed_is_counted(made: Callable[..., Trace]) -> None:
    def fill(writer: Writer) -> None:
        window = writer.known.rma_win("window", comm=writer.world)
        for rank in range(2):
            writer.call(rank, 0, 10, "MPI_Put", ["RmaPut", window, 1 - rank, 50, 1])
            writer.call(rank, 20, 30, "MPI_Neighbor_alltoall")
            writer.call(rank, 30, 40, "MPI_Sendrecv")
            writer.put(rank, 50, "MpiSend", 1 - rank, writer.world, 0, 8, thread=1)

    trace = made(fill, n_threads=2)
    assert trace.calls == {"one_sided": 2, "neighbour_collective": 2}
    assert trace.caveats() == [
        "2 one sided calls: not replayed",
        "2 neighbour collective calls: not replayed",
        "2 calls by threads other than the first: weft replay refuses this trace",
        "2 calls without an event of what they sent: mpi_sendrecv (2): to nobody, or the tool does "
        "not write it down",
    ]
    with pytest.raises(InputError, match="2 calls of other threads"):
        program_of(trace)


def test_messages_between_groups_are_replayed_and_their_collectives_counted(
    made: Callable[..., Trace],
) -> None:
    def fill(writer: Writer) -> None:
        between = writer.between([(0, 1), (2, 3)])
        for rank in range(4):
            peer = (rank + 2) % 4
            kind = "MpiSend" if rank < 2 else "MpiRecv"
            writer.call(rank, 0, 10, f"MPI_{kind[3:]}", [kind, peer % 2, between, 3, 70])
            operation = writer.enums.CollectiveOp.BARRIER
            none = writer.enums.CollectiveRoot.NONE.value
            end = ["MpiCollectiveEnd", operation, between, none, 0, 0]
            writer.call(rank, 20, 30, "MPI_Barrier", ["MpiCollectiveBegin"], end)

    trace = made(fill, n=4)
    program = program_of(trace)
    assert body(program.text, 1)[0] == "send 70b to 3"
    assert body(program.text, 3)[0] == "recv from 1"
    assert program.n_left_out == 0
    assert trace.caveats() == ["4 intercommunicator collective calls: not replayed"]


def test_alltoallv_is_said_to_be_divided(library: Path, tmp_path: Path) -> None:
    bodies = [record("alltoallv", [8 * (rank + 1), 8], 0, 0, 0) for rank in range(2)]
    trace = read_trace(convert(read_trace(write(tmp_path / "t", bodies)), tmp_path / "a"))
    (call,) = trace.ranks[1].calls
    assert sum(call.of("blocks")) == 24
    assert trace.caveats() == [
        "1 alltoallv: the archive has the sums of each rank, divided in proportion"
    ]


@pytest.fixture
def ring_archive(library: Path, tmp_path: Path) -> Path:
    """An archive with 40 rounds of a ring."""
    bodies = [
        b"".join(
            record("allreduce", 24, 0, 0, 0, gap=900) + ring(rank, 3, 64, 2 * k + 1)
            for k in range(40)
        )
        for rank in range(3)
    ]
    return convert(read_trace(write(tmp_path / "own", bodies)), tmp_path / "ring")


def test_an_archive_is_replayed_and_written_as_goal(
    ring_archive: Path, tmp_path: Path, capsys: Capture
) -> None:
    where = ["--twin", "fat-tree", "--nodes", "8"]
    assert run(["replay", str(ring_archive), *where, "--dir", str(tmp_path / "run")]) == 0
    said = capsys.readouterr().err
    assert "3 ranks of: ring/traces.otf2" in said
    assert "39 iterations, from allreduce:24B to the next" in said
    # The directory that Score-P makes does as well.
    again = [str(ring_archive.parent), *where, "--scale", "2x", "--dir", str(tmp_path / "larger")]
    assert run(["replay", *again]) == 0
    capsys.readouterr()
    assert run(["replay", str(tmp_path / "own"), "--goal", str(tmp_path / "a.goal")]) == 0
    assert run(["replay", str(ring_archive), "--goal", str(tmp_path / "b.goal")]) == 0
    assert (tmp_path / "a.goal").read_text() == (tmp_path / "b.goal").read_text()


@pytest.mark.parametrize("part", ["traces.otf2", "traces.def", "evt", "def"])
def test_a_damaged_archive_is_an_error_or_a_trace_that_says_so(
    ring_archive: Path, part: str
) -> None:
    folder = ring_archive.parent
    paths = sorted((folder / "traces").glob(f"*.{part}"))
    path = paths[0] if paths else folder / part
    whole = path.read_bytes()
    drawn = random.Random(part)
    for _ in range(6):
        at = drawn.randrange(len(whole))
        damaged = drawn.choice([whole[:at], whole[:at] + drawn.randbytes(4) + whole[at + 4 :]])
        path.write_bytes(damaged)
        with contextlib.suppress(InputError):
            assert program_of(read_trace(ring_archive)).text.startswith("num_ranks 3\n")
    path.unlink()
    if part != "def":
        with pytest.raises(InputError):
            read_trace(ring_archive)


def test_without_the_library_weft_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    anchor = tmp_path / "traces.otf2"
    anchor.touch()
    monkeypatch.setattr(archive, "LIBRARY", "_no_such_library")
    with pytest.raises(MissingError, match="OTF2 is not installed"):
        read_trace(anchor)
    assert run(["replay", str(anchor), "--twin", "fat-tree", "--nodes", "8"]) == 3
    said = capsys.readouterr().err
    assert "pip install otf2" in said
    assert "python3-otf2" in said
    assert run(["replay", str(tmp_path / "no.otf2"), "--twin", "fat-tree", "--nodes", "8"]) == 2
    assert "no such file" in capsys.readouterr().err


def test_an_archive_without_mpi_is_refused(library: Path, tmp_path: Path) -> None:
    code = (
        "import otf2, sys\n"
        "with otf2.writer.open(sys.argv[1]) as archive:\n"
        "    node = archive.definitions.system_tree_node('n')\n"
        "    process = archive.definitions.location_group('p', system_tree_parent=node)\n"
        "    archive.event_writer('t', group=process).enter(1, archive.definitions.region('f'))\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "a")], check=True)
    with pytest.raises(InputError, match="no ranks of MPI"):
        read_trace(tmp_path / "a/traces.otf2")
