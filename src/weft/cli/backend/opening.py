"""The backend of a verb: this machine, named hosts, or a twin."""

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from weft.bench.model import Backend
from weft.bench.twin.fault import check_fault
from weft.cli.backend.choice import (
    KUBERNETES,
    BackendChoice,
    container_options,
    require_twin,
)
from weft.cli.fabric.files import read_fabric_files
from weft.cli.options import refuse_together
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
from weft.launch.launchers.container import (
    BARE,
    RankContainer,
    launcher_for,
)
from weft.launch.slurm import is_better_alone, through_srun
from weft.topology.dead_cables import detours

if TYPE_CHECKING:
    from weft.bench.live.backend import LiveBackend
    from weft.launch.mpi import Mpi


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
        refuse_together("--twin", {**others, **container_options(choice)})
    _refuse_routing(choice)
    if choice.compared is not None and not may_compare:
        raise InputError(
            f"--{choice.compared} '{getattr(choice, choice.compared)}' names several",
            expected="one",
            hint="'weft study run' and 'weft bench' compare several",
        )
    if choice.mock:
        return open_mock(choice)
    if choice.twin is not None:
        return _open_twin(choice)
    return _open_live(choice)


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
        cabled=choice.cabled,
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
    from weft.bench.live.several_launches import SeveralLaunches
    from weft.cli.recipe.container_launch import rank_container

    if choice.cluster is not None:
        expected = "--hosts or --hostfile with a container"
        refuse_together("--cluster", container_options(choice), expected)
    nodes = live_nodes(choice)
    if choice.cluster is not None:
        return _open_cluster(choice, nodes), nodes
    nodes = as_slurm_orders(nodes, os.environ)
    around = [
        None if one.container == BARE else rank_container(one, len(nodes))
        for one in choice.launches
    ]
    # With a container and without, the launcher is the same.
    asked = next((name for name in map(launcher_for, around) if name is not None), None)
    backends = [
        live_backend(mpi, one.launcher or asked, choice.rail_names, nodes, container)
        for one, container in zip(choice.launches, around, strict=True)
        for mpi in one.mpis
    ]
    if choice.compared is None:
        return backends[0], nodes
    factor = "mpi-library" if choice.compared == "mpi" else choice.compared
    return SeveralLaunches(factor, backends), nodes


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

    mpi = launched_mpi(mpicc, launcher, nodes)
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

    if launcher == KUBERNETES:
        raise InputError(
            "--launcher kubernetes starts nccl-tests only",
            expected="weft check --with nccl or --with rccl, with --image",
        )
    within = srun_nodes(os.environ)
    ours = bool(within) and set(nodes) <= set(within)
    if launcher == "srun" and not ours:
        stranger = next((node for node in nodes if node not in within), nodes[0])
        raise InputError(
            "--launcher srun needs a Slurm job that has all these nodes",
            where=f"node {stranger}",
            expected=", ".join(within[:8]) or "a Slurm job around this",
            hint="salloc gives one, or 'weft study submit' where a study is to run;"
            " 'weft check' prints a plan without a job: --launcher mpiexec --dry-run",
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
