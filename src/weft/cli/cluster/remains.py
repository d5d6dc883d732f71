"""What an interrupted `weft cluster up` leaves: virtual hosts that run, files on real hosts."""

import contextlib
from collections.abc import Iterator

import click

from weft.cli.command_line import typed_command
from weft.cluster.folder import cluster_folder
from weft.cluster.local.start import has_layout, leftovers
from weft.cluster.record import FILE
from weft.core.shell_line import shell_line


@contextlib.contextmanager
def remains_named() -> Iterator[None]:
    """Around `up`: an interrupt says what is left, how to go on, and how to take it away."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        context = click.get_current_context()
        given, local = (context.params[one] for one in ("name", "local"))
        name = given or ("local" if local is not None else "cluster")
        interrupt.add_note(_what_is_left(name))
        interrupt.add_note(f"next: {typed_command(context, {})}")
        raise


def _what_is_left(name: str) -> str:
    folder = cluster_folder(name)
    down = f"'{shell_line(['weft', 'cluster', 'down', name])}'"
    if name in leftovers():
        return f"the virtual hosts of cluster '{name}' go on running; {down} ends them"
    if has_layout(folder):
        return f"no virtual host runs; {down} removes the folder of cluster '{name}'"
    if (folder / FILE).exists():
        return f"hosts keep what 'up' put there; {down} removes it"
    return "nothing goes on running, and nothing was put on a host"
