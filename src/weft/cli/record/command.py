"""`weft record`: the MPI calls of a program, as a trace that a twin can repeat."""

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from weft import __version__
from weft.cli.options import FOLDER, fresh_run_dir
from weft.cli.output import emit, format_option, talk
from weft.cli.progress.watch import silence
from weft.core.errors import BenchmarkError, ExitCode, InputError, MissingError
from weft.core.files import make_folder
from weft.core.process import run_in_foreground
from weft.core.shell_line import shell_line
from weft.core.units import format_duration
from weft.core.words import counted

if TYPE_CHECKING:
    from weft.trace.trace import Trace

MOST_CALLS_SHOWN = 6


@click.command("record", context_settings={"allow_interspersed_args": False})
@click.argument("argv", metavar="-- COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option(
    "--dir",
    "directory",
    type=FOLDER,
    help="Where the trace is kept, on a file system that all nodes see. Default: "
    "runs/record-<time>.",
)
@click.option(
    "--mpi",
    "mpicc",
    metavar="MPICC",
    help="The mpicc of the program's MPI. Default: that beside mpirun or mpiexec, else the site's.",
)
@format_option
def command(argv: tuple[str, ...], directory: Path | None, mpicc: str | None, format_: str) -> int:
    """Run an MPI program and record its calls: weft record -- mpirun -n 8 ./app.

    COMMAND is a whole launch with mpirun, mpiexec or srun. A small library is preloaded into its
    ranks, in C, C++ or Fortran, for MPICH, Open MPI and MPIs with the ABI of MPICH. It notes each
    call with its size, partner and communicator, and the time that the rank computed before it.
    `weft replay` repeats that on a twin.

    Exit 4 if the program fails; weft keeps the calls recorded up to then, if any. Exit 3 if the
    program succeeds but no rank recorded a call.
    """
    from weft.launch.kernel import build_recorder
    from weft.launch.launchers.recorder import (
        mpi_of,
        recording_environment,
        recording_launch,
        shared_library,
    )
    from weft.launch.secret_text import mask_text
    from weft.trace.recording import Recording, pack, write_recording
    from weft.trace.trace import read_trace

    where = directory or fresh_run_dir("record")
    if where.exists() and any(where.iterdir()):
        raise InputError(
            "the directory is not empty", where=str(where), expected="a new one: --dir DIR"
        )
    mpi = mpi_of(argv, mpicc)
    make_folder(where, what="trace")
    library = shared_library(build_recorder(mpi), where)
    started, clock = time.time(), time.monotonic()
    launch = recording_launch(argv, mpi)
    silence()
    code = run_in_foreground(launch, recording_environment(library, where, os.environ))
    seconds = time.monotonic() - clock
    library.unlink(missing_ok=True)
    typed = mask_text(shell_line(argv))[0]
    if not pack(where):
        where.rmdir()
        if code:
            raise BenchmarkError(
                f"the command ended with exit code {code}, and no rank recorded anything",
                where=typed,
                expected="an MPI program that runs",
            )
        raise MissingError(
            "no rank recorded anything",
            where=typed,
            expected=f"an MPI program that loads {mpi.version} when it starts",
            hint="--mpi names the mpicc of another MPI; static programs and "
            "MPICH's module mpi_f08 cannot be recorded; a "
            "launcher that clears the environment has to pass on LD_PRELOAD and WEFT_RECORD_DIR",
        )
    write_recording(where, Recording(typed, code, started, seconds, mpi.version, __version__))
    _print(read_trace(where), code, format_)
    if code:
        talk(f"weft: '{argv[0]}' ended with exit code {code}")
    return int(ExitCode.BENCHMARK if code else ExitCode.GOOD)


def _print(trace: "Trace", code: int, format_: str) -> None:
    caveats = trace.caveats()
    if code:
        caveats.insert(0, f"the program ended with exit code {code}")
    emit(
        format_,
        text=lambda: _text(trace, caveats),
        record={
            "trace": str(trace.path),
            "n_ranks": trace.n_ranks,
            "hosts": dict(trace.tasks_by_host),
            "mpi": trace.mpi,
            "seconds": trace.seconds,
            "computing_share": trace.computing_share,
            "calls": dict(trace.calls),
            "n_messages": trace.n_messages,
            "message_bytes": trace.message_bytes,
            "exit_code": code,
            "caveats": caveats,
        },
        rows=[{"call": name, "n": n} for name, n in sorted(trace.calls.items())],
    )


def _text(trace: "Trace", caveats: list[str]) -> str:
    from weft.trace.trace import COLLECTIVES

    hosts = counted(len(trace.tasks_by_host), "host")
    computing = 100 * trace.computing_share
    most = sorted(COLLECTIVES, key=lambda name: -trace.calls[name])
    shown = [f"{trace.calls[name]:,} {name}" for name in most if trace.calls[name]]
    more = [f"{len(shown) - MOST_CALLS_SHOWN} other kinds"] if len(shown) > MOST_CALLS_SHOWN else []
    sent = f"{trace.n_messages:,} messages ({trace.message_bytes / 1e6:,.1f} MB)"
    took = format_duration(trace.seconds)
    return "\n".join(
        [
            f"recorded {counted(trace.n_ranks, 'rank')} on {hosts}, "
            f"{took}: {computing:.0f} % computing, {100 - computing:.0f} % in MPI",
            *(f"  ! {caveat}" for caveat in caveats),
            f"calls  {', '.join([sent, *shown[:MOST_CALLS_SHOWN], *more])}",
            f"mpi    {trace.mpi.split(', ')[0]}",
            f"next:  {shell_line(['weft', 'replay', trace.path, '--twin', 'PLATFORM'])}",
        ]
    )
