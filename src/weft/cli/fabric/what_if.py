"""`weft fabric what-if FILE...`: what a change of the fabric would do, before it is made."""

from pathlib import Path

import click

from weft.cli.fabric.congestion import read_jobs
from weft.cli.fabric.files import open_subnet, say_problems
from weft.cli.fail_on import exit_code_of, fail_on_option
from weft.cli.options import EXISTING_FILE
from weft.cli.output import emit, format_option
from weft.core.errors import unknown_name
from weft.topology.engine import ENGINES


@click.command("what-if")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--without",
    multiple=True,
    metavar="NAME",
    help="Take out a switch, chassis, host or cable: spine03, 'spine[03-04]', 0xGUID. Repeatable.",
)
@click.option(
    "--without-cable",
    multiple=True,
    metavar="CABLE",
    help="Unplug leaf03[5], leaf03[5]-spine01[2], or all of 'leaf03 - spine01'. Repeatable.",
)
@click.option(
    "--add",
    multiple=True,
    metavar="CABLE|SWITCH",
    help="Plug in 'leaf03[7] spine04[3]', or a 'switch NAME PORTS: CABLE, CABLE'. Repeatable.",
)
@click.option(
    "--jobs",
    "jobs_file",
    type=EXISTING_FILE,
    help="A line a job: its name and its hosts, as squeue -h -t R -o '%i %N' prints them.",
)
@click.option(
    "--engine",
    metavar="ENGINE",
    help=f"OpenSM's engine: {', '.join(ENGINES)}; with --opensm also others. "
    "Default: the one of the tables read.",
)
@click.option(
    "--opensm", is_flag=True, help="Tables of the real OpenSM, over ibsim on this machine."
)
@click.option("--matchings", type=click.IntRange(2, 100_000), default=100, show_default=True)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@fail_on_option
@format_option
def command(
    *,
    files: tuple[str, ...],
    without: tuple[str, ...],
    without_cable: tuple[str, ...],
    add: tuple[str, ...],
    jobs_file: Path | None,
    engine: str | None,
    opensm: bool,
    matchings: int,
    seed: int,
    format_: str,
) -> int:
    """What would happen if these switches or cables were taken out, or new ones put in?

    FILES are the fabric: cables (ibnetdiscover) and forwarding tables (opensm-lfts.dump). weft
    computes the tables that OpenSM would fill: hosts without a path, credit loops, lost bisection
    bandwidth, slower jobs, and an order of work in which no step cuts off a host.

    Exit 1 if hosts lose their path or a credit loop arises, 5 if tables or rates leave that open.
    """
    from weft.audit.change_risk.change import read_changes
    from weft.audit.change_risk.opensm_run import OPENSM_ENGINES
    from weft.audit.change_risk.report import change_risk, expected_s, to_record
    from weft.cli.fabric.what_if_text import risk_text

    if not (without or without_cable or add):
        raise click.UsageError("give a change: --without NAME, --without-cable CABLE, or --add ...")
    known = OPENSM_ENGINES if opensm else ENGINES
    if engine is not None and engine not in known:
        raise unknown_name(f"unknown engine '{engine}'", engine, known, where="--engine")
    jobs = read_jobs(jobs_file) if jobs_file is not None else {}
    n_named = len(without) + len(without_cable) + len(add)
    subnet = open_subnet(files, then_s=expected_s(n_named))
    say_problems(subnet)
    changes = read_changes(subnet, without, without_cable, add)
    risk = change_risk(
        subnet,
        changes,
        engine=engine,
        jobs=jobs,
        opensm=opensm,
        matchings=matchings,
        seed=seed,
    )
    record = to_record(risk)
    emit(format_, text=lambda: risk_text(risk), record=record, rows=record["jobs"])
    return exit_code_of(risk.severity)
