"""Steps simulated in part (`steady_state`), compared with the same steps simulated whole.

steady_state.py            print the table of docs/concepts/fidelity.md
steady_state.py --large    1,024 GPUs: seconds of CPU; with --whole also 1 GiB simulated whole
"""

import argparse
import resource
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benches.workloads import GBPS, Document

from benches import workloads
from weft.bench.twin.backend import simulate

N_RANKS = 48
PACKETS = 272
"""Of a block: as few as are still cut by size."""
MTU = 4096
RULE = {"tolerance": 0.03, "least_moves": 32}
"""Of the table, whose rings are short; 0.01 and 64 without it."""
SEEDS = (1, 2, 3)
REPEATED = 5e-4
"""Errors are compared to this share: less is rounding."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One ring: how far the part is off the whole, what was said of that, what it cost."""

    what: str
    protocol: str
    error: float
    said: float
    share: float

    @property
    def kept(self) -> bool:
        """Whether the error is within the estimated one."""
        return abs(self.error) <= max(self.said, REPEATED)


def tree(nodes_per_leaf: int, spines: int) -> Document:
    """Two levels at 200 Gb/s."""
    tapered = workloads.tapered_tree(N_RANKS)
    changed = {"nodes_per_leaf": nodes_per_leaf, "spines": spines}
    return {**tapered, **changed, "host_bits_per_s": 200 * GBPS}


def ring(seed: int | None) -> Document:
    """A ring allreduce of all ranks, in order or shuffled."""
    step = {"benchmark": "allreduce", "algorithm": "ring", "size_bytes": N_RANKS * PACKETS * MTU}
    return step if seed is None else {**step, "shuffle": seed}


def cases(protocol: str, seed: int) -> Iterator[tuple[str, Document]]:
    """Every kind of ring; those in order have no seed, and are of the first alone."""
    full, tapered = tree(12, 12), tree(11, 9)
    slow_node = [{"node": "n007", "slow_factor": 3.0}]
    slow_cable = [{"link": "leaf-01[13]", "rate_factor": 0.25}]
    host = {"host": {"regimes": [{"protocol": protocol}]}}

    def made(fabric: Document, seed: int | None, **more: Any) -> Document:
        adaptive = bool(more.pop("adaptive", False))
        return workloads.scenario(fabric, [ring(seed)], adaptive=adaptive) | host | more

    if seed == SEEDS[0]:
        yield "in order, full tree", made(full, None)
        yield "in order, a node three times slower", made(full, None, faults=slow_node)
    yield "shuffled, full tree", made(full, seed)
    yield "shuffled, 11:9 tapered tree", made(tapered, seed)
    yield "shuffled, full tree, adaptive routing", made(full, seed, adaptive=True)
    yield "shuffled, full tree, a cable at a quarter", made(full, seed, faults=slow_cable)


def compared(what: str, protocol: str, scenario: Document) -> Comparison:
    """One ring, in part and whole."""
    whole = simulate(scenario)
    part = simulate({**scenario, "steady_state": RULE})
    error = float(part["duration_ps"][0]) / float(whole["duration_ps"][0]) - 1
    return Comparison(
        what, protocol, error, float(part["steady_error"][0]), float(part["steady_share"][0])
    )


def rows() -> list[Comparison]:
    """All rings, of all seeds."""
    return [
        compared(what, protocol, scenario)
        for protocol in ("eager", "rendezvous")
        for seed in SEEDS
        for what, scenario in cases(protocol, seed)
    ]


def lines() -> Iterator[str]:
    """The table; of the seeds of one kind that row stands for all whose error is largest."""
    yield "### Steps that are simulated in part"
    yield ""
    yield f"Ring allreduces of {N_RANKS} ranks, {PACKETS} packets a block, tolerance 0.03: the"
    yield f"time by `steady_state` against the whole run. Of {len(SEEDS)} drawn orders the one"
    yield "with the largest error; `within` counts those whose error is at most the estimate."
    yield ""
    yield "| ring | messages | error | estimated | bytes simulated | within |"
    yield "|---|---|---:|---:|---:|---:|"
    found = rows()
    for key in dict.fromkeys((row.what, row.protocol) for row in found):
        same = [row for row in found if (row.what, row.protocol) == key]
        worst = max(same, key=lambda row: abs(row.error))
        kept = sum(row.kept for row in same)
        error = round(worst.error, 4) + 0.0  # no minus before nought
        yield (
            f"| {worst.what} | {worst.protocol} | {error:+.2%} | {worst.said:.2%}"
            f" | {worst.share:.0%} | {kept} of {len(same)} |"
        )


def gpu_node(n_gpus: int = 8) -> Document:
    """GPUs at one NvSwitch, each with an adapter of its own at a PCIe switch below one root. Rates
    and delays are of no product."""
    vertices = [{"name": "nvs", "kind": "nv_switch"}, {"name": "root", "kind": "root_complex"}]
    links = []
    for number in range(n_gpus):
        gpu, pcie = f"gpu{number}", f"pcie{number}"
        vertices += [{"name": gpu, "kind": "gpu"}, {"name": pcie, "kind": "pcie_switch"}]
        for a, b, gbps, delay_ns in (
            (gpu, "nvs", 2400, 100),
            (gpu, pcie, 400, 150),
            (f"hca{number}", pcie, 400, 150),
            (pcie, "root", 400, 150),
        ):
            wire = {"bits_per_s": gbps * GBPS, "delay_ps": delay_ns * 1000}
            links.append({"a": a, "b": b, **wire})
    ranks = [f"gpu{number}" for number in range(n_gpus)]
    return {"vertices": vertices, "links": links, "ranks_on": ranks}


def large(size_bytes: int, *, inside: bool, shuffle: int | None = None) -> Document:
    """A ring allreduce of 1,024 GPUs: hosts with one each, or 128 nodes of eight."""
    step = {"benchmark": "allreduce", "algorithm": "ring", "size_bytes": size_bytes}
    if shuffle is not None:
        step["shuffle"] = shuffle
    made = workloads.scenario(workloads.deep_tree(16), [step], adaptive=False)
    made |= {"host": {"regimes": [{"protocol": "rendezvous"}]}, "faults": []}
    if inside:
        rails = {"generate": "rails", "levels": 2, "nodes": 128, "hcas_per_node": 8}
        rails |= {"nodes_per_unit": 16, "spines": 16, "cables_per_spine": 1}
        made |= {"fabric": workloads.deep_tree(16) | rails, "node": gpu_node()}
        del made["fabric"]["radix"]
        made["placement"] = {"tasks_per_node": 8}
    return made


def cpu_s() -> float:
    """CPU seconds of this process so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def timed(scenario: Document) -> tuple[Mapping[str, Any], float]:
    """An outcome, and the CPU seconds of it all."""
    before_s = cpu_s()
    return simulate(scenario), cpu_s() - before_s


def large_lines(*, whole: bool) -> Iterator[str]:
    """The cost of 1,024 GPUs."""
    yield "| 1,024 GPUs | size | simulated ms | bytes simulated | estimated | M hops | CPU s |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for gib in (1, 16):
        for what, inside, shuffle in (
            ("128 nodes of 8 at an NvSwitch, in order", True, None),
            ("1,024 hosts, in order", False, None),
            ("1,024 hosts, shuffled", False, 1),
        ):
            scenario = large(gib << 30, inside=inside, shuffle=shuffle)
            outcome, seconds = timed({**scenario, "steady_state": {}})
            share, error = outcome["steady_share"][0], outcome["steady_error"][0]
            name, ms = f"{what} | {gib} GiB", outcome["duration_ps"][0] / 1e9
            cells = f"{share:.3%} | {error:.3%} | {outcome['hops'] / 1e6:.1f} | {seconds:.2f}"
            yield f"| {name} | {ms:.3f} | {cells} |"
            if whole and gib == 1:
                outcome, seconds = timed(scenario)
                ms, hops = outcome["duration_ps"][0] / 1e9, outcome["hops"] / 1e6
                yield f"| {name}, whole | {ms:.3f} | all | - | {hops:.1f} | {seconds:.2f} |"


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--whole", action="store_true")
    asked = parser.parse_args()
    for line in large_lines(whole=asked.whole) if asked.large else lines():
        print(line, flush=True)


if __name__ == "__main__":
    main()
