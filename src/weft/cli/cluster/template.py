"""`weft cluster template`: files that a cloud deploys, for `weft cluster up` to take over."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.cli.options import ANY_PATH, FOLDER, NODE_COUNT
from weft.cli.output import emit, text_or_json

if TYPE_CHECKING:
    from weft.cluster.cloud.plan import Plan


@click.command("template")
@click.argument("cloud", type=click.Choice(["azure"]))
@click.option("--sku", required=True, help="The size of the nodes: Standard_HB120rs_v3.")
@click.option("--nodes", required=True, type=NODE_COUNT, help="The number of nodes.")
@click.option("--name", default="weft", show_default=True, help="The name of the cluster.")
@click.option("--dir", "folder", type=FOLDER, help="Where the files go.  [default: azure-NAME]")
@click.option(
    "--ssh-key",
    "key_file",
    type=ANY_PATH,
    help="Your public key.  [default: ~/.ssh/id_ed25519.pub, else id_rsa.pub]",
)
@click.option(
    "--ssh-from",
    metavar="CIDR",
    help="The network that may open ssh: 192.0.2.0/24.  [default: the deployment asks]",
)
@click.option("--user", default="azureuser", show_default=True, help="The user that logs in.")
@click.option("--location", help="The region.  [default: the resource group's]")
@click.option(
    "--reach",
    type=click.Choice(["jump", "ports"]),
    default="jump",
    show_default=True,
    help="One public address: of a jump host, or with a port for each node.",
)
@text_or_json
def command(*, cloud: str, name: str, folder: Path | None, format_: str, **wanted: Any) -> None:
    """Write the files by which a cloud makes a cluster: a template, cloud-init, and an ssh_config.

    weft deploys nothing and does not call the cloud. These templates were never deployed.
    """
    from weft.cluster.cloud.files import commands, files_of, real_hosts, write_files
    from weft.cluster.cloud.plan import make_plan, plan_record

    plan = make_plan(name=name, **wanted)
    where = folder or Path(f"{cloud}-{name}")
    files = files_of(plan, where)
    write_files(files, where)
    record = {
        "schema": "weft.cluster-template/1",
        "cloud": cloud,
        **plan_record(plan),
        "files": {one: str(where / one) for one in files},
        "next": list(commands(plan, where)),
        "real_hosts": real_hosts(plan, where),
    }
    emit(format_, text=lambda: _text(plan, where), record=record)


def _text(plan: "Plan", folder: Path) -> str:
    from weft.cluster.cloud.files import REGION, commands, files_of, real_hosts

    series = plan.size.series
    gpus = f", {series.gpus} x {series.gpu}" if series.gpus else ""
    fabric = f"{series.hcas} x {series.fabric} {series.rate_gbps:g} Gb/s"
    lines = [
        f"WRITTEN {plan.nodes} x {plan.size.name}: {plan.size.cores} cores, {fabric}{gpus}",
        f"  {folder}: {', '.join(files_of(plan, folder))}",
        "  ! untried: that Azure deploys it was never tested, only its structure",
    ]
    if plan.ssh_from is None:
        lines.append("  ! ssh is allowed from the network of the deployment's parameter sshSource")
    if plan.location is None:
        lines.append(f"  ! put the resource group's region for {REGION} in {folder / 'ssh_config'}")
    lines += [f"next: {command}" for command in commands(plan, folder)]
    lines.append(f"      where Azure numbered the nodes otherwise: {real_hosts(plan, folder)}")
    return "\n".join(lines)
