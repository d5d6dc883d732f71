"""What recording costs a call: a ping-pong between two ranks, recorded and not, in turn.

python benches/recorder.py [--pairs 15]
"""

import argparse
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

from weft.launch.kernel import build_recorder
from weft.launch.launchers.recorder import recording_environment
from weft.launch.mpi import find_mpi

HERE = Path(__file__).resolve().parent
SLOW_NS = 1000
"""A message of a fabric takes about so long."""


def main() -> None:
    """Print a row for each MPI of this machine."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=15)
    pairs = parser.parse_args().pairs
    print("| MPI | 8 B one way, ns | recorded, ns | a call, ns | of a message of 1 us |")
    print("|---|---|---|---|---|")
    for name in ("mpicc.mpich", "mpicc.openmpi"):
        mpi = find_mpi(name)
        root = ["--allow-run-as-root"] if mpi.launcher_kind == "openmpi" else []
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "ping_pong"
            source = str(HERE / "recorded_ping_pong.c")
            subprocess.run([str(mpi.mpicc), "-O2", "-o", str(program), source], check=True)
            library = build_recorder(mpi)
            argv = [str(mpi.launcher), *root, "-n", "2", str(program)]
            plain, recorded, added = [], [], []
            for number in range(pairs):
                trace = Path(folder) / f"trace-{number}"
                trace.mkdir()
                plain.append(_ns(argv, dict(os.environ)))
                recorded.append(_ns(argv, recording_environment(library, trace, os.environ)))
                added.append(recorded[-1] - plain[-1])
        a_call = statistics.median(added) / 2
        print(
            f"| {mpi.version} | {statistics.median(plain):.0f} | {statistics.median(recorded):.0f} "
            f"| {a_call:.0f} | {100 * 2 * a_call / SLOW_NS:.0f} % |"
        )


def _ns(argv: list[str], env: dict[str, str]) -> float:
    done = subprocess.run(argv, env=env, check=True, capture_output=True, text=True)
    return float(done.stdout)


if __name__ == "__main__":
    main()
