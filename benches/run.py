"""Every figure of benchmarks.md, printed as Markdown by the script that measures it."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCRIPTS = ("whole_process.py", "engine.py", "read_results.py", "compare_kernel.py")


def main() -> None:
    """Run each script in turn; stop at the first failure."""
    for name in SCRIPTS:
        print(f"\n## `python benches/{name}`\n", flush=True)
        subprocess.run([sys.executable, str(HERE / name), *sys.argv[1:]], check=True)


if __name__ == "__main__":
    main()
