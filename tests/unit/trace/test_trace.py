"""Traces read: whole, cut, packed, damaged."""

from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.trace.trace_files import header, number, record, ring, world, write

from weft.core.errors import InputError, WeftError
from weft.trace.rank_trace import read_rank_trace
from weft.trace.recording import Recording, command_of, pack, write_recording
from weft.trace.trace import read_trace


def two_ranks(folder: Path) -> Path:
    return write(
        folder,
        [
            record("send", 2, 100, 8, 0, gap=70, time=30) + record("barrier", 0, 0, 0, 0, gap=100),
            record("recv", 1, 100, 8, 0, time=100) + record("barrier", 0, 0, 0, 0, time=300),
        ],
    )


def test_calls_have_their_times_sizes_and_partners(tmp_path: Path) -> None:
    trace = read_trace(two_ranks(tmp_path / "t"))
    send, barrier = trace.ranks[0].calls
    assert (send.name, send.gap_ns, send.time_ns) == ("send", 70, 30)
    assert (send.of("peer") - 1, send.of("bytes"), send.of("tag") - 1) == (1, 100, 7)
    assert barrier.gap_ns == 100
    assert (trace.n_messages, trace.message_bytes) == (1, 100)
    assert dict(trace.calls) == {"send": 1, "recv": 1, "barrier": 2}
    assert trace.tasks_by_host == {"h0": 1, "h1": 1}
    assert trace.caveats() == []
    # 170 of 200 ns of one rank, none of 400 of the other.
    assert trace.computing_share == pytest.approx(170 / 600)
    assert trace.seconds == pytest.approx(400e-9)


def test_the_rate_of_the_counter_is_that_of_the_whole_run(tmp_path: Path) -> None:
    end = record("end", 0, 1050, 1000)
    path = write(tmp_path / "t", [record("barrier", 0, 0, 0, 0, gap=100)], end=end)
    assert read_trace(path).ranks[0].calls[0].gap_ns == pytest.approx(105)
    # A last record that cannot be the end of the same clock changes nothing.
    other = write(tmp_path / "o", [record("barrier", 0, 0, 0, 0, gap=100)],
                  end=record("end", 0, 9000, 1000))  # fmt: skip
    assert read_trace(other).ranks[0].calls[0].gap_ns == 100


def test_large_numbers_are_whole(tmp_path: Path) -> None:
    path = tmp_path / "rank-00000.trace"
    gap = 2**40 + 3
    path.write_bytes(header(0, 1) + world(1) + record("barrier", 2**63, 0, 0, 0, gap=gap))
    (call,) = read_rank_trace(path).calls
    assert (call.gap_ns, call.of("bytes")) == (gap, 2**63)


@pytest.mark.parametrize("n_cut", range(1, 40))
def test_a_trace_that_was_cut_is_read_to_its_last_whole_call(tmp_path: Path, n_cut: int) -> None:
    body = world(1) + record("send", 1, 300, 1, 0) * 3 + record("wait", [5, 0, 0, 600, 1, 300])
    whole = header(0, 1) + body
    n_cut = min(n_cut, len(body) - len(world(1)))
    for end in (b"", bytes(4096)):
        path = tmp_path / "rank-00000.trace"
        path.write_bytes(whole[: len(whole) - n_cut] + end)
        found = read_rank_trace(path)
        assert not found.is_whole
        names = [call.name for call in found.calls]
        assert names == (["send"] * 3 + ["wait"])[: len(names)]
    assert any("read to the last call" in one for one in read_trace(tmp_path).caveats())


def test_packed_traces_say_the_same_and_are_smaller(tmp_path: Path) -> None:
    path = write(tmp_path / "t", [ring(rank, 3, 1000, 1) * 50 for rank in range(3)])
    before = read_trace(path)
    n_bytes = sum(one.stat().st_size for one in path.iterdir())
    assert pack(path) == 3
    assert sorted(one.name for one in path.iterdir()) == [
        f"rank-0000{rank}.trace.zst" for rank in range(3)
    ]
    assert sum(one.stat().st_size for one in path.iterdir()) < n_bytes
    after = read_trace(path)
    assert [rank.calls for rank in after.ranks] == [rank.calls for rank in before.ranks]
    assert pack(path) == 3


def test_more_ranks_than_cpus_are_said(tmp_path: Path) -> None:
    """They wait for one another, which looks like computing."""
    for rank in range(3):
        whole = header(rank, 3, host="h", n_cpus=2) + world(3) + record("end", 0, 1000, 1000)
        (tmp_path / f"rank-{rank:05d}.trace").write_bytes(whole)
    assert read_trace(tmp_path).caveats() == [
        "3 ranks on 2 CPUs of h: computing includes the time that ranks waited for one"
    ]


def test_the_command_is_kept_beside_it(tmp_path: Path) -> None:
    assert command_of(tmp_path) == ""
    write_recording(tmp_path, Recording("mpirun ./app", 0, 1.0, 2.0, "MPICH 4.0.2", "0.1.0"))
    assert command_of(tmp_path) == "mpirun ./app"
    for text in ("[]", "{}", "{", '{"command": 3}'):
        (tmp_path / "recording.json").write_text(text)
        with pytest.raises(InputError, match=r"recording\.json"):
            command_of(tmp_path)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "has no first line"),
        (b"{}\n", "is not of schema"),
        (b"\xff\n", "is no JSON"),
        (header(0, 1, rank=-1), "is of rank -1 of 1"),
        (header(0, 1, rank=True), "has no 'rank'"),
        (header(0, 1, ns_a_tick=0), "has no 'ns_a_tick'"),
        (header(0, 1, calls=[["send", "speed"]]), "has numbers 'speed' of call 'send'"),
        (header(0, 1, calls=["send"]), "no pairs"),
        (header(0, 1) + number(99) * 3, "has call 99 of"),
        (header(0, 1) + b"\xff" * 11 + b"\x01", "has a number of 12 bytes"),
        (header(0, 1) + record("group", 0, [9]), "has a group of ranks beyond 1"),
        (header(0, 1) + world(1) + record("send", 5, 1, 1, 0), "has rank 4 of 1"),
        (header(0, 1) + record("barrier", 0, 0, 3, 0), "has no group 3"),
    ],
)
def test_what_is_no_trace_is_refused_by_name(tmp_path: Path, content: bytes, what: str) -> None:
    (tmp_path / "rank-00000.trace").write_bytes(content)
    with pytest.raises(InputError, match=what):
        read_trace(tmp_path)
    packed = tmp_path / "p"
    packed.mkdir()
    (packed / "rank-00000.trace.zst").write_bytes(zstandard.compress(content))
    with pytest.raises(InputError, match=what):
        read_trace(packed)


def test_a_directory_without_a_whole_set_of_ranks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no trace of a rank"):
        read_trace(tmp_path)
    with pytest.raises(InputError, match="cannot be read"):
        read_trace(tmp_path / "absent")
    path = two_ranks(tmp_path / "t")
    first, second = path / "rank-00000.trace", path / "rank-00001.trace"
    kept = second.read_bytes()
    second.unlink()
    with pytest.raises(InputError, match="1 rank of 2 without a trace: first rank 1"):
        read_trace(path)
    second.write_bytes(first.read_bytes())
    with pytest.raises(InputError, match="it says rank 0 of 2"):
        read_trace(path)
    second.write_bytes(kept)
    (path / "rank-00001.trace.zst").write_bytes(b"no frame of zstd")
    with pytest.raises(InputError, match="rank 1 is there twice"):
        read_trace(path)
    second.unlink()
    with pytest.raises(InputError, match="does not unpack"):
        read_trace(path)


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_damaged_traces_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("damaged")
    whole = bytearray(header(0, 2) + world(2) + ring(0, 2, 1000, 1) * 3)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(whole) - 1))
        match data.draw(st.sampled_from(["flip", "cut", "twice"])):
            case "flip":
                whole[at] = data.draw(st.integers(0, 255))
            case "cut":
                del whole[at : at + data.draw(st.integers(1, 5))]
            case _:
                whole[at:at] = whole[at : at + 5]
        if not whole:
            break
    path = folder / "rank-00000.trace"
    path.write_bytes(bytes(whole))
    error, found = None, None
    try:
        found = read_rank_trace(path)
    except WeftError as refused:
        error = refused
    assert (found is None) == (str(path) in str(error))
    assert found is None or all(call.gap_ns >= 0 for call in found.calls)
