"""The plan of a check: backend, fabric, schedule, and the time it will take."""

import math
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from weft.bench.live.launch_site import is_this_machine
from weft.cli.backend.choice import BackendChoice
from weft.cli.fabric.files import refuse_read_once
from weft.cli.options import options_as
from weft.cluster.record import first_on_machine, read_cluster
from weft.cluster.slurm.allocation import cpus_by_node
from weft.core.errors import InputError, did_you_mean
from weft.launch.hostfile import read_hostfile

if TYPE_CHECKING:
    from weft.bench.model import Backend, Launch
    from weft.catalog.machine.platform import Platform
    from weft.check.readings.network import Network
    from weft.check.schedule.cost import Effort
    from weft.check.schedule.plan import CheckPlan
    from weft.check.schedule.ranks import ScheduleRanks
    from weft.check.schedule.schedule import Field
    from weft.topology.fabric import Fabric

TIMEOUT_S = 3600.0
TIMEOUT_TIMES = 4.0
"""A launch that takes this many times the planned time hangs; but not before `TIMEOUT_S`."""


@dataclass(frozen=True, slots=True)
class PlanChoice:
    """The options about the schedule."""

    schedule: str | None
    budget: str | None
    only: str | None
    quick: bool = False
    bidirectional: bool = False

    @property
    def within_s(self) -> float:
        """Seconds that all launches of a run on real hosts may take together."""
        from weft.check.schedule.cost import figures

        return figures().quick_all_s if self.quick else math.inf


_OPTIONS = (
    click.option(
        "--schedule",
        metavar="SCHEME",
        help="Which pairs: full, random:R, reflections:R, cover:M, leaf, rails, "
        "bisect:SUSPECTS|GOOD or a file of rounds. Default: the best that fits a minute.",
    ),
    click.option(
        "--budget",
        metavar="TIME",
        help="Fabric time of all tests together, such as 60s or 2min; picks the schedule.",
    ),
    click.option(
        "--only",
        metavar="NODESET",
        help="Only pairs with an end in these nodes, or at (across) this switch, port or HCA.",
    ),
    click.option(
        "--quick",
        is_flag=True,
        help="For a prolog: under 30 s for a handful of nodes, or exit 4.",
    ),
    click.option(
        "--bidirectional",
        is_flag=True,
        help="Also measure each pair's bandwidth in both directions at once.",
    ),
)


plan_options = options_as("wanted", PlanChoice, _OPTIONS)
"""Add the options about the schedule; the command gets them as one `wanted: PlanChoice`."""


@dataclass(frozen=True, slots=True)
class Setup:
    """A planned check: backend, fabric, launches."""

    backend: "Backend"
    fabric: "Fabric | None"
    launches: "tuple[Launch, ...]"
    adaptive: bool
    plan: "CheckPlan"

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes to measure."""
        return self.launches[0].trial.nodes

    @property
    def announced_s(self) -> float | None:
        """The announced time of the survey, where it takes real time; else None."""
        return self.plan.seconds if self.backend.name == "live" else None


def set_up(
    choice: BackendChoice,
    size_texts: tuple[str, str],
    wanted: PlanChoice,
    adaptive: bool,
    tasks_per_node: int | None,
) -> Setup:
    """Backend, fabric, plan and launches of these options. Raises InputError, MissingError."""
    from weft.bench.phase import BIDIRECTIONAL, DEFAULT_PHASES
    from weft.catalog.load import benchmark
    from weft.check.launches import check_launches
    from weft.check.schedule.cost import effort_of, figures
    from weft.cli.backend.opening import open_backend
    from weft.validity.background_traffic import quiet_option

    sizes = _sizes(*size_texts)
    refuse_read_once(choice.fabric, "--fabric")
    _refuse_rails(choice.rail_names)
    _refuse_tasks(choice, tasks_per_node)
    # The fabric of real hosts is for naming cables; a twin is made of its fabric.
    of_hosts = choice.fabric if choice.twin is None else ()
    backend, nodes = open_backend(replace(choice, fabric=()) if of_hosts else choice)
    one_host = choice.twin is None and len(nodes) == 1
    # As far as files and Slurm name them before the hosts are asked.
    n_cpus = _cpus_of(choice, nodes)
    n_tasks = tasks_per_node or (n_cpus.get(nodes[0], 1) if one_host else None)
    if len(nodes) < 2 and (n_tasks or 1) < 2:
        raise _no_pair(nodes[0], is_known=not one_host or nodes[0] in n_cpus)
    fabric = read_fabric(of_hosts, nodes) if of_hosts else _fabric_of(backend)
    if of_hosts and fabric is not None and not one_host:
        on_rails, fabric = _on_rails(choice, nodes, fabric)
        if on_rails != choice:
            choice = on_rails
            backend, _ = open_backend(replace(choice, fabric=()))
    ranks = _ranks(choice, nodes, fabric, one_host=one_host, n_tasks=n_tasks)
    options = {**benchmark("pairs").options, **quiet_option(backend)}
    adaptive = adaptive or _is_dragonfly(choice)
    if adaptive and choice.twin is not None:
        # Switches of a twin route as `--adaptive` says; on real hosts only the diagnosis uses it.
        options["adaptive_routing"] = "on"
    if wanted.bidirectional:
        options["phases"] = [*DEFAULT_PHASES, BIDIRECTIONAL.name]
    timed = dict(options)
    if backend.name == "live" and fabric is None:
        # Where no rate is known, the kernel's time limit is all that bounds a round.
        timed["max_seconds_per_size"] = figures().max_seconds_per_size
    effort = effort_of(timed, sizes[1])
    by_host = {at: n_cpus[node] for at, node in enumerate(nodes) if node in n_cpus}
    field = _field(ranks, wanted, seed=choice.seed, adaptive=adaptive)
    field = replace(field, n_cpus=by_host, machine_of=_machine_of(choice, nodes))
    plan = _plan(field, effort, wanted, simulated=choice.twin is not None)
    options |= plan.options
    launches = check_launches(
        nodes,
        tasks_per_node=len(ranks) // len(nodes),
        sizes_bytes=sizes,
        rounds=options.pop("rounds"),
        options=options,
        timeout_s=max(TIMEOUT_S, TIMEOUT_TIMES * plan.seconds),
        arm={"routing": "adaptive"} if adaptive else {},
    )
    if wanted.quick:
        launches = _in_a_hurry(launches)
    return Setup(backend, fabric, launches, adaptive, plan)


def _in_a_hurry(launches: "tuple[Launch, Launch, Launch]") -> "tuple[Launch, Launch, Launch]":
    """The launches with what each may take in a prolog; one that takes longer hangs."""
    from weft.check.schedule.cost import figures

    known = figures()
    limits = (known.quick_survey_s, known.quick_follow_up_s, known.quick_follow_up_s)
    survey, alone, together = (
        replace(launch, trial=replace(launch.trial, timeout_s=limit))
        for launch, limit in zip(launches, limits, strict=True)
    )
    return survey, alone, together


def _is_dragonfly(choice: BackendChoice) -> bool:
    """Whether the twin's platform routes adaptively by itself."""
    from weft.catalog.load import platform

    return choice.twin is not None and platform(choice.twin).dragonfly is not None


def _field(ranks: "ScheduleRanks", wanted: PlanChoice, *, seed: int, adaptive: bool) -> "Field":
    """The ranks and paths that are scheduled. Raises InputError on an --only without a meaning."""
    from weft.check.schedule.node_group import group_of
    from weft.check.schedule.paths import FlowPaths
    from weft.check.schedule.schedule import Field

    network = ranks.network
    paths = None
    if network is not None:
        paths = FlowPaths(network, ranks.hca[ranks.has_rail], adaptive=adaptive)
    only = None if wanted.only is None else group_of(wanted.only, ranks, paths)
    return Field(ranks, paths, only, seed)


def _plan(field: "Field", effort: "Effort", wanted: PlanChoice, *, simulated: bool) -> "CheckPlan":
    """The plan of the options. Raises InputError."""
    from weft.check.schedule.cost import Cost, figures
    from weft.check.schedule.plan import plan_check
    from weft.check.schedule.scheme import parse_scheme
    from weft.core.units import parse_duration

    if wanted.quick and wanted.budget is not None:
        raise InputError("--quick and --budget contradict each other", expected="one of them")
    budget_s = None if wanted.budget is None else parse_duration(wanted.budget)
    if wanted.quick:
        budget_s = figures().quick_s
    return plan_check(
        field,
        Cost(field.ranks, field.paths, effort, simulated),
        None if wanted.schedule is None else parse_scheme(wanted.schedule),
        budget_s,
    )


def _ranks(
    choice: BackendChoice,
    nodes: tuple[str, ...],
    fabric: "Fabric | None",
    *,
    one_host: bool,
    n_tasks: int | None,
) -> "ScheduleRanks":
    from weft.check.readings.network import Network
    from weft.check.schedule.ranks import ranks_of_host, ranks_of_nodes

    if one_host and n_tasks is not None:
        return ranks_of_host(nodes[0], n_tasks)
    network = None if fabric is None else Network(fabric)
    if n_tasks is not None:
        return ranks_of_nodes(nodes, n_tasks, network, share_hcas=True)
    return ranks_of_nodes(nodes, _n_rails(choice, nodes, network), network)


def _refuse_rails(names: tuple[str, ...]) -> None:
    """Ranks of one device would delay one another, and count as two. Raises InputError."""
    ports = [name if ":" in name else f"{name}:1" for name in names]
    twice = next((name for i, name in enumerate(ports) if name in ports[:i]), None)
    if twice is not None:
        raise InputError(
            f"'{twice}' is named twice",
            where="--rails",
            expected="each device once: a rank a rail",
            hint="several ranks a device are --tasks-per-node without --rails",
        )


def _refuse_tasks(choice: BackendChoice, tasks_per_node: int | None) -> None:
    if tasks_per_node is None:
        return
    if choice.twin is not None:
        raise InputError(
            "--tasks-per-node and --twin contradict each other",
            expected="one of them: a twin has one rank for each HCA of a node",
        )
    n_rails = len(choice.rail_names) or tasks_per_node
    if n_rails != tasks_per_node:
        raise InputError(
            f"--tasks-per-node {tasks_per_node} with {n_rails} --rails",
            expected="one rank for each rail: leave one of them out",
        )


def _sizes(small: str, large: str) -> tuple[int, int]:
    from weft.core.units import parse_size

    sizes = (parse_size(small), parse_size(large))
    if not 0 < sizes[0] < sizes[1]:
        raise InputError(
            f"--small {small} --large {large} does not make a small and a large message",
            expected="a small size above 0 bytes, and a larger one",
        )
    return sizes


def read_fabric(
    files: tuple[str, ...], nodes: tuple[str, ...], platform: "Platform | None" = None
) -> "Fabric":
    """The fabric of files; every node must be in it. `platform`: of a twin. Raises InputError."""
    from weft.cli.fabric.files import fabric_of_files
    from weft.topology.fabric import Fabric

    fabric = Fabric.from_document(fabric_of_files(files, platform))
    missing = [node for node in nodes if node not in fabric.nodes]
    if missing:
        raise InputError(
            f"no node '{missing[0]}' in this fabric",
            where=files[0],
            expected=f"the hosts by the fabric's names, such as {fabric.nodes[0]}",
            hint=did_you_mean(missing[0], list(fabric.nodes)),
        )
    return fabric


def _on_rails(
    choice: BackendChoice, nodes: tuple[str, ...], fabric: "Fabric"
) -> "tuple[BackendChoice, Fabric]":
    """The rails of real hosts and their adapters in the ranks' order: those asked for, else all,
    where the fabric names their devices. An adapter that MPI chooses itself has no name."""
    from weft.topology.fabric import Fabric
    from weft.topology.rail_view import on_rails, rails_of

    rails = choice.rail_names or rails_of(fabric.document, nodes)
    if rails is None:
        return choice, fabric
    document = on_rails(dict(fabric.document), nodes, rails)
    return replace(choice, rails=",".join(rails)), Fabric.from_document(document)


def _fabric_of(backend: "Backend") -> "Fabric | None":
    document = backend.fabric_document
    if document is None:
        return None
    from weft.bench.twin.backend import TwinBackend
    from weft.topology.fabric import Fabric

    if isinstance(backend, TwinBackend):
        return backend.fabric
    return Fabric.from_document(dict(document))


def _n_rails(choice: BackendChoice, nodes: tuple[str, ...], network: "Network | None") -> int:
    """Rails to measure: those named, else as many as the node with most HCAs has. Nodes with fewer
    take part on those they have, if ranks still find their HCAs; else every node on its first."""
    if choice.rail_names:
        return len(choice.rail_names)
    if network is None:
        return 1
    counts = {len(network.hcas_of[node]) for node in nodes}
    most = max(counts)
    return most if all(n and most % n == 0 for n in counts) else 1


def _no_pair(node: str, *, is_known: bool) -> InputError:
    """Why one node alone is not measured; `is_known`: how many CPUs it has."""
    if is_known:
        return InputError(
            "one node has no pair to measure",
            expected="two nodes or more; six or more to name one",
            hint="weft check --twin fat-tree --nodes 16 shows what a check does",
        )
    return InputError(
        f"one node has no pair to measure, and the number of CPUs of {node} is unknown",
        expected="two nodes or more; or --tasks-per-node N, to measure the memory of one",
    )


def say_plan(setup: Setup, format_: str) -> None:
    """Print the plan for `--dry-run`."""
    from weft.check.launches import is_follow_up
    from weft.cli.dry_run import print_dry_run

    print_dry_run(
        setup.backend,
        [launch for launch in setup.launches if not is_follow_up(launch.trial)],
        format_,
        first_line=setup.plan.text,
        more={"plan": setup.plan.to_record()},
    )


def _cpus_of(choice: BackendChoice, nodes: tuple[str, ...]) -> dict[str, int]:
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


def _machine_of(choice: BackendChoice, nodes: tuple[str, ...]) -> dict[int, int]:
    """By host of a cluster that shares a machine with others, the first host on it."""
    if choice.cluster is None:
        return {}
    return first_on_machine(read_cluster(choice.cluster).machines, nodes)
