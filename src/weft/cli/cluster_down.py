"""`weft cluster down`: nothing of a virtual cluster is left; of real hosts only the record goes."""

import click

from weft.cli.output import emit, format_option_of
from weft.core.errors import ExitCode, InputError


@click.command("down")
@click.argument("name", required=False)
@click.option("--all", "all_", is_flag=True, help="Every virtual cluster, and what is left of any.")
@format_option_of(("text", "json"))
def command(name: str | None, all_: bool, format_: str) -> int:
    """End the virtual cluster NAME, or all of them; of real hosts only forget the record."""
    from weft.cluster.folder import cluster_folder, cluster_names
    from weft.cluster.local.start import has_layout, leftovers, stop

    if (name is None) != all_:
        raise InputError("which cluster?", expected="a name, or --all")
    running = leftovers()
    if name is not None:
        if name not in cluster_names() and name not in running:
            known = ", ".join(sorted({*cluster_names(), *running})) or "no cluster is up"
            raise InputError(f"no cluster '{name}'", expected=known)
        names = [name]
    else:
        virtual = {one for one in cluster_names() if has_layout(cluster_folder(one))}
        names = sorted(virtual | set(running))
    ended = {one: stop(cluster_folder(one)) for one in names}
    lines = [
        f"DOWN {one}: {n} of its processes ended" if n else f"DOWN {one}: forgotten"
        for one, n in ended.items()
    ]
    record = {"schema": "weft.cluster-down/1", "ended": ended}
    emit(format_, text=lambda: "\n".join(lines) or "no cluster is up", record=record, rows=[])
    left = leftovers()
    return int(ExitCode.VERDICT_BAD if set(left) & set(names) else ExitCode.GOOD)
