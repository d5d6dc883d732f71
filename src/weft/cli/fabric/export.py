"""`weft fabric export FILE... --to FORMAT`: the fabric for another program."""

import json
from pathlib import Path

import click

from weft.cli.fabric.files import open_subnet, say_problems
from weft.cli.options import ENGINE, OUTPUT, NumberRange
from weft.cli.output import talk, write_or_print

FORMATS = ("ibsim", "slurm", "graphml", "json")
GBPS = 1e9
PS_PER_NS = 1000
MOST_CHANGES = 30


@click.command("export")
@click.argument("files", nargs=-1, required=True)
@click.option(
    "--to",
    "format_",
    required=True,
    type=click.Choice(FORMATS),
    help="ibsim: its net file, which real OpenSM can route. slurm: topology.conf. graphml: for "
    "graph tools. json: weft's own fabric document, which the twin simulates.",
)
@OUTPUT
@click.option(
    "--engine",
    type=ENGINE,
    help="With json: tables that OpenSM's engine would compute, not those that were read.",
)
@click.option(
    "--cable-delay",
    "delay_ns",
    type=NumberRange(0, 1e6),
    default=50.0,
    show_default=True,
    metavar="NS",
    help="With json: how long light takes through a cable, in ns: no tool says that.",
)
@click.option(
    "--cable-rate",
    "rate_gbps",
    type=NumberRange(0.001, 8000),
    default=100.0,
    show_default=True,
    metavar="GBPS",
    help="With json: the rate of cables whose rate no file says.",
)
def command(
    *,
    files: tuple[str, ...],
    format_: str,
    output: Path | None,
    engine: str | None,
    delay_ns: float,
    rate_gbps: float,
) -> None:
    """Write the fabric of FILES for another program.

    Standard error names content that the program cannot hold, or holds in another form.
    """
    subnet = open_subnet(files)
    say_problems(subnet)
    routed = subnet.route(engine) if engine else subnet
    if format_ == "json":
        name = Path(files[0]).stem or "fabric"
        rate = round(rate_gbps * GBPS)
        document, changed = routed.fabric_document(name, rate, round(delay_ns * PS_PER_NS))
        text = json.dumps(document, indent=1) + "\n"
    else:
        text, changed = routed.export(format_)
    for sentence in changed[:MOST_CHANGES]:
        talk(f"weft: {sentence}")
    if len(changed) > MOST_CHANGES:
        talk(f"weft: ... and {len(changed) - MOST_CHANGES:,} more changes like these")
    write_or_print(output, text, what="export")
