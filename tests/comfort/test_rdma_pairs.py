"""`weft bench rdma-pairs`: a slow rail of which the rate or the row is missing is never good."""

import random
from pathlib import Path
from typing import Any

import click
import pytest
from tests.comfort.draws import NOT_BAD, each_draw

from weft.bench.rdma.devices import HostDevices, read_devices
from weft.bench.rdma.measure import Reading, read_rate
from weft.bench.rdma.pairing import pair_rails
from weft.bench.rdma.plan import PerftestOptions, RailPath, rail_paths
from weft.bench.rdma.verdict import record_of
from weft.cli.bench.rdma_pairs import exit_code, rdma_text
from weft.core.errors import InputError

SIZE = 8 << 20
OPTIONS = PerftestOptions("host", SIZE, 10, 18515)
MB_S = 2**20 * 8 / 1e9
"""Gb/s of one MB/sec, which perftest counts in units of 2^20 bytes."""
HEAD = """\
---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
 Dual-port       : OFF          Device         : mlx5_0
 Number of qps   : 1            Transport type : IB
 Link type       : IB
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[{unit}]    BW average[{unit}]   MsgRate[Mpps]
"""


def devices(host: str, n_rails: int, draw: random.Random, *, remove: str = "") -> HostDevices:
    """What the probe prints of a host, with harmless noise; without some of the rails' files."""
    lines = ["Welcome to the cluster", f"ssh\t10.0.0.9 4242 10.0.0.{len(host)} 22"]
    lines += ["tool\tib_write_bw\t/usr/bin/ib_write_bw", "tool\tnumactl\t/usr/bin/numactl"]
    for number in range(n_rails):
        fields = {"state": "4: ACTIVE", "rate": "200 Gb/sec (4X HDR)", "numa": str(number % 2)}
        if remove and draw.random() < 0.7:
            fields[remove] = ""
        if draw.random() < 0.2:
            fields["numa"] = "-1"
        words = (fields["state"], fields["rate"], fields["numa"])
        lines.append(f"port\tmlx5_{number}:1\tInfiniBand\t" + "\t".join(words) + "\t/sys/x")
    if draw.random() < 0.3:
        lines.insert(draw.randrange(len(lines)), "motd: maintenance on Sunday")
    return read_devices(host, "\n".join([*lines, "end\tend"]))


def output(gbps: float, draw: random.Random, *, remove: str = "") -> str:
    """What ib_write_bw prints, in either of its units."""
    unit, per_gbps = draw.choice([("Gb/sec", 1.0), ("MB/sec", 1 / MB_S)])
    row = f" {SIZE}    {draw.randint(1000, 9000)}    {gbps * per_gbps:.2f}    "
    row += f"{gbps * per_gbps * draw.uniform(0.99, 1):.2f}    0.0029"
    lines = [*HEAD.format(unit=unit).splitlines(), row, "-" * 80]
    if remove == "row":
        lines.remove(row)
    if remove == "head":
        lines = [line for line in lines if "BW average" not in line]
    if remove == "end":
        lines = lines[: draw.randrange(len(lines) - 2)]
    return "\n".join(lines)


def paths_of(one: HostDevices, other: HostDevices) -> list[RailPath]:
    pairs = pair_rails(one, other, ())
    return [path for paths in rail_paths(one, other, pairs, {}, OPTIONS) for path in paths]


def record(paths: list[RailPath], texts: list[str], folder: Path) -> dict[str, Any]:
    """As of clients that ended with code 0 and wrote these texts."""
    readings = []
    for path, text in zip(paths, texts, strict=True):
        file = folder / "client.txt"
        file.write_text(text)
        readings.append(Reading(path, read_rate(file, SIZE)))
    return {**record_of(("a", "bb"), readings, OPTIONS), "run": "x"}


def code_of(one: dict[str, Any]) -> int:
    with click.Context(click.Command("x")):
        return exit_code(one)


@each_draw
def test_a_slow_rail_without_its_evidence_is_never_good(seeds: range, tmp_path: Path) -> None:
    for seed in seeds:
        draw = random.Random(seed)
        n_rails = draw.choice([1, 2, 4, 8])
        hidden = draw.choice(["row", "head", "end", "rate", "state"])
        hosts = [devices(host, n_rails, draw, remove=hidden) for host in ("a", "bb")]
        paths = paths_of(*hosts)
        assert len(paths) == 2 * n_rails, "a rail whose file is missing is still measured"
        slow = draw.randrange(len(paths))
        texts = [
            output(
                draw.uniform(20, 150) if number == slow else draw.uniform(195, 199),
                draw,
                remove=hidden if number == slow else "",
            )
            for number in range(len(paths))
        ]
        found = record(paths, texts, tmp_path)
        assert code_of(found) in (1, 4, 5), (seed, hidden)
        assert not rdma_text(found).startswith("GOOD"), (seed, hidden)


@each_draw
def test_healthy_rails_are_never_bad(seeds: range, tmp_path: Path) -> None:
    for seed in seeds:
        draw = random.Random(seed)
        n_rails = draw.choice([1, 2, 4, 8])
        hosts = [
            devices(host, n_rails, draw, remove=draw.choice(["", "", "state", "rate", "numa"]))
            for host in ("a", "bb")
        ]
        paths = paths_of(*hosts)
        texts = [output(draw.uniform(194, 199), draw) for _ in paths]
        found = record(paths, texts, tmp_path)
        assert code_of(found) in NOT_BAD, seed
        assert rdma_text(found).startswith(("GOOD", "UNKNOWN", "WARN")), seed


def test_one_host_without_a_rail_is_refused() -> None:
    draw = random.Random(0)
    with pytest.raises(InputError, match="1 ports"):
        paths_of(devices("a", 1, draw), devices("bb", 2, draw))
