"""`weft cluster down`: nothing of a cluster is left, on this machine or on its hosts."""

from collections.abc import Sequence

import click

from weft.cli.backend.opening import ssh_of
from weft.cli.output import emit, text_or_json
from weft.cluster.bringup.removal import leave
from weft.cluster.folder import cluster_folder, cluster_names
from weft.cluster.local.start import has_layout, leftovers, stop
from weft.cluster.record import FILE, read_cluster
from weft.core.errors import ExitCode, InputError
from weft.core.shell_line import quoted


@click.command("down")
@click.argument("name", required=False)
@click.option("--all", "all_", is_flag=True, help="Every virtual cluster, and all remains of any.")
@click.option("--forget", is_flag=True, help="Drop the record though hosts cannot be cleaned.")
@text_or_json
def command(name: str | None, all_: bool, forget: bool, format_: str) -> int:
    """End the virtual cluster NAME, or all of them; remove the files of 'up' from real hosts.

    Without NAME: the one cluster that there is.
    """
    running = leftovers()
    if name is None and not all_:
        name = _only_one(sorted({*cluster_names(), *running}))
    elif name is not None and all_:
        raise InputError(f"'{name}' and --all contradict each other", expected="one of them")
    if name is not None:
        if name not in cluster_names() and name not in running:
            known = ", ".join(sorted({*cluster_names(), *running})) or "no cluster is up"
            raise InputError(f"no cluster '{name}'", expected=known)
        names = [name]
    else:
        virtual = {one for one in cluster_names() if has_layout(cluster_folder(one))}
        names = sorted(virtual | set(running))
    left = {} if name is None or name in running else _leave(name, forget=forget)
    kept = {host: why for host, why in left.items() if why} if not forget else {}
    ended = {} if kept else {one: stop(cluster_folder(one)) for one in names}
    lines = [
        f"DOWN {one}: {n} of its processes ended" if n else f"DOWN {one}: forgotten"
        for one, n in ended.items()
    ]
    lines += [
        f"     {host}: {why or 'all files of the cluster are removed'}"
        for host, why in left.items()
    ]
    if kept:
        drop = f"weft cluster down {quoted(str(name))} --forget"
        lines.append(f"to drop the record all the same: {drop}")
    record = {"schema": "weft.cluster-down/1", "ended": ended, "hosts": left}
    emit(format_, text=lambda: "\n".join(lines) or "no cluster is up", record=record)
    is_left = kept or set(leftovers()) & set(names)
    return int(ExitCode.VERDICT_BAD if is_left else ExitCode.GOOD)


def _only_one(names: Sequence[str]) -> str:
    """The cluster that is meant where none is named. Raises InputError where there is not one."""
    if not names:
        raise InputError("no cluster is up", expected="a cluster of 'weft cluster up'")
    if len(names) > 1:
        raise InputError(
            "which cluster?",
            expected=f"one of {', '.join(names)}",
            hint="--all ends every virtual one",
        )
    return names[0]


def _leave(name: str, *, forget: bool) -> dict[str, str]:
    """By real host why what 'up' put there is there still; '' where it is gone. Raises InputError
    where the hosts are unknown: with `forget` there are none then."""
    folder = cluster_folder(name)
    if has_layout(folder) or not (folder / FILE).exists():
        return {}
    try:
        record = read_cluster(name)
    except InputError:
        if forget:
            return {}
        raise
    result = leave(ssh_of(record), name, (*record.all_hosts, *record.former_hosts))
    return {
        host: "" if one.ok else one.last_line or "it did not answer" for host, one in result.items()
    }
