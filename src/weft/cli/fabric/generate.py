"""`weft fabric generate PLATFORM --nodes N`: a machine's fabric, as far as is known outside."""

import json
from pathlib import Path

import click

from weft.cli.output import talk


@click.command("generate")
@click.argument("platform_name", metavar="PLATFORM")
@click.option("--nodes", required=True, type=click.IntRange(1, 1_000_000), help="Compute nodes.")
@click.option(
    "--whole",
    is_flag=True,
    help="Every node and cable written out, with forwarding tables, instead of the generator's few "
    "lines.",
)
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A file instead of standard output.",
)
def command(*, platform_name: str, nodes: int, whole: bool, output: Path | None) -> None:
    """Write the fabric of a catalogue PLATFORM at any number of nodes as a fabric document.

    Cabled as the machine is known to be: rails, directors with their boards, up-links. What is a
    guess is said on standard error and stands in the document. Every verb of `weft fabric` reads
    it; 'weft fabric export' passes it on.
    """
    from weft.catalog.load import platform
    from weft.core.files import write_whole
    from weft.topology.fabric import Fabric
    from weft.topology.fabric_spec import fabric_spec
    from weft.topology.subnet.subnet import Subnet

    spec = fabric_spec(platform(platform_name), nodes, cabled=True)
    for text in spec.get("assumed", ()):
        talk(f"weft: assumed: {text}")
    if whole:
        engine = spec.pop("routing", {}).get("engine")
        spec = dict(Fabric.from_document(spec, engine).document)
    else:
        # What a generator cannot build is said here, not by whoever reads the file.
        Subnet.of_fabric(spec)
    text = json.dumps(spec, indent=1) + "\n"
    if output is None:
        click.echo(text, nl=False)
    else:
        write_whole(output, text, what="document")
