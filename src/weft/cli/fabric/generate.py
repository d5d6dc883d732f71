"""`weft fabric generate PLATFORM --nodes N`: a machine's fabric, as far as is known outside."""

import json
from pathlib import Path

import click

from weft.cli.options import NODE_COUNT, OUTPUT
from weft.cli.output import talk, write_or_print
from weft.topology.fabric import Fabric
from weft.topology.subnet.subnet import Subnet


@click.command("generate")
@click.argument("platform_name", metavar="PLATFORM")
@click.option("--nodes", required=True, type=NODE_COUNT, help="Compute nodes.")
@click.option(
    "--whole",
    is_flag=True,
    help="Every node and cable written out, with forwarding tables, instead of the generator's few "
    "lines.",
)
@OUTPUT
def command(*, platform_name: str, nodes: int, whole: bool, output: Path | None) -> None:
    """Write the fabric of a catalogue PLATFORM at any number of nodes as a fabric document.

    Cabled as the machine is known to be: rails, directors with their boards, up-links. Guesses
    are printed on standard error and stand in the document. Every verb of `weft fabric` reads
    it; 'weft fabric export' passes it on.
    """
    from weft.catalog.load import platform
    from weft.topology.fabric_spec import fabric_spec

    spec = fabric_spec(platform(platform_name), nodes, cabled=True)
    for text in spec.get("assumed", ()):
        talk(f"weft: assumed: {text}")
    if whole:
        engine = spec.pop("routing", {}).get("engine")
        spec = dict(Fabric.from_document(spec, engine).document)
    else:
        # A document that the generator cannot build is refused here, before it is written.
        Subnet.of_fabric(spec)
    text = json.dumps(spec, indent=1) + "\n"
    write_or_print(output, text, what="document")
