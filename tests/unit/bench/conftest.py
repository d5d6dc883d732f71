"""The MPI libraries of this machine."""

import shutil

import pytest

from weft.launch.mpi import Mpi, find_mpi

WRAPPERS = {"mpich": None, "openmpi": "mpicc.openmpi"}


@pytest.fixture(scope="module", params=list(WRAPPERS))
def mpi(request: pytest.FixtureRequest) -> Mpi:
    """Each of them in turn."""
    wrapper = WRAPPERS[request.param]
    if wrapper is not None and shutil.which(wrapper) is None:
        pytest.skip(f"{wrapper} is not installed")
    return find_mpi(wrapper)
