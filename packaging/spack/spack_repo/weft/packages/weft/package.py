"""weft for Spack 1.0 and newer, from the archive that `make dist` writes."""

import os
import platform

from spack_repo.builtin.build_systems.generic import Package

from spack.package import *

PYTHON = "3.11"
"""The Python that `make dist` ran with: wheels of compiled packages fit no other."""


class Weft(Package):
    """Interconnect performance workbench: measures a fabric, predicts it, names the fault."""

    manual_download = True

    license("Apache-2.0")

    version("0.1.0")

    depends_on(f"python@{PYTHON}", type=("build", "run"))
    # A compute node compiles the benchmark kernel.
    depends_on("c", type=("build", "run"))

    def url_for_version(self, version):
        """The archive lies in the folder where spack was called."""
        abi = PYTHON.replace(".", "")
        name = f"weft-{version}-wheelhouse-cp{abi}-linux_{platform.machine()}.tar.gz"
        return f"file://{os.getcwd()}/{name}"

    def install(self, spec, prefix):
        """No network: every package that weft needs is a wheel in the archive."""
        python = spec["python"].command.path
        Executable("./install.sh")(prefix, python)

    @run_after("install")
    def check_install(self):
        """The command starts, and its compiled engine with it."""
        Executable(self.prefix.bin.weft)("platform", "list")
