"""`weft fabric channels FILE... --log LOG`: which cables a job's NCCL channels take."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from weft.cli.fabric.files import open_subnet, say_problems
from weft.cli.fail_on import exit_code_of, fail_on_option
from weft.cli.options import ENGINE, EXISTING_FILE, FILE, HOSTFILE, refuse_together
from weft.cli.output import emit, format_option, talk
from weft.core.errors import InputError

if TYPE_CHECKING:
    from weft.audit.channels.job import NcclJob

DEFAULT_TRIES = 2000


@click.command("channels")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--log",
    "logs",
    multiple=True,
    type=EXISTING_FILE,
    help="A log of the job with NCCL_DEBUG=INFO. Repeatable: one of each process.",
)
@click.option(
    "--plan", type=EXISTING_FILE, help="Or what 'weft doctor nccl-plan --format json' printed."
)
@click.option("--hosts", metavar="NODESET", help="With --plan: the job's hosts, by rank.")
@HOSTFILE
@click.option(
    "--nic",
    "nics",
    multiple=True,
    metavar="[HOSTS:]K=DEVICE",
    help="NCCL's NET/IB/K is this device of the fabric: 0=mlx5_0, 'n[1-4]:0=HCA-1', n1:0=0xGUID.",
)
@click.option(
    "--pattern",
    type=click.Choice(["ring", "tree"]),
    default="ring",
    show_default=True,
    help="With --log: rings or trees.",
)
@click.option("--communicator", metavar="ID", help="With --log: a commId. Default: the largest.")
@click.option(
    "--channel", type=click.IntRange(0, 4095), help="Print every cable of this channel's hops."
)
@click.option("--engine", type=ENGINE, help="By the tables that OpenSM's engine would compute.")
@click.option(
    "--tries",
    type=click.IntRange(0, 1_000_000),
    default=DEFAULT_TRIES,
    show_default=True,
    help="Exchanges of two hosts to try, for a better order.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--output", "-o", type=FILE, help="Write the best order of hosts, one a line.")
@fail_on_option
@format_option
def command(
    *,
    files: tuple[str, ...],
    logs: tuple[Path, ...],
    plan: Path | None,
    hosts: str | None,
    hostfile: Path | None,
    nics: tuple[str, ...],
    pattern: str,
    communicator: str | None,
    channel: int | None,
    engine: str | None,
    tries: int,
    seed: int,
    output: Path | None,
    format_: str,
) -> int:
    """Which cables do the NCCL channels of a job take, and where do they collide?

    FILES are the fabric: cables (ibnetdiscover) and forwarding tables (opensm-lfts.dump). weft
    names each channel's cables, the cables that carry more channels than they have room for, the
    bus bandwidth that this leaves, and the order of hosts or the routing engine with more.

    Exit 1 if channels collide, 5 if adaptive routing or missing lines leave that open.
    """
    from weft.audit.channels.adapters import nic_names
    from weft.audit.channels.host_order import SearchLimits
    from weft.audit.channels.nccl_log import job_of_log
    from weft.audit.channels.report import hop_rows, report_channels, to_record
    from weft.cli.fabric.channels_text import channel_text, report_text
    from weft.core.files import write_whole

    given = nic_names(nics)
    if hosts is not None:
        refuse_together("--hosts", {"--hostfile": hostfile})
    if plan is not None:
        others = {"--log": logs or None, "--communicator": communicator}
        refuse_together(
            "--plan", {**others, "--pattern tree": pattern if pattern != "ring" else None}
        )
        job = _job_of_plan(plan, hosts, hostfile)
    elif logs:
        refuse_together("--log", {"--hosts": hosts, "--hostfile": hostfile})
        job = job_of_log(logs, pattern, communicator or "")
    else:
        raise click.UsageError("give --log LOG, or --plan PLAN with --hosts NODESET")
    if channel is not None and channel >= job.n_channels:
        raise InputError(
            f"the job has no channel {channel}",
            where="--channel",
            expected=f"0 to {job.n_channels - 1}",
        )
    subnet = open_subnet(files)
    say_problems(subnet)
    report = report_channels(
        subnet, job, nics=given, engine=engine or "", search=SearchLimits(tries, seed)
    )
    emit(
        format_,
        text=lambda: report_text(report) if channel is None else channel_text(report, channel),
        record=to_record(report),
        rows=[row for row in hop_rows(report) if channel in (None, row["channel"])],
    )
    if output is not None:
        best = report.routings[0].search.best
        write_whole(output, "".join(f"{host}\n" for host in best.hosts), what="order of hosts")
        talk(f"written: {output}")
    return exit_code_of(report.severity)


def _job_of_plan(plan: Path, hosts: str | None, hostfile: Path | None) -> "NcclJob":
    from weft.audit.channels.nccl_plan import job_of_plan
    from weft.core.nodeset import expand
    from weft.launch.hostfile import read_hostfile

    if hosts is not None:
        return job_of_plan(plan, expand(hosts))
    if hostfile is not None:
        return job_of_plan(plan, list(read_hostfile(hostfile)))
    raise click.UsageError("--plan wants the job's hosts: --hosts NODESET or --hostfile FILE")
