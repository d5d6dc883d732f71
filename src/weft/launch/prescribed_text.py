"""A prescription as what a person pastes: a command, a batch script, a modulefile."""

import re

from weft.catalog.tools import NCCL_PROGRAMS, OSU_PROGRAMS
from weft.core.errors import InputError, did_you_mean
from weft.core.shell_line import quoted
from weft.launch.prescription import Prescription, handed_on
from weft.launch.tcl import tcl_word

SIZES = ("-b", "1K", "-e", "16G", "-f", "2", "-g", "1")
TESTS = "/opt/nccl-tests/build"
MCA = "OMPI_MCA_"
VARIABLE = re.compile(r"\$[A-Za-z_]\w*|\$\{[A-Za-z_]\w*\}", re.ASCII)


def program(prescription: Prescription, benchmark: str) -> list[str]:
    """The command of a benchmark, its words quoted: of nccl-tests on GPUs, of OSU's elsewhere.

    Raises InputError for one that they do not have.
    """
    by_mpi = prescription.recipe.library == "mpi"
    names = OSU_PROGRAMS if by_mpi else {**NCCL_PROGRAMS, "hypercube": "hypercube_perf"}
    if benchmark not in names:
        raise InputError(
            f"no benchmark '{benchmark}' among {'those of OSU' if by_mpi else 'nccl-tests'}",
            expected=", ".join(sorted(names)),
            hint=did_you_mean(benchmark, list(names)) or "--program launches anything else",
        )
    return [names[benchmark]] if by_mpi else [f"{TESTS}/{names[benchmark]}", *SIZES]


def as_mpirun(prescription: Prescription, command: list[str]) -> str:
    """One command line of the machine's MPI: Open MPI's mpirun, or Hydra's mpiexec as MVAPICH2 and
    MPICH have it. Several hosts come from $HOSTFILE."""
    run = prescription.run
    several = run.nodes != 1 and not run.loopback
    ranks = str((run.nodes or 1) * run.tasks)
    if several and run.nodes is None:
        ranks = f"$(( NODES * {run.tasks} ))"
    if prescription.recipe.launcher == "hydra":
        return _as_mpiexec(prescription, command, ranks, several=several)
    lines = [f"mpirun -np {ranks}"]
    if several:
        lines[0] += ' -hostfile "$HOSTFILE"'
    lines[0] += f" --bind-to numa --map-by ppr:{run.tasks}:node"
    if not several:
        lines[0] += " --report-bindings"
    passed = handed_on(prescription.settings)
    for setting in prescription.settings:
        if setting.name in passed:
            lines.append(f"-x {setting.name}")
        elif setting.via == "mca" or setting.name.startswith(MCA):
            name = setting.name.removeprefix(MCA)
            lines.append(f"--mca {name} {quoted(setting.value)}")
        else:
            lines.append(f"-x {setting.name}={quoted(setting.value)}")
    return " \\\n  ".join([*lines, " ".join(command)])


def _as_mpiexec(
    prescription: Prescription, command: list[str], ranks: str, *, several: bool
) -> str:
    hosts = ' -f "$HOSTFILE"' if several else ""
    lines = [
        f"mpiexec{hosts} -ppn {prescription.run.tasks} -n {ranks}",
        *(f"-genv {setting.name} {quoted(setting.value)}" for setting in prescription.own),
    ]
    return " \\\n  ".join([*lines, " ".join(command)])


def as_exports(prescription: Prescription) -> str:
    """Lines of a shell that export every variable."""
    return "\n".join(
        f"export {setting.name}={quoted(setting.value)}" for setting in prescription.own
    )


def as_srun(prescription: Prescription, command: list[str]) -> str:
    """Exports, and one srun, into a container where there is an image."""
    inside = _container(prescription) if prescription.run.image else []
    words = [*srun_words(prescription), *inside, " ".join(command)]
    return f"{as_exports(prescription)}\n" + " \\\n  ".join(words)


def srun_words(prescription: Prescription) -> list[str]:
    """srun with its own options, as the parts of a command line."""
    run = prescription.run
    nodes = f" --nodes={run.nodes}" if run.nodes is not None else ""
    lines = [f"srun{nodes} --ntasks-per-node={run.tasks}"]
    if prescription.recipe.network:
        lines.append(f"--network={prescription.recipe.network}")
    if prescription.cpu_bind:
        lines.append(f"--cpu-bind={prescription.cpu_bind}")
    return lines


def _container(prescription: Prescription) -> list[str]:
    run = prescription.run
    names = [one.name for one in prescription.own]
    topology = prescription.values.get("NCCL_TOPO_FILE")
    mounts = [f"{topology}:{topology}:ro"] if topology else []
    mounts += run.mounts
    lines = [f"--container-image={_with_variables(run.image)}"]
    if mounts:
        lines.append(f"--container-mounts={','.join(_with_variables(one) for one in mounts)}")
    lines.append(f"--container-env={','.join(names)}")
    return [*lines, "--container-writable", "--no-container-mount-home"]


def as_sbatch(prescription: Prescription, command: list[str]) -> str:
    """A batch script for sbatch."""
    run = prescription.run
    head = ["#!/bin/bash"]
    if run.nodes is not None:
        head.append(f"#SBATCH --nodes={run.nodes}")
    head.append(f"#SBATCH --ntasks-per-node={run.tasks}")
    if prescription.recipe.gpus_per_node:
        head.append(f"#SBATCH --gpus-per-node={prescription.recipe.gpus_per_node}")
    head += ["#SBATCH --exclusive"]
    if prescription.recipe.network:
        head.append(f"#SBATCH --network={prescription.recipe.network}")
    loads = [f"module load {name}" for name in prescription.recipe.modules if not run.image]
    return (
        "\n".join([*head, "", "set -euo pipefail", *loads, as_srun(prescription, command)]) + "\n"
    )


def as_modulefile(prescription: Prescription) -> str:
    """A modulefile in Tcl, which Environment Modules and Lmod read."""
    recipe = prescription.recipe
    whatis = f"Settings of NCCL and its networks for {recipe.title} ({recipe.date})"
    lines = ["#%Module1.0", f"module-whatis {tcl_word(whatis)}"]
    lines += [f"setenv {one.name} {tcl_word(one.value)}" for one in prescription.own]
    return "\n".join(lines) + "\n"


def _with_variables(text: str) -> str:
    """A word for a shell, which puts in the variables that it names, and does nothing else."""
    words = [(quoted(one) if one else "") for one in VARIABLE.split(text)]
    names = [f'"{one}"' for one in VARIABLE.findall(text)]
    return "".join(word + name for word, name in zip(words, [*names, ""], strict=True)) or "''"
