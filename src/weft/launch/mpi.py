"""An MPI: its compiler wrapper, its launcher, its version and library."""

import os
import re
import shutil
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from weft.core.errors import MissingError
from weft.core.process import CommandError, CommandText, run_command
from weft.launch.launchers import LAUNCHER_NAMES, MPI_LAUNCHERS, UNKNOWN_MPI

PROBE_TIMEOUT_S = 30.0
_WORKING = "a working MPI installation"
VERSION_NUMBER = re.compile(r"\d+(?:\.\d+)+\w*")


@dataclass(frozen=True, slots=True)
class Mpi:
    """An MPI installation.

    `implementation` is openmpi, mpich, intel, mvapich or unknown; `launcher_kind` the syntax of
    `launcher` (a key of weft.launch.launchers.LAUNCHERS). `version` is product and number, from
    what the launcher says of itself. `library` is the compile line of the wrapper: two MPIs that
    link different libraries differ in it. `pmi` is srun's plugin for it, where one is named.
    """

    implementation: str
    mpicc: Path
    launcher: Path
    launcher_kind: str
    version: str
    library: str
    pmi: str | None = None


def find_mpi(mpicc: str | None = None, *, may_be_srun: bool | None = None) -> Mpi:
    """The embedded MPICH (None), the site's (`site`), or the one of a wrapper's name or path.

    `may_be_srun`: whether srun starts ranks where the wrapper's folder has no launcher (None:
    inside a Slurm job). Raises MissingError where the wrapper or its launcher is absent, or does
    not run.
    """
    wrapper = _find_wrapper(mpicc)
    launcher = _find_launcher(
        wrapper, "SLURM_JOB_ID" in os.environ if may_be_srun is None else may_be_srun
    )
    version_text = probed([str(launcher), "--version"], expected=_WORKING).out
    library = probed([str(wrapper), "-show"], expected=_WORKING).out
    implementation = classify(version_text, library, launcher.name)
    kind = "srun" if launcher.name == "srun" else launcher_name_of(implementation)
    return Mpi(
        implementation,
        wrapper,
        launcher,
        kind,
        version_in_words(implementation, launcher, version_text),
        library.strip(),
    )


def compiler_env(mpi: Mpi) -> dict[str, str]:
    """The variables that the compiler wrapper wants in its environment.

    SOURCE: mpicc of PyPI's impi-devel 2021.16, which names its own folder by a placeholder where
    I_MPI_ROOT does not: the package is unpacked, not installed.
    """
    if "I_MPI_SUBSTITUTE_INSTALLDIR" not in mpi.library:
        return {}
    return {"I_MPI_ROOT": str(mpi.mpicc.parent.parent)}


def classify(version_text: str, compile_line: str, launcher_name: str) -> str:
    """The implementation, from `mpiexec --version` and the wrapper's compile line."""
    build = f"{launcher_name} {compile_line}".lower()
    for one in MPI_LAUNCHERS.values():
        if _has(one.version_sign, version_text) or (one.is_derived and _has(one.build_sign, build)):
            return one.implementation
    built = (one.implementation for one in MPI_LAUNCHERS.values() if _has(one.build_sign, build))
    return next(built, UNKNOWN_MPI)


def launcher_name_of(implementation: str) -> str:
    """The name in LAUNCHERS of an MPI's own launcher; Hydra's for an unknown MPI."""
    return LAUNCHER_NAMES.get(implementation, "hydra")


def _has(sign: str, text: str) -> bool:
    return sign != "" and re.search(sign, text) is not None


def _find_wrapper(mpicc: str | None) -> Path:
    if mpicc is None:
        return _embedded_wrapper()
    if mpicc == "site":
        found = shutil.which("mpicc", path=_site_path())
        if found is None:
            raise MissingError(
                "no 'mpicc' on PATH",
                expected="the site's MPI compiler wrapper",
                hint="load the MPI module, or name the wrapper: --mpi /path/to/mpicc",
            )
        return Path(found)
    found = shutil.which(mpicc)
    if found is None:
        raise MissingError(
            f"no MPI compiler wrapper '{mpicc}'",
            expected="'site', a name on PATH or a path to an executable mpicc",
            hint="leave --mpi out to use the embedded MPICH",
        )
    return Path(found).absolute()


def _embedded_wrapper() -> Path:
    folders = [Path(sysconfig.get_path("scripts")), Path(sys.executable).parent]
    for folder in folders:
        if os.access(folder / "mpicc", os.X_OK):
            return folder / "mpicc"
    raise MissingError(
        "the embedded MPICH is not installed",
        where=str(folders[0]),
        expected="mpicc and mpiexec of the Python package 'mpich'",
        hint="install the package 'mpich' with weft, or use the site's MPI: --mpi site",
    )


def _site_path() -> str:
    """PATH without the folder of the embedded MPI, which an activated venv puts first."""
    own = {Path(sysconfig.get_path("scripts")).resolve(), Path(sys.executable).parent.resolve()}
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(f for f in folders if f and Path(f).resolve() not in own)


def _find_launcher(wrapper: Path, may_be_srun: bool) -> Path:
    """The launcher that goes with a wrapper: same folder, same ending; else srun.

    A launcher of another MPI starts N worlds of one rank each, so none is guessed from PATH.
    """
    ending = wrapper.name.partition(".")[2]
    names = [f"{stem}.{ending}" if ending else stem for stem in ("mpiexec", "mpirun")]
    for folder in dict.fromkeys((wrapper.parent, wrapper.resolve().parent)):
        for name in names:
            if os.access(folder / name, os.X_OK):
                return folder / name
    srun = shutil.which("srun")
    if srun is not None and may_be_srun:
        return Path(srun)
    raise MissingError(
        f"no launcher for {wrapper}",
        where=str(wrapper.parent),
        expected=" or ".join(f"'{name}'" for name in names) + " in the wrapper's folder",
        hint="inside a Slurm job srun is used; else name the mpicc of a complete MPI with --mpi",
    )


def probed(argv: list[str], *, expected: str, hint: str | None = None) -> CommandText:
    """A command that ran to its end with exit code 0. Raises MissingError."""
    command = f"'{' '.join(argv)}'"
    try:
        ran = run_command(argv, timeout_s=PROBE_TIMEOUT_S)
    except CommandError as error:
        raise MissingError(f"{command} does not run ({error})", expected=expected) from error
    if ran.code != 0:
        raise MissingError(
            f"{command} failed with exit code {ran.code}: {ran.last_line}",
            expected=expected,
            hint=hint,
        )
    return ran


def version_in_words(implementation: str, launcher: Path, version_text: str) -> str:
    """'MPICH 5.0.2', 'Open MPI 4.1.4', 'srun: slurm 23.02.7'; what was printed, of an unknown one.

    Hydra's version is MPICH's; MVAPICH prints the Hydra it was built from.
    """
    lines = [line.strip() for line in version_text.splitlines() if line.strip()]
    first = lines[0] if lines else "unknown"
    line = next((one for one in lines if one.startswith("Version:")), first)
    number = VERSION_NUMBER.search(line)
    if launcher.name == "srun":
        return f"srun: {first}"
    if implementation not in MPI_LAUNCHERS or number is None:
        return first
    return f"{MPI_LAUNCHERS[implementation].product} {number.group()}"
