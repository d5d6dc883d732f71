"""`weft bench rdma-pairs`: do all rails between two hosts carry what they should?"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.cli.options import SSH_CONFIG, refuse_together, run_dir_option
from weft.cli.output import emit, format_option, talk
from weft.cli.run_dir import fresh_run_dir
from weft.cluster.record import read_cluster
from weft.cluster.remote import Ssh, check_host, each
from weft.core.errors import ExitCode, InputError, unknown_name
from weft.core.units import parse_size

if TYPE_CHECKING:
    from weft.bench.rdma.plan import Memory

RECORD = "rdma_pairs.json"
SHORTEST_S = 5
"""SOURCE: ib_write_bw --help of perftest 4.5: -D leaves two seconds at each end out (-f)."""


@click.command("rdma-pairs")
@click.argument("a")
@click.argument("b")
@click.option(
    "--memory",
    type=click.Choice(["host", "gpu"]),
    default="host",
    show_default=True,
    help="Memory of the messages: the host's, or that of the GPU nearest to each rail.",
)
@click.option("--cluster", metavar="NAME", help="A cluster of 'weft cluster up' with both hosts.")
@SSH_CONFIG
@click.option("--rails", metavar="DEVICES", help="Only these: mlx5_0:1,mlx5_1:1.")
@click.option("--size", default="8M", show_default=True, help="Bytes a message.")
@click.option(
    "--seconds",
    type=click.IntRange(SHORTEST_S, 3600),
    default=10,
    show_default=True,
    help="Each direction; perftest leaves two at each end out.",
)
@click.option(
    "--port",
    type=click.IntRange(1024, 65000),
    default=18515,
    show_default=True,
    help="The first TCP port of the servers; one for each rail and direction from there.",
)
@click.option(
    "--perftest", default="", metavar="FOLDER", help="Where ib_write_bw is looked for first."
)
@run_dir_option("Where perftest's output is kept.  [default: runs/rdma-pairs-<time>]")
@click.option("--sysfs", default="/sys", envvar="WEFT_SYSFS", hidden=True)
@format_option
def command(
    *,
    a: str,
    b: str,
    memory: "Memory",
    cluster: str | None,
    ssh_config: Path | None,
    rails: str | None,
    size: str,
    seconds: int,
    port: int,
    perftest: str,
    run_dir: Path | None,
    sysfs: str,
    format_: str,
) -> int:
    """Do all rails between hosts A and B carry what they should, in both directions?

    Servers and clients of perftest's ib_write_bw on all rails at once, over ssh, bound to the NUMA
    nodes of their devices: first A to B, then B to A. Each rail is held against its port's rate.
    """
    from weft.bench.rdma.devices import ask_devices
    from weft.bench.rdma.measure import measure
    from weft.bench.rdma.pairing import pair_gpus, pair_rails
    from weft.bench.rdma.plan import PerftestOptions, rail_paths
    from weft.bench.rdma.record import record_of
    from weft.cli.bench.rdma_text import rdma_text

    if a == b:
        raise InputError(f"'{a}' twice", expected="two different hosts")
    for host in (a, b):
        check_host(host)
    ssh = _ssh(a, b, cluster, ssh_config)
    options = PerftestOptions(memory, parse_size(size), seconds, port)
    if not options.size_bytes:
        raise InputError(f"--size '{size}'", expected="at least one byte")
    devices = each((a, b), lambda host: ask_devices(ssh, host, sysfs, perftest))
    pairs = pair_rails(devices[a], devices[b], _names(rails))
    gpus = {}
    if memory == "gpu":
        sides = {a: [pair.a for pair in pairs], b: [pair.b for pair in pairs]}
        gpus = {host: pair_gpus(devices[host], own) for host, own in sides.items()}
    directions = rail_paths(devices[a], devices[b], pairs, gpus, options)
    where = run_dir or fresh_run_dir("rdma-pairs")
    _make(where)
    readings = measure(ssh, directions, options, where, talk)
    record = record_of((a, b), readings, options)
    record["run"] = str(where)
    (where / RECORD).write_text(json.dumps(record, indent=2) + "\n")
    emit(format_, text=lambda: rdma_text(record), record=record, rows=record["rows"])
    return _exit_code(record)


def _ssh(a: str, b: str, cluster: str | None, ssh_config: Path | None) -> Ssh:
    if cluster is None:
        return Ssh(ssh_config)
    refuse_together("--cluster", {"--ssh-config": ssh_config})
    record = read_cluster(cluster)
    for host in (a, b):
        if host not in record.hosts:
            raise unknown_name(f"no host '{host}' in cluster '{cluster}'", host, record.hosts)
    return Ssh(None if record.ssh_config is None else Path(record.ssh_config))


def _names(rails: str | None) -> tuple[str, ...]:
    names = () if rails is None else tuple(name.strip() for name in rails.split(","))
    if not all(names) or len(set(names)) != len(names):
        raise InputError(f"--rails '{rails}'", expected="different devices: mlx5_0:1,mlx5_1:1")
    return names


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        used = next(folder.glob("*"), None)
    except OSError as error:
        raise InputError(
            f"cannot be made: {error.strerror}", where=str(folder), expected="--dir FOLDER"
        ) from error
    if used is not None:
        raise InputError("it is not empty", where=str(folder), expected="--dir of a new folder")


def _exit_code(record: dict[str, Any]) -> int:
    states = {row["state"] for row in record["rows"]}
    if "failed" in states:
        return int(ExitCode.BENCHMARK)
    return int(ExitCode.VERDICT_BAD if states & {"low", "impossible", "down"} else ExitCode.GOOD)
