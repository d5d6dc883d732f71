"""How far the announced time of a study is off: `weft study plan` against `weft study run`.

    study_cost.py [--studies N]

Ten studies on twins, announced and then run on all cores. Prints a Markdown table.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from weft.core.units import format_duration

STUDIES = (
    "smoke --twin azure-ndv4 --nodes 470 --job-nodes 64",
    "placement --twin fat-tree --nodes 512 --job-nodes 64",
    "adaptive-routing --twin fat-tree --nodes 512 --job-nodes 256",
    "tasks-per-node --twin frontera --nodes 1280 --job-nodes 64",
    "slingshot-plugin --twin alps-a100 --nodes 8",
    "slingshot-plugin --twin alps-gh200 --nodes 32",
    "lightweight-pair --twin azure-a9 --nodes 64 --repeats 40",
    "frontera-ar --twin frontera --job-nodes 128",
    "frontera-ar --twin frontera --budget 60s",
    "frontera-sharp --twin frontera --budget 60s",
)
"""Words behind `weft study plan` and `weft study run`."""


def weft(words: list[str]) -> str:
    """What a command prints on standard output."""
    argv = [str(Path(sys.executable).parent / "weft"), *words]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode not in {0, 1, 5}:
        raise SystemExit(f"{' '.join(argv)}\n{done.stderr}")
    return done.stdout


def rows(n_studies: int) -> Iterator[str]:
    """The table, as the studies end."""
    yield "| `weft study run ...` | launches | announced | took | announced / took |"
    yield "|---|---|---|---|---|"
    for words in STUDIES[:n_studies]:
        plan = json.loads(weft(["study", "plan", *words.split(), "--format", "json"]))
        # Start-up and announcement, which are no part of it.
        began = time.perf_counter()
        weft(["study", "plan", *words.split()])
        before = time.perf_counter() - began
        with tempfile.TemporaryDirectory() as folder:
            began = time.perf_counter()
            weft(["study", "run", *words.split(), "--dir", str(Path(folder) / "run")])
            took = time.perf_counter() - began - before
        announced = plan["estimated_s"]
        yield (
            f"| `{words}` | {plan['n_launches']} | {format_duration(announced)} | "
            f"{format_duration(took)} | {announced / took:.2f} |"
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=len(STUDIES))
    for line in rows(parser.parse_args().studies):
        print(line, flush=True)


if __name__ == "__main__":
    main()
