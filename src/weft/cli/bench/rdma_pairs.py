"""`weft bench rdma-pairs`: do all rails between two hosts carry what they should?"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.cli.backend.opening import ssh_of
from weft.cli.fail_on import exit_code_of, fail_on_option
from weft.cli.options import SSH_CONFIG, fresh_run_dir, refuse_together, run_dir_option
from weft.cli.output import emit, format_option, table_text, talk, would_show_lines
from weft.cli.reach import unreachable
from weft.cluster.reach import try_hosts
from weft.cluster.record import read_cluster
from weft.cluster.remote import Ssh, check_host, each
from weft.core.errors import ExitCode, InputError, unknown_name
from weft.core.files import make_folder, write_part
from weft.core.finding import Severity
from weft.core.units import format_size, parse_size
from weft.core.words import counted

if TYPE_CHECKING:
    from weft.bench.rdma.plan import Memory

RECORD = "rdma_pairs.json"
_WORDS = {"low": "LOW", "impossible": "ABOVE ITS RATE", "down": "down", "failed": "failed"}
_HEADS = (("failed", "FAILED"), ("down", "DOWN"), ("low", "LOW"), ("impossible", "IMPOSSIBLE"))
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
    "--perftest", default="", metavar="FOLDER", help="The folder to search first for ib_write_bw."
)
@run_dir_option("Where perftest's output is kept.  [default: runs/rdma-pairs-<time>]")
@click.option("--sysfs", default="/sys", envvar="WEFT_SYSFS", hidden=True)
@fail_on_option
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
    from weft.bench.rdma.verdict import record_of

    if a == b:
        raise InputError(f"'{a}' twice", expected="two different hosts")
    for host in (a, b):
        check_host(host)
    ssh = _ssh(a, b, cluster, ssh_config)
    options = PerftestOptions(memory, parse_size(size), seconds, port)
    if not options.size_bytes:
        raise InputError(f"--size '{size}'", expected="at least one byte")
    reach = try_hosts(ssh, (a, b))
    if reach.failures:
        raise unreachable(reach, (a, b))
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
    write_part(where / RECORD, json.dumps(record, indent=2) + "\n", what="record of the rails")
    emit(format_, text=lambda: rdma_text(record), record=record, rows=record["rows"])
    return exit_code(record)


def _ssh(a: str, b: str, cluster: str | None, ssh_config: Path | None) -> Ssh:
    if cluster is None:
        return Ssh(ssh_config)
    refuse_together("--cluster", {"--ssh-config": ssh_config})
    record = read_cluster(cluster)
    for host in (a, b):
        if host not in record.hosts:
            raise unknown_name(f"no host '{host}' in cluster '{cluster}'", host, record.hosts)
    return ssh_of(record)


def _names(rails: str | None) -> tuple[str, ...]:
    names = () if rails is None else tuple(name.strip() for name in rails.split(","))
    if not all(names) or len(set(names)) != len(names):
        raise InputError(f"--rails '{rails}'", expected="different devices: mlx5_0:1,mlx5_1:1")
    return names


def _make(folder: Path) -> None:
    make_folder(folder, what="output of perftest")
    if next(folder.glob("*"), None) is not None:
        raise InputError("it is not empty", where=str(folder), expected="--dir of a new folder")


def exit_code(record: dict[str, Any]) -> int:
    """Of the states of all paths, the worst first."""
    states = {row["state"] for row in record["rows"]}
    if "failed" in states:
        return int(ExitCode.BENCHMARK)
    if states & {"low", "impossible", "down"}:
        return exit_code_of(Severity.BAD)
    if "no rate" in states:
        return exit_code_of(Severity.UNKNOWN)
    return exit_code_of(Severity.WARNING if record["warnings"] else Severity.GOOD)


def rdma_text(record: Mapping[str, Any]) -> str:
    """The whole text of a record."""
    rows: Sequence[Mapping[str, Any]] = record["rows"]
    first = _verdict(record, rows)
    shown = would_show_lines(record["would_show"]) if first.startswith("GOOD") else []
    warnings = [f"WARNING  {one}" for one in record["warnings"]]
    lines = [first, *shown, *warnings, "", _table(record, rows), ""]
    for state, what, remedy, paths in _causes(rows):
        lines += [f"{state.upper():<7} {paths}: {what}", f"        to mend: {remedy}"]
    lines.append(f"perftest's own output: {record['run']}")
    return "\n".join(lines)


def _verdict(record: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
    states = [row["state"] for row in rows]
    head = next((word for state, word in _HEADS if state in states), "GOOD")
    if head == "GOOD" and "no rate" in states:
        head = "UNKNOWN"
    elif head == "GOOD" and record["warnings"]:
        head = "WARN"
    a, b = record["hosts"]
    good = f"{states.count('good')} of {counted(len(rows), 'path')} carry at least"
    share = f"{100 * record['least_share']:g} % of their port's rate"
    where = f"{a} and {b}, {counted(record['rails'], 'rail')}, {record['memory']} memory"
    return f"{head}  {good} {share}: {where}, {format_size(record['size_bytes'])} messages"


def _table(record: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
    """A row a rail, a column a direction, sums below."""
    a, b = record["hosts"]
    by_path = {(row["rail"], row["from"]): row for row in rows}
    rails = list(dict.fromkeys(row["rail"] for row in rows))
    gpu = ["GPU"] if record["memory"] == "gpu" else []
    header = ["rail", "NUMA", *gpu, "port Gb/s", f"{a} -> {b} Gb/s", f"{b} -> {a} Gb/s"]
    lines = []
    for rail in rails:
        there, back = by_path[rail, a], by_path[rail, b]
        numa = _both(there["from_numa"], there["to_numa"])
        gpus = [_both(there["from_gpu"], there["to_gpu"])] if gpu else []
        lines.append([rail, numa, *gpus, _number(there["rate_gbps"]), _cell(there), _cell(back)])
    sums = [_number(one["gbps"], 2) for one in record["sums"]]
    lines.append(["sum", "", *([""] if gpu else []), _number(record["rates_gbps"]), *sums])
    return table_text(header, lines)


def _cell(row: Mapping[str, Any]) -> str:
    word = _WORDS.get(row["state"], "")
    if row["gbps"] is None:
        return word
    return " ".join(filter(None, (word, _number(row["gbps"], 2))))


def _both(one: int | None, other: int | None) -> str:
    """'0' where both ends agree, '0 1' where not, '-' for an unknown one."""
    words = ["-" if end is None else str(end) for end in (one, other)]
    return words[0] if words[0] == words[1] else " ".join(words)


def _number(value: float | None, decimals: int | None = None) -> str:
    if value is None:
        return "-"
    return f"{value:g}" if decimals is None else f"{value:.{decimals}f}"


def _causes(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, str, str]]:
    """(state, cause, remedy, the paths it holds for), each once."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for row in rows:
        if row["cause"]:
            path = f"{row['rail']} {row['from']} -> {row['to']}"
            found.setdefault((row["state"], row["cause"], row["remedy"]), []).append(path)
    return [(*states, ", ".join(paths)) for states, paths in found.items()]
