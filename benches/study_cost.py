"""How far the announced time of a study is off: `weft study plan` against `weft study run`.

    study_cost.py [--studies N]

Studies on twins, announced and then run on all cores. Prints a Markdown table.
"""

import argparse
import io
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import patch

from weft.bench.model import Launch
from weft.cli import run as weft
from weft.cli.study.cost import StudyCost
from weft.core.units import format_duration
from weft.study.run import loop

SECONDS, EXECUTE = StudyCost.seconds, loop.execute
STUDIES = (
    "smoke --twin azure-ndv4 --nodes 470 --job-nodes 64",
    "placement --twin fat-tree --nodes 512 --job-nodes 64",
    "adaptive-routing --twin fat-tree --nodes 512 --job-nodes 256",
    "tasks-per-node --twin frontera --nodes 1280 --job-nodes 64",
    "slingshot-plugin --twin alps-a100 --nodes 32",
    "oversubscription --twin frontera",
    "lightweight-pair --twin azure-a9 --nodes 64 --repeats 40",
    "frontera-ar --twin frontera --job-nodes 128",
    "osu-hbv2 --twin azure-hbv2",
    "frontera-sharp --twin frontera --budget 2m",
)
"""Words behind `weft study plan` and `weft study run`."""


def announced_and_taken(words: list[str], run_dir: Path) -> tuple[int, float, float]:
    """Launches of a study, the seconds that are announced and those that the launches take."""
    found: list[float] = []
    n_launches = 0

    def seconds(cost: StudyCost, launches: Sequence[Launch]) -> float | None:
        nonlocal n_launches
        n_launches = len(launches)
        announced = SECONDS(cost, launches)
        assert announced is not None
        found[:] = [announced]
        return announced

    def execute(*args: Any, **options: Any) -> loop.RunOutcome:
        began = time.perf_counter()
        outcome = EXECUTE(*args, **options)
        found.append(time.perf_counter() - began)
        return outcome

    with (
        patch.object(StudyCost, "seconds", seconds),
        patch.object(loop, "execute", execute),
        redirect_stdout(io.StringIO()),
    ):
        weft(["study", "run", *words, "--dir", str(run_dir)])
    announced, taken = found
    return n_launches, announced, taken


def rows(n_studies: int) -> Iterator[str]:
    """The table, as the studies end."""
    yield "| `weft study run ...` | launches | announced | took | announced / took |"
    yield "|---|---|---|---|---|"
    for words in STUDIES[:n_studies]:
        with tempfile.TemporaryDirectory() as folder:
            n, announced, took = announced_and_taken(words.split(), Path(folder) / "run")
        yield (
            f"| `{words}` | {n} | {format_duration(announced)} | {format_duration(took)} | "
            f"{announced / took:.2f} |"
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=len(STUDIES))
    for line in rows(parser.parse_args().studies):
        print(line, flush=True)


if __name__ == "__main__":
    main()
