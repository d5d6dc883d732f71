from pathlib import Path

from weft.bench.parse.model import ResultFile
from weft.bench.parse.read import read_results

FIXTURES = Path(__file__).parents[3] / "fixtures" / "results" / "osu"


def read(name: str) -> ResultFile:
    return read_results(FIXTURES / name)


def test_a_title_without_version_and_a_row_of_zero_bytes_are_read() -> None:
    results = read("kaneshiro_2014_latency.txt")
    [table] = results.tables
    assert (table.tool, table.test, table.benchmark) == ("osu", "osu_latency", "latency")
    assert table.version == ""
    assert len(table.rows) == 24
    assert (table.rows[0].size_bytes, table.rows[0].metrics) == (0, {"latency_us": 3.28})
    assert (table.rows[-1].size_bytes, table.rows[-1].line) == (4194304, 26)
    assert results.n_unread == 0


def test_a_header_with_single_blanks_is_read() -> None:
    [table] = read("kaneshiro_2014_bibw.txt").tables
    assert (table.test, table.benchmark) == ("osu_bibw", "bidirectional")
    assert table.conditions["directions"] == "2"
    assert table.rows[-1].metrics == {"bandwidth_mb_s": 7479.3}
