"""Traces as calls: what is open stays open, what lacks a partner is left out."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.unit.trace.trace_files import record, ring, write

from weft.core.errors import InputError
from weft.trace.blocks import messages_of
from weft.trace.iterations import iterations_of
from weft.trace.program import program_of
from weft.trace.trace import read_trace


def lines_of(text: str, rank: int) -> list[str]:
    """The statements of a rank."""
    body = text.split(f"rank {rank} {{\n")[1].split("}", maxsplit=1)[0]
    return body.splitlines()


def program_text(tmp_path: Path, bodies: Sequence[bytes], **options: object) -> str:
    path = write(tmp_path / f"t{len(list(tmp_path.iterdir()))}", bodies)
    return program_of(read_trace(path), **options).text  # type: ignore[arg-type]


def test_open_calls_are_closed_by_the_waits_that_name_them(tmp_path: Path) -> None:
    text = program_text(tmp_path, [ring(rank, 2, 100, 1) for rank in range(2)])
    assert text.startswith("num_ranks 2\n")
    expected = ["q1: irecv from 1", "calc 10", "q2: isend 100b to 1", "wait q1 q2"]
    assert lines_of(text, 0) == expected
    partly = (
        record("irecv", 1, 2, 8, 1, 0) + record("irecv", 2, 2, 8, 1, 0)
        + record("isend", 3, 2, 8, 1, 0) + record("wait", [2, 0, 0])
        + record("wait", [1, 0, 0, 3, 0, 0])
    )  # fmt: skip
    other = record("send", 1, 8, 1, 0) * 2 + record("recv", 1, 8, 1, 0)
    text = program_text(tmp_path, [partly, other])
    assert lines_of(text, 0)[3:] == ["wait q2", "wait q1 q3"]
    assert lines_of(text, 1) == ["send 8b to 0", "send 8b to 0", "recv from 0"]


def test_each_tag_and_group_has_a_channel_alike_on_all_ranks(tmp_path: Path) -> None:
    pair = record("group", 4, [1, 2])
    zero = (
        pair + record("send", 2, 8, 9, 4) + record("send", 2, 8, 9, 0) + record("send", 2, 8, 3, 0)
    )
    # A receive with any tag has that of the message that came.
    any_tag = record("irecv", 1, 2, 8, 0, 0) + record("wait", [1, 0, 3])
    one = record("recv", 1, 8, 9, 0) + record("group", 1, [1, 2]) + record("recv", 1, 8, 9, 1)
    text = program_text(tmp_path, [zero, one + any_tag.replace(b"\x02", b"\x01", 1), b""])
    sent, received = (lines_of(text, rank) for rank in (0, 1))
    assert sent == ["send 8b to 1", "send 8b to 1 tag 1", "send 8b to 1 tag 2"]
    assert received == ["recv from 0 tag 1", "recv from 0", "q1: irecv from 0 tag 2", "wait q1"]


def test_what_was_cancelled_never_was(tmp_path: Path) -> None:
    zero = (
        record("irecv", 1, 2, 8, 1, 0) + record("wait", [1, 2**32 - 1, 0])
        + record("irecv", 2, 2, 8, 1, 0) + record("wait", [2, 0, 0])
    )  # fmt: skip
    text = program_text(tmp_path, [zero, record("send", 1, 8, 1, 0)])
    assert lines_of(text, 0) == ["q2: irecv from 1", "wait q2"]


def test_computing_is_what_passed_between_calls(tmp_path: Path) -> None:
    body = record("barrier", 0, 0, 0, 0, gap=500, time=9) + record("one_sided", 8, gap=3, time=4)
    end = record("end", 0, 1000, 1000, gap=25)
    path = write(tmp_path / "t", [body, body], end=end)
    trace = read_trace(path)
    # Time in calls that are not replayed counts as the rank's own.
    assert lines_of(program_of(trace).text, 0) == ["calc 500", "barrier", "calc 7", "calc 25"]
    assert lines_of(program_of(trace, compute=2).text, 1)[0] == "calc 1000"
    assert lines_of(program_of(trace, compute=0).text, 1) == ["barrier"]


def test_a_receive_from_any_source_has_the_source_that_came(tmp_path: Path) -> None:
    zero = (
        record("irecv", 1, 0, 8, 1, 0) + record("irecv", 2, 0, 8, 1, 0)
        + record("wait", [1, 3, 0, 2, 2, 0]) + record("irecv", 3, 0, 8, 1, 0)
    )  # fmt: skip
    text = program_text(tmp_path, [zero, record("send", 1, 8, 1, 0), record("send", 1, 8, 1, 0)])
    # The last one never came: it is no receive.
    assert lines_of(text, 0) == ["q1: irecv from 2", "q2: irecv from 1", "wait q1 q2"]


def test_collectives_name_their_group_root_and_algorithm(tmp_path: Path) -> None:
    group = record("group", 1, [3, 1])
    first = group + record("broadcast", 30, 1, 1, 0) + record("allreduce", 64, 0, 0, 0)
    alone = record("group", 1, [2]) + record("barrier", 0, 0, 1, 0)
    bodies = [first, alone + record("allreduce", 64, 0, 0, 0), first]
    text = program_text(
        tmp_path, bodies, choose=lambda name, size, n: "ring" if size > 32 else None
    )
    assert "group g1 2 0\n" in text
    assert lines_of(text, 0) == ["broadcast 30b in g1 root 1", "allreduce 64b by ring"]
    # A communicator of one rank has nobody to wait for.
    assert lines_of(text, 1) == ["allreduce 64b by ring"]
    scans = program_text(tmp_path, [record("scan", 8, 0, 0, 0)] * 2)
    assert lines_of(scans, 0) == ["allreduce 8b"]


def test_a_collective_with_a_request_is_where_it_is_waited_for(tmp_path: Path) -> None:
    """Ranks wait in different orders; all do the collectives in the order of their calls."""
    begun = record("allreduce", 8, 0, 0, 5) + record("barrier", 0, 0, 0, 6)
    zero = begun + record("send", 2, 4, 1, 0) + record("wait", [5, 0, 0, 6, 0, 0])
    one = record("recv", 1, 4, 1, 0) + begun + record("wait", [6, 0, 0]) + record("wait", [5, 0, 0])
    text = program_text(tmp_path, [zero, one])
    assert lines_of(text, 0) == ["send 4b to 1", "allreduce 8b", "barrier"]
    assert lines_of(text, 1) == ["recv from 0", "allreduce 8b", "barrier"]


def test_a_collective_of_the_same_ranks_comes_after_those_that_began_before(
    tmp_path: Path,
) -> None:
    begun = record("allreduce", 4, 0, 0, 5)
    early = begun + record("wait", [5, 0, 0]) + record("allreduce", 8, 0, 0, 0)
    late = begun + record("allreduce", 8, 0, 0, 0) + record("wait", [5, 0, 0])
    never = begun + record("allreduce", 8, 0, 0, 0)
    text = program_text(tmp_path, [early, late, never])
    assert [lines_of(text, rank) for rank in range(3)] == [["allreduce 4b", "allreduce 8b"]] * 3


def test_what_has_one_end_only_is_left_out_and_counted(tmp_path: Path) -> None:
    zero = record("send", 2, 8, 1, 0) * 3 + record("barrier", 0, 0, 0, 0) * 2
    one = record("recv", 1, 8, 1, 0) + record("barrier", 0, 0, 0, 0) + record("send", 2, 8, 1, 0)
    program = program_of(read_trace(write(tmp_path / "t", [zero, one], end=b"")))
    assert lines_of(program.text, 0) == ["send 8b to 1", "barrier"]
    # A message of a rank to itself is none.
    assert lines_of(program.text, 1) == ["recv from 0", "barrier"]
    assert (program.n_left_out, program.n_collectives_left_out) == (2, 1)


def test_blocks_that_differ_are_messages(tmp_path: Path) -> None:
    blocks = [(0, 5, 0), (7, 0, 9), (1, 2, 3)]
    bodies = [record("alltoallv", list(own), 0, 0, 0) for own in blocks]
    text = program_text(tmp_path, bodies)
    # Written down is what each rank receives.
    assert lines_of(text, 0) == [
        "v0: irecv from 1 tag world", "v1: isend 7b to 1 tag world", "v2: isend 1b to 2 tag world",
        "wait v0 v1 v2",
    ]  # fmt: skip
    assert lines_of(text, 2)[:2] == ["v0: irecv from 1 tag world", "v1: irecv from 0 tag world"]
    gathered = program_text(tmp_path, [record("gatherv", [n], 1, 0, 0) for n in (4, 0, 6)])
    assert lines_of(gathered, 0) == ["v0: isend 4b to 1 tag world", "wait v0"]
    assert lines_of(gathered, 1)[-1] == "wait v0 v1"


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("name", ["gatherv", "scatterv", "allgatherv", "alltoallv"])
def test_every_message_of_blocks_is_sent_and_received(name: str, n: int) -> None:
    blocks = {
        "gatherv": [[10 * rank] for rank in range(n)],
        "scatterv": [[7 * k for k in range(n)] if rank == 1 else [] for rank in range(n)],
        "allgatherv": [[3 * k for k in range(n)]] * n,
        "alltoallv": [[rank * k for k in range(n)] for rank in range(n)],
    }[name]
    sent: list[tuple[int, int]] = []
    received: list[tuple[int, int]] = []
    n_bytes = 0
    for place in range(n):
        for receives, sends in messages_of(name, blocks, place, 1):
            sent += [(place, to) for to, _ in sends]
            received += [(source, place) for source in receives]
            n_bytes += sum(size for _, size in sends)
    assert sorted(sent) == sorted(received)
    whole = {
        "gatherv": 10 * sum(range(n)) - 10,
        "scatterv": 7 * sum(range(n)) - 7,
        # Each block passes all ranks but the last one round the ring.
        "allgatherv": 3 * sum(range(n)) * (n - 1),
        "alltoallv": sum(a * b for a in range(n) for b in range(n) if a != b),
    }[name]
    assert n_bytes == whole


def test_too_few_blocks_are_refused() -> None:
    with pytest.raises(InputError, match="alltoallv with 1 blocks at the rank at place 1"):
        messages_of("alltoallv", [(1, 2), (3,)], 0, 0)


def test_calls_of_several_threads_have_no_order(tmp_path: Path) -> None:
    path = write(tmp_path / "t", [b""] * 2, end=record("end", 3, 1000, 1000))
    with pytest.raises(InputError, match="6 calls of other threads"):
        program_of(read_trace(path))


# ---- iterations ---------------------------------------------------------------------------


def iterative(n_ranks: int, n: int) -> list[bytes]:
    """Setup with many barriers, then iterations of 1,000 ns: a ring, two sums, and a reduction."""
    bodies = []
    for rank in range(n_ranks):
        body = record("barrier", 0, 0, 0, 0, gap=1) * 30
        for k in range(n):
            body += record("allreduce", 8, 0, 0, 0, gap=300)
            body += ring(rank, n_ranks, 100, 2 * k + 1)
            body += record("allreduce", 8, 0, 0, 0, gap=90)
            body += record("reduce", 40, 0, 0, 0, gap=100)
        bodies.append(body)
    return bodies


def test_iterations_begin_at_the_call_that_divides_the_run_evenly(tmp_path: Path) -> None:
    trace = read_trace(write(tmp_path / "t", iterative(3, 20)))
    found = iterations_of(trace)
    assert (found.name, found.n) == ("reduce:40B", 19)
    assert found.seconds == pytest.approx([1000e-9] * 19)
    by_sum = iterations_of(trace, "allreduce:8*2")
    assert (by_sum.name, by_sum.n) == ("allreduce:8B*2", 19)
    text = program_of(trace, marks=by_sum.marks).text
    assert lines_of(text, 0).count("mark") == 20
    at = lines_of(text, 2).index("mark")
    assert lines_of(text, 2)[at + 1] == "allreduce 8b"


def test_without_a_collective_of_all_messages_to_one_partner_divide(tmp_path: Path) -> None:
    bodies = [b"".join(ring(rank, 3, 10, 2 * k + 1) for k in range(8)) for rank in range(3)]
    found = iterations_of(read_trace(write(tmp_path / "t", bodies)))
    assert (found.name, found.n) == ("messages to one partner", 7)
    few = iterations_of(read_trace(write(tmp_path / "few", [ring(r, 3, 9, 1) for r in range(3)])))
    assert (few.name, few.n, few.marks) == ("", 0, ((), (), ()))


@pytest.mark.parametrize(
    ("wanted", "what"),
    [
        ("send", "iteration 'send' names no collective"),
        ("allreduce:", "iteration 'allreduce:' names no collective"),
        ("allreduce:x", "'x'"),
        ("allreduce*0", r"\*0 is out of range"),
        ("allreduce:16", "0 calls of all ranks"),
        ("allreduce*99", "1 call of all ranks"),
    ],
)
def test_an_iteration_that_never_begins_is_refused(tmp_path: Path, wanted: str, what: str) -> None:
    trace = read_trace(write(tmp_path / "t", iterative(2, 5)))
    with pytest.raises(InputError, match=what):
        iterations_of(trace, wanted)
