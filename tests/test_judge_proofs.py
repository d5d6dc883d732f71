"""Published results judged: what is normal is called normal, and what is wrong by its name."""

from dataclasses import replace
from pathlib import Path

import pytest

from weft.core.finding import FindingKind, Severity
from weft.judge.judge import judge_results
from weft.judge.log import log_in
from weft.judge.model import FileJudgement, RowState
from weft.results.model import ResultFile, Row
from weft.results.result_file import read_results, read_results_text

FIXTURES = Path(__file__).parent / "fixtures"
JUDGED = FIXTURES / "judged"
OSU = FIXTURES / "results" / "osu"
GEN3_X8_GB_S = 8 * 8 * 128 / 130 / 8
"""PCI Express Base Specification 3.0: 8 GT/s, 8 lanes, 128b/130b."""
TLP_SHARES = {"128 B payloads": 128 / 152, "256 B payloads": 256 / 280, "512 B payloads": 512 / 536}
"""Neugebauer et al., SIGCOMM 2018: 24 B of headers a packet."""


def judged(path: Path, **options: object) -> FileJudgement:
    return judge_results(read_results(path), log=log_in(path), **options)  # type: ignore[arg-type]


def states(judgement: FileJudgement) -> set[RowState]:
    return {row.state for row in judgement.rows}


@pytest.mark.parametrize("platform", ["azure-ndv4", "generic-hdr"])
@pytest.mark.parametrize("memory", ["host", "gpu"])
def test_jose_and_shainers_pairs_are_normal_for_hdr(platform: str, memory: str) -> None:
    judgement = judged(JUDGED / f"ndv4_pairs_{memory}.txt", platform=platform, memory=memory)

    assert len(judgement.rows) == 16
    assert states(judgement) == {RowState.NORMAL}
    assert not any(row.odd for row in judgement.rows)
    assert judgement.findings[0].severity is Severity.GOOD


def with_pair_at(results: ResultFile, pair: str, gb_s: float) -> ResultFile:
    def slower(row: Row) -> Row:
        factor = gb_s * 1e3 / row.metrics["bandwidth_mb_s"]
        return replace(row, metrics={name: factor * v for name, v in row.metrics.items()})

    tables = [
        replace(
            table,
            rows=tuple(slower(r) if r.labels.get("pair") == pair else r for r in table.rows),
        )
        for table in results.tables
    ]
    return replace(results, tables=tuple(tables))


@pytest.mark.parametrize("platform", ["azure-ndv4", "generic-hdr"])
@pytest.mark.parametrize("memory", ["host", "gpu"])
@pytest.mark.parametrize("share", TLP_SHARES.values(), ids=TLP_SHARES.keys())
def test_one_of_those_adapters_at_pcie_gen3_x8_is_low_with_that_cause_first(
    platform: str, memory: str, share: float
) -> None:
    results = read_results(JUDGED / f"ndv4_pairs_{memory}.txt")
    slow = with_pair_at(results, "3", GEN3_X8_GB_S * share)

    judgement = judge_results(slow, platform=platform, memory=memory)

    low = [row for row in judgement.rows if row.state is RowState.LOW]
    assert {row.row.labels["pair"] for row in low} == {"3"}
    assert len(low) == 2
    assert judgement.causes[0].name == "pcie-gen3-x8"
    assert "lspci" in judgement.causes[0].confirm
    assert judgement.is_bad


@pytest.mark.parametrize("n_gpus", [32, 64, 128, 256, 512, 1024])
def test_affaticatis_runs_on_several_nodes_are_normal(n_gpus: int) -> None:
    path = JUDGED / f"ndv5_{n_gpus}_gpus.txt"

    judgement = judged(path, platform="azure-ndv5", n_nodes=n_gpus // 8, tasks_per_node=8)

    assert states(judgement) == {RowState.NORMAL}
    assert not judgement.is_bad


def test_nvls_is_named_where_the_bus_bandwidth_exceeds_nvlinks_rate() -> None:
    judgement = judged(JUDGED / "ndv5_8_gpus_nvls.txt")

    assert judgement.platform == "azure-ndv5"
    assert "H100" in judgement.platform_because
    assert states(judgement) == {RowState.NORMAL}
    (why,) = [f for f in judgement.findings if f.kind is FindingKind.EXPLANATION]
    assert "481.4 GB/s is more than NVLink's rate of one GPU (450.0 GB/s)" in why.sentence
    assert "NVLink SHARP" in why.sentence


def test_a_loopback_over_the_adapters_is_normal_where_the_command_line_shows_it() -> None:
    judgement = judged(JUDGED / "ndv5_8_gpus_loopback.txt")

    assert states(judgement) == {RowState.NORMAL}
    assert judgement.rows[0].conditions is not None
    assert judgement.rows[0].conditions.transport == "network"


def test_the_same_figure_without_that_command_line_is_traffic_through_the_adapters() -> None:
    results = read_results(JUDGED / "ndv5_8_gpus_loopback.txt")

    judgement = judge_results(results)

    assert states(judgement) == {RowState.LOW}
    assert judgement.causes[0].name == "through-the-nic"


@pytest.mark.parametrize("platform", ["generic-qdr", "azure-a9"])
def test_kaneshiros_latency_is_normal(platform: str) -> None:
    judgement = judged(OSU / "kaneshiro_2014_latency.txt", platform=platform)

    assert states(judgement) <= {RowState.NORMAL, RowState.TOO_WIDE, RowState.UNJUDGED}
    assert judgement.findings[0].kind is FindingKind.AS_EXPECTED
    assert len(judgement.findings) == 1


@pytest.mark.parametrize("platform", ["generic-qdr", "azure-a9"])
def test_kaneshiros_bidirectional_bandwidth_is_normal_but_for_the_row_he_printed_low(
    platform: str,
) -> None:
    judgement = judged(OSU / "kaneshiro_2014_bibw.txt", platform=platform)

    assert judgement.findings[0].kind is FindingKind.AS_EXPECTED
    assert not judgement.is_bad
    assert [row.row.size_bytes for row in judgement.rows if row.odd] == [8192]
    (anomaly,) = [f for f in judgement.findings if f.kind is FindingKind.ANOMALY]
    assert "8 KiB" in anomaly.sentence


def test_two_nodes_above_the_adapters_rate_are_explained() -> None:
    judgement = judged(JUDGED / "h100_16_gpus_nvls_on.txt", platform="azure-ndv5")

    assert states(judgement) == {RowState.NORMAL}
    (why,) = [f for f in judgement.findings if f.kind is FindingKind.EXPLANATION]
    assert "430.0 GB/s is more than the rate of a node's adapters" in why.sentence
    assert "between two nodes" in why.sentence


def test_without_nvls_between_two_nodes_the_setting_in_the_file_is_the_cause() -> None:
    judgement = judged(JUDGED / "h100_16_gpus_nvls_off.txt", platform="azure-ndv5")

    assert states(judgement) == {RowState.LOW}
    assert judgement.causes[0].name == "ring-forced"
    assert "line 1 says so" in judgement.causes[0].sentence
    assert "NCCL_NVLS_ENABLE=0" in judgement.causes[0].sentence


def test_a_sweep_on_alps_is_normal_and_its_one_disturbed_row_named() -> None:
    judgement = judged(JUDGED / "alps_gh200_allreduce.txt")

    assert judgement.platform == "alps-gh200"
    assert not judgement.is_bad
    assert [(row.row.size_bytes, row.row.labels["placement"]) for row in judgement.rows if row.odd]
    assert all(row.state is RowState.NORMAL for row in judgement.rows if not row.odd)
    (why,) = [f for f in judgement.findings if f.kind is FindingKind.EXPLANATION]
    assert "more than the rate of a node's adapters (100.0 GB/s)" in why.sentence


def test_123_against_5_4_gb_s_is_sockets_first() -> None:
    judgement = judged(JUDGED / "alps_gh200_allreduce_no_cxi.txt")

    assert judgement.is_bad
    largest = [row for row in judgement.rows if row.row.size_bytes == 134217728]
    assert {row.state for row in largest} == {RowState.LOW}
    assert judgement.causes[0].name == "sockets"
    assert "NET/Socket" in judgement.causes[0].confirm


def osu_bw(mb_s: float) -> ResultFile:
    text = (
        "# OSU MPI Bandwidth Test v7.5\n# Datatype: MPI_CHAR.\n"
        f"# Size      Bandwidth (MB/s)        Validation\n4194304    {mb_s}   Pass\n"
    )
    return read_results_text(text.encode(), "osu_bw.txt")


@pytest.mark.parametrize("mb_s", [23982.18, 24037.14, 23925.61])
def test_osu_bw_between_two_nodes_of_alps_is_normal(mb_s: float) -> None:
    assert states(judge_results(osu_bw(mb_s), platform="alps-gh200")) == {RowState.NORMAL}


@pytest.mark.parametrize("mb_s", [1279.54, 3121.42])
def test_osu_bw_without_the_cxi_hook_is_low_and_may_be_sockets(mb_s: float) -> None:
    judgement = judge_results(osu_bw(mb_s), platform="alps-gh200")

    assert states(judgement) == {RowState.LOW}
    assert judgement.causes[0].name == "sockets"
    missed = [verdict for verdict in judgement.field if not verdict.passed]
    assert any(verdict.system.startswith("CSCS Alps") for verdict in missed)


def test_a_latency_table_without_the_cxi_hook_is_sockets_first() -> None:
    judgement = judged(OSU / "alps_7.5_latency_no_cxi.txt", platform="alps-gh200")

    assert states(judgement) == {RowState.LOW}
    assert judgement.causes[0].name == "sockets"
