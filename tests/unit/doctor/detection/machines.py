"""Hosts as detection reads them from a tree."""

from tests.unit.doctor.machine_trees import Tree

from weft.doctor.machine.detection.commands import SavedCommands
from weft.doctor.machine.detection.host import read_host
from weft.doctor.machine.detection.model import HostHardware
from weft.doctor.machine.sysroot import Sysroot


def host_of(tree: Tree) -> HostHardware:
    """The host below a tree, with the output of commands that lies in it."""
    root = Sysroot(tree.root)
    return read_host(root, SavedCommands(root))
