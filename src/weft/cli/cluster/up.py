"""`weft cluster up`: every stage on every host; one bad host never stops the others."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import click

from weft.cli.cluster.remains import remains_named
from weft.cli.cluster.virtual import VIRTUAL, VirtualChoice
from weft.cli.options import HOSTFILE, SSH_CONFIG, refuse_together
from weft.cli.output import talk, text_or_json
from weft.cluster.bringup.model import Cluster, Outcome, StageState
from weft.cluster.bringup.run import BringupResult, bring_up
from weft.cluster.bringup.stages import stages
from weft.cluster.bringup.stages.packages import PRODUCTS
from weft.cluster.folder import cluster_folder
from weft.cluster.hostfiles import write_hostfiles
from weft.cluster.record import FILE, ClusterRecord, former_hosts, remember
from weft.cluster.remote import Ssh
from weft.core.errors import ExitCode, InputError
from weft.core.files import make_folder


@click.command("up")
@click.argument("hosts", metavar="[HOSTS]", required=False)
@HOSTFILE
@VIRTUAL
@click.option("--name", help="The name of the cluster.  [default: local, or cluster]")
@click.option("--mpi", metavar="MPICC", help="'site' or an mpicc of the hosts. Default: weft's.")
@click.option("--mpi-module", metavar="NAME", help="The site's module that has the MPI.")
@click.option(
    "--sudo",
    is_flag=True,
    help="Let 'sudo -n' install the distribution's packages: Open MPI, or --mpi mpich.",
)
@click.option("--interface", help="The network interface to join the hosts by.")
@SSH_CONFIG
@click.option("--dry-run", is_flag=True, help="Print the changes; make none.")
@text_or_json
@remains_named()
def command(
    *,
    hosts: str | None,
    hostfile: Path | None,
    virtual: VirtualChoice,
    name: str | None,
    mpi: str | None,
    mpi_module: str | None,
    sudo: bool,
    interface: str | None,
    ssh_config: Path | None,
    dry_run: bool,
    format_: str,
) -> int:
    """Bring up an MPI cluster: ssh between all hosts, MPI, limits, names, weft's kernel, a launch.

    HOSTS is a node set such as node[1-16]. Run it again at any time: correct parts stay.
    """
    from weft.cli.cluster.hosts import named_hosts
    from weft.cli.cluster.text import print_up, stage_line

    _refuse_two_mpis(mpi, mpi_module, sudo=sudo)
    local = virtual.local
    chosen = name or ("local" if local is not None else "cluster")
    folder = cluster_folder(chosen)
    if local is not None:
        if sudo:
            raise InputError(
                "--sudo would install packages on this machine: virtual hosts have no others",
                expected="--local without it",
                hint="install the MPI here yourself, then name it: --mpi mpicc.openmpi",
            )
        of_real = {"HOSTS": hosts, "--hostfile": hostfile, "--ssh-config": ssh_config}
        refuse_together("--local", of_real)
        nodes, running = virtual.hosts(local, folder, start=not dry_run)
        ssh_config = folder / "ssh_config"
    else:
        virtual.refuse_without_local()
        nodes, running = named_hosts(hosts, hostfile, folder), True
    cluster = Cluster(chosen, folder, Ssh(ssh_config), nodes, mend=not dry_run)
    if not running:
        would = Outcome(StageState.WOULD, "start it on this machine, then go through the stages")
        went = BringupResult(("start",), {host: {"start": would} for host in cluster.hosts})
        print_up(cluster, went, format_)
        return int(ExitCode.GOOD)
    asked = {"mpi": mpi, "interface": interface, "module": mpi_module}
    keep = partial(_keep, cluster, asked, virtual=local is not None)

    def report(stage: str, outcomes: Mapping[str, Outcome]) -> None:
        talk(stage_line(stage, outcomes))
        # From here on something is put on hosts, which 'down' takes away.
        if stage == "account" and any(one.state.goes_on for one in outcomes.values()):
            keep(())

    went = bring_up(cluster, stages(**asked, sudo=sudo), report)
    good = went.good_hosts()
    if sudo:
        asked["mpi"] = cluster.agreed.get("mpicc")
    if good:
        keep(good)
    print_up(cluster, went, format_)
    return int(ExitCode.GOOD if len(good) == len(nodes) else ExitCode.VERDICT_BAD)


def _refuse_two_mpis(mpi: str | None, module: str | None, *, sudo: bool) -> None:
    if sudo:
        refuse_together("--sudo", {"--mpi-module": module})
    if sudo and mpi not in (None, *PRODUCTS):
        raise InputError(f"--sudo and --mpi {mpi}", expected=f"--mpi {' or '.join(PRODUCTS)}")


def _keep(
    cluster: Cluster, asked: dict[str, str | None], good: tuple[str, ...], *, virtual: bool
) -> None:
    """Write the record; nothing with --dry-run. Without good hosts an older one stays, and knows of
    these hosts."""
    if not cluster.mend:
        return
    if not good and (cluster.folder / FILE).exists():
        remember(cluster.name, cluster.hosts)
        return
    config = cluster.ssh.config
    make_folder(cluster.folder, what="folder of the cluster", mode=0o700)
    n_cpus = {host: cluster.facts[host].n_cpus for host in good}
    ClusterRecord(
        name=cluster.name,
        hosts=good,
        all_hosts=cluster.hosts,
        ssh_config=None if config is None else str(config.absolute()),
        agreed=cluster.agreed,
        n_cpus=min(n_cpus.values(), default=1),
        machines={host: cluster.facts[host].boot for host in good},
        virtual=virtual,
        asked=asked,
        former_hosts=former_hosts(cluster.name, cluster.hosts),
    ).write(cluster.folder)
    if good:
        write_hostfiles(cluster.folder, {host: cluster.facts[host].n_cores for host in good})
