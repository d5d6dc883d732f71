"""A whole judgement: verdict first, coverage, what nobody understood, and plain records."""

import json

import pytest

from weft.catalog.machine.generic import Hardware
from weft.core.errors import InputError
from weft.core.finding import FindingKind, Severity
from weft.judge.judge import judge_results
from weft.judge.model import RowState
from weft.results.model import ResultFile, Row, Table, Unread
from weft.results.result_file import read_results_text

OSU = "# OSU MPI Bandwidth Test v5.9\n# Size      Bandwidth (MB/s)\n"


def osu(*rows: tuple[int, float]) -> ResultFile:
    text = OSU + "".join(f"{size:<10}{value:>12.2f}\n" for size, value in rows)
    return read_results_text(text.encode(), "bw.txt")


def test_the_verdict_has_value_range_and_limit() -> None:
    judgement = judge_results(osu((4194304, 23982.18)), platform="alps-gh200")
    verdict = judgement.findings[0]
    assert verdict.kind is FindingKind.AS_EXPECTED
    assert verdict.severity is Severity.GOOD
    assert verdict.sentence.startswith("NORMAL: osu_bw at 4 MiB: bandwidth 23982 MB/s, expected ")
    assert "limited by link rate 200 Gb/s" in verdict.sentence
    assert verdict.sentence.endswith("x header efficiency 0.9615")


def test_low_names_the_largest_size_and_the_best_cause() -> None:
    judgement = judge_results(osu((2097152, 1200.0), (4194304, 1279.54)), platform="alps-gh200")
    verdict = judgement.findings[0]
    assert verdict.severity is Severity.BAD
    assert verdict.sentence.startswith("LOW: osu_bw at 4 MiB: bandwidth 1280 MB/s")
    assert "sockets" in verdict.evidence[0]
    assert judgement.is_bad


def test_impossible_names_the_limit() -> None:
    judgement = judge_results(osu((4194304, 239821.8)), platform="alps-gh200")
    verdict = judgement.findings[0]
    assert verdict.kind is FindingKind.BEYOND_LIMIT
    assert verdict.sentence.startswith("IMPOSSIBLE: osu_bw at 4 MiB: bandwidth 239822 MB/s")
    assert "the hardware limit is" in verdict.sentence
    assert judgement.is_bad
    assert judgement.causes


def test_without_a_platform_the_class_of_the_path_is_the_verdict() -> None:
    judgement = judge_results(osu((8, 10.0), (4194304, 24000.0)))
    assert judgement.platform == ""
    verdict = judgement.findings[0]
    assert (verdict.kind, verdict.severity) == (FindingKind.PATH, Severity.NOTE)
    assert verdict.sentence.startswith("96 % of 200 Gb/s: a link like HDR or NDR200 InfiniBand")
    assert not judgement.is_bad
    assert judgement.next_command == "weft judge bw.txt --link hdr"


def test_a_given_link_is_judged_as_a_platform_built_for_it() -> None:
    judgement = judge_results(
        osu((8, 10.0), (4194304, 24000.0)), hardware=Hardware(link="hdr", pcie="4x16")
    )
    assert judgement.platform == "generic-hdr"
    assert judgement.platform_because == "--link hdr --pcie 4x16"
    assert judgement.findings[0].kind is FindingKind.AS_EXPECTED


def test_a_row_no_one_can_judge_has_its_unit() -> None:
    row = Row(1, 8192, {"busbw_gb_s": 10.0, "latency_us": 5.0})
    table = Table("nccl-tests", "all_reduce_perf", "allreduce", (row,), 1)
    (record,) = judge_results(ResultFile("f", (table,))).to_record()["rows"]
    assert (record["metric"], record["unit"]) == ("busbw_gb_s", "GB/s")


def test_a_contradiction_without_a_platform_is_the_verdict() -> None:
    row = Row(7, 8388608, {"bandwidth_mb_s": 8 * 24511.25, "msg_rate_mps": 0.002922})
    table = Table("perftest", "ib_write_bw", "bandwidth", (row,), 1)
    verdict = judge_results(ResultFile("f", (table,))).findings[0]
    assert verdict.kind is FindingKind.CONTRADICTION
    assert "bits for bytes" in verdict.sentence


def test_nodes_and_ranks_are_asked_for_where_a_collective_needs_them() -> None:
    row = Row(3, 8, {"latency_us": 2.0})
    results = ResultFile("f", (Table("osu", "osu_allreduce", "allreduce", (row,), 1),))
    judgement = judge_results(results, platform="azure-hbv2")
    assert "--nodes N --tasks-per-node T" in judgement.rows[0].note
    assert judgement.next_command.endswith("--nodes 2 --tasks-per-node 1")
    judgement = judge_results(results, platform="azure-hbv2", n_nodes=2, tasks_per_node=1)
    assert judgement.rows[0].state is not RowState.UNJUDGED


def test_unread_lines_and_assumptions_are_in_the_judgement() -> None:
    row = Row(3, 8, {"latency_us": 2.0})
    results = ResultFile(
        "f",
        (Table("osu", "osu_latency", "latency", (row,), 1),),
        unread=(Unread(9, "??", "not a row"),),
        n_unread=1,
        remarks=("cut off",),
    )
    judgement = judge_results(results, platform="azure-hbv2")
    assert judgement.n_unread == 1
    assert judgement.unread[0].line == 9
    assert judgement.remarks[0] == "cut off"
    assert any("assumed: two nodes" in remark for remark in judgement.remarks)


def test_a_judgement_is_plain_json() -> None:
    record = judge_results(osu((4194304, 1279.54)), platform="alps-gh200").to_record()
    again = json.loads(json.dumps(record, allow_nan=False))
    assert again["schema"] == "weft.judgement/1"
    assert again["bad"] is True
    assert again["rows"][0]["state"] == "low"
    assert again["rows"][0]["bound"]
    assert again["causes"][0]["confirm"]
    assert any(verdict["passed"] is False for verdict in again["field"])


def test_a_file_without_a_row_is_an_error() -> None:
    with pytest.raises(InputError, match="the file has tables but no row") as caught:
        judge_results(ResultFile("empty.txt", (Table("osu", "t", "latency", (), 1),)))
    assert caught.value.where == "empty.txt"


def test_rows_without_a_figure_of_ours_are_no_verdict() -> None:
    row = Row(1, 8, {"overlap_percent": 90.0})
    results = ResultFile("f", (Table("osu", "osu_iallgather", "allgather", (row,), 1),))
    judgement = judge_results(results)
    assert judgement.rows == ()
    assert "no row shows a small message's latency" in judgement.findings[0].sentence


def ping_pong(*rows: tuple[int, float]) -> ResultFile:
    rule = "#" + "-" * 51
    lines = [rule, "# Benchmarking PingPong", "# #processes = 2", rule,
             "       #bytes #repetitions      t[usec]   Mbytes/sec",
             *(f"{size:>13} 640 {us:>11.2f} {size / us:>11.2f}" for size, us in rows)]  # fmt: skip
    return read_results_text("\n".join([*lines, ""]).encode(), "imb.txt")


@pytest.mark.parametrize(
    ("rows", "hidden"),
    [
        # A link of 12 % of its rate; of the rows that show half, none is large.
        ([(1, 1.34), (256, 1.41), (8192, 4.0), (65536, 22.63)], "the speed"),
        ([(8, 1.30), (16, 1.31), (32, 1.32), (64, 1.33), (128, 1.34)], "the link's rate"),
    ],
)
def test_a_largest_row_that_hides_half_is_not_good(
    rows: list[tuple[int, float]], hidden: str
) -> None:
    verdict = judge_results(ping_pong(*rows), platform="azure-hbv2").findings[0]
    assert verdict.severity is Severity.NOTE
    assert verdict.sentence.startswith(f"TOO WIDE TO TELL, half of {hidden} looks like this: ")


def test_a_latency_test_is_good_without_large_rows() -> None:
    text = "# OSU MPI Latency Test v5.9\n# Size  Latency (us)\n8 1.30\n16 1.31\n32 1.32\n64 1.33\n"
    verdict = judge_results(
        read_results_text(text.encode(), "lat.txt"), platform="azure-hbv3"
    ).findings[0]
    assert verdict.severity is Severity.GOOD


def writes(*rows: tuple[int, float, float]) -> ResultFile:
    found = [
        Row(i, size, {"bandwidth_mb_s": mb_s, "msg_rate_mps": factor * mb_s / size})
        for i, (size, mb_s, factor) in enumerate(rows, start=1)
    ]
    return ResultFile("f", (Table("perftest", "ib_write_bw", "bandwidth", tuple(found), 1),))


@pytest.mark.parametrize(
    ("largest", "severity"), [(1.0, Severity.WARNING), (1.3, Severity.UNKNOWN)]
)
def test_a_contradiction_is_a_warning_only_beside_good_rows(
    largest: float, severity: Severity
) -> None:
    rows = [(1 << 20, 24_500.0, 1.3), (2 << 20, 24_500.0, 1.3), (8 << 20, 24_511.25, largest)]
    judgement = judge_results(writes(*rows), platform="azure-hbv3")
    assert judgement.findings[0].kind is FindingKind.CONTRADICTION
    assert judgement.severity is severity
