"""`weft judge` of IMB, nccl-tests and perftest on drawn platforms: low rows of which some lines are
missing are never called good, and rows near the link's rate are never bad."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.comfort.draws import NOT_BAD, NOT_GOOD, each_draw, odd_lines

from weft.cli import run

SIZES = [2**power for power in range(23)]
HALF_BYTES = 4096
RATES_GBPS = {
    "azure-hc": 100,
    "azure-hb": 100,
    "azure-hbv2": 200,
    "azure-hbv3": 200,
    "generic-edr": 100,
    "generic-hdr": 200,
    "generic-ndr": 400,
}
"""Platforms with one adapter a node: the rate of its port."""
USUAL_SHARE = 0.97
"""Of a port's rate, that large messages reach. SOURCE: 12,100 MB/s over EDR, Azure HC."""
NOTES = ("[node1] warning: a note", "srun: job 17 queued", "")
BUS_GBS = {"azure-ndv4": 8 * 25.0, "azure-ndv5": 8 * 50.0}
"""Platforms of 8 GPUs and 8 adapters: what their ports carry together, in GB/s."""


def mb_s(size: int, peak: float, draw: random.Random) -> float:
    return peak * draw.uniform(0.99, 1.01) * size / (size + HALF_BYTES)


def imb(peak: float, draw: random.Random) -> list[str]:
    rows = [(size, mb_s(size, peak, draw)) for size in SIZES]
    return [
        "#---------------------------------------------------",
        "# Benchmarking PingPong",
        "# #processes = 2",
        "#---------------------------------------------------",
        "       #bytes #repetitions      t[usec]   Mbytes/sec",
        *(
            f"{size:>13}          640  {size / value:>11.2f}  {value:>11.2f}"
            for size, value in rows
        ),
    ]


def perftest(peak: float, draw: random.Random) -> list[str]:
    size = draw.choice([65536, 1 << 20, 8 << 20])
    # With 128 messages in flight, sizes from 64 KiB on reach the peak.
    value = peak * draw.uniform(0.995, 1.005) * 8 / 1e3
    return [
        "                    RDMA_Write BW Test",
        " Dual-port       : OFF\t\tDevice         : mlx5_0",
        " Number of qps   : 1\t\tTransport type : IB",
        " Link type       : IB",
        " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]",
        f" {size}      5000       {value:.2f}      {value:.2f}   {value / 8e-3 / size:.6f}",
        "-" * 87,
    ]


def nccl_tests(peak_gbs: float, n_ranks: int, draw: random.Random) -> list[str]:
    rows = []
    for size in [2**power for power in range(20, 34)]:
        busbw = peak_gbs * draw.uniform(0.99, 1.01) * size / (size + (16 << 20))
        algbw = busbw * n_ranks / (2 * (n_ranks - 1))
        cells = f"{size / algbw / 1e3:.1f} {algbw:.2f} {busbw:.2f} 0"
        rows.append(f"{size} {size // 4} float sum -1 {cells} {cells}")
    ranks = [
        f"#  Rank {rank} Group 0 Pid {1000 + rank} on node{rank // 8} device {rank % 8} [0x00] GPU"
        for rank in range(n_ranks)
    ]
    return [
        "# nThread 1 nGpus 1 minBytes 1048576 maxBytes 8589934592 step: 2(factor) validation: 1",
        "# Using devices",
        *ranks,
        "#       size count type redop root time algbw busbw #wrong time algbw busbw #wrong",
        "#        (B) (elements) (us) (GB/s) (GB/s) (us) (GB/s) (GB/s)",
        *rows,
        "# Out of bounds values : 0 OK",
    ]


TOOLS: dict[str, Callable[[float, random.Random], list[str]]] = {"IMB": imb, "perftest": perftest}
"""By tool: its lines between two nodes, of a peak in MB/s."""


def judge(file: Path, lines: list[str], platform: str, draw: random.Random) -> int:
    file.write_bytes(odd_lines(lines, draw, notes=NOTES))
    return run(["judge", str(file), "--platform", platform])


def kept(lines: list[str], draw: random.Random) -> list[str]:
    share = draw.choice([0.1, 0.3, 0.7])
    return [line for line in lines if draw.random() > share]


@each_draw
@pytest.mark.parametrize("tool", TOOLS)
def test_low_rows_with_some_lines_missing_are_never_good(
    seeds: range, tool: str, tmp_path: Path
) -> None:
    for seed in seeds:
        draw = random.Random(seed)
        platform = draw.choice(list(RATES_GBPS))
        peak = RATES_GBPS[platform] * 1e3 / 8 * draw.uniform(0.1, 0.5)
        lines = kept(TOOLS[tool](peak, draw), draw)
        assert judge(tmp_path / f"{seed}.out", lines, platform, draw) in NOT_GOOD, (seed, platform)


@each_draw
def test_low_collectives_with_some_lines_missing_are_never_good(
    seeds: range, tmp_path: Path
) -> None:
    for seed in seeds:
        draw = random.Random(seed)
        platform = draw.choice(list(BUS_GBS))
        peak = BUS_GBS[platform] * draw.uniform(0.05, 0.3)
        lines = kept(nccl_tests(peak, draw.choice([16, 32]), draw), draw)
        assert judge(tmp_path / f"{seed}.out", lines, platform, draw) in NOT_GOOD, (seed, platform)


@each_draw
@pytest.mark.parametrize("tool", TOOLS)
def test_rows_near_the_rate_are_never_bad(seeds: range, tool: str, tmp_path: Path) -> None:
    for seed in seeds:
        draw = random.Random(seed)
        platform = draw.choice(list(RATES_GBPS))
        lines = TOOLS[tool](RATES_GBPS[platform] * 1e3 / 8 * USUAL_SHARE, draw)
        assert judge(tmp_path / f"{seed}.out", lines, platform, draw) in NOT_BAD, (seed, platform)
