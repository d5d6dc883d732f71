import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.bench.live.kernel_records import parse_lines, read_kernel_output
from weft.core.errors import BenchmarkError

HEADER = {
    "record": "header",
    "schema": "weft.kernel/1",
    "kernel_version": "0.1.0",
    "mpi_library": "Open MPI v4.1.4",
    "mpi_standard": "3.1",
    "n_ranks": 2,
    "argv": [],
    "started_unix_ns": 1_700_000_000_000_000_000,
    "clock": "CLOCK_MONOTONIC",
    "clock_resolution_ns": 1,
}
RANK = {
    "record": "rank",
    "rank": 1,
    "host": "node2",
    "local_rank": 0,
    "tasks_per_node": 1,
    "pid": 77,
    "oversubscribed": False,
}
ROW = {
    "record": "row",
    "benchmark": "latency",
    "size_bytes": 8,
    "iterations": 3,
    "warmup": 1,
    "window": None,
    "sync": "barrier",
    "n_pairs": None,
    "times_ns": [2000, 2200, 2100],
    "skew_ns": None,
    "ranks_ns": [],
    "validated": False,
    "n_errors": 0,
}
END = {"record": "end", "elapsed_ns": 5}
WHOLE = [json.dumps(record) + "\n" for record in (HEADER, RANK, ROW, END)]


def test_all_records_are_read_in_their_places():
    output = parse_lines(WHOLE, "out")
    assert output.header is not None
    assert output.header.mpi_library == "Open MPI v4.1.4"
    assert output.host_of(1) == "node2"
    assert output.rows[0].times_ns == (2000, 2200, 2100)
    assert output.end is not None
    assert output.broken is None


@pytest.mark.parametrize(
    "prefix",
    ["[1,0]<stdout>:", "[0] ", "[0]", "0: ", "12: ", "\x1b[32m", "   ", "[1,0]<stdout>: \x1b[0m"],
)
def test_what_launchers_put_before_a_line_is_stripped(prefix: str):
    output = parse_lines([prefix + line for line in WHOLE], "out")
    assert (len(output.rows), output.end is not None) == (1, True)


NOISE = [
    "libibverbs: Warning: couldn't load driver 'libcxgb4-rdmav34.so'",
    "--------------------------------------------------------------------------",
    "WARNING: There was an error initializing an OpenFabrics device.",
    "{not a record at all",
    '{"level":"info","text":"JSON of somebody else"}',
    "[1,2,3]",
    '"text"',
    "\x1b[31mred\x1b[0m",
    "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES",
    "",
]


@pytest.mark.parametrize("noise", NOISE)
def test_other_lines_between_the_records_do_no_harm(noise: str):
    lines = [part for line in WHOLE for part in (noise + "\n", line)]
    output = parse_lines(lines, "out")
    assert (len(output.rows), len(output.ranks), output.broken) == (1, 1, None)
    assert output.n_noise_lines == (4 if noise else 0)


@given(st.lists(st.text(st.characters(exclude_characters="\n\r"), max_size=60)))
def test_no_text_makes_the_reader_fail(lines: list[str]):
    output = parse_lines([line + "\n" for line in lines], "out")
    assert output.header is None or output.header.schema_ == "weft.kernel/1"


@given(st.integers(min_value=0, max_value=sum(map(len, WHOLE)) - len(WHOLE[-1])))
def test_output_cut_anywhere_has_no_end(n: int):
    text = "".join(WHOLE)[:n]
    assert parse_lines(text.splitlines(keepends=True), "out").end is None


def test_a_record_cut_in_the_middle_is_named_with_its_line():
    output = parse_lines([WHOLE[0], WHOLE[2][:60] + "\n", WHOLE[3]], "raw/t1.out")
    assert output.broken == "raw/t1.out:2: a record that is cut or mixed with text"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("times_ns", []),
        ("times_ns", ["fast"]),
        ("size_bytes", "large"),
        ("benchmark", None),
    ],
)
def test_a_record_with_a_wrong_value_is_named_by_line_and_key(key: str, value: object):
    line = json.dumps(ROW | {key: value}) + "\n"
    output = parse_lines([WHOLE[0], line, WHOLE[3]], "out")
    assert output.broken is not None
    assert output.broken.startswith(f"out:2: '{key}")


def test_keys_and_records_of_a_newer_kernel_are_ignored():
    newer = [
        json.dumps(HEADER | {"colour": "blue"}) + "\n",
        json.dumps({"record": "weather", "wind": 3}) + "\n",
        *WHOLE[1:],
    ]
    output = parse_lines(newer, "out")
    assert (output.broken, output.end is not None) == (None, True)


def test_another_schema_is_an_error_that_names_both():
    lines = [json.dumps(HEADER | {"schema": "weft.kernel/9"}) + "\n"]
    with pytest.raises(BenchmarkError, match=r"the kernel speaks 'weft\.kernel/9'") as caught:
        parse_lines(lines, "out")
    assert caught.value.expected == "weft.kernel/1"


def test_what_was_last_heard_of_follows_the_records():
    heard = [parse_lines(WHOLE[:n], "out").last_record for n in range(4)]
    assert heard == [
        "nothing",
        "the kernel had started",
        "all 1 ranks had started",
        "latency at 8 B",
    ]


def test_bytes_that_are_no_text_are_read_past(tmp_path: Path):
    path = tmp_path / "out"
    path.write_bytes(b"\xff\xfe\x00garbage\n" + "".join(WHOLE).encode())
    assert read_kernel_output(path).end is not None
