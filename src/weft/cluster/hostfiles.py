"""Lists of a cluster's hosts as other tools read them."""

from collections.abc import Mapping
from pathlib import Path

from weft.core.files import make_folder, write_part

FOLDER = "hostfiles"


def hostfiles(n_cores: Mapping[str, int]) -> dict[str, str]:
    """By file name its text, for hosts with so many cores each.

    SOURCE: mpirun(1) of Open MPI 4.1 and "Launching with rankfile" of the documentation of 5.0
    ('host slots=N'; 'rank N=HOST slot=CORE'); Hydra's and Intel MPI's 'host:N'.
    """
    ranks = [(host, core) for host, n in n_cores.items() for core in range(n)]
    return {
        "hosts": "".join(f"{host}\n" for host in n_cores),
        "openmpi.hostfile": "".join(f"{host} slots={n}\n" for host, n in n_cores.items()),
        "hydra.machinefile": "".join(f"{host}:{n}\n" for host, n in n_cores.items()),
        "openmpi.rankfile": "".join(
            f"rank {rank}={host} slot={core}\n" for rank, (host, core) in enumerate(ranks)
        ),
    }


def write_hostfiles(folder: Path, n_cores: Mapping[str, int]) -> None:
    """Into a folder of the cluster's own. Raises StorageError."""
    make_folder(folder / FOLDER, what="folder of the host files", mode=0o700)
    for name, text in hostfiles(n_cores).items():
        write_part(folder / FOLDER / name, text, what="host file")


def written_hostfiles(folder: Path) -> dict[str, str]:
    """Name and path of those that are there."""
    found = sorted((folder / FOLDER).glob("*")) if (folder / FOLDER).is_dir() else []
    return {path.name: str(path) for path in found}
