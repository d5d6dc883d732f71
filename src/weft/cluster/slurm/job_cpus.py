"""How many CPUs a job has on each of its nodes, from the scheduler's environment."""

import re
from collections.abc import Mapping

from weft.core.nodeset import expand

# SOURCE: sbatch(1) of Slurm 22.05, SLURM_JOB_CPUS_PER_NODE: '72(x2),36', in the order of the nodes.
_RUN = re.compile(r"(\d+)(?:\(x(\d+)\))?")


def cpus_by_node(environ: Mapping[str, str]) -> dict[str, int]:
    """By node of the Slurm job this runs in; empty outside of one, and where the two lists that
    Slurm gives do not fit each other."""
    nodes = environ.get("SLURM_JOB_NODELIST")
    counts = environ.get("SLURM_JOB_CPUS_PER_NODE")
    if not nodes or not counts:
        return {}
    runs = [_RUN.fullmatch(word) for word in counts.split(",")]
    cpus = [int(run[1]) for run in runs if run for _ in range(int(run[2] or 1))]
    names = expand(nodes)
    if len(cpus) != len(names) or not all(runs) or not all(cpus):
        return {}
    return dict(zip(names, cpus, strict=True))
