"""Tools that a test wants and a machine may lack: without them it skips, and says what is missing.

With WEFT_NO_SKIP=1 it fails instead: `.ci/run` sets it where it installed all of its packages. What
`.ci/run` does not install (the MPIs of `make mpis`) and what a kernel or a user may not do skips
there, too.
"""

import os
import shutil
from typing import NoReturn

import pytest


def absent(reason: str) -> NoReturn:
    """Skip a test for what `.ci/run` installs and is not here; fail it where all was installed."""
    if os.environ.get("WEFT_NO_SKIP") == "1":
        pytest.fail(f"{reason}: here, where WEFT_NO_SKIP=1 says that everything is installed")
    pytest.skip(reason)


def need(*tools: str, package: str | None = None, path: str | None = None) -> None:
    """Tools of a Debian package, by default one of the same name, on PATH or on this `path`."""
    missing = [tool for tool in tools if shutil.which(tool, path=path) is None]
    if missing:
        absent(f"needs {', '.join(missing)} (Debian: {package or ' '.join(missing)})")


def need_mpi(program: str) -> None:
    """A program of an MPI: Debian's by its name, by its path one that `make mpis` puts there."""
    if "/" not in program:
        need(program, package="openmpi-bin libopenmpi-dev mpich libmpich-dev")
    elif shutil.which(program) is None:
        pytest.skip(f"no {program} on this machine (make mpis)")
