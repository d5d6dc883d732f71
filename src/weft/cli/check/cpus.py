"""How many CPUs the hosts of a check have, and which of them are one machine, as far as files
and Slurm name them before the hosts are asked."""

import os

from weft.bench.live.launch_site import is_this_machine
from weft.cli.backend import BackendChoice
from weft.cluster.record import first_on_machine, read_cluster
from weft.cluster.slurm.job_cpus import cpus_by_node
from weft.launch.hostfile import read_hostfile


def cpus_of(choice: BackendChoice, nodes: tuple[str, ...]) -> dict[str, int]:
    """By node: CPUs that its ranks may use at a time; nodes without a known number are left out.

    The hostfile's slots, else what Slurm gave the job; the record of a cluster. This machine
    knows its own, and stands for the others where it is one of them. A twin's ranks need no CPU.
    """
    if choice.twin is not None or choice.mock:
        return {}
    if choice.cluster is not None:
        return dict.fromkeys(nodes, read_cluster(choice.cluster).n_cpus)
    slots = {} if choice.hostfile is None else read_hostfile(choice.hostfile)
    reported = {
        **cpus_by_node(os.environ),
        **{node: n for node, n in slots.items() if n is not None},
    }
    ours = len(os.sched_getaffinity(0))
    here = {node for node in nodes if is_this_machine(node, os.uname().nodename)}
    known = dict.fromkeys(nodes, ours) if here else {}
    known |= {node: reported[node] for node in nodes if node in reported}
    return known | {node: min(ours, known[node]) for node in here}


def machine_of(choice: BackendChoice, nodes: tuple[str, ...]) -> dict[int, int]:
    """By host of a cluster that shares a machine with others, the first host on it."""
    if choice.cluster is None:
        return {}
    return first_on_machine(read_cluster(choice.cluster).machines, nodes)
