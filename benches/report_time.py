"""How long does the report of a large study take? Prints the table.

    report_time.py [--repeats N] [--keep DIR]

The study has five collectives of 19 sizes on 10 numbers of nodes by 4 numbers of ranks, two arms
under two conditions, and a backend of the tests that computes its figures: 66 repeats are
1,003,200 samples of 20 iterations. `--keep` keeps the run, and measures one that is there.
"""

import argparse
import contextlib
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.mock_backend import put_into_verbs

from weft.cli import run as weft

COLLECTIVES = ("allreduce", "alltoall", "allgather", "broadcast", "reduce")
STUDY = """
schema = "weft.study/1"
name = "large"
title = "A large study"
question = "Where does it help?"
repeats = {repeats}
nodes = [2, 4, 8, 16, 32, 64, 128, 192, 256, 512]
tasks_per_node = [1, 2, 4, 8]

{benchmarks}

[[factors]]
name = "sharp"
settings = [{{ name = "off" }}, {{ name = "on" }}]

[[factors]]
name = "placement"
condition = true
settings = ["packed", "scattered"]
"""
N_PER_REPEAT = 19 * 10 * 4 * 2 * 2 * len(COLLECTIVES)


def make_run(folder: Path, repeats: int) -> None:
    """Run the study into a folder."""
    document = folder.with_suffix(".toml")
    tables = (f'[[benchmarks]]\nname = "{one}"\nsizes = "4:1M"\n' for one in COLLECTIVES)
    document.write_text(STUDY.format(repeats=repeats, benchmarks="\n".join(tables)))
    put_into_verbs()
    argv = ["study", "run", str(document), "--mock", "--nodes", "1024", "--dir", str(folder)]
    with contextlib.redirect_stdout(sys.stderr):
        code = weft(argv)
    if code not in (0, 5):
        raise SystemExit(f"the study ends with {code}")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--keep", type=Path, metavar="DIR")
    choice = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = choice.keep or Path(scratch, "run")
        if not folder.exists():
            make_run(folder, choice.repeats)
        begun = time.monotonic()
        argv = [
            sys.executable,
            "-m",
            "weft.cli",
            "report",
            str(folder),
            "-o",
            f"{scratch}/page.html",
        ]
        subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
        seconds = time.monotonic() - begun
        n_bytes = Path(scratch, "page.html").stat().st_size
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print("| samples | s | s of CPUs | peak MB | page MB |")
    print("|---|---|---|---|---|")
    print(
        f"| {choice.repeats * N_PER_REPEAT:,} | {seconds:.0f} | {used.ru_utime + used.ru_stime:.0f}"
        f" | {used.ru_maxrss >> 10} | {n_bytes >> 20} |"
    )


if __name__ == "__main__":
    main()
