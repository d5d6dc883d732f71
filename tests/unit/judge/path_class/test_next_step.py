"""The next command: it names a link that the rows do not exclude, or asks for the hosts."""

import shlex

import pytest

from weft.catalog.machine.generic import Hardware
from weft.judge.judge import judge_results
from weft.judge.path_class.evidence import evidence_of
from weft.judge.path_class.fit import fit_of
from weft.judge.path_class.next_step import next_step
from weft.results.model import ResultFile, Row, Table

FLAT = (16, 18, 20, 22)


def latency(*rows: tuple[int, float]) -> Table:
    read = tuple(Row(i, size, {"latency_us": us}) for i, (size, us) in enumerate(rows, 1))
    return Table("osu", "osu_latency", "latency", read, 1, n_ranks=2, memory="host")


def stream(mb_s: float, tool: str = "osu") -> Table:
    read = tuple(Row(i, 1 << i, {"bandwidth_mb_s": mb_s}) for i in FLAT)
    return Table(tool, "t_bw", "bandwidth", read, 1, n_ranks=2, memory="host")


def step(*tables: Table) -> str:
    evidence = evidence_of(tables)
    return next_step("f.txt", evidence, fit_of(evidence))


def test_two_links_are_named_as_two() -> None:
    assert step(latency((0, 19.0)), stream(233.0)).endswith("--link tcp-1gbe --rails 2")


def test_where_no_link_fits_the_next_faster_one_is_named() -> None:
    assert step(latency((0, 1.8)), stream(9_500.0)).endswith("--link edr")


def test_without_a_rate_the_hosts_are_asked_for() -> None:
    assert step(latency((0, 2.2), (8, 2.3))).endswith("--nodes 2")
    assert step(latency((0, 0.2), (8, 0.2))).endswith("--nodes 1")


@pytest.mark.parametrize("mb_s", [11_566.0, 6_326.0, 45_433.0, 2_841.0, 12_240.0])
def test_a_link_that_is_called_filled_is_not_low_against_itself(mb_s: float) -> None:
    """The next command of a good answer is no accusation: 90 % fill a link."""
    tables = (stream(mb_s, tool="perftest"),)
    words = shlex.split(step(*tables))
    link = words[words.index("--link") + 1]
    judged = judge_results(ResultFile("f.txt", tables), hardware=Hardware(link=link))
    assert not judged.is_bad


def test_one_pair_over_efa_is_not_low_at_half_the_rate() -> None:
    judged = judge_results(ResultFile("f", (stream(6_900.0),)), hardware=Hardware(link="efa-100"))
    assert not judged.is_bad
    judged = judge_results(ResultFile("f", (stream(3_000.0),)), hardware=Hardware(link="efa-100"))
    assert judged.is_bad


def test_messages_inside_one_host_exceed_no_link() -> None:
    """0.26 us cross no network: the rate is no link's."""
    rows = latency((0, 0.26), (8, 0.3), (1 << 20, 70.0), (1 << 22, 280.0))
    judged = judge_results(ResultFile("f", (rows,)), hardware=Hardware(link="edr"))
    assert not judged.is_bad
