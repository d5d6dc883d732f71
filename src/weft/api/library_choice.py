"""Questions about NCCL as a given libnccl.so decides them: its version, algorithm and adapters."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from weft.catalog.machine.platform import Platform
from weft.core.errors import InputError
from weft.doctor.machine.detection.document import platform_named
from weft.doctor.nccl_plan.asking import COLLECTIVES, ask_library
from weft.doctor.nccl_plan.nodes import difference_from, topology_of
from weft.doctor.nccl_plan.plan import NcclPlan
from weft.expect.model import Conditions
from weft.expect.nccl.topology import topology as gpu_topology

SAME_SHARE = 0.1
"""So far apart are two rates of the same paths: NCCL's search tries rates in steps.
SOURCE: NVIDIA/nccl, src/graph/search.cc: speedArrayIntra, speedArrayInter."""


def by_library(
    questions: Sequence[Conditions], platform: str, library: Path, topology: Path | None
) -> tuple[list[Conditions], str]:
    """The conditions with what the library chooses where the user did not, and a line that says so.
    Raises InputError where it cannot be asked, or none of them is for it."""
    of_nccl = [one for one in questions if _is_for_library(one)]
    if not of_nccl:
        raise InputError(
            "--libnccl decides nothing here",
            expected=f"a collective of NCCL: {', '.join(COLLECTIVES)}",
        )
    first = of_nccl[0]
    job = topology_of(platform, topology)
    differs = difference_from(platform, job, adapters=False) if topology is not None else ""
    if differs:
        raise InputError(
            f"the topology file is not of a node of {platform}: {differs}",
            where=str(topology),
            expected="a topology file of the platform's nodes",
            hint="name the platform that the file is from (weft platform list);"
            f" weft doctor nccl-plan {library} --topo {topology} asks about the file's own nodes",
        )
    n_gpus = len(job.bus_ids)
    if first.tasks_per_node != n_gpus:
        raise InputError(
            f"{first.tasks_per_node} GPUs of each node",
            expected=f"all {n_gpus} GPUs of a node, as --libnccl is asked about",
        )
    plan = ask_library(
        library,
        job,
        nodes=(first.n_nodes,),
        sizes_bytes=sorted({one.size_bytes for one in of_nccl}),
        collectives=(first.benchmark,),
    )
    found = [_chosen(one, plan) if _is_for_library(one) else one for one in questions]
    said = [_said(plan, library), _contradiction(platform_named(platform), first, plan)]
    return found, "\n".join(line for line in said if line)


def _is_for_library(one: Conditions) -> bool:
    return one.library == "nccl" and one.benchmark in COLLECTIVES and not one.transport


def _chosen(one: Conditions, plan: NcclPlan) -> Conditions:
    node = plan.by_nodes[one.n_nodes]
    if one.n_nodes > 1 and one.n_hcas is None:
        nets = {net for pair in node.graphs["ring"].nets for net in pair}
        one = replace(one, n_hcas=len(nets))
    choice = node.choice(one.benchmark, one.size_bytes)
    if choice is not None and not one.algorithm:
        protocol = one.protocol or choice.protocol
        one = replace(one, algorithm=choice.algorithm, protocol=protocol)
    return replace(one, library_version=one.library_version or plan.version)


def _said(plan: NcclPlan, library: Path) -> str:
    asked = "algorithm, protocol and adapters" if plan.has_times else "adapters alone"
    reason = "" if plan.has_times else "; its tuner cannot be asked, so weft's model chooses"
    return f"asked {library.name} of NCCL {plan.version}: {asked}{reason}"


def _contradiction(platform: Platform, asked: Conditions, plan: NcclPlan) -> str:
    """Where the library's ring carries another rate than weft's formula counts, both; else ''."""
    if asked.n_hcas is not None:
        return ""
    own = gpu_topology(platform, _chosen(asked, plan))
    ring = plan.by_nodes[asked.n_nodes].graphs["ring"]
    if asked.n_nodes == 1:
        counted, one, where = own.nvlink or own.pcie, ring.gb_s_inside, "inside a node"
    else:
        n_groups = asked.n_nodes / own.n_nodes
        counted, one, where = own.net / n_groups, ring.gb_s_between, "between nodes"
    searched = ring.n_channels * one
    if abs(searched - counted) <= SAME_SHARE * counted:
        return ""
    return (
        f"contradiction: the library's ring carries {searched:g} GB/s {where} ({ring.n_channels} x"
        f" {one:g} GB/s), weft's value counts {counted:g} GB/s of the platform, and holds only"
        " where the platform is right"
    )
