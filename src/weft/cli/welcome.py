"""Bare `weft`: a description of this machine, and five things to do."""

import os

import click

from weft import __version__
from weft.core.errors import WeftError
from weft.core.host import Host, this_host

FIVE_THINGS = (
    ("weft judge FILE", "is this result normal, and what limits it?"),
    ("weft check --twin fat-tree --plant random", "find a fault planted in a simulated fabric"),
    ("weft study run smoke", "measure this machine over MPI, with intervals"),
    ("weft check --hosts 'node[1-16]'", "is this fabric healthy, and if not, what is wrong?"),
    ("weft platform list", "machines whose figures weft knows, with sources"),
)


def welcome() -> None:
    """Print the description and the five commands."""
    click.echo(f"weft {__version__}: {describe_host(this_host())}")
    job, nodes = (os.environ.get(f"SLURM_JOB_{name}") for name in ("ID", "NODELIST"))
    inside = f"Slurm job {job} on {nodes or 'unknown nodes'}" if job else "not inside a Slurm job"
    click.echo(f"MPI: {_describe_mpi()}; {inside}.\n")
    width = max(len(command) for command, _ in FIVE_THINGS)
    for command, purpose in FIVE_THINGS:
        click.echo(f"  {command.ljust(width)}  {purpose}")
    click.echo("\n`weft VERB --help` explains a verb; `weft --help` lists them.")


def describe_host(host: Host) -> str:
    """One sentence: name, processor, cores, memory, fast network devices."""
    parts = [f"{host.cpu_model}, {len(host.cpus)} CPUs"]
    if host.memory_gb is not None:
        parts.append(f"{host.memory_gb:.0f} GB")
    fast = [device for device in host.devices if device.fast]
    if not fast:
        parts.append("no InfiniBand, Slingshot or EFA device")
    for device in fast:
        rate = f" {device.rate_gbps:.0f} Gb/s" if device.rate_gbps else ""
        parts.append(f"{device.name} ({device.link_layer}{rate}, {device.state})")
    return f"{host.name}, {', '.join(parts)}."


def _describe_mpi() -> str:
    from weft.launch.mpi import find_mpi

    try:
        embedded = find_mpi(None)
    except WeftError as error:
        return error.what
    described = f"{embedded.version} (embedded)"
    try:
        site = find_mpi("site")
    except WeftError:
        return described
    return f"{described}, {site.version} (--mpi site: {site.mpicc})"
