"""`weft cluster status`: all clusters, or the state of the hosts of one."""

from pathlib import Path

import click

from weft.cli.backend.opening import ssh_of
from weft.cli.fail_on import exit_code_of, fail_on_option
from weft.cli.output import emit, table_text, text_or_json
from weft.cluster.bringup.model import Cluster
from weft.cluster.bringup.run import BringupResult, bring_up
from weft.cluster.bringup.stages import stages
from weft.cluster.folder import cluster_folder, cluster_names
from weft.cluster.local.layout import read_layout
from weft.cluster.local.start import leftovers, namespace_root_of
from weft.cluster.record import FILE, read_cluster
from weft.core.errors import ExitCode, InputError
from weft.core.finding import Severity
from weft.core.nodeset import fold
from weft.core.words import counted


@click.command("status")
@click.argument("name", required=False)
@fail_on_option
@text_or_json
def command(name: str | None, format_: str) -> int:
    """All clusters; or all stages of the cluster NAME, checked again without a change."""
    return _all(format_) if name is None else _one(name, format_)


def _all(format_: str) -> int:
    running = leftovers()
    rows, records = [], []
    for name in sorted({*cluster_names(), *running}):
        folder = cluster_folder(name)
        record, state = None, "brought up by half"
        try:
            record = read_cluster(name) if (folder / FILE).exists() else None
        except InputError:
            state = "its record cannot be read"
        hosts = () if record is None else record.hosts
        if record is not None:
            state = "virtual, down" if record.virtual else "real hosts"
        if namespace_root_of(folder) is not None:
            state = f"virtual, up{_leaves_of(folder)}"
        elif name in running:
            state = f"left over: {running[name]} processes"
        rows.append([name, state, fold(hosts) if hosts else "-"])
        records.append({"name": name, "state": state, "hosts": list(hosts)})
    text = table_text(["cluster", "state", "hosts"], rows, left=3) if rows else "no cluster"
    record_ = {"schema": "weft.clusters/1", "clusters": records}
    emit(format_, text=lambda: text, record=record_, rows=records)
    return int(ExitCode.GOOD)


def _leaves_of(folder: Path) -> str:
    """', 2 leaves' where the hosts are on several switches and the record can be read."""
    try:
        leaves = read_layout(folder).leaves
    except InputError:
        return ""
    return f", {counted(len(leaves), 'leaf', 'leaves')}" if leaves else ""


def _one(name: str, format_: str) -> int:
    from weft.cli.cluster.text import print_up

    record = read_cluster(name)
    ssh = ssh_of(record)
    cluster = Cluster(name, cluster_folder(name), ssh, record.all_hosts, mend=False)
    went = bring_up(
        cluster,
        stages(*(record.asked.get(what) for what in ("mpi", "interface", "module"))),
        lambda *_: None,
    )
    print_up(cluster, went, format_)
    return exit_code_of(verdict_of(went))


def verdict_of(went: BringupResult) -> Severity:
    """BAD where a stage failed or would be mended, UNKNOWN where a host reports too little."""
    if len(went.good_hosts()) < len(went.outcomes) or went.would_mend():
        return Severity.BAD
    return Severity.UNKNOWN if went.is_unknown() else Severity.GOOD
