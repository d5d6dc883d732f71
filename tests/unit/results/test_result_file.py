"""A file is read whatever is around its tables; one that cannot be read says why."""

import gzip
import os
from pathlib import Path

import pytest

from weft.core.errors import InputError
from weft.results.result_file import content_of, read_results, read_results_text

FIXTURES = Path(__file__).parents[2] / "fixtures" / "results"
TABLE = b"# OSU MPI Latency Test v7.5\n# Size       Avg Latency(us)\n8      1.25\n16     1.35\n"


def message(data: bytes) -> str:
    with pytest.raises(InputError) as caught:
        read_results_text(data, "log.txt")
    return str(caught.value)


def test_several_tools_in_one_file_come_in_their_order() -> None:
    parts = ["imb/imb_2021.11_excerpts.txt", "osu/omb_7.4_run.txt", "mpi4py/pingpong_4.1.2.txt"]
    content = b"".join((FIXTURES / part).read_bytes() for part in parts)
    results = read_results_text(content, "all.txt")
    tools = [table.tool for table in results.tables]
    assert tools == ["imb"] * 4 + ["osu"] * 5 + ["mpi4py"]
    firsts = [table.first_line for table in results.tables]
    assert firsts == sorted(firsts)
    assert results.n_unread == 0


def test_a_packed_file_reads_like_the_plain_one(tmp_path: Path) -> None:
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(TABLE))
    assert read_results(path).tables == read_results_text(TABLE, "x").tables


def test_a_damaged_packed_file_is_said_to_be_damaged(tmp_path: Path) -> None:
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(TABLE)[:10] + b"\xff" * 40)
    with pytest.raises(InputError, match=r"log\.gz: a damaged gzip file"):
        read_results(path)


def test_a_packed_file_that_was_cut_gives_what_it_has(tmp_path: Path) -> None:
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(TABLE * 2000)[:-40])
    assert read_results(path).tables


def test_a_packed_file_that_unpacks_to_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weft.results.result_file.MOST_UNPACKED_BYTES", 1024)
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(b"0" * 100_000))
    with pytest.raises(InputError, match="unpacks to more than 1 KiB"):
        read_results(path)


def test_a_missing_file_and_a_directory(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_results(tmp_path / "nothing")
    with pytest.raises(InputError, match="cannot be read: it is a directory"):
        read_results(tmp_path)


def test_an_empty_file_says_what_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "empty"
    path.touch()
    with pytest.raises(InputError, match=r"empty: the file is empty[\s\S]*osu"):
        read_results(path)
    assert "the file is empty" in message(b"")


def test_a_binary_file_is_called_one() -> None:
    text = message(b"\x7fELF\x02\x01\x01\x00\x00")
    assert "this is a binary file (a zero byte at 7)" in text
    assert "byte order mark" in text


def test_a_stray_zero_byte_far_down_costs_nothing() -> None:
    filler = b"srun: job 4242 queued\n" * 1000
    results = read_results_text(filler + b"\x00\x00" + TABLE, "x")
    assert [len(table.rows) for table in results.tables] == [2]


def test_without_a_table_the_first_lines_and_the_tools_are_named() -> None:
    text = message(b"Hello\nthis is a shopping list\n")
    assert "log.txt: no table of a known tool in these 2 lines" in text
    assert "line 1: Hello" in text
    assert "the output of one of: " in text
    assert "imb" in text


def test_rows_without_header_are_reported_to_miss_it() -> None:
    assert "there are rows of numbers but no header" in message(b"8   1.25\n16   1.35\n")


def test_rows_that_were_all_refused_are_shown_with_their_reasons() -> None:
    text = message(b"# OSU MPI Latency Test v7.5\n# Size   Latency (us)\n8   1,25\n")
    assert "refused are line 3: 8   1,25 (not a row of this table: a number has a dec" in text


def test_a_log_alone_is_reported_to_be_one() -> None:
    assert "every line is a log line" in message(b"srun: job 1 queued\n" * 3)


def test_a_title_without_rows_is_no_table() -> None:
    assert "no table of a known tool" in message(b"# OSU MPI Latency Test v7.5\n")


def test_lines_outside_tables_are_reported_by_number() -> None:
    results = read_results_text(b"Job 42 on n7\n=======\n" + TABLE, "x")
    [line] = results.unread
    assert (line.line, line.text, line.reason) == (1, "Job 42 on n7", "no table begins here")
    assert (results.n_lines, results.n_noise) == (6, 1)


def test_a_line_cut_at_the_end_of_the_file_is_reported() -> None:
    results = read_results_text(TABLE + b"32     1.4", "x")
    assert [row.size_bytes for row in results.tables[0].rows] == [8, 16]
    assert [line.reason for line in results.unread] == ["the file ends within this line"]


def test_a_json_document_among_lines_keeps_the_numbers_of_the_file() -> None:
    document = (FIXTURES / "clusterkit" / "links.json").read_bytes()
    alone = read_results_text(document, "x")
    mixed = read_results_text(b"Job 42 on n7\n" + document + b"\n" + TABLE, "x")
    assert [table.tool for table in mixed.tables] == ["clusterkit", "osu"]
    shifted = [row.line - 1 for row in mixed.tables[0].rows]
    assert shifted == [row.line for row in alone.tables[0].rows]
    assert mixed.n_unread == 1


@pytest.mark.parametrize("prefix", [b"[1,0]<stdout>:", b"0: ", b"pod-3: "])
def test_a_json_document_is_read_behind_a_launchers_prefix(prefix: bytes) -> None:
    document = (FIXTURES / "clusterkit" / "links.json").read_bytes()
    prefixed = b"".join(prefix + line for line in document.splitlines(keepends=True))
    results = read_results_text(b"srun: job 1 queued\n" + prefixed, "x")
    alone = read_results_text(document, "x")
    assert [row.metrics for row in results.tables[0].rows] == [
        row.metrics for row in alone.tables[0].rows
    ]
    assert results.tables[0].rows[0].line == alone.tables[0].rows[0].line + 1
    assert results.n_unread == 0


def test_what_the_nccl_log_says_stands_with_the_tables_of_nccl_tests() -> None:
    log = b"n7:42:50 [0] NCCL INFO Using network Socket\n"
    table = (
        b"# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 5 iters: 20\n"
        b"#       size         count      type   redop    root     time   algbw   busbw #wrong"
        b"     time   algbw   busbw #wrong\n"
        b"           8             2     float     sum      -1    32.36    0.00    0.00      0"
        b"    32.45    0.00    0.00      0\n"
    )
    [found] = read_results_text(log + table, "x").tables
    assert found.conditions["network"] == "Socket"


def test_results_become_plain_json_values() -> None:
    record = read_results_text(TABLE, "x").to_record()
    assert record["schema"] == "weft.results/1"
    assert record["tables"][0]["rows"][0]["metrics"] == {"latency_us": 1.25}


def test_all_members_of_a_packed_file_are_read(tmp_path: Path) -> None:
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(TABLE) + gzip.compress(TABLE))
    found = read_results(path)
    assert [table.first_line for table in found.tables] == [1, 5]
    assert found.remarks == ()


def test_a_packed_file_that_was_cut_or_goes_on_otherwise_says_so(tmp_path: Path) -> None:
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(TABLE * 2000)[:-40])
    [cut] = read_results(path).remarks
    assert "cut short" in cut
    path.write_bytes(gzip.compress(TABLE) + b"more")
    [more] = read_results(path).remarks
    assert "not read: 4" in more
    path.write_bytes(gzip.compress(TABLE) + b"\0" * 512)
    assert read_results(path).remarks == ()


def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(InputError, match="cannot be read: it is a pipe"):
        read_results(path)


def test_a_file_that_is_shortened_while_it_is_read_stays_whole(tmp_path: Path) -> None:
    path = tmp_path / "osu.txt"
    path.write_bytes(TABLE * 1000)
    with path.open("rb") as file:
        content = content_of(file, str(path))
        os.truncate(path, 0)
        assert content[:] == TABLE * 1000
