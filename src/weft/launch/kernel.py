"""The C programs, compiled once for each MPI and kept: weft-kernel, and the library that records
programs."""

import hashlib
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path

import weft
from weft.core.errors import MissingError
from weft.core.process import CommandError, run_command
from weft.launch.mpi import Mpi, compiler_env

# No -march=native: the login node that compiles is not the compute node that runs.
COMPILER_FLAGS = ("-std=c11", "-O2", "-Wall", "-Wextra")
LIBRARY_FLAGS = ("-fPIC", "-shared", "-ftls-model=initial-exec", "-Wl,-z,lazy")
"""Of a library that is preloaded: its own data at a known place, functions found when called."""
COMPILE_TIMEOUT_S = 300.0


def build_kernel(mpi: Mpi, cache: Path | None = None) -> Path:
    """The kernel's executable for this MPI, compiled unless the cache has it.

    Two processes may build at once: each compiles into a file of its own and renames it.
    Raises MissingError where sources, a compiler or a writable cache is missing.
    """
    sources = kernel_sources()
    name = f"weft-kernel-{digest(mpi, sources)[:20]}"
    return _built(mpi, sources, name, (), cache)


def build_recorder(mpi: Mpi, cache: Path | None = None) -> Path:
    """The library that records the MPI calls of a program, likewise."""
    sources = _sources("recorder")
    name = f"libweft-recorder-{digest(mpi, sources)[:20]}.so"
    return _built(mpi, sources, name, LIBRARY_FLAGS, cache)


def _built(
    mpi: Mpi, sources: Sequence[Path], name: str, flags: Sequence[str], cache: Path | None
) -> Path:
    # An administrator may have compiled it where users can only read.
    for folder in (cache,) if cache is not None else cache_candidates():
        if os.access(folder / name, os.X_OK):
            return folder / name
    target = (cache if cache is not None else cache_folder()) / name
    # mkstemp's random name is not needed: a process builds one program at a time.
    unfinished = target.parent / f".{target.name}.{platform.node()}.{os.getpid()}"
    try:
        _compile(mpi, sources, unfinished, flags)
        unfinished.rename(target)
    finally:
        unfinished.unlink(missing_ok=True)
    return target


def kernel_sources() -> tuple[Path, ...]:
    """C sources and headers of the installed package, sorted by name. Raises MissingError."""
    return _sources(".")


def _sources(program: str) -> tuple[Path, ...]:
    folder = Path(weft.__file__).resolve().parent / "_mpi" / program
    files = sorted((*folder.glob("*.c"), *folder.glob("*.h")))
    if not any(path.suffix == ".c" for path in files):
        raise MissingError(
            "C sources are missing",
            where=str(folder),
            expected="*.c in the folder of the package",
            hint="install weft again",
        )
    return tuple(files)


def digest(mpi: Mpi, sources: Sequence[Path]) -> str:
    """Identity of an executable: sources, MPI, compiler flags and processor architecture."""
    parts = [
        mpi.implementation,
        str(mpi.mpicc),
        mpi.version,
        mpi.library,
        " ".join(COMPILER_FLAGS),
        platform.machine(),
    ]
    hashed = hashlib.sha256("\0".join(parts).encode())
    for path in sources:
        hashed.update(b"\0" + path.name.encode() + b"\0" + path.read_bytes())
    return hashed.hexdigest()


def cache_candidates() -> tuple[Path, Path]:
    """Where kernels are kept: with the installation, and for this user."""
    user_cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return (Path(sys.prefix) / "var/weft/kernels", Path(user_cache) / "weft/kernels")


def cache_folder() -> Path:
    """`<prefix>/var/weft/kernels` where this user may write, else the user's cache folder."""
    candidates = cache_candidates()
    for folder in candidates:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK | os.X_OK):
            return folder
    raise MissingError(
        "no folder to keep the compiled kernel in",
        where=" and ".join(str(folder) for folder in candidates),
        expected="one of them writable",
        hint="set XDG_CACHE_HOME to a folder that all compute nodes see",
    )


def _compile(mpi: Mpi, sources: Sequence[Path], target: Path, flags: Sequence[str]) -> None:
    units = [str(path) for path in sources if path.suffix == ".c"]
    argv = [str(mpi.mpicc), *COMPILER_FLAGS, *flags, "-o", str(target), *units, "-ldl", "-lm"]
    try:
        env = dict(os.environ) | compiler_env(mpi)
        ran = run_command(argv, timeout_s=COMPILE_TIMEOUT_S, env=env)
    except CommandError as error:
        raise MissingError(f"the kernel does not compile: {error}", where=argv[0]) from error
    if ran.code != 0:
        raise MissingError(
            f"the kernel does not compile with {mpi.mpicc}:\n{ran.out}{ran.err}".rstrip(),
            expected=f"'{' '.join(argv)}' to succeed",
            hint="a C compiler and the MPI's headers are needed on this machine",
        )
