"""What stands before, between and inside lines of a log is taken away, and nothing else."""

import pytest

from weft.results.lines.clean import Cleaner, plain


def opens(text: str) -> bool:
    return text.startswith("# Table")


def cleaned(content: str | bytes) -> list[str]:
    data = content if isinstance(content, bytes) else content.encode()
    return [line.text for line in Cleaner(plain(data), opens).lines()]


@pytest.mark.parametrize(
    "prefix",
    [
        "[1,0]<stdout>:",
        "[1,12]<stderr>: ",
        "[prterun-node7-4242@1,0]<stdout>: ",
        "[1,0]:",
        "[pod/nccl-worker-0/main] ",
        "2024-05-01T12:00:00.123456789Z ",
        "2024-05-01T12:00:00+02:00 ",
        "[2024-05-01 12:00:00] ",
        "2024-05-01 12:00:00,123 ",
        "May  1 12:00:00 node17 slurmstepd[4242]: ",
        "2024-05-01T12:00:00Z [1,0]<stdout>:",
    ],
)
def test_what_can_only_be_a_prefix_is_taken_away(prefix: str) -> None:
    assert cleaned(f"{prefix}8   1.25\n") == ["8   1.25"]


@pytest.mark.parametrize(
    "prefix", ["0: ", " 3: ", "[0] ", "nccl-worker-0: ", "worker-1  | ", "[worker-1] ", "> > "]
)
def test_what_may_be_a_prefix_is_one_once_a_table_began_behind_it(prefix: str) -> None:
    assert cleaned(f"{prefix}8   1.25\n{prefix}# Table\n{prefix}8   1.25\n") == [
        f"{prefix}8   1.25",
        "# Table",
        "8   1.25",
    ]


@pytest.mark.parametrize("prefix", ["[1,0]<stdout>:", "[pod/a/b] ", "2024-05-01T12:00:00Z "])
def test_a_prefix_before_nothing_is_a_blank_line(prefix: str) -> None:
    assert cleaned(f"{prefix}\nb\n") == ["b"]


def test_ranks_of_one_form_of_label_are_all_labelled() -> None:
    assert cleaned("0: # Table\n1: hello\n0: 8 1.25\n") == ["# Table", "hello", "8 1.25"]


def test_a_word_before_a_colon_stays_where_no_table_began_behind_it() -> None:
    assert cleaned("0: # Table\nnprocs: 2, min: 1 ms\n") == ["# Table", "nprocs: 2, min: 1 ms"]


def test_a_row_that_begins_like_a_label_keeps_it() -> None:
    row = "  5:       8 bytes  74728 times -->    171.15 Mbps in       0.36 usec"
    assert cleaned(f"# Table\n{row}\n") == ["# Table", row]


def test_colours_and_titles_of_a_terminal_go() -> None:
    assert cleaned("\x1b[1;32m8\x1b[0m   \x1b[K1.25\x1b]0;title\x07\n") == ["8   1.25"]


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        ("a\r\nb\r\n", ["a", "b"]),
        ("a\rb\rc", ["a", "b", "c"]),
        ("10 %\r50 %\r8   1.25\r\n", ["8   1.25"]),
        ("8   1.25\r   \nb\n", ["8   1.25", "b"]),
    ],
)
def test_carriage_returns_end_lines_or_overwrite_them(content: str, lines: list[str]) -> None:
    assert cleaned(content) == lines


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_any_encoding(encoding: str) -> None:
    assert cleaned("1.5 ± 0.1 µs\n".encode(encoding)) == ["1.5 ± 0.1 µs"]


@pytest.mark.parametrize("mark", ["utf-16-le", "utf-16-be"])
def test_both_orders_of_utf_16(mark: str) -> None:
    assert cleaned("\ufeffa\nb\n".encode(mark)) == ["a", "b"]


@pytest.mark.parametrize(
    "line",
    [
        "node7:4242:4250 [0] NCCL INFO Using network IB",
        "[2024-05-01 12:00:00] node7:4242:4250 [0] NCCL WARN Call to connect returned",
        "[2026-11-28 20:57:40] node7:4242:4250 [0] plugin/net.cc:229 (a) NCCL ATTN Failed",
        "[1,3]<stdout>:node7:4242:4250 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1]",
        "[1714564800.123456] [node7:4242 :0]  ucp_context.c:1042 UCX  WARN  no devices",
        "[node7:04242] PMIX ERROR: ERROR in file gds_ds12_lock_pthread.c at line 169",
        "[node7:04242] mca_base_component_repository_open: unable to open mca_btl_openib",
        "[0,1,1][btl_openib_endpoint.c:756:mca_btl_openib_endpoint_send] Connection",
        "[node7][[12785,1],1][connect/btl_openib_connect_oob.c:313:qp_connect_all] x",
        "[0] MPI startup(): Intel(R) MPI Library, Version 2021.2",
        "libfabric:4242:1714564800::cxi:mr:cxip_mr_init():12<info> x",
        "/opt/osu/osu_bw: /lib/libnl-3.so.200: no version information available (required by x)",
        "Conflicting CPU frequency values detected: 2400.000000 != 1873.463000.",
        "+ mpirun -n 2 ./osu_bw",
        "++ hostname",
        "srun: job 4242 queued and waiting for resources",
        "slurmstepd: error: *** STEP 4242.0 ON node7 CANCELLED ***",
        "Loading openmpi/5.0.3",
        "Currently Loaded Modulefiles:",
        "NCCL version 2.21.5+cuda12.4",
        "Warning: Permanently added '10.0.0.4' (ED25519) to the list of known hosts.",
    ],
)
def test_noise_is_counted_not_shown(line: str) -> None:
    cleaner = Cleaner(plain(f"a\n{line}\nb\n".encode()), opens)
    assert [(seen.number, seen.text) for seen in cleaner.lines()] == [(1, "a"), (3, "b")]
    assert (cleaner.n_lines, cleaner.n_noise) == (3, 1)


def test_a_message_of_open_mpi_between_its_rules_is_noise() -> None:
    rule = "-" * 74
    text = f"a\n{rule}\nNo OpenFabrics connection schemes\n\n  Local host: n7\n{rule}\nb\n"
    cleaner = Cleaner(plain(text.encode()), opens)
    assert [line.text for line in cleaner.lines()] == ["a", "b"]
    assert cleaner.n_noise == 4


def test_a_rule_without_its_pair_swallows_nothing() -> None:
    rule = "-" * 74
    assert cleaned(f"a\n{rule}\nx\n# Table\n8 1.25\n") == ["a", rule, "x", "# Table", "8 1.25"]
    assert cleaned(f"a\n{rule}\nb\n") == ["a", rule, "b"]


def test_a_quoted_blank_line_is_blank() -> None:
    assert cleaned("> # Table\n>\n>>\n> 8   1.25\n") == ["# Table", "8   1.25"]


def test_marks_of_markdown_around_a_number_go() -> None:
    assert cleaned("8   **1.25**\n") == ["8   1.25"]
    assert cleaned("*******\n") == ["*******"]


def test_a_table_that_begins_behind_a_mark_within_the_line_is_found() -> None:
    assert cleaned("mpirun -np 2 x[1,0]<stdout>:# Table\n") == ["# Table"]
    assert cleaned("see [1,0]<stdout>:nothing\n") == ["see [1,0]<stdout>:nothing"]


def test_a_log_line_written_into_a_row_is_taken_out_of_it() -> None:
    text = (
        "   1048576   262144  float  sum  -1node7:42:50 [0] NCCL INFO Connected all rings\n"
        "node7:42:50 [1] NCCL INFO Connected all trees\n"
        "   76.26   13.75   25.78      0\n"
    )
    [line] = cleaned(text)
    assert " ".join(line.split()) == "1048576 262144 float sum -1 76.26 13.75 25.78 0"


def test_what_nccl_says_of_its_network_is_noted() -> None:
    cleaner = Cleaner(plain(b"n7:1:2 [0] NCCL INFO Using network Socket\n# Table\n"), opens)
    assert [line.text for line in cleaner.lines()] == ["# Table"]
    assert cleaner.facts["network"] == "Socket"


@pytest.mark.parametrize(
    ("before", "last"),
    [
        ("8   12.25", "16   46417.5"),
        ("8   12.25", "16   464"),
        ("8   12.25   Pass", "16   13.25   Pa"),
        ("8   12.25   1000", "16   13.25   10"),
    ],
)
def test_a_last_line_that_was_cut_is_left_out(before: str, last: str) -> None:
    cleaner = Cleaner(plain(f"{before}\n{last}".encode()), opens)
    assert [line.text for line in cleaner.lines()] == [before]
    assert cleaner.cut is not None
    assert cleaner.cut.number == 2


def test_a_last_line_that_was_cut_before_somebody_ended_it_is_left_out() -> None:
    cleaner = Cleaner(plain(b"8   12.25\n16   13.2\n"), opens)
    assert [line.text for line in cleaner.lines()] == ["8   12.25"]
    assert cleaner.cut is not None
    assert cleaned("8   12.25   Pass\n16   13.2   Fail\n")[1:] == ["16   13.2   Fail"]


def test_a_whole_last_line_without_line_end_is_kept_and_marked() -> None:
    cleaner = Cleaner(plain(b"8   12.25\n16   13.25"), opens)
    assert [(line.text, line.ended) for line in cleaner.lines()] == [
        ("8   12.25", True),
        ("16   13.25", False),
    ]


def test_a_line_of_a_megabyte_is_cut_and_the_next_one_read() -> None:
    first, second = cleaned(b"1 " * 3_000_000 + b"\nb\n")
    assert len(first) < 300_000
    assert second == "b"


def test_lines_keep_their_numbers_over_many_blocks() -> None:
    content = b"node7:4242:4250 [0] NCCL INFO x\n" * 100_000 + b"8   1.25\n"
    [line] = Cleaner(content, opens).lines()
    assert line.number == 100_001
