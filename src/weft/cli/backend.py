"""Where a verb measures: this machine, named hosts, or a twin. Shared options and their opening."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from weft.bench.model import Backend
from weft.bench.twin.fault import GRAMMAR, check_fault
from weft.cli.fabric.files import read_fabric_files
from weft.cli.options import HOSTFILE, NODE_COUNT, options_as, refuse_together
from weft.cli.output import talk
from weft.cluster.head import Head
from weft.cluster.record import (
    ClusterRecord,
    agreed_mpi,
    rail_interface,
    ready_cluster,
    settings,
    tcp_rails,
)
from weft.cluster.remote import Ssh
from weft.cluster.slurm.allocation import as_slurm_orders, is_beyond_srun, placement, srun_nodes
from weft.core.errors import InputError, MissingError
from weft.core.host import Host, rdma_devices
from weft.core.nodeset import expand
from weft.core.shell_line import quoted
from weft.launch.hostfile import read_hostfile
from weft.launch.launchers.container import CONTAINER_RUNTIMES, RankContainer, launcher_for
from weft.launch.slurm import is_better_alone, through_srun
from weft.topology.dead_cables import ROUTINGS, detours

if TYPE_CHECKING:
    from weft.bench.live.backend import LiveBackend
    from weft.launch.mpi import Mpi


@dataclass(frozen=True, slots=True)
class BackendChoice:
    """The values of the shared options."""

    twin: str | None
    nodes: int | None
    fabric: tuple[str, ...]
    hosts: str | None
    hostfile: Path | None
    cluster: str | None
    mpi: str | None
    rails: str | None
    plant: tuple[str, ...]
    seed: int
    mock: bool
    launcher: str | None = None
    fidelity: str | None = None
    extrapolate: float | None = None
    routing: str | None = None
    container: str | None = None
    image: str | None = None
    mount: tuple[str, ...] = ()
    recipe: str | None = None
    without: tuple[str, ...] = ()
    """Hosts of those named that are gone; no option says them."""

    @property
    def rail_names(self) -> tuple[str, ...]:
        """The devices of `--rails`, by local rank. Raises InputError where one has no name."""
        return rail_names(self.rails)

    @property
    def mpis(self) -> tuple[str | None, ...]:
        """The MPIs of `--mpi`; None: the embedded one. Raises InputError for an empty name."""
        if self.mpi is None:
            return (None,)
        names = tuple(name.strip() for name in self.mpi.split(","))
        if not all(names):
            raise InputError(f"--mpi '{self.mpi}' names an empty MPI", expected="MPICC,MPICC,...")
        return tuple(None if name == "embedded" else name for name in names)


LAUNCHER = click.option(
    "--launcher",
    type=click.Choice(["srun", "mpiexec"]),
    help="srun, or the MPI's own launcher. Default: srun for the nodes of a Slurm job; of MPICH 5 "
    "its mpiexec.",
)
CONTAINER_OPTIONS = ("container", "image", "mount", "recipe")
_OPTIONS = (
    click.option(
        "--twin", metavar="PLATFORM", help="Measure a simulated fabric, not this machine."
    ),
    click.option("--nodes", type=NODE_COUNT, help="How many nodes the twin has."),
    click.option(
        "--fabric",
        multiple=True,
        metavar="FILE",
        help="The real fabric, from what its own tools printed ('weft fabric'); once a file. A "
        "twin is built of it; 'weft check' of real hosts names its cables.",
    ),
    click.option("--hosts", metavar="NODESET", help="Hosts to measure, such as node[1-64,70]."),
    HOSTFILE,
    click.option("--cluster", metavar="NAME", help="Hosts that 'weft cluster up' brought up."),
    click.option(
        "--mpi",
        metavar="MPICC",
        help="'site' or the mpicc to build and launch with; 'study run' compares several, between "
        "commas. Default: the embedded MPICH ('embedded').",
    ),
    click.option("--rails", metavar="DEVICES", help="Network devices by local rank: mlx5_0:1,..."),
    click.option(
        "--plant",
        multiple=True,
        metavar="FAULT",
        help=f"Twin only: a fault, once each: {GRAMMAR}; or 'random', drawn anew each time; or "
        "'random:SEED', the same again.",
    ),
    click.option(
        "--fidelity",
        type=click.Choice(["packet", "flow", "auto"]),
        help="Twin only: every packet, messages as flows that share links fairly, or whichever "
        "the work allows. Default: packet.",
    ),
    click.option(
        "--extrapolate",
        metavar="SHARE",
        type=click.FloatRange(1e-9, 0.5),
        help="Twin only: simulate a part of a size or a ring whose times repeat within this share "
        "(such as 0.01), and estimate the error of the remaining times. Default: simulate all.",
    ),
    click.option(
        "--routing",
        type=click.Choice(ROUTINGS),
        help="Twin of a --fabric with a planted dead cable: tables around it as an engine of "
        "OpenSM fills them; moved: its entries move to another shortest path; unchanged: they "
        "stay. Default: the engine that filled the tables, else moved.",
    ),
    click.option("--seed", type=int, default=1, show_default=True, help="Seed of every draw."),
    LAUNCHER,
    click.option(
        "--container",
        type=click.Choice(tuple(CONTAINER_RUNTIMES)),
        help="Start each rank in a container, by this runtime.",
    ),
    click.option("--image", metavar="IMAGE", help="With --container: its image."),
    click.option(
        "--mount",
        multiple=True,
        metavar="SRC:DST",
        help="With --container: a mount more; with :ro behind it read-only. Repeatable.",
    ),
    click.option(
        "--recipe",
        metavar="PLATFORM",
        help="With --container: mounts, devices, variables and hooks of 'weft recipe PLATFORM'.",
    ),
    click.option("--mock", is_flag=True, hidden=True),
)


def rail_names(rails: str | None) -> tuple[str, ...]:
    """The devices that `--rails` lists. Raises InputError where one has no name."""
    if rails is None:
        return ()
    names = tuple(name.strip() for name in rails.split(","))
    if not all(names):
        raise InputError(
            f"--rails '{rails}' names an empty device", expected="devices: mlx5_0:1,..."
        )
    return names


backend_options = options_as("choice", BackendChoice, _OPTIONS)
"""Add the shared options; the command receives them as one `choice: BackendChoice`."""


def open_backend(
    choice: BackendChoice, *, may_compare: bool = False
) -> tuple[Backend, tuple[str, ...]]:
    """The backend and its nodes; several MPIs if arms `may_compare` them. Raises InputError,
    MissingError."""
    if choice.twin is None:
        twin_only = ("plant", "nodes", "fabric", "fidelity", "extrapolate", "routing")
        require_twin(choice, {f"--{name}": getattr(choice, name) for name in twin_only})
    else:
        live_only = ("hosts", "hostfile", "cluster", "mpi", "rails", "launcher")
        others = {f"--{name}": getattr(choice, name) for name in live_only}
        refuse_together("--twin", {**others, **_container_options(choice)})
    _refuse_routing(choice)
    if len(choice.mpis) > 1 and not may_compare:
        raise InputError(
            f"--mpi '{choice.mpi}' names {len(choice.mpis)} MPIs",
            expected="one",
            hint="'weft study run mpi-compare' compares several",
        )
    if choice.mock:
        return open_mock(choice)
    if choice.twin is not None:
        return _open_twin(choice)
    return _open_live(choice)


def _container_options(choice: BackendChoice) -> dict[str, object]:
    """By option its value, None where it was not given."""
    return {f"--{name}": getattr(choice, name) or None for name in CONTAINER_OPTIONS}


def _refuse_routing(choice: BackendChoice) -> None:
    """Raises InputError for `--routing` without a real fabric and a fault to route around."""
    if choice.routing is not None and not (choice.fabric and choice.plant):
        raise InputError(
            "--routing needs a fabric and a dead cable",
            expected="--fabric FILE and --plant 'PORT down' with it",
        )


def open_mock(choice: BackendChoice) -> tuple[Backend, tuple[str, ...]]:  # noqa: ARG001
    """Tests put a backend of theirs in place of this function. Raises InputError."""
    raise InputError("--mock is for weft's own tests", expected="--twin PLATFORM, or hosts")


def require_twin(choice: BackendChoice, options: Mapping[str, object]) -> None:
    """Raises InputError for an option that has a value and only a simulated fabric can heed."""
    given = [option for option, value in options.items() if value]
    if given and choice.twin is None and not choice.mock:
        raise InputError(
            f"{given[0]} needs a twin",
            expected="--twin PLATFORM with it",
            hint="'weft platform list' names the platforms",
        )


def _open_twin(choice: BackendChoice) -> tuple[Backend, tuple[str, ...]]:
    from weft.bench.twin.backend import TwinBackend
    from weft.catalog.load import platform
    from weft.cli.plant_option import faults_of
    from weft.topology.subnet_document import first_nodes

    model = platform(str(choice.twin))
    fabric, subnet = None, None
    if choice.fabric:
        fabric, subnet = read_fabric_files(choice.fabric, model)
    chosen = first_nodes(fabric, choice.nodes) if fabric is not None else ()
    twin = partial(
        TwinBackend,
        model,
        choice.nodes or 16,
        seed=choice.seed,
        fabric=fabric,
        fidelity=choice.fidelity or "packet",
        extrapolate=choice.extrapolate,
    )
    whole = twin()
    if not choice.plant:
        return whole, chosen or whole.nodes
    faults = faults_of(choice.plant, whole.fabric_document)
    for fault in faults:
        check_fault(fault, whole.fabric_document)
    dead = [fault.place for fault in faults if fault.kind == "down"]
    around = None
    if fabric is not None:
        around = detours(whole.fabric_document, subnet, dead, choice.routing, model)
    if around is not None:
        talk(f"weft: {around.words}")
    faulty = twin(faults=faults, detours=around)
    return faulty, chosen or faulty.nodes


def _open_live(choice: BackendChoice) -> tuple[Backend, tuple[str, ...]]:
    from weft.bench.live.several_mpis import SeveralMpis
    from weft.cli.recipe.container_launch import rank_container

    if choice.cluster is not None:
        expected = "--hosts or --hostfile with a container"
        refuse_together("--cluster", _container_options(choice), expected)
    nodes = live_nodes(choice)
    if choice.cluster is not None:
        return _open_cluster(choice, nodes), nodes
    nodes = as_slurm_orders(nodes, os.environ)
    container = rank_container(choice, len(nodes))
    rails = choice.rail_names
    mpis = choice.mpis
    if len(mpis) > 1:
        refuse_together("--mpi with several MPIs", _container_options(choice))
    backends = [live_backend(mpi, choice.launcher, rails, nodes, container) for mpi in mpis]
    return (backends[0] if len(backends) == 1 else SeveralMpis(backends)), nodes


def live_backend(
    mpicc: str | None,
    launcher: str | None,
    rails: tuple[str, ...],
    nodes: tuple[str, ...],
    container: RankContainer | None = None,
) -> "LiveBackend":
    """The backend of nodes that no cluster of ours has. Raises InputError, MissingError."""
    from weft.bench.live.backend import LiveBackend
    from weft.bench.live.launch_site import LocalSite

    mpi = launched_mpi(mpicc, launcher or launcher_for(container), nodes)
    site = LocalSite(
        interface=rail_interface(rails, rdma_devices()) if len(nodes) > 1 else None,
        remote_shell="ssh" if is_beyond_srun(nodes, os.environ) else None,
    )
    return LiveBackend(
        mpi, nodes, rails, site=site, placement=placement(nodes), container=container
    )


def launched_mpi(mpicc: str | None, launcher: str | None, nodes: tuple[str, ...]) -> "Mpi":
    """The MPI with the launcher that starts ranks on these nodes: srun where all are of the Slurm
    job this runs in, unless another is asked for or is safer. Raises InputError, MissingError."""
    from weft.launch.mpi import find_mpi

    within = srun_nodes(os.environ)
    ours = bool(within) and set(nodes) <= set(within)
    if launcher == "srun" and not ours:
        stranger = next((node for node in nodes if node not in within), nodes[0])
        raise InputError(
            "--launcher srun needs a Slurm job that has all these nodes",
            where=f"node {stranger}",
            expected=", ".join(within[:8]) or "a Slurm job around this",
            hint="salloc gives one, or 'weft study submit' where a study is to run",
        )
    mpi = find_mpi(mpicc)
    if launcher == "srun" or (ours and launcher is None and not is_better_alone(mpi)):
        return through_srun(mpi)
    if launcher == "mpiexec" and mpi.launcher_kind == "srun":
        raise MissingError(
            "this MPI has no launcher of its own",
            where=str(mpi.mpicc),
            expected="mpiexec or mpirun in the wrapper's folder",
            hint="leave --launcher out: srun is there",
        )
    return mpi


def _open_cluster(choice: BackendChoice, nodes: tuple[str, ...]) -> Backend:
    from weft.bench.live.backend import LiveBackend
    from weft.bench.live.launch_site import HeadSite

    expected = "the launcher that the cluster was brought up with"
    refuse_together("--cluster", {"--launcher": choice.launcher}, expected)
    if choice.mpi is not None:
        other = f"--name {quoted(str(choice.cluster))} --mpi {quoted(choice.mpi)}"
        raise InputError(
            "--mpi and --cluster contradict each other",
            expected="the MPI that the cluster was brought up with",
            hint=f"'weft cluster up ... {other}' changes it",
        )
    record = ready_cluster(str(choice.cluster))
    agreed = record.agreed
    home = Path(agreed["home"])
    cpus = tuple(range(record.n_cpus))
    hosts = tuple(host for host in record.hosts if host not in choice.without)
    site = HeadSite(
        head=Head(ssh_of(record), hosts[0], str(home), settings(agreed)),
        # The number of cores of its CPUs was not asked: no rank is bound to one.
        host=Host(hosts[0], "", cpus, 0, False, 1, None, "", ()),
        files=home / ".local/share/weft/clusters" / record.name,
        remote_shell=agreed["remote_shell"],
        interface=rail_interface(choice.rail_names, agreed["rails"].split(","))
        or agreed["interface"]
        or None,
        as_root=agreed["user"] == "root",
        machines=record.machines,
        others=hosts,
    )
    rails = choice.rail_names or tcp_rails(agreed)
    kernel = Path(agreed["kernel"])
    return LiveBackend(agreed_mpi(agreed), nodes, rails, kernel=kernel, site=site)


def ssh_of(record: ClusterRecord) -> Ssh:
    """ssh with the configuration that a cluster was brought up with."""
    return Ssh(None if record.ssh_config is None else Path(record.ssh_config))


def live_nodes(choice: BackendChoice) -> tuple[str, ...]:
    """Named hosts, else the Slurm allocation this runs in, else this host; but for those that are
    gone."""
    return tuple(node for node in _named_nodes(choice) if node not in choice.without)


def _named_nodes(choice: BackendChoice) -> tuple[str, ...]:
    named = [choice.hosts, choice.hostfile, choice.cluster]
    if sum(one is not None for one in named) > 1:
        words = "--hosts, --hostfile and --cluster contradict one another"
        raise InputError(words, expected="one of them")
    if choice.cluster is not None:
        return ready_cluster(choice.cluster).hosts
    if choice.hosts is not None:
        return expand(choice.hosts)
    if choice.hostfile is not None:
        return tuple(read_hostfile(choice.hostfile))
    if "SLURM_JOB_NODELIST" in os.environ:
        return expand(os.environ["SLURM_JOB_NODELIST"])
    return (os.uname().nodename,)
