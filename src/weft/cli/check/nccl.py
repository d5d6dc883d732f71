"""`weft check --with nccl|rccl`: the plan of a check by the site's nccl-tests."""

import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from weft.cli.backend.choice import KUBERNETES, BackendChoice
from weft.cli.check.kubernetes import START_LIMIT, PodPlace
from weft.cli.check.plan import PlanChoice, Setup, read_fabric, set_up
from weft.cli.options import FILE, options_as, refuse_together
from weft.core.errors import InputError, MissingError
from weft.core.units import parse_duration, parse_size
from weft.launch.launchers.container import BARE

if TYPE_CHECKING:
    from weft.bench.live.backend import LiveBackend
    from weft.bench.nccl.backend import NcclBackend
    from weft.bench.nccl.program import NcclTests
    from weft.check.schedule.schedule import Field
    from weft.topology.fabric import Fabric

MPI_SMALL, MPI_LARGE = "8", "1M"
"""Message sizes of weft's own ranks, for latency and for bandwidth."""
LARGE = "1G"
"""Default of --large: the adapters of a pair are full from some hundred MiB on."""
DEFAULT_TEST = "all_reduce_perf"
PLACES = ("", "build")
"""Where the programs are below a folder of nccl-tests."""
_GPUS = ("/dev/nvidia{}", "/dev/dri/renderD{}")
_COMPUTE = "/dev/kfd"
_FIRST_RENDER, _MOST_GPUS = 128, 64


@dataclass(frozen=True, slots=True)
class NcclChoice:
    """The options of a check by nccl-tests. `library`: None for weft's own ranks over MPI."""

    library: str | None
    tests: str | None
    launch_limit: str | None
    namespace: str | None
    manifest: Path | None
    start_limit: str | None


_OPTIONS = (
    click.option(
        "--with",
        "library",
        type=click.Choice(["nccl", "rccl"]),
        help="Measure with the site's nccl-tests or rccl-tests on GPUs, not with weft's own ranks.",
    ),
    click.option(
        "--tests",
        metavar="PATH",
        help="With --with: the program or folder of nccl-tests. Default: all_reduce_perf on PATH, "
        "as its module sets it; in pods and containers the program in the image.",
    ),
    click.option(
        "--launch-limit",
        metavar="TIME",
        help="With --with: the time after which a launch of nccl-tests hangs. Default: 60s.",
    ),
    click.option(
        "--namespace",
        metavar="NAME",
        help="With --launcher kubernetes: where the pods run. Default: that of kubectl's context.",
    ),
    click.option(
        "--manifest",
        metavar="FILE",
        type=FILE,
        help="With --launcher kubernetes: the site's MPIJob, with the volumes, RDMA devices, "
        "variables and the like that its pods need. weft adds names, nodes, GPUs and commands.",
    ),
    click.option(
        "--start-limit",
        metavar="TIME",
        help="With --launcher kubernetes: the time after which pods that do not run have failed. "
        f"Default: {START_LIMIT}.",
    ),
)
nccl_options = options_as("nccl", NcclChoice, _OPTIONS)
"""Add the options of a check by nccl-tests; the command gets them as one `nccl: NcclChoice`."""


def set_up_with(
    nccl: NcclChoice,
    choice: BackendChoice,
    size_texts: tuple[str | None, str | None],
    wanted: PlanChoice,
    *,
    adaptive: bool,
    n_tasks: int | None,
) -> Setup:
    """The set-up of a check by nccl-tests, or by weft's own ranks. Raises InputError,
    MissingError."""
    of_pods = {
        "--namespace": nccl.namespace,
        "--manifest": nccl.manifest,
        "--start-limit": nccl.start_limit,
    }
    given = {"--tests": nccl.tests, "--launch-limit": nccl.launch_limit, **of_pods}
    alone = next((name for name, value in given.items() if value is not None), None)
    if nccl.library is None and alone is not None:
        raise InputError(f"{alone} needs --with", expected="--with nccl or --with rccl")
    if choice.launcher != KUBERNETES and any(of_pods.values()):
        first = next(name for name, value in of_pods.items() if value)
        raise InputError(f"{first} needs --launcher kubernetes", expected="both, or none of them")
    if nccl.library is None:
        small, large = size_texts
        sizes = (small or MPI_SMALL, large or MPI_LARGE)
        return set_up(choice, sizes, wanted, adaptive, n_tasks)
    return _set_up_nccl(nccl, choice, size_texts, wanted, adaptive=adaptive, n_gpus=n_tasks)


def _set_up_nccl(
    nccl: NcclChoice,
    choice: BackendChoice,
    size_texts: tuple[str | None, str | None],
    wanted: PlanChoice,
    *,
    adaptive: bool,
    n_gpus: int | None,
) -> Setup:
    """Backend, fabric, plan and launches of these options. Raises InputError, MissingError."""
    from weft.bench.nccl.program import NcclTests
    from weft.check.nccl.plan import plan_nccl
    from weft.check.nccl.trials import nccl_launches
    from weft.check.schedule.cost import Cost, effort_of
    from weft.check.schedule.scheme import parse_scheme

    library = str(nccl.library)
    _refuse_others(choice, wanted)
    sizes = _sizes(*size_texts)
    place = (
        PodPlace(nccl, choice, n_gpus)
        if choice.launcher == KUBERNETES
        else _HostPlace(_path(nccl, choice), choice, n_gpus)
    )
    nodes = place.nodes
    if len(nodes) < 2:
        raise InputError(
            "one node has no pair to measure",
            expected="two nodes or more; six or more to name one",
            hint="nccl-tests alone measures the GPUs of one node",
        )
    fabric = read_fabric(choice.fabric, nodes) if choice.fabric else None
    rails, fabric = _rails(choice, nodes, fabric)
    env = _for_ranks(place.launcher_kind, choice, rails)
    tests = NcclTests(library, place.path, place.gpus_per_node or _gpus_here(), env)
    if len(rails) > tests.gpus_per_node:
        raise InputError(
            f"{len(rails)} adapters, and {tests.gpus_per_node} GPUs a node",
            where="--rails" if choice.rail_names else "--fabric",
            expected="one adapter a GPU at most: --rails with those that NCCL takes",
        )
    field = _field(nodes, fabric, wanted, n_rails=max(1, len(rails)), seed=choice.seed)
    groups = () if rails else _leaf_groups(field, nodes)
    limit_s = None if nccl.launch_limit is None else parse_duration(nccl.launch_limit)
    plan = plan_nccl(
        field,
        Cost(field.ranks, field.paths, effort_of({"window": 1}, max(sizes))),
        None if wanted.schedule is None else parse_scheme(wanted.schedule),
        None if wanted.budget is None else parse_duration(wanted.budget),
        n_groups=len(groups),
        n_adapters=0 if rails or tests.gpus_per_node < 2 else tests.gpus_per_node,
        limit_s=limit_s,
        alone=tests.gpus_per_node > 1,
        n_gpus=1 if rails else tests.gpus_per_node,
        in_pods=place.launcher_kind == KUBERNETES,
    )
    launches = nccl_launches(
        nodes,
        tasks_per_node=max(1, len(rails)),
        sizes_bytes=sizes,
        rounds=plan.schedule.option,
        limit_s=plan.limit_s,
        alone=tests.gpus_per_node > 1,
        groups=groups,
    )
    return Setup(place.backend(tests, rails), fabric, launches, adaptive, plan)


def _path(nccl: NcclChoice, choice: BackendChoice) -> str:
    """The program of nccl-tests: in an image as it is named, else on this machine. Raises
    MissingError."""
    if choice.container not in (None, BARE):
        return nccl.tests or DEFAULT_TEST
    return find_tests(nccl.tests, str(nccl.library))


def find_tests(named: str | None, library: str) -> str:
    """The program: a named file, one below a named folder, or the first on PATH. Raises
    MissingError."""
    if named is None:
        found = shutil.which(DEFAULT_TEST)
        if found is not None:
            return found
        raise MissingError(
            f"no {DEFAULT_TEST} of {library}-tests on PATH",
            expected=f"the site's {library}-tests",
            hint="load its module before weft starts, or name it: --tests PATH",
        )
    path = Path(named).expanduser().absolute()
    for below in PLACES:
        program = path / below / DEFAULT_TEST if path.is_dir() else path
        if program.is_file() and os.access(program, os.X_OK):
            return str(program)
    raise MissingError(
        f"no program of {library}-tests that can be executed",
        where=str(path),
        expected=f"{DEFAULT_TEST}, or a folder that has it (or build/{DEFAULT_TEST})",
        hint=f"build {library}-tests with MPI=1, or name another place: --tests PATH",
    )


def _refuse_others(choice: BackendChoice, wanted: PlanChoice) -> None:
    """Raises InputError for options that a check by nccl-tests cannot heed."""
    others = {
        "--twin": choice.twin,
        "--bidirectional": wanted.bidirectional or None,
        "--quick": wanted.quick or None,
    }
    refuse_together("--with", others)


def _live(choice: BackendChoice) -> "tuple[LiveBackend, tuple[str, ...]]":
    """The launcher of the site's MPI, which nccl-tests was built with; and the nodes."""
    from weft.bench.live.backend import LiveBackend
    from weft.cli.backend.opening import open_backend

    own = choice.mpi or choice.cluster
    backend, nodes = open_backend(
        replace(choice, fabric=(), rails=None, mpi=choice.mpi if own else "site")
    )
    if not isinstance(backend, LiveBackend):
        raise InputError("--with measures real hosts", expected="--hosts, --hostfile or --cluster")
    return backend, nodes


class _HostPlace:
    """Hosts that an MPI's launcher reaches, as the place of nccl-tests at `path`."""

    def __init__(self, path: str, choice: BackendChoice, n_gpus: int | None) -> None:
        self._live, self.nodes = _live(choice)
        self.path = path
        self.gpus_per_node = n_gpus
        self.launcher_kind = self._live.mpi.launcher_kind

    def backend(self, tests: "NcclTests", adapters: tuple[str, ...]) -> "NcclBackend":
        """The backend of these hosts."""
        from weft.bench.nccl.backend import NcclBackend

        live = self._live
        around = live.container
        return NcclBackend(
            live.mpi, self.nodes, tests, adapters=adapters, site=live.site, container=around
        )


def _rails(
    choice: BackendChoice, nodes: tuple[str, ...], fabric: "Fabric | None"
) -> "tuple[tuple[str, ...], Fabric | None]":
    """The adapters of each rank where pairs of adapters are measured, because the cables of a
    fabric are to be named; else none: a pair uses all adapters. Raises InputError."""
    from weft.topology.fabric import Fabric
    from weft.topology.rail_view import on_rails, rails_of

    if fabric is None:
        return (), None
    most = max(len(one["hcas"]) for one in fabric.document["nodes"] if one["name"] in nodes)
    if most < 2:
        return (), fabric
    rails = choice.rail_names or rails_of(fabric.document, nodes)
    if rails is None:
        raise InputError(
            f"nodes have {most} adapters in this fabric, and their devices have no names",
            where="--fabric",
            expected="--rails mlx5_0:1,mlx5_1:1,... in the order of the fabric's adapters",
            hint="or leave --fabric out: then nodes are named, and no cables",
        )
    return rails, Fabric.from_document(on_rails(dict(fabric.document), nodes, rails))


def _for_ranks(launcher_kind: str, choice: BackendChoice, rails: tuple[str, ...]) -> dict[str, str]:
    """Variables for all ranks: those that Open MPI and containers do not pass on, and the adapters
    named. Pods and containers have the PATH of their image."""
    from weft.bench.nccl.program import PASSED_WHOLE, passed_on

    is_image = launcher_kind == KUBERNETES or choice.container not in (None, BARE)
    found = passed_on(os.environ) if launcher_kind == "openmpi" or is_image else {}
    if is_image:
        found = {name: value for name, value in found.items() if name not in PASSED_WHOLE}
    if "NCCL_DEBUG" in os.environ:
        found["NCCL_DEBUG"] = os.environ["NCCL_DEBUG"]
    if choice.rail_names and not rails:
        found["NCCL_IB_HCA"] = f"={','.join(choice.rail_names)}"
    return found


def _field(
    nodes: tuple[str, ...],
    fabric: "Fabric | None",
    wanted: PlanChoice,
    *,
    n_rails: int,
    seed: int,
) -> "Field":
    from weft.check.readings.network import Network
    from weft.check.schedule.node_group import group_of
    from weft.check.schedule.paths import FlowPaths
    from weft.check.schedule.ranks import ranks_of_nodes
    from weft.check.schedule.schedule import Field

    network = None if fabric is None else Network(fabric)
    ranks = ranks_of_nodes(nodes, n_rails, network)
    paths = None if network is None else FlowPaths(network, ranks.hca[ranks.has_rail])
    only = None if wanted.only is None else group_of(wanted.only, ranks, paths)
    return Field(ranks, paths, only, seed)


def _leaf_groups(field: "Field", nodes: tuple[str, ...]) -> list[list[str]]:
    """The nodes under each leaf switch, two or more; none without a fabric of several such."""
    if field.paths is None:
        return []
    by_leaf: dict[int, list[str]] = {}
    for node, leaf in zip(nodes, field.paths.leaf_of(field.ranks.hca).tolist(), strict=True):
        by_leaf.setdefault(leaf, []).append(node)
    groups = [group for group in by_leaf.values() if len(group) > 1]
    return groups if len(groups) > 1 else []


def _sizes(small: str | None, large: str | None) -> tuple[int, ...]:
    """One size, or two of a sweep. Raises InputError."""
    largest = parse_size(large or LARGE)
    if small is None:
        return (largest,)
    sizes = (parse_size(small), largest)
    if not 0 < sizes[0] < sizes[1]:
        raise InputError(
            f"--small {small} --large {large or LARGE} does not make a small and a large buffer",
            expected="a small size above 0 bytes, and a larger one",
        )
    return sizes


def _gpus_here() -> int:
    """GPUs of this machine, which stands for all nodes. Raises InputError without any."""
    numbers = range(_MOST_GPUS)
    nvidia = sum(Path(_GPUS[0].format(n)).exists() for n in numbers)
    # Without AMD's compute device these are displays.
    amd = sum(Path(_GPUS[1].format(_FIRST_RENDER + n)).exists() for n in numbers)
    amd = amd if Path(_COMPUTE).exists() else 0
    found = nvidia or amd
    if found:
        return found
    raise InputError(
        "the number of GPUs of a node is unknown: this machine has none",
        expected="--tasks-per-node N, one rank a GPU",
    )
