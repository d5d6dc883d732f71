"""`weft cluster`: from bare hosts to an MPI cluster, and back."""

import click

from weft.cli.lazy import LazyVerbs

VERBS = {
    "up": "Bring up hosts, stage by stage, or a virtual cluster on this machine (--local N).",
    "status": "All clusters, and the state of their hosts.",
    "template": "Write the files by which a cloud makes a cluster with InfiniBand (azure).",
    "down": "End a virtual cluster, or remove the files of 'up' from real hosts.",
}
"""Verb -> one line. Each lives in weft.cli.cluster.VERB, as `command`."""


@click.group("cluster", cls=LazyVerbs, verbs=VERBS, folder="cluster")
def command() -> None:
    """Make an MPI cluster of hosts that answer over ssh, and measure on it (--cluster NAME)."""
