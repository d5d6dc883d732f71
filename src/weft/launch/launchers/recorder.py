"""How a program is started so that its MPI calls are recorded."""

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from weft.core.documents.text_file import read_file_bytes
from weft.core.errors import MissingError
from weft.core.files import write_part
from weft.launch.mpi import Mpi, find_mpi

MOST_LIBRARY_BYTES = 1 << 24
DIRECTORY = "WEFT_RECORD_DIR"
PRELOAD = "LD_PRELOAD"
LAUNCHER_STEMS = ("mpirun", "mpiexec")


def mpi_of(argv: Sequence[str], mpicc: str | None) -> Mpi:
    """The MPI of a launch: of the `mpicc` that is named, else of the launcher's own folder and
    ending (mpirun.openmpi has mpicc.openmpi beside it), else the site's. Raises MissingError."""
    if mpicc is not None:
        return find_mpi(mpicc)
    launcher = Path(argv[0])
    stem, _, ending = launcher.name.partition(".")
    found = shutil.which(argv[0])
    if stem in LAUNCHER_STEMS and found is not None:
        # Debian's mpirun is a link to a link to mpirun.openmpi.
        name = f"mpicc.{ending}" if ending else "mpicc"
        for folder in dict.fromkeys((Path(found).parent, Path(os.path.realpath(found)).parent)):
            if os.access(folder / name, os.X_OK):
                return find_mpi(str(folder / name))
    try:
        return find_mpi("site", may_be_srun=True)
    except MissingError as error:
        raise MissingError(
            f"no MPI compiler wrapper beside '{argv[0]}'",
            expected="the MPI that the program was built with",
            hint="weft record --mpi /path/to/mpicc -- ...",
        ) from error


def shared_library(library: Path, directory: Path) -> Path:
    """A copy of the library in the directory of the trace, which all nodes see; the cache of
    compiled programs may be a node's own. Raises StorageError."""
    copy = directory / library.name
    content = read_file_bytes(library, expected="a compiled library", most_bytes=MOST_LIBRARY_BYTES)
    write_part(copy, content, what="library that records")
    return copy.absolute()


def recording_launch(argv: Sequence[str], mpi: Mpi) -> tuple[str, ...]:
    """The launch with what hands the variables on to other hosts. Hydra and srun hand on all, Open
    MPI's mpirun those that it is told of.

    SOURCE: Open MPI 4, mpirun(1), -x; it refuses another way to name them beside the user's -x.
    """
    stem = Path(argv[0]).name.partition(".")[0]
    if mpi.launcher_kind != "openmpi" or stem not in LAUNCHER_STEMS:
        return tuple(argv)
    return (argv[0], "-x", PRELOAD, "-x", DIRECTORY, *argv[1:])


def recording_environment(library: Path, directory: Path, env: Mapping[str, str]) -> dict[str, str]:
    """The environment of a launch whose ranks record into `directory`."""
    preloaded = env.get(PRELOAD, "")
    return {
        **env,
        PRELOAD: f"{library}:{preloaded}" if preloaded else str(library),
        DIRECTORY: str(directory.absolute()),
    }
