"""Real fabrics of 8,008 hosts: reading, tables, path lengths, credit loops; a table.

    fabric.py [--runs N] [--keep FOLDER]

OpenSM (updn) routes the net on ibsim once; `--keep` leaves its dumps in a folder, or takes them
from there. Every figure is one process of its own, which reads its files anew; the figure is that
of the step alone, the peak that of the process.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.oracle.ibsim import Ibsim, frontera_like

from weft.audit.audit import audit
from weft.audit.case import AuditCase
from weft.topology.subnet.subnet import Subnet

ROOT = Path(__file__).resolve().parent.parent
DISCOVERED = "ibnetdiscover.out"
DUMPED = (DISCOVERED, "opensm-lfts.dump")


@dataclass(frozen=True, slots=True)
class Step:
    """Something to time, on a subnet of files that were read before; alone, it is the reading."""

    name: str
    files: tuple[str, ...]
    on: Callable[[Subnet], object] | None = None


STEPS = (
    Step("ibnetdiscover read", (DISCOVERED,)),
    Step("opensm-subnet.lst read", ("opensm-subnet.lst",)),
    Step("opensm-lfts.dump read", ("opensm-lfts.dump",)),
    Step("opensm.fdbs read", ("opensm.fdbs",)),
    Step("minhop tables", (DISCOVERED,), lambda subnet: subnet.route("minhop")),
    Step("updn tables", (DISCOVERED,), lambda subnet: subnet.route("updn")),
    Step("hop histogram of all pairs, and valleys", DUMPED, lambda subnet: subnet.survey()),
    Step("credit loops", DUMPED, lambda subnet: subnet.credit_loop(0)),
    Step("audit, every rule", DUMPED, lambda subnet: audit(AuditCase(subnet))),
    Step("load of every cable, all to all", DUMPED, lambda subnet: subnet.loads()),
    Step(
        "effective bisection bandwidth, 100 matchings",
        DUMPED,
        lambda subnet: subnet.bisection(100, 0),
    ),
)


def make(folder: Path) -> None:
    """Have OpenSM route the net, and keep what it and ibnetdiscover wrote."""
    with Ibsim(frontera_like(182).text()) as sim:
        for path in sim.opensm("updn", limit_s=600).iterdir():
            (folder / path.name).write_bytes(path.read_bytes())
        (folder / "ibnetdiscover.out").write_text(sim.run("ibnetdiscover", limit_s=300))


def run_here(step: Step, folder: Path) -> tuple[float, float]:
    """CPU seconds of a step in this process, and the process's peak in MB."""
    files = [str(folder / name) for name in step.files]
    subnet = Subnet.read(files) if step.on is not None else None
    begun = time.process_time()
    if subnet is None or step.on is None:
        Subnet.read(files)
    else:
        step.on(subnet)
    seconds = time.process_time() - begun
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def measure(step: Step, folder: Path) -> tuple[float, float]:
    """The same in a process of its own."""
    argv = [sys.executable, __file__, "--keep", str(folder), "--one", step.name]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, cwd=ROOT)
    seconds, peak_mb = json.loads(done.stdout)
    return seconds, peak_mb


def table(folder: Path, runs: int) -> None:
    """Print the table."""
    print("| 8,008 hosts, 470 switches | CPU s | peak MB | files, MB |")
    print("|---|---|---|---|", flush=True)
    for step in STEPS:
        found = [measure(step, folder) for _ in range(runs)]
        seconds = statistics.median(cost for cost, _ in found)
        peak_mb = max(peak for _, peak in found)
        size_mb = sum((folder / name).stat().st_size for name in step.files) / 1e6
        print(f"| {step.name} | {seconds:.2f} | {peak_mb:.0f} | {size_mb:.0f} |", flush=True)


def main() -> None:
    """Make the net and measure; or one step of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--one", choices=[step.name for step in STEPS])
    arguments = parser.parse_args()
    if arguments.one:
        step = next(step for step in STEPS if step.name == arguments.one)
        print(json.dumps(run_here(step, arguments.keep)))
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "opensm-lfts.dump").exists():
            make(folder)
        table(folder, arguments.runs)


if __name__ == "__main__":
    main()
