"""The MPI libraries of this machine."""

import pytest
from tests.needs import need_mpi

from weft.launch.mpi import Mpi, find_mpi

WRAPPERS = {"mpich": None, "openmpi": "mpicc.openmpi"}


@pytest.fixture(scope="module", params=list(WRAPPERS))
def mpi(request: pytest.FixtureRequest) -> Mpi:
    """Each of them in turn."""
    wrapper = WRAPPERS[request.param]
    if wrapper is not None:
        need_mpi(wrapper)
    return find_mpi(wrapper)
