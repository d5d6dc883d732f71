"""Every figure of benchmarks.md, printed as Markdown by the script that measures it."""

import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCRIPTS = (
    ("whole_process.py",),
    ("cluster_up.py",),
    ("engine.py", "--instructions"),
    ("large.py",),
    ("fabric.py",),
    ("read_results.py",),
    ("doctor_log.py",),
    ("training_log.py",),
    ("compare_kernel.py",),
)


def main() -> None:
    """Run each script in turn; stop at the first failure."""
    for name, *options in SCRIPTS:
        print(f"\n## `python benches/{' '.join((name, *options))}`\n", flush=True)
        started = time.perf_counter()
        subprocess.run([sys.executable, str(HERE / name), *options], check=True)
        print(f"\n{name} took {(time.perf_counter() - started) / 60:.1f} min", flush=True)


if __name__ == "__main__":
    main()
