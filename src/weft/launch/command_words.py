"""Command lines of launchers: their names, and the options that mean the same, each listed once."""

OPEN_MPI = frozenset(
    {"mpirun", "mpiexec", "orterun", "prterun", "mpirun.openmpi", "mpiexec.openmpi"}
)
HYDRA = frozenset({"mpiexec.hydra", "mpirun_rsh", "mpiexec.mpich"})
SLURM = frozenset({"srun", "sbatch", "salloc"})
APPTAINER = frozenset({"apptainer", "singularity"})
DOCKER_LIKE = frozenset({"docker", "podman", "podman-hpc", "enroot"})
"""Containers whose processes see only variables of the shell that an option passes on."""
CONTAINERS = APPTAINER | DOCKER_LIKE | {"shifter", "sarus"}
RANK_LAUNCHERS = OPEN_MPI | HYDRA | {"srun"}
"""Commands that start ranks."""
LAUNCHERS = RANK_LAUNCHERS | SLURM | CONTAINERS

RANKS = "n"
NODES = "nodes"
TASKS_PER_NODE = "ntasks-per-node"
HOSTFILE = "hostfile"
_SAME = {
    "np": RANKS,
    "ntasks": RANKS,
    "nnodes": NODES,
    "npernode": TASKS_PER_NODE,
    "perhost": TASKS_PER_NODE,
    "ppn": TASKS_PER_NODE,
    "H": "host",
    "f": HOSTFILE,
    "machinefile": HOSTFILE,
}


def option_of(launcher: str, word: str) -> str:
    """The one name of an option, without its dashes: `-np`, `-n` and `--ntasks` are `n`.

    `-N` is nodes for Slurm. SOURCE: srun(1); mpirun(1) of Open MPI: ranks on each node.
    """
    name = word.lstrip("-")
    if name == "N":
        return NODES if launcher in SLURM else TASKS_PER_NODE
    return _SAME.get(name, name)
