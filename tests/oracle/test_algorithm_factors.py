"""Algorithms of collectives have the names and numbers of the MPIs that take them."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.needs import need

from weft.catalog.factors.factor import catalogue_factor

COLLECTIVES = ("allreduce", "allgather", "alltoall")
SAME = {"modified_bruck": "bruck"}
"""Open MPI's name for what others call by the second."""


def asked(collective: str) -> list[tuple[str, dict[str, str]]]:
    """The engine's name of each algorithm, and the variables of a machine."""
    found = []
    for setting in catalogue_factor(f"{collective}-algorithm").settings:
        assert setting.live is not None
        if setting.options:
            found.append((setting.options["algorithm"], setting.live.env))
    return found


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_open_mpi_numbers_them_so(collective: str) -> None:
    need("ompi_info", package="openmpi-bin")
    argv = ["ompi_info", "--param", "coll", "tuned", "--level", "9"]
    text = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60).stdout
    listed = re.search(rf'"coll_tuned_{collective}_algorithm" .*\n.*\n\s+Valid values: (.*)', text)
    assert listed is not None
    numbers = dict(re.findall(r'(\d+):"(\w+)"', listed.group(1)))
    for name, env in asked(collective):
        own = numbers[env[f"OMPI_MCA_coll_tuned_{collective}_algorithm"]]
        assert SAME.get(own, own) == name


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_mpich_has_their_names(collective: str) -> None:
    """The library holds the help text of each control variable: name - Force ... algorithm."""
    library = (Path(sys.prefix) / "lib" / "libmpi.so.12").read_bytes()
    variable = f"MPIR_CVAR_{collective.upper()}_INTRA_ALGORITHM"
    assert variable.encode() in library
    help_text = re.search(b"Variable to select %s algorithm[^\0]*" % collective.encode(), library)
    assert help_text is not None
    names = set(re.findall(rb"^(\w+) +- Force ", help_text.group(), re.MULTILINE))
    for _, env in asked(collective):
        assert env[variable].encode() in names
