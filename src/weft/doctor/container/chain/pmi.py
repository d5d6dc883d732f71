"""What srun gives the ranks of an MPI to find each other (PMI), and what an MPI library takes.

SOURCE: each pair of a plug-in and an MPI of `mpi_startup` was started on two nodes of Slurm 22.05.8
(tests/oracle/test_slurm_mpi_types.py); srun(1); open-mpi/ompi, issue 13523.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from weft.doctor.container.case import ContainerCase
from weft.doctor.container.chain.loads import content_of
from weft.doctor.container.loader.closure import Closure, LoadedFile

GIVES = {
    "none": "no PMI",
    "pmi2": "PMI-1 and PMI-2",
    "pmix": "PMIx",
    "cray_shasta": "Cray's PMI",
}
"""By srun's plug-in, what ranks get."""
SLURM_CONF = "/etc/slurm/slurm.conf"
MOST_CONF_BYTES = 4 << 20
_DEFAULT = re.compile(r"^\s*MpiDefault\s*=\s*(\S+)", re.I | re.M)
_INCLUDE = re.compile(r"^\s*Include\s", re.I | re.M)
_NUMBERED = re.compile(r"_v\d+$")
_OTHER_PMI = ("libpmi", "libpals", "libflux")
"""Begins of libraries that speak to a launcher in place of MPICH's own code."""
_PMIX_CLIENT = (b"PMIX_SERVER_URI", b"\0PMIx_Init\0")
"""Signs of a PMIx within a library: its own code, or a function of another library."""
_PARTS_OF_4 = (b"mca_pmix_s1_", b"mca_pmix_s2_", b"mca_pmix_cray_")
"""Parts of Open MPI 4 that speak something else than PMIx to Slurm."""
_INTEL_LIBRARY = ("I_MPI_PMI_LIBRARY", "MPIR_CVAR_PMI_LIBRARY")


@dataclass(frozen=True, slots=True)
class PmiEffect:
    """What a plug-in that does not fit does: as a sentence, and as what ranks will do."""

    sentence: str
    ranks: str


ALONE = PmiEffect(
    "each rank is alone in an MPI world of size 1", "each be alone in an MPI world of size 1"
)
ENDED = PmiEffect("each rank ends in MPI_Init", "end in MPI_Init")
APART = PmiEffect(
    "each rank is alone in an MPI world of size 1, or ends in MPI_Init", "not find each other"
)


@dataclass(frozen=True, slots=True)
class SrunPlugin:
    """srun's MPI plug-in, a key of GIVES. `is_default`: of the site, and the environment in which
    the job is submitted may name another one."""

    name: str
    named_by: str
    is_default: bool = False


@dataclass(frozen=True, slots=True)
class MpiStartup:
    """An MPI product, what it takes to start, the plug-in for it, and what others do to it; a
    plug-in that is in neither is not judged."""

    product: str
    takes: str
    better: str
    unfit: Mapping[str, PmiEffect] = field(default_factory=dict)


def plugin_of(case: ContainerCase) -> SrunPlugin | None:
    """The plug-in of a launch, else that of the host's slurm.conf; None where srun does not start
    the ranks, or nothing known names a plug-in that weft knows."""
    startup = case.plan.startup
    if not startup.by_srun:
        return None
    if startup.plugin:
        name = _NUMBERED.sub("", startup.plugin)
        return SrunPlugin(name, startup.named_by) if name in GIVES else None
    text = case.host.content(SLURM_CONF, MOST_CONF_BYTES).decode("utf-8", "replace")
    found = [one.lower() for one in _DEFAULT.findall(text)]
    name = _NUMBERED.sub("", found[0]) if len(found) == 1 else ""
    if name not in GIVES or _INCLUDE.search(text):
        return None
    return SrunPlugin(name, f"MpiDefault={found[0]} of the host's {SLURM_CONF}", is_default=True)


def mpi_startup(case: ContainerCase, library: LoadedFile, closure: Closure) -> MpiStartup | None:
    """What an MPI library takes, by its own code and what it loads; None where that does not
    tell it."""
    content = content_of(library)
    if b"ompi_mpi_comm_world" in content:
        return _of_open_mpi(case, library, content, closure)
    if b"Intel(R) MPI Library" in content:
        return _of_intel(case, library, content)
    is_mpich = b"MPICH Version" in content and b"PMI_FD" in content and b"MVAPICH" not in content
    if not is_mpich or any(one.startswith(_OTHER_PMI) for one in library.facts.needed):
        return None
    unfit = {"none": APART, "cray_shasta": APART}
    if any(one in content for one in _PMIX_CLIENT):
        return MpiStartup("MPICH", "PMI-1, PMI-2 and PMIx", "pmi2", unfit)
    return MpiStartup("MPICH", "PMI-1 and PMI-2, not PMIx", "pmi2", {**unfit, "pmix": APART})


def _of_open_mpi(
    case: ContainerCase, library: LoadedFile, content: bytes, closure: Closure
) -> MpiStartup | None:
    """Open MPI 5 calls PMIx itself; Open MPI 4 and 3 by a part of libopen-pal."""
    others = [one for one in GIVES if one != "pmix"]
    needed = library.facts.needed
    if not any(one.startswith("libopen-rte.") for one in needed):
        if b"\0PMIx_Init\0" not in content:
            return None
        return MpiStartup("Open MPI 5", "PMIx only", "pmix", dict.fromkeys(others, ALONE))
    within = [content_of(one) for one in closure.files if one.name.startswith("libopen-pal.")]
    names = [one.path.rpartition("/")[2] for one in case.walked]
    is_wide = any(one in code for one in _PARTS_OF_4 for code in within) or any(
        name.startswith(one.decode().rstrip("_") + ".") for one in _PARTS_OF_4 for name in names
    )
    if is_wide or not within:
        return None
    return MpiStartup("Open MPI 4", "PMIx only", "pmix", dict.fromkeys(others, ENDED))


def _of_intel(case: ContainerCase, library: LoadedFile, content: bytes) -> MpiStartup | None:
    """It opens a libpmix of the container, and none of its own."""
    if b"PMI server not found. Please set I_MPI_PMI_LIBRARY" not in content:
        return None
    if any(case.value(one) for one in _INTEL_LIBRARY):
        return None
    unfit = {"none": ALONE, "cray_shasta": ALONE}
    if case.loader.dlopen("libpmix.so", library).is_whole:
        return MpiStartup("Intel MPI", "PMI-1, PMI-2 and PMIx", "pmi2", unfit)
    takes = "PMI-1 and PMI-2, and PMIx by libpmix.so only, which no path leads to"
    return MpiStartup("Intel MPI", takes, "pmi2", {**unfit, "pmix": ALONE})
