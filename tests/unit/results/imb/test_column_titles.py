import pytest

from weft.results.model import Table
from weft.results.result_file import read_results_text

TIMES = "#bytes #repetitions t_min[usec] t_max[usec] t_avg[usec]"


def tables_of(text: str) -> tuple[Table, ...]:
    return read_results_text(text.encode(), "x").tables


def test_a_header_of_one_time_and_a_rate_is_pingpongs() -> None:
    [table] = tables_of("#bytes #repetitions      t[usec]   Mbytes/sec\n1024 1000 0.63 1625.40\n")
    assert (table.test, table.benchmark, table.n_ranks) == ("PingPong", "latency", 2)
    assert table.conditions["test_could_be"] == "PingPing"
    assert table.conditions["directions"] == "1"


@pytest.mark.parametrize(
    ("rate", "test"), [("13107.20", "Sendrecv"), ("26214.40", "Exchange"), ("5000.00", "")]
)
def test_how_often_the_rate_counts_the_message_tells_sendrecv_from_exchange(
    rate: str, test: str
) -> None:
    [table] = tables_of(f"{TIMES} Mbytes/sec\n65536 640 10.00 10.00 10.00 {rate}\n")
    assert table.test == test


def test_times_alone_are_of_any_collective() -> None:
    [table] = tables_of(f"{TIMES}\n8 1000 1.00 3.00 2.00\n")
    assert (table.test, table.benchmark) == ("", "")
    assert table.conditions["test_could_be"] == "a collective"


def test_a_rate_of_messages_is_of_one_direction_or_both() -> None:
    [table] = tables_of("#bytes #repetitions   Mbytes/sec      Msg/sec\n1024 1000 10.24 10000\n")
    assert (table.test, table.benchmark) == ("", "message_rate")
    assert table.conditions["test_could_be"] == "Uniband, Biband"
    assert "directions" not in table.conditions


def test_a_second_header_of_other_columns_is_of_another_test() -> None:
    first, second = tables_of(
        f"# Benchmarking PingPong\n#bytes #repetitions t[usec] Mbytes/sec\n8 1000 1.00 8.00\n"
        f"{TIMES}\n8 1000 1.00 3.00 2.00\n"
    )
    assert (first.test, second.test) == ("PingPong", "")


def test_more_processes_begin_a_table_of_their_own() -> None:
    tables = tables_of(
        f"# Benchmarking Allreduce\n# #processes = 2\n{TIMES}\n8 1000 1.00 1.00 1.00\n"
        f"# #processes = 4\n{TIMES}\n8 1000 2.00 2.00 2.00\n"
    )
    assert [(table.test, table.n_ranks) for table in tables] == [("Allreduce", 2), ("Allreduce", 4)]
    assert [len(table.rows) for table in tables] == [1, 1]
