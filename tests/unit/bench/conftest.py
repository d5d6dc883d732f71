"""The MPI libraries of this machine."""

from functools import cache

import pytest
from tests.needs import need_mpi

from weft.launch.mpi import Mpi, find_mpi

WRAPPERS = {"mpich": None, "openmpi": "mpicc.openmpi"}


_found = cache(find_mpi)


@pytest.fixture(params=list(WRAPPERS))
def mpi(request: pytest.FixtureRequest) -> Mpi:
    """Each of them in turn."""
    wrapper = WRAPPERS[request.param]
    if wrapper is not None:
        need_mpi(wrapper)
    return _found(wrapper)
