"""The Slurm job this runs in: its nodes, the CPUs and the leaf switch of each."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from weft.cluster.slurm.neighbours import TOPOLOGY, leaves_in
from weft.cluster.slurm.scheduler import ask
from weft.core.nodeset import expand

# SOURCE: sbatch(1) of Slurm 22.05, SLURM_JOB_CPUS_PER_NODE: '72(x2),36', in the order of the nodes.
_CPUS = re.compile(r"(\d+)(?:\(x(\d+)\))?")


@dataclass(frozen=True, slots=True)
class Leaves:
    """Leaf switch by node, from Slurm's configuration; or in `not_known` why it is unknown."""

    by_node: Mapping[str, str]
    not_known: str | None = None


def job_id(environ: Mapping[str, str]) -> str | None:
    """The id of the job, as squeue shows it: '12', '12_3' of an array; None outside of one."""
    array, task = environ.get("SLURM_ARRAY_JOB_ID"), environ.get("SLURM_ARRAY_TASK_ID")
    return f"{array}_{task}" if array and task else environ.get("SLURM_JOB_ID")


def job_nodes(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The nodes of the job, in its order; none outside of one."""
    listed = environ.get("SLURM_JOB_NODELIST")
    return expand(listed) if listed and job_id(environ) is not None else ()


def cpus_by_node(environ: Mapping[str, str]) -> dict[str, int]:
    """How many CPUs the job has on each of its nodes; empty outside of one, and where the two lists
    that Slurm gives do not fit each other."""
    nodes = environ.get("SLURM_JOB_NODELIST")
    counts = environ.get("SLURM_JOB_CPUS_PER_NODE")
    if not nodes or not counts:
        return {}
    runs = [_CPUS.fullmatch(word) for word in counts.split(",")]
    cpus = [int(run[1]) for run in runs if run for _ in range(int(run[2] or 1))]
    names = expand(nodes)
    if len(cpus) != len(names) or not all(runs) or not all(cpus):
        return {}
    return dict(zip(names, cpus, strict=True))


def srun_nodes(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The nodes on which srun starts ranks now: those of the job, none in a prolog or an epilog, in
    which a job has its variables and can have no step.

    SOURCE: Slurm's guide to prologs and epilogs: SLURM_SCRIPT_CONTEXT is set in all of them.
    """
    return () if environ.get("SLURM_SCRIPT_CONTEXT") else job_nodes(environ)


def as_slurm_orders(nodes: Sequence[str], environ: Mapping[str, str]) -> tuple[str, ...]:
    """These nodes in the order of the job where they are all of it: there ranks are placed in it,
    whatever order they were asked for in.

    SOURCE: srun(1) of Slurm 22.05, --nodelist: "The order of the node names in the list is not
    important; the node names will be sorted by Slurm."
    """
    within = srun_nodes(environ)
    return tuple(n for n in within if n in nodes) if set(nodes) <= set(within) else tuple(nodes)


def is_beyond_srun(nodes: Sequence[str], environ: Mapping[str, str]) -> bool:
    """Whether an MPI's own launcher, which goes by the job's variables, would take srun for nodes
    that srun does not reach: strangers to the job, and all of them in a prolog."""
    return job_id(environ) is not None and not set(nodes) <= set(srun_nodes(environ))


def ask_leaves() -> Leaves:
    """The leaf switches in the answer of Slurm; never an error: a run goes on without."""
    leaves, not_known = leaves_in(ask(TOPOLOGY))
    return Leaves({node: leaf for leaf, nodes in leaves.items() for node in nodes}, not_known)


def placement(nodes: Sequence[str], environ: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The job in the record of a run: id, nodes, and their leaves as far as they are known; empty
    outside of a job, and where it measures other nodes."""
    environ = os.environ if environ is None else environ
    job = job_id(environ)
    if job is None or not set(nodes) <= set(job_nodes(environ)):
        return {}
    leaves = ask_leaves()
    found = {node: leaves.by_node[node] for node in nodes if node in leaves.by_node}
    known = {"leaves": found, "n_leaves": len(set(found.values()))} if found else {}
    why = {} if leaves.not_known is None else {"leaves_not_known": leaves.not_known}
    partition = environ.get("SLURM_JOB_PARTITION")
    named = {"partition": partition} if partition else {}
    return {"job": job, **named, "nodes": list(nodes), **known, **why}
