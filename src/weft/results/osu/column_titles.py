"""Tables of the OSU micro-benchmarks whose title was lost: what their columns say of the test."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from weft.results.lines.columns import Column
from weft.results.lines.cursor import Line
from weft.results.model import Table
from weft.results.osu.columns import RUN_MARK
from weft.results.osu.titles import Title, title_of

TEST_FROM, COULD_BE = "test_from", "test_could_be"
"""Conditions: why a table is taken for a test, and the other tests that print such columns."""
_PROGRAM = re.compile(r"(?<![\w-])osu_(\w{1,40})(?!\S*/)")
_WORDS = {"bw": "bandwidth", "bibw": "bidirectional bandwidth", "latency": "latency"}

_COLLECTIVE = "a collective"
_OVERLAPPED = frozenset({"overall_us", "compute_us", "pure_comm_us", "overlap_percent"})
_SPREAD = frozenset({"latency_us_min", "latency_us_max"})


def title_of_columns(columns: Sequence[Column], *, is_one_sided: bool) -> Title:
    """The title that these columns stand under, as far as they say; `is_one_sided`: the lines above
    them name a window of one-sided communication. SOURCE: OSU micro-benchmarks
    5.6 and 7.5, util/osu_util.c and the headers that each test prints."""
    named = {c.metric.partition(RUN_MARK)[0]: c.name for c in columns if c.part == "metric"}
    metrics = named.keys()
    if metrics & _OVERLAPPED:
        return _title("", "", blocking="no", test_could_be="a non-blocking collective")
    if is_one_sided:
        benchmark = "bandwidth" if "bandwidth_mb_s" in metrics else "latency"
        return _title("", benchmark, op="one_sided", test_could_be="a put, get or accumulate test")
    if {"bandwidth_mb_s", "latency_us"} <= metrics:
        return _title("", "")
    if "bandwidth_mb_s" in metrics:
        return _of_bandwidth(named)
    return _of_latency(named, has_size=columns[0].part == "size")


def with_programs(tables: Iterable[Table], launches: Sequence[Line]) -> list[Table]:
    """The tables; those whose columns are of several tests, with the one that the last launch line
    above them starts."""
    return [
        _with_program(table, launches) if COULD_BE in table.conditions else table
        for table in tables
    ]


def _with_program(table: Table, launches: Sequence[Line]) -> Table:
    above = [line.text for line in launches if line.number < table.first_line]
    title = title_of_program(program_of(above[-1])) if table.tool == "osu" and above else None
    if title is None:
        return table
    kept = {k: v for k, v in table.conditions.items() if k not in (COULD_BE, "directions")}
    conditions = {**title.conditions, **kept, TEST_FROM: "the launch line; the title is missing"}
    return replace(table, test=title.test, benchmark=title.benchmark, conditions=conditions)


def program_of(text: str) -> str:
    """The program that a launch line starts, without `osu_`; "" where it names none."""
    program = _PROGRAM.search(text)
    return program[1] if program else ""


def title_of_program(name: str) -> Title | None:
    """The title that a program prints, where weft knows what it measures."""
    if not name:
        return None
    words = name
    for suffix, word in _WORDS.items():
        if name == suffix or name.endswith(f"_{suffix}"):
            words = f"{name.removesuffix(suffix).rstrip('_')} {word}"
            break
    title = title_of(f"# OSU MPI {words} Test")
    is_known = title is not None and title.test == f"osu_{name}" and title.benchmark
    return title if is_known else None


def _of_bandwidth(named: Mapping[str, str]) -> Title:
    if "msg_rate_mps" in named:
        return _title("osu_mbw_mr", "message_rate", directions="1")
    if named["bandwidth_mb_s"].lower().startswith("bi"):
        return _title("osu_bibw", "bidirectional", directions="2")
    return _title("osu_bw", "bandwidth", directions="1", test_could_be="osu_bibw")


def _of_latency(named: Mapping[str, str], *, has_size: bool) -> Title:
    name = named.get("latency_us", "").lower()
    if named.keys() & _SPREAD or not has_size:
        return _title("", "", test_could_be=_COLLECTIVE)
    if name.startswith("latency"):
        return _title("osu_latency", "latency")
    return _title("", "", test_could_be=f"osu_latency, {_COLLECTIVE}") if name else _title("", "")


def _title(test: str, benchmark: str, **conditions: str) -> Title:
    why = {TEST_FROM: "the names of the columns; the title is missing"} if test else {}
    return Title(test or "osu", benchmark, "", "", conditions | why)
