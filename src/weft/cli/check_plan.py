"""What a check is going to measure: backend, fabric, schedule; and what that will take."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from weft.cli.backend import BackendChoice
from weft.core.errors import InputError

if TYPE_CHECKING:
    from weft.bench.model import Backend, Launch
    from weft.diagnose.check.network import Wiring

TIMEOUT_S = 3600.0


@dataclass(frozen=True, slots=True)
class Setup:
    """What will be measured, before anything is."""

    backend: "Backend"
    fabric: "Wiring | None"
    launches: "tuple[Launch, Launch, Launch]"
    adaptive: bool

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes to measure."""
        return self.launches[0].trial.nodes


def set_up(
    choice: BackendChoice,
    size_texts: tuple[str, str],
    *,
    adaptive: bool = False,
    tasks_per_node: int | None = None,
) -> Setup:
    """Backend, fabric and launches of what the options say. Raises InputError, MissingError."""
    from weft.catalog.load import benchmark
    from weft.cli.backend import is_one_host, open_backend
    from weft.diagnose.check.launches import check_launches
    from weft.diagnose.check.network import Network
    from weft.diagnose.check.seats import within_cpus
    from weft.diagnose.schedule import reflection_rounds, rounds_without_collisions

    sizes = _sizes(*size_texts)
    _refuse_tasks(choice, tasks_per_node)
    # The fabric of real hosts is for naming cables; that of a twin is what the twin is made of.
    of_hosts = choice.fabric if choice.twin is None else ()
    backend, nodes = open_backend(replace(choice, fabric=()) if of_hosts else choice)
    one_host = is_one_host(choice, nodes)
    if len(nodes) < 2 and not (one_host and _cpus() > 1 and tasks_per_node != 1):
        raise InputError(
            "one node makes no pair",
            expected="two nodes or more; six or more to name one",
            hint="weft check --twin fat-tree --nodes 16 shows what a check does",
        )
    fabric = _read_fabric(of_hosts, nodes) if of_hosts else _fabric_of(backend)
    if one_host:
        tasks = tasks_per_node or _cpus()
        rounds = reflection_rounds(tasks)
    else:
        tasks = tasks_per_node or _n_rails(choice, fabric)
        network = None if fabric is None else Network(fabric)
        rounds = rounds_without_collisions(nodes, tasks, network)
    launches = check_launches(
        nodes,
        tasks_per_node=tasks,
        sizes_bytes=sizes,
        # This machine stands for the others: nobody has asked them yet how many CPUs they have.
        rounds=rounds if choice.twin is not None else within_cpus(rounds, tasks, _cpus()),
        options={**benchmark("pairs").options, **_quiet(backend), **_routing(choice, adaptive)},
        timeout_s=TIMEOUT_S,
        arm={"routing": "adaptive"} if adaptive else {},
    )
    return Setup(backend, fabric, launches, adaptive)


def _refuse_tasks(choice: BackendChoice, tasks_per_node: int | None) -> None:
    if tasks_per_node is None:
        return
    if choice.twin is not None:
        raise InputError(
            "--tasks-per-node and --twin contradict each other",
            expected="one of them: a twin has one rank for each HCA of a node",
        )
    n_rails = len(choice.rails.split(",")) if choice.rails else tasks_per_node
    if n_rails != tasks_per_node:
        raise InputError(
            f"--tasks-per-node {tasks_per_node} beside {n_rails} --rails",
            expected="one rank for each rail: leave one of them out",
        )


def _routing(choice: BackendChoice, adaptive: bool) -> dict[str, str]:
    """A twin routes as it is told; how a real fabric routes is only told to the diagnosis."""
    return {"adaptive_routing": "on"} if adaptive and choice.twin is not None else {}


def _quiet(backend: "Backend") -> dict[str, float]:
    """Real hosts are watched before anything is sent: a twin has no neighbours."""
    from weft.diagnose.validity.thresholds import thresholds

    return {"quiet": thresholds().quiet_seconds} if backend.name == "live" else {}


def _sizes(small: str, large: str) -> tuple[int, int]:
    from weft.core.units import parse_size

    sizes = (parse_size(small), parse_size(large))
    if not 0 < sizes[0] < sizes[1]:
        raise InputError(
            f"--small {small} --large {large} does not make a small and a large message",
            expected="a small size above 0 bytes, and a larger one",
        )
    return sizes


def _read_fabric(files: tuple[str, ...], nodes: tuple[str, ...]) -> "Wiring":
    """The fabric of files; every node must be in it. Raises InputError."""
    from weft.cli.fabric_files import fabric_of_files
    from weft.topology.fabric import Fabric

    fabric = Fabric.from_document(fabric_of_files(files))
    missing = [node for node in nodes if node not in fabric.nodes]
    if missing:
        raise InputError(
            f"no node '{missing[0]}' in this fabric",
            where=files[0],
            expected=f"the hosts by the fabric's names, such as {fabric.nodes[0]}",
        )
    return fabric


def _fabric_of(backend: "Backend") -> "Wiring | None":
    document = getattr(backend, "fabric_document", None)
    if document is None:
        return None
    from weft.topology.fabric import Fabric

    return Fabric.from_document(dict(document))


def _n_rails(choice: BackendChoice, fabric: "Wiring | None") -> int:
    """Rails to measure: those named, else all that every node has."""
    if choice.rails:
        return len(choice.rails.split(","))
    if fabric is None:
        return 1
    return min(len(node["hcas"]) for node in fabric.document["nodes"])


def _cpus() -> int:
    """CPUs this process may use: as many ranks as one host can hold without sharing any."""
    import os

    return len(os.sched_getaffinity(0))


def say_plan(setup: Setup, format_: str) -> None:
    """What `--dry-run` prints."""
    from weft.cli.dry_run import print_dry_run
    from weft.core.words import counted

    survey = setup.launches[0]
    rounds = survey.trial.options["rounds"]
    n_pairs = sum(len(pairs) for pairs in rounds)
    plan = (
        f"{counted(n_pairs, 'pair')} of {survey.trial.n_ranks} ranks"
        f" in {counted(len(rounds), 'round')},"
        f" sizes {survey.trial.sizes_bytes[0]} and {survey.trial.sizes_bytes[1]} bytes;"
        f" then the slow pairs again, one at a time{_estimate(setup)}"
    )
    print_dry_run(setup.backend, [survey], format_, first_line=plan)


def _estimate(setup: Setup) -> str:
    """How long the first part takes; known where the fabric's rates are."""
    from weft.core.units import format_duration
    from weft.diagnose.schedule import estimate_s

    if setup.fabric is None:
        return ""
    trial = setup.launches[0].trial
    seconds = estimate_s(
        len(trial.options["rounds"]),
        size_bytes=trial.sizes_bytes[1],
        window=int(trial.options.get("window", 64)),
        bits_per_s=min(int(link["bits_per_s"]) for link in setup.fabric.document["links"]),
    )
    return f"; about {format_duration(seconds)} on a real fabric at this rate"
