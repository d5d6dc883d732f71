"""Output of the commands that know more than /sys: run here, or saved with a tree.

A saved tree has the output of command NAME in the file commands/NAME.
"""

from typing import Protocol

from weft.core.process import CommandError, run_command
from weft.doctor.machine.sysroot import MOST_BYTES, Sysroot

COMMANDS = {
    "nvidia-smi": ("nvidia-smi", "--query-gpu=name,pci.bus_id", "--format=csv,noheader"),
    "nvidia-smi-nvlink": ("nvidia-smi", "nvlink", "-s"),
    "rocm-smi": ("rocm-smi", "--showproductname"),
    "ibv_devinfo": ("ibv_devinfo",),
    "ibstat": ("ibstat",),
    "lspci": ("lspci", "-Dvvnn"),
    "lscpu": ("lscpu",),
}
"""The command line of each name."""
FOLDER = "/commands"
WAIT_S = 10.0


class CommandOutput(Protocol):
    """What commands print."""

    def text(self, name: str) -> str:
        """The output of a command of `COMMANDS`, "" where there is none."""


class NoCommands:
    """Nothing is run."""

    def text(self, name: str) -> str:  # noqa: ARG002
        """Nothing."""
        return ""


class SavedCommands:
    """Output that lies in a tree."""

    def __init__(self, root: Sysroot) -> None:
        self._root = root

    def text(self, name: str) -> str:
        """The saved output."""
        return self._root.text(f"{FOLDER}/{name}")


class LiveCommands:
    """Commands of this machine, each run once, when it is first asked for."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def text(self, name: str) -> str:
        """The output; "" where the command is not there, fails or takes too long."""
        if name not in self._texts:
            self._texts[name] = _output(COMMANDS[name])
        return self._texts[name]


def _output(argv: tuple[str, ...]) -> str:
    try:
        end = run_command(argv, timeout_s=WAIT_S)
    except CommandError:
        return ""
    text = end.out[: 4 * MOST_BYTES] if end.code == 0 else ""
    return "".join(c for c in text if c.isprintable() or c in "\n\t")


def source_of(name: str) -> str:
    """The command line of a name, as a source."""
    return " ".join(COMMANDS[name])
