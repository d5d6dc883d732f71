"""Random traffic by routing and switch model: prints docs/internals/routing_figures.md.

    routing.py [--seeds N] [--write]

Random permutations on 1,024 hosts (W1r) by routing, switch model, grade width and buffer; effective
bisection bandwidth over random bisections, with bootstrap intervals; the six forms of W2; W4's
bystanders. Constants without a published value are varied: a claim must survive that.
"""

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
from benches.page import print_tables
from benches.workloads import Document, Triples
from scipy.stats import bootstrap

from benches import workloads

ROOT = Path(__file__).resolve().parent.parent
WEFT_SIM = ROOT / "target" / "release" / "weft-sim"
PAGE = ROOT / "docs" / "internals" / "routing_figures.md"
RATE = 25e9


def outcome_of(scenario: Document) -> Any:
    """The outcome of a scenario. Raises RuntimeError where it is not complete."""
    done = subprocess.run(
        [str(WEFT_SIM), "-"],
        input=json.dumps(scenario),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def outcomes(scenarios: Sequence[Document]) -> list[Any]:
    """The outcomes of several scenarios, two at a time."""
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(outcome_of, scenarios))


def with_keys(scenario: Document, changes: Document) -> Document:
    """The scenario with `switch` and `routing.adaptive` keys changed."""
    switch = {**scenario["switch"], **changes.get("switch", {})}
    routing = dict(scenario["routing"])
    if "adaptive" in routing:
        routing["adaptive"] = {**routing["adaptive"], **changes.get("adaptive", {})}
    if "engine" in changes:
        routing["engine"] = changes["engine"]
    return {**scenario, "switch": switch, "routing": routing}


def efficiency(outcome: Any, size_bytes: int) -> tuple[float, float]:
    """Mean and least of ideal time over time, headers counted as loss."""
    ideal_ps = size_bytes / RATE * 1e12
    values = [ideal_ps / ps for ps in outcome["rows"]["duration_ps"]]
    return statistics.mean(values), min(values)


VARIANTS: tuple[tuple[str, bool, Document], ...] = (
    ("d-mod-k", False, {}),
    ("hashed ECMP", False, {"engine": "ecmp"}),
    ("d-mod-k, input FIFO", False, {"switch": {"model": "input_fifo"}}),
    ("d-mod-k, infinite buffers", False, {"switch": {"model": "infinite"}}),
    ("adaptive (VOQ, 64 KiB, grades of 8 KiB)", True, {}),
    ("adaptive, input FIFO", True, {"switch": {"model": "input_fifo"}}),
    ("d-mod-k, shared buffer, half an output", False,
     {"switch": {"model": "shared_buffer", "output_share": 0.5}}),
    ("adaptive, infinite buffers", True, {"switch": {"model": "infinite"}}),
    ("adaptive, store and forward", True, {"switch": {"forwarding": "store_and_forward"}}),
    ("adaptive, read speed-up 1", True, {"switch": {"speedup": 1.0}}),
    ("adaptive, read speed-up 1.5", True, {"switch": {"speedup": 1.5}}),
    ("adaptive, read speed-up 2", True, {"switch": {"speedup": 2.0}}),
    ("adaptive, grades of 4 KiB", True, {"adaptive": {"grade_bytes": 4096}}),
    ("adaptive, grades of 16 KiB", True, {"adaptive": {"grade_bytes": 16384}}),
    ("adaptive, grades of 32 KiB", True, {"adaptive": {"grade_bytes": 32768}}),
    ("adaptive, 4 grades of 16 KiB", True, {"adaptive": {"grade_bytes": 16384, "grades": 4}}),
    ("adaptive, buffer 32 KiB", True, {"switch": {"buffer_bytes": 32768}}),
    ("adaptive, buffer 128 KiB", True, {"switch": {"buffer_bytes": 131072}}),
    ("adaptive, buffer 256 KiB", True, {"switch": {"buffer_bytes": 262144}}),
    ("flowlets of 500 ns", True, {"adaptive": {"granularity": "flowlet"}}),
)  # fmt: skip


def permutations(seeds: Sequence[int]) -> Iterator[str]:
    """W1r by variant: mean and slowest efficiency of each seed."""
    yield "### Random permutations, 1,024 hosts, three levels, 2 MB each (W1r)\n"
    yield "Mean efficiency of the flows / of the slowest; 1 is the cable's rate all the time.\n"
    yield f"| switch and routing | {' | '.join(f'seed {seed}' for seed in seeds)} |"
    yield f"|---|{'---|' * len(seeds)}"
    size = 2_000_000
    for title, adaptive, changes in VARIANTS:
        made = [
            with_keys(workloads.w1("W1r", adaptive=adaptive, seed=seed), changes) for seed in seeds
        ]
        cells = [efficiency(outcome, size) for outcome in outcomes(made)]
        yield f"| {title} | {' | '.join(f'{mean:.3f} / {least:.3f}' for mean, least in cells)} |"


def bisection(n_hosts: int, size_bytes: int, seed: int) -> Triples:
    """Two random halves; each host of one sends to a host of the other (Hoefler et al. 2008)."""
    order = np.random.default_rng(seed).permutation(n_hosts)
    half = n_hosts // 2
    return [(int(a), int(b), size_bytes) for a, b in zip(order[:half], order[half:], strict=True)]


def bisections(count: int) -> Iterator[str]:
    """Effective bisection bandwidth: mean bandwidth of the pairs over the cable's rate."""
    yield "\n### Effective bisection bandwidth, random bisections\n"
    yield f"Mean over {count} bisections of the pairs' mean bandwidth / rate, 2 MB a pair; 95 %"
    yield "interval by bootstrap over bisections. Published for full-bisection clusters: 55-60 %"
    yield "(Hoefler, Schneider, Lumsdaine, Multistage Switches are not Crossbars, CLUSTER 2008).\n"
    yield "| fabric | routing | effective bisection bandwidth | 95 % interval | slowest pair |"
    yield "|---|---|---|---|---|"
    size = 2_000_000
    for title, radix in (("128 hosts, 3 levels", 8), ("1,024 hosts, 3 levels", 16)):
        for name, adaptive in (("d-mod-k", False), ("adaptive", True)):
            tree = workloads.deep_tree(radix)
            made = [
                workloads.scenario(
                    tree,
                    workloads.messages(bisection(radix**3 // 4, size, seed)),
                    adaptive=adaptive,
                )
                for seed in range(count)
            ]
            figures = [efficiency(outcome, size) for outcome in outcomes(made)]
            means = np.array([mean for mean, _ in figures])
            interval = bootstrap(
                (means,), np.mean, rng=np.random.default_rng(1)
            ).confidence_interval
            slowest = min(least for _, least in figures)
            yield (
                f"| {title} | {name} | {means.mean():.3f}"
                f" | {interval.low:.3f} .. {interval.high:.3f} | {slowest:.3f} |"
            )


def alltoalls() -> Iterator[str]:
    """W2 in six forms."""
    yield "\n### W2: alltoall of 512 hosts, 64 KiB each, 11:9 tree\n"
    yield "Completion in ms. All injection takes 2.68 ms, the taper alone 3.0 ms.\n"
    yield "| form | d-mod-k | adaptive | d-mod-k / adaptive |"
    yield "|---|---|---|---|"
    for form in workloads.W2_FORMS:
        made = [workloads.w2(form, adaptive=adaptive) for adaptive in (False, True)]
        static, adaptive = (outcome["end_ps"] / 1e9 for outcome in outcomes(made))
        yield f"| {form} | {static:.2f} | {adaptive:.2f} | {static / adaptive:.2f} |"


def bystanders() -> Iterator[str]:
    """W4 in three forms."""
    yield "\n### W4: 64 hosts send to one, 63 stand by\n"
    yield "Bystanders' median and slowest time, us, and when the incast is drained.\n"
    yield "| form | routing | median | slowest | drained |"
    yield "|---|---|---|---|---|"
    for form in ("as is", "lasting", "outside"):
        for adaptive in (False, True):
            scenario = workloads.w4(form=form, adaptive=adaptive)
            rows = scenario["work"][0]["messages"]
            target = rows[0]["dst"]
            ends = [ps / 1e6 for ps in outcome_of(scenario)["rows"]["duration_ps"]]
            hot = [e for e, row in zip(ends, rows, strict=True) if row["dst"] == target]
            by = [e for e, row in zip(ends, rows, strict=True) if row["dst"] != target]
            name = "adaptive" if adaptive else "d-mod-k"
            yield (
                f"| {form} | {name} | {statistics.median(by):.1f} | {max(by):.1f}"
                f" | {max(hot):.1f} |"
            )


def main() -> None:
    """Print the tables, or put them into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--bisections", type=int, default=20)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    lines = chain(
        permutations(range(1, given.seeds + 1)),
        bisections(given.bisections),
        alltoalls(),
        bystanders(),
    )
    print_tables(PAGE, "benches/routing.py", lines, write=given.write)


if __name__ == "__main__":
    main()
