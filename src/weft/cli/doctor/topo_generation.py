"""`weft doctor topo --generate FROM`: a topology file, from facts."""

from pathlib import Path

from weft.catalog.load import platform
from weft.cli.output import talk, write_or_print
from weft.core.errors import ExitCode
from weft.core.shell_line import quoted
from weft.core.words import counted
from weft.doctor.machine.sysroot import Sysroot
from weft.doctor.topo.node import Node, node_of_platform, topology_text, with_bridges
from weft.doctor.topo.source.file import node_of_file
from weft.doctor.topo.source.sysfs import node_of_machine

THIS_MACHINE = "this-machine"


def generate(source: str, *, bridges: bool, output: Path | None, sysroot: Path) -> int:
    """Write the file. Raises InputError where the source does not tell enough."""
    node = described(source, sysroot)
    if bridges:
        node = with_bridges(node)
    text = topology_text(node)
    write_or_print(output, text, what="topology file")
    are_gpus = [device.is_gpu for device, _ in node.devices()]
    devices = f"{counted(sum(are_gpus), 'GPU')} and {counted(are_gpus.count(False), 'adapter')}"
    talk(f"{devices} on {counted(len(node.numas), 'NUMA node')} of {source}")
    if bridges:
        talk("bridges pair GPUs and adapters in the order of bus ids, which only a bench can prove")
    talk(f"next: weft doctor topo {quoted(output) if output is not None else 'FILE'}")
    return int(ExitCode.GOOD)


def described(source: str, sysroot: Path) -> Node:
    """The node of a platform, of this machine, or of a file. Raises InputError."""
    if source == THIS_MACHINE:
        return node_of_machine(Sysroot(sysroot), THIS_MACHINE)
    name = platform_named(source)
    return node_of_platform(platform(name)) if name is not None else node_of_file(Path(source))


def platform_named(source: str) -> str | None:
    """The platform that a description names, None where it is this machine or a file of facts."""
    path = Path(source)
    is_file = path.suffix != ".toml" and (source == "-" or path.exists() or "/" in source)
    return None if is_file or source == THIS_MACHINE else source
