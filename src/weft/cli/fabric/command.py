"""`weft fabric`: a cluster's own fabric files read, traced, routed, audited, drawn, exported."""

import click

from weft.cli.lazy import LazyVerbs

VERBS = {
    "show": "Nodes, switches, cables, rates and taper of the fabric; a picture of it.",
    "trace": "The cables that packets cross from A to B, and back.",
    "audit": "Its faults: of cables, routes, counters, logs; the place and the remedy of each.",
    "congestion": "Which ports others waited for, and the jobs behind it, by two readings.",
    "channels": "The cables of a job's NCCL channels, collisions, the order without them.",
    "what-if": "What a change would do: hosts cut off, slower jobs, a safe order of work.",
    "route": "Routing engines compared: path lengths, loads, bisection, credit loops.",
    "export": "The fabric for ibsim (and so OpenSM), Slurm, graph tools, or the twin.",
    "generate": "The fabric of a platform of the catalogue at any number of nodes.",
}
"""Verb -> one line. Each lives in weft.cli.fabric.VERB, as `command`."""


@click.group("fabric", cls=LazyVerbs, verbs=VERBS, folder="fabric")
def command() -> None:
    """Read a cluster's own fabric files: output of ibnetdiscover, OpenSM, ibdiagnet and others.

    Every verb takes any number of FILES, knows each by its content ('-' is standard input), and
    joins their parts: cables, forwarding tables, counters.
    """
