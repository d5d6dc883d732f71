"""Sarus' MPI hook: libraries of the host's MPI that take the place of the image's.

SOURCE: eth-cscs/sarus d3404bb, doc/config/mpi-hook.rst and src/hooks/mpi/MpiHook.cpp.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from weft.doctor.container.launch.environment import read_pairs

MPI_HOOK = "mpi_hook"
LIBRARIES = "MPI_LIBS"
_NUMBERED = re.compile(r"(lib[^/]+?\.so)\.(\d{1,9})(?:\.|$)")


@dataclass(frozen=True, slots=True)
class MpiHook:
    """The hook's program, and the paths on the host of the libraries that it brings."""

    program: str
    libraries: tuple[str, ...] = ()

    def refusal(self, cached: Iterable[str]) -> str:
        """Why the hook ends the start of an image whose ld.so.cache has these names, "" where it
        does not, or that is not known: it compares names without their version, then the first
        number of the version."""
        own = [one.rpartition("/")[2] for one in self.libraries]
        mine = {found[0].rstrip("."): found[1] for found in map(_NUMBERED.match, own) if found}
        names = [*cached]
        if not names or not mine or len(mine) < len(own):
            return ""
        if not any(f"{one}.".startswith(f"{plain}.") for plain in mine.values() for one in names):
            wanted = ", ".join(dict.fromkeys(mine.values()))
            return f"the image's ld.so.cache has no {wanted}"
        numbered = [found for found in map(_NUMBERED.match, names) if found]
        for name, plain in mine.items():
            theirs = sorted({one[0].rstrip(".") for one in numbered if one[1] == plain})
            if theirs and name not in theirs:
                return f"the host's {name} has another ABI than the image's {', '.join(theirs)}"
        return ""


def mpi_hook(program: str, variables: Iterable[str]) -> MpiHook | None:
    """Of a hook's program and its NAME=VALUE; None for another program."""
    if program.rpartition("/")[2] != MPI_HOOK:
        return None
    values = {one.name: one.value for one in read_pairs(variables, "")}
    return MpiHook(program, tuple(one for one in values.get(LIBRARIES, "").split(":") if one))
