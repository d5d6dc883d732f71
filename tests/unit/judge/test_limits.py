"""IMPOSSIBLE is never said of a row that the links carry, and always of one that they do not.

The ceiling is computed here from the documents' figures: data rate, headers of InfiniBand (26 bytes
around the largest packets), raw rate of the slot, adapters of a node, directions.
"""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.catalog import load
from weft.catalog.document import SourceClass
from weft.catalog.machine.generic import Hardware, generic_platform, link_names
from weft.catalog.machine.platform import Platform
from weft.judge.expectation.conditions import Given
from weft.judge.expectation.expected_value import predictor
from weft.judge.judge import judge_results
from weft.judge.model import FileJudgement, JudgedRow, RowState
from weft.judge.rows import judge_table
from weft.judge.rules import rules
from weft.results.model import Row, Table
from weft.results.result_file import read_results_text

SIZES = tuple(2**k for k in range(16, 25))
STATED = (SourceClass.SOURCED, SourceClass.PUBLISHED)


@dataclass(frozen=True, slots=True)
class Measured:
    """A test of some tool. `ways`: directions that its rate adds."""

    tool: str
    test: str
    benchmark: str
    ways: int = 1


RATES = (
    Measured("osu", "osu_bw", "bandwidth"),
    Measured("osu", "osu_bibw", "bidirectional", 2),
    Measured("osu", "osu_mbw_mr", "message_rate"),
    Measured("imb", "Uniband", "message_rate"),
    Measured("imb", "Biband", "message_rate", 2),
    Measured("perftest", "ib_write_bw", "bandwidth"),
    Measured("perftest", "ib_send_bw", "bidirectional", 2),
    Measured("netpipe", "NetPIPE", "bandwidth"),
)
TIMES = {
    # Bytes that one node gives out, in sizes, of N nodes with T ranks each.
    "latency": lambda n, t: 1.0,
    "sendrecv": lambda n, t: 1.0,
    "exchange": lambda n, t: 2.0,
    "allreduce": lambda n, t: 1.0,
    "allgather": lambda n, t: float((n - 1) * t),
    "alltoall": lambda n, t: float((n - 1) * t * t),
    "reduce_scatter": lambda n, t: (n - 1) / n,
}


@st.composite
def platforms(draw: st.DrawFn) -> Platform:
    """Machines of the catalogue with a link, and machines of which the link is named."""
    if draw(st.booleans()):
        names = [name for name in load.platform_names() if load.platform(name).links]
        return load.platform(draw(st.sampled_from(names)))
    hardware = Hardware(
        link=draw(st.sampled_from([*link_names(), "37 Gb/s"])),
        pcie=draw(st.sampled_from(["", "3x8", "4x16"])),
        rails=draw(st.sampled_from([None, 1, 2, 8])),
        mtu=draw(st.sampled_from([None, 1024, 9000])),
    )
    return generic_platform(hardware, load.platform)


def one_adapter_mb_s(place: Platform) -> float:
    """What one adapter carries in one direction; 0 where no source states the link."""
    assert place.links is not None
    link, slot, packets = place.links.host, place.node.get("hca_pcie"), place.packets
    rate = link.most or link.rate
    slow = [slot.value * 1e3] if slot is not None and slot.class_ in STATED else []
    if rate.class_ in STATED:
        mtu = packets.mtu.value if packets is not None else 4096.0
        if packets is not None and packets.mtu.class_ not in STATED:
            mtu = max(mtu, 4096.0)
        ethernet = packets is not None and packets.headers == "ethernet"
        share = 1.0 if ethernet else mtu / (mtu + 26)
        slow.append(max(link.rate.value, rate.value) / 8 * 1e3 * share)
    return min(slow, default=0.0)


def adapters(place: Platform, tool: str) -> int:
    return 1 if tool == "perftest" else max(1, place.hcas_per_node)


def judged(place: Platform, table: Table, nodes: int, tasks: int) -> tuple[JudgedRow, ...]:
    named = Given(n_nodes=nodes, tasks_per_node=tasks)
    return judge_table(table, named, place, predictor(place), rules()).rows


def states(rows: tuple[JudgedRow, ...]) -> set[RowState]:
    return {row.state for row in rows}


@given(
    platforms(), st.sampled_from(RATES), st.sampled_from([2, 3, 4, 8]), st.sampled_from([1, 2, 5])
)
def test_a_rate_at_the_ceiling_is_possible_and_three_per_cent_above_is_not(
    place: Platform, measured: Measured, nodes: int, tasks: int
) -> None:
    pairs = measured.benchmark == "message_rate"
    nodes, tasks = (nodes, tasks) if pairs else (2, 1)
    senders = -(-nodes // 2) if pairs else 1
    one = one_adapter_mb_s(place)
    most = one * adapters(place, measured.tool) * measured.ways * senders
    conditions = {"directions": str(measured.ways)}

    def at(factor: float) -> set[RowState]:
        rows = tuple(
            Row(i, size, {"bandwidth_mb_s": factor * (most or 1e6)}) for i, size in enumerate(SIZES)
        )
        table = Table(
            measured.tool,
            measured.test,
            measured.benchmark,
            rows,
            1,
            n_ranks=nodes * tasks,
            conditions=conditions,
        )
        return states(judged(place, table, nodes, tasks))

    assert RowState.IMPOSSIBLE not in at(1.0)
    assert (RowState.IMPOSSIBLE in at(1.03)) is (most > 0)


@given(
    platforms(),
    st.sampled_from(sorted(TIMES)),
    st.sampled_from([2, 3, 8]),
    st.sampled_from([1, 2, 5]),
)
def test_a_time_at_the_ceiling_is_possible_and_three_per_cent_below_is_not(
    place: Platform, benchmark: str, nodes: int, tasks: int
) -> None:
    nodes, tasks = (2, 1) if benchmark == "latency" else (nodes, tasks)
    one = one_adapter_mb_s(place) * adapters(place, "osu")
    share = TIMES[benchmark](nodes, tasks)

    def at(factor: float) -> set[RowState]:
        rows = tuple(
            Row(i, size, {"latency_us": factor * share * size / (one or 1e6)})
            for i, size in enumerate(SIZES)
        )
        table = Table("osu", f"osu_{benchmark}", benchmark, rows, 1, n_ranks=nodes * tasks)
        return states(judged(place, table, nodes, tasks))

    assert RowState.IMPOSSIBLE not in at(1.0)
    assert (RowState.IMPOSSIBLE in at(1 / 1.03)) is (one > 0)


@pytest.mark.parametrize("name", load.platform_names())
def test_nothing_that_was_published_of_a_machine_is_impossible(name: str) -> None:
    place = load.platform(name)
    for table in place.published:
        if table.metric not in ("latency_us", "bandwidth_mb_s"):
            continue
        rows = tuple(
            Row(i, size, {table.metric: value}) for i, (size, value) in enumerate(table.rows)
        )
        made = Table("osu", table.name, table.benchmark, rows, 1)
        nodes = 1 if "in-node" in table.name else 2
        found = judge_table(made, Given(n_nodes=nodes), place, predictor(place), rules()).rows
        assert RowState.IMPOSSIBLE not in states(found), table.name


def of_text(text: str, *, link: str = "hdr", **told: int) -> FileJudgement:
    return judge_results(
        read_results_text(text.encode(), "f.txt"), hardware=Hardware(link=link), **told
    )


HDR_MB_S = 25_000 * 4096 / 4122
"""HDR in one direction: 200 Gb/s, 26 bytes of headers around 4096."""


def osu_bibw(mb_s: float) -> str:
    rows = "\n".join(f"{size:<10}{mb_s:>22.2f}" for size in SIZES)
    return f"# OSU MPI Bi-Directional Bandwidth Test v7.5\n# Size      Bandwidth (MB/s)\n{rows}\n"


def osu_untitled(mb_s: float) -> str:
    return osu_bibw(mb_s).split("\n", 1)[1]


def imb_biband(mb_s: float) -> str:
    rows = "\n".join(
        f"{size:>13} {640:>12} {mb_s:>12.2f} {mb_s * 1e6 / size:>13.0f}" for size in SIZES
    )
    return (
        "#    Intel(R) MPI Benchmarks 2021.3, MPI-1 part\n#---\n# Benchmarking Biband\n"
        "# #processes = 2\n#---\n"
        f"       #bytes #repetitions   Mbytes/sec      Msg/sec\n{rows}\n"
    )


def perftest_both_ways(mb_s: float) -> str:
    mib_s = mb_s * 1e6 / 2**20
    rows = "\n".join(
        f" {size}  5000  {mib_s:.2f}  {mib_s:.2f}  {mb_s / size:.6f}" for size in SIZES
    )
    return (
        "                    RDMA_Write Bidirectional BW Test\n"
        " Dual-port       : OFF\t\tDevice         : mlx5_0\n"
        " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
        f"{rows}\n"
    )


def perftest_json(mb_s: float, title: str = '"test": "Send_Bidirectional_BW_Test",') -> str:
    size = SIZES[-1]
    return (
        f'{{\n"test_info": {{\n{title}\n"Device": "mlx5_0"\n}},\n'
        f'"results": {{\n"MsgSize": {size},\n'
        f'"n_iterations": 5000,\n"BW_peak": 0.00,\n"BW_average": {mb_s * 8e-3:.2f},\n'
        f'"MsgRate": {mb_s / size:.6f}\n}}\n}}\n'
    )


@pytest.mark.parametrize(
    "printed", [osu_bibw, osu_untitled, imb_biband, perftest_both_ways, perftest_json]
)
def test_what_both_directions_carry_is_possible_in_the_words_of_every_tool(
    printed: Callable[[float], str],
) -> None:
    for share, impossible in ((1.0, False), (0.6, False), (1.03, True)):
        found = of_text(printed(2 * share * HDR_MB_S), n_nodes=2)
        assert found.rows
        assert (RowState.IMPOSSIBLE in states(found.rows)) is impossible, share


def test_perftest_without_a_title_may_add_both_directions() -> None:
    found = of_text(perftest_json(1.9 * HDR_MB_S, title=""), n_nodes=2)
    assert RowState.IMPOSSIBLE not in states(found.rows)


def biband_of(n_ranks: int, waiting: int, mb_s: float) -> str:
    told = f"# ( {waiting} additional processes waiting in MPI_Barrier)\n" if waiting else ""
    return imb_biband(mb_s).replace("# #processes = 2\n", f"# #processes = {n_ranks}\n{told}")


@pytest.mark.parametrize(
    ("n_ranks", "share", "state"),
    [
        # Of 2 nodes x 8 ranks: inside one node, two nodes, two nodes beyond their links.
        (2, 3.0, None),
        (8, 30.0, None),
        (16, 2.0, None),
        (16, 2.06, RowState.IMPOSSIBLE),
    ],
)
def test_sub_tables_of_few_processes_lie_inside_a_node(
    n_ranks: int, share: float, state: RowState | None
) -> None:
    text = biband_of(n_ranks, 16 - n_ranks, share * HDR_MB_S)
    found = of_text(text, n_nodes=2, tasks_per_node=8)
    assert (RowState.IMPOSSIBLE in states(found.rows)) is (state is RowState.IMPOSSIBLE)


def test_sub_tables_on_unknown_nodes_are_not_judged() -> None:
    found = of_text(biband_of(2, 14, 3 * HDR_MB_S))
    assert states(found.rows) == {RowState.UNJUDGED}
    assert all(row.lacks_layout for row in found.rows)


def test_ranks_that_do_not_fill_nodes_are_not_judged() -> None:
    found = of_text(biband_of(12, 4, 3 * HDR_MB_S), n_nodes=2, tasks_per_node=8)
    assert states(found.rows) == {RowState.UNJUDGED}
    assert "12 ranks do not fill whole nodes of 8" in found.rows[0].note


def test_pairs_of_four_nodes_fill_two_links() -> None:
    place = generic_platform(Hardware(link="hdr"), load.platform)
    for share, impossible in ((2.0, False), (2.06, True)):
        rows = tuple(Row(i, s, {"bandwidth_mb_s": share * HDR_MB_S}) for i, s in enumerate(SIZES))
        table = Table("osu", "osu_mbw_mr", "message_rate", rows, 1, n_ranks=8)
        found = judged(place, table, 4, 2)
        assert (RowState.IMPOSSIBLE in states(found)) is impossible


def lone(excess: float, others: float = 0.95) -> list[JudgedRow]:
    place = generic_platform(Hardware(link="hdr"), load.platform)
    values = [others] * len(SIZES)
    values[4] = excess
    rows = tuple(
        Row(i, s, {"bandwidth_mb_s": share * HDR_MB_S})
        for i, (s, share) in enumerate(zip(SIZES, values, strict=True))
    )
    return list(judged(place, Table("osu", "osu_bw", "bandwidth", rows, 1, n_ranks=2), 2, 1))


def test_a_lone_row_within_two_per_cent_of_the_limit_is_a_note() -> None:
    row = lone(1.018)[4]
    assert row.state is RowState.UNJUDGED
    assert "1.8 % beyond the limit (link rate 200 Gb/s less headers)" in row.note


@pytest.mark.parametrize(("excess", "others"), [(1.022, 0.95), (1.018, 1.015)])
def test_further_beyond_or_with_its_neighbours_it_is_impossible(
    excess: float, others: float
) -> None:
    assert lone(excess, others)[4].state is RowState.IMPOSSIBLE


def test_a_link_that_was_not_named_limits_nothing() -> None:
    place = generic_platform(Hardware(gpu="h100-sxm"), load.platform)
    rows = (Row(1, 1 << 30, {"busbw_gb_s": 380.0}),)
    table = Table("nccl-tests", "all_reduce_perf", "allreduce", rows, 1, n_ranks=16, n_nodes=2)
    (row,) = judge_table(table, Given(), place, predictor(place), rules()).rows
    assert row.state is not RowState.IMPOSSIBLE
