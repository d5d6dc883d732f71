"""Effects of congestion control on an incast and its bystanders: prints a page of docs/internals.

    congestion.py [--every N] [--write]

Two gates for each law with the engine's own settings. Harmless: a random permutation under adaptive
routing (W1r) keeps its efficiency. Useful: next to a lasting incast (W4, bystanders from 3 ms on)
the slowest bystander takes at most twice its ideal time, and the incast drains almost as fast;
for every destination (`--every` n-th), and for senders, target and pairs drawn from seeds. Then an
incast's bystanders under either routing, lanes as another means, and what `congestion_sweeps.py`
varies. The settings were chosen on other placements and seeds than these: `chosen_on` in this
file's history, up to commit 1b9c781b.
"""

import argparse
import statistics
import sys
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
from benches.page import print_tables
from benches.routing import ROOT, efficiency, outcomes
from benches.workloads import Document, Triples

from benches import workloads
from weft.bench.twin.congestion_control import LAWS

PAGE = ROOT / "docs" / "internals" / "congestion_figures.md"
N_HOSTS = 128
LATE_PS = 3_000_000_000
HOT_BYTES, COLD_BYTES = 4_000_000, 1_000_000
SEEDS = (11, 12, 13, 14, 15)
MOST_SLOWER, MOST_LOST, LEAST_KEPT = 2.0, 0.10, 0.95
DRAWS = 8


def ideal_us(scenario: Document | None = None) -> float:
    """A bystander's message alone on the longest path: its bits, six wires and five switches."""
    fabric = (scenario or {"fabric": workloads.deep_tree(8)})["fabric"]
    switch = (scenario or {"switch": workloads.SWITCH})["switch"]
    wire_bytes = COLD_BYTES + -(-COLD_BYTES // 4096) * 26 + 16
    bits_us = wire_bytes * 8e6 / fabric["host_bits_per_s"]
    return bits_us + (6 * fabric["host_delay_ps"] + 5 * switch["delay_ps"]) / 1e6


def moved(shift: int) -> Triples:
    """W4's flows, every host moved on by `shift`: the target is host `shift`."""
    rows = workloads.incast(0, HOT_BYTES)
    return [((s + shift) % N_HOSTS, (d + shift) % N_HOSTS, size) for s, d, size in rows]


def drawn(seed: int, draw: int) -> Triples:
    """64 senders, a target and 63 bystanders in a random ring, drawn from a seed."""
    hosts = [int(host) for host in np.random.default_rng([seed, draw]).permutation(N_HOSTS)]
    target, senders, others = hosts[0], hosts[1:65], hosts[65:]
    ring = zip(others, others[1:] + others[:1], strict=True)
    return [(s, target, HOT_BYTES) for s in senders] + [(s, d, COLD_BYTES) for s, d in ring]


def incast(flows: Triples, control: Document | None, *, adaptive: bool = True) -> Document:
    """A lasting incast whose bystanders come late, under a law or none."""
    starts = [0 if size == HOT_BYTES else LATE_PS for _, _, size in flows]
    work = workloads.messages(flows, starts)
    return controlled(workloads.scenario(workloads.deep_tree(8), work, adaptive=adaptive), control)


def permutation(seed: int, control: Document | None) -> Document:
    """W1r under adaptive routing."""
    return controlled(workloads.w1("W1r", adaptive=True, seed=seed), control)


def controlled(scenario: Document, control: Document | None) -> Document:
    """The scenario under a law, or none."""
    return scenario if control is None else {**scenario, "congestion_control": control}


def suffered(scenario: Document, outcome: Any) -> tuple[float, float]:
    """Slowest bystander and end of the incast, us."""
    rows = scenario["work"][0]["messages"]
    ends = [ps / 1e6 for ps in outcome["rows"]["duration_ps"]]
    timed = list(zip(ends, rows, strict=True))
    cold = [end for end, row in timed if row["size_bytes"] == COLD_BYTES]
    return max(cold), max(end for end, row in timed if row["size_bytes"] != COLD_BYTES)


def all_suffered(scenarios: Sequence[Document]) -> list[tuple[float, float]]:
    """`suffered` of each."""
    return [suffered(s, o) for s, o in zip(scenarios, outcomes(scenarios), strict=True)]


def harmless(control: Document | None, seeds: Sequence[int]) -> list[tuple[float, float]]:
    """Mean and slowest efficiency of W1r, by seed."""
    made = [permutation(seed, control) for seed in seeds]
    return [efficiency(outcome, 2_000_000) for outcome in outcomes(made)]


def gates(every: int) -> Iterator[str]:
    """Each law against both gates."""
    yield "### The gates\n"
    yield (
        f"Useful: the slowest bystander takes at most {MOST_SLOWER:g} times its ideal "
        f"{ideal_us():.1f} us, and the incast drains at most {MOST_LOST:.0%} later. "
        "Harmless: W1r keeps"
    )
    yield (
        f"{LEAST_KEPT:.0%} of its mean and of its slowest flow's efficiency (seeds "
        f"{', '.join(map(str, SEEDS))}, none of them used to choose the settings).\n"
    )
    shifts = range(0, N_HOSTS, every)
    placements = {
        f"all {len(shifts)} destinations": [moved(shift) for shift in shifts],
        f"{len(SEEDS) * DRAWS} drawn placements": [
            drawn(seed, n) for seed in SEEDS for n in range(DRAWS)
        ],
    }
    yield (
        "| law | placements | slowest bystander / ideal: median | worst | drained later, worst"
        " | useful |"
    )
    yield "|---|---|---|---|---|---|"
    for law in (None, *LAWS):
        for title, flows in placements.items():
            control = None if law is None else {law: {}}
            found = all_suffered([incast(rows, control) for rows in flows])
            slower = [cold / ideal_us() for cold, _ in found]
            drains = [hot for _, hot in found]
            bare = all_suffered([incast(flows[0], None)])[0][1]
            lost = max(drains) / bare - 1
            good = sum(
                s <= MOST_SLOWER and d <= bare * (1 + MOST_LOST)
                for s, d in zip(slower, drains, strict=True)
            )
            yield (
                f"| {law or 'none'} | {title} | {statistics.median(slower):.2f} | {max(slower):.2f}"
                f" | {lost:+.1%} | {good} of {len(flows)} |"
            )
    yield "\n| law | W1r kept: mean, worst seed | slowest flow, worst seed | harmless |"
    yield "|---|---|---|---|"
    without = harmless(None, SEEDS)
    for law in LAWS:
        found = harmless({law: {}}, SEEDS)
        kept = [
            (mean / mean_0, least / least_0)
            for (mean, least), (mean_0, least_0) in zip(found, without, strict=True)
        ]
        good = sum(min(pair) >= LEAST_KEPT for pair in kept)
        yield (
            f"| {law} | {min(k for k, _ in kept):.3f} | {min(k for _, k in kept):.3f}"
            f" | {good} of {len(SEEDS)} |"
        )


def lasting(seed: int, control: Document | None) -> Document:
    """A random permutation of 128 hosts, 20 MB each: a thousand round trips, not ten."""
    rows = workloads.random_permutation(N_HOSTS, 20_000_000, seed)
    work = workloads.messages(rows)
    return controlled(workloads.scenario(workloads.deep_tree(8), work, adaptive=True), control)


def lasting_kept() -> Iterator[str]:
    """The efficiency of traffic that lasts longer than any law takes to act."""
    yield "\nNo gate, but worth knowing: a permutation that lasts, 128 hosts, 20 MB each (seeds"
    yield f"{', '.join(map(str, SEEDS[:3]))}).\n"
    yield "| law | mean kept, worst seed | slowest flow, worst seed |"
    yield "|---|---|---|"
    figures = {}
    for law in (None, *LAWS):
        made = [lasting(seed, law and {law: {}}) for seed in SEEDS[:3]]
        figures[law] = [efficiency(outcome, 20_000_000) for outcome in outcomes(made)]
    for law in LAWS:
        pairs = list(zip(figures[law], figures[None], strict=True))
        mean = min(found[0] / bare[0] for found, bare in pairs)
        least = min(found[1] / bare[1] for found, bare in pairs)
        yield f"| {law} | {mean:.3f} | {least:.3f} |"


def headline() -> Iterator[str]:
    """Bystanders of an incast under either routing, with and without each law."""
    yield "\n### 64 to one, bystanders under static and adaptive routing\n"
    yield f"Slowest bystander, us, of eight destinations; a message alone takes {ideal_us():.1f}.\n"
    yield "| routing | law | median | worst | incast drained, us |"
    yield "|---|---|---|---|---|"
    for adaptive in (False, True):
        for law in (None, *LAWS):
            made = [
                incast(moved(shift), law and {law: {}}, adaptive=adaptive)
                for shift in range(1, N_HOSTS, 17)
            ]
            found = all_suffered(made)
            cold = [cold for cold, _ in found]
            yield (
                f"| {'adaptive' if adaptive else 'd-mod-k'} | {law or 'none'}"
                f" | {statistics.median(cold):.1f} | {max(cold):.1f}"
                f" | {max(hot for _, hot in found):.0f} |"
            )


def lanes() -> Iterator[str]:
    """Bystanders with a virtual lane of their own."""
    yield "\n### A lane of one's own\n"
    yield "Bystanders as a tenant of service level 1, the incast of level 0, on one lane or two;"
    yield "eight destinations.\n"
    yield "| routing | law | lanes | worst bystander / ideal | drained later |"
    yield "|---|---|---|---|---|"
    for adaptive in (False, True):
        bare = 0.0
        for law, count in ((None, 1), (None, 2), ("annex_a10", 1), ("annex_a10", 2)):
            control = None if law is None else {law: {}}
            made = [
                apart(incast(moved(shift), control, adaptive=adaptive), count)
                for shift in range(3, N_HOSTS, 16)
            ]
            found = [tenants_suffered(outcome) for outcome in outcomes(made)]
            drained = max(hot for _, hot in found)
            bare = bare or drained
            routing = "adaptive" if adaptive else "d-mod-k"
            yield (
                f"| {routing} | {law or 'none'} | {count}"
                f" | {max(cold for cold, _ in found) / ideal_us():.2f}"
                f" | {drained / bare - 1:+.1%} |"
            )


def apart(scenario: Document, count: int) -> Document:
    """Incast and bystanders as two tenants, on `count` lanes."""
    rows = scenario["work"][0]["messages"]
    left = {key: value for key, value in scenario.items() if key != "work"}
    tenants = []
    for level, size in ((0, HOT_BYTES), (1, COLD_BYTES)):
        own = [row for row in rows if row["size_bytes"] == size]
        work = [{"benchmark": "messages", "messages": own}]
        tenants.append({"name": f"level {level}", "service_level": level, "work": work})
    return {**left, "lanes": {"count": count}, "tenants": tenants}


def tenants_suffered(outcome: Any) -> tuple[float, float]:
    """`suffered`, of two tenants."""
    rows = outcome["rows"]
    timed = list(zip(rows["tenant"], rows["duration_ps"], strict=True))
    hot, cold = (max(ps for tenant, ps in timed if tenant == n) / 1e6 for n in (0, 1))
    return cold, hot


def main() -> None:
    """Print the tables, or put them into the page."""
    from benches.congestion_sweeps import constants, links, sweeps, widths

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="every n-th destination")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    parts = (lasting_kept, headline, sweeps, lanes, constants, links, widths)
    lines = chain(gates(given.every), *(part() for part in parts))
    print_tables(PAGE, "benches/congestion.py", lines, write=given.write)


if __name__ == "__main__":
    main()
