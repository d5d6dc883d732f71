"""Flow level on one core: whole runs of W2 and W3(1024), compared with packets.

    flows.py [--runs N] [--packets]

CPU seconds of the shipped `weft-sim` from reading the scenario to writing the outcome. With
`--packets` every workload is run packet by packet as well (W3: a minute and a half), for the
last column: by how much flows end earlier or later.
"""

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benches.engine import run_once
from benches.large import full_tree, w3
from benches.workloads import Document

from benches import workloads

WORKLOADS: tuple[tuple[str, Document, float | None, float | None], ...] = (
    ("W2 window 1, in order, static", workloads.w2("window 1, in order", adaptive=False), 5, 2),
    ("W2 window 1, in order, adaptive", workloads.w2("window 1, in order", adaptive=True), 5, 2),
    ("W2 window 1, shuffled, static", workloads.w2("window 1, shuffled", adaptive=False), 5, 2),
    ("W3(1024), static", w3(), 0.5, 0.2),
    ("W3(1024), static, its moves skipped", {**w3(), "steady_state": {}}, 0.5, 0.2),
    ("27,648 hosts, random, static", full_tree(adaptive=False), None, None),
)
"""Name, scenario, gate and goal in CPU seconds; none without."""


def end_us(path: Path, out: Path) -> float:
    """When a run that is complete ends, in simulated microseconds."""
    outcome = json.loads(out.read_bytes())
    if outcome["status"] != "complete":
        raise RuntimeError(f"{path}: {outcome['message']}")
    return float(outcome["end_ps"]) / 1e6


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--packets", action="store_true")
    given = parser.parse_args()
    print(
        "| workload | ends at us | gate s | goal s | CPU s: median | min | max | peak MB |", end=""
    )
    print(" against packets |")
    print("|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as scratch:
        path, out = Path(scratch) / "flows.json", Path(scratch) / "out.json"
        for name, scenario, gate_s, goal_s in WORKLOADS:
            path.write_text(json.dumps({**scenario, "fidelity": "flow"}))
            found = [run_once(path, out) for _ in range(given.runs + 1)][1:]
            seconds = [cpu_s for cpu_s, _ in found]
            flows_us, against = end_us(path, out), "-"
            if given.packets:
                path.write_text(json.dumps(scenario))
                run_once(path, out)
                against = f"{100 * (flows_us / end_us(path, out) - 1):+.2f} %"
            limits = [f"{limit:g}" if limit else "-" for limit in (gate_s, goal_s)]
            times = (statistics.median(seconds), min(seconds), max(seconds))
            cells = [name, f"{flows_us:.2f}", *limits, *(f"{time:.3f}" for time in times)]
            peak_mb = max(peak for _, peak in found)
            print(f"| {' | '.join([*cells, f'{peak_mb:.0f}', against])} |", flush=True)


if __name__ == "__main__":
    main()
