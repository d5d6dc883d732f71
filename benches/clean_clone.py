"""How long a newcomer waits: a clone of this repository, its report, and its tests.

    clean_clone.py

Package caches are as warm as they are; nothing that was built here is used. Takes ten minutes.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMMANDS = (
    ("clone, `make demo`: a report", ("git clone --quiet {root} {clone}", "make -C {clone} demo")),
    ("then `make test`: compiling the tests, running them", ("make -C {clone} test",)),
)


def seconds_of(commands: tuple[str, ...], clone: Path) -> float:
    """Wall seconds of the commands in turn. A failure ends the program with what was printed."""
    started = time.perf_counter()
    for command in commands:
        argv = [word.format(root=ROOT, clone=clone) for word in command.split()]
        done = subprocess.run(argv, check=False, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"clean_clone: {' '.join(argv)}: {done.stdout[-3000:]}{done.stderr[-1000:]}")
    return time.perf_counter() - started


def main() -> None:
    """Print the table."""
    print("| from a clean clone | wall time |")
    print("|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        for title, commands in COMMANDS:
            minutes, seconds = divmod(seconds_of(commands, Path(scratch) / "weft"), 60)
            print(f"| {title} | {minutes:.0f} min {seconds:.0f} s |", flush=True)


if __name__ == "__main__":
    main()
