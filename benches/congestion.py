"""What congestion control does to the guilty and the innocent: prints a page of docs/internals.

    congestion.py [--every N] [--write]

Two gates for each law with the engine's own settings. Harmless: a random permutation under adaptive
routing (W1r) keeps its efficiency. Useful: beside a lasting incast (W4, bystanders from 3 ms on)
the slowest bystander takes at most twice its ideal time, and the incast drains almost as fast;
for every destination (`--every` n-th), and for senders, target and pairs drawn from seeds. Then a
sweep of the knobs of InfiniBand's own law, lanes as another means, and what nobody publishes
varied. The settings were chosen on W1r of seed 1 and on W4 of `CHOSEN_ON`:
moved on by so many hosts, or drawn (seed, number).
"""

import argparse
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
from benches.routing import ROOT, efficiency, outcome_of, outcomes
from benches.workloads import Document, Triples

from benches import workloads

PAGE = ROOT / "docs" / "internals" / "congestion_figures.md"
BEGIN, END = "<!-- printed by benches/congestion.py: begin -->", "<!-- end -->"
N_HOSTS = 128
LATE_PS = 3_000_000_000
HOT_BYTES, COLD_BYTES = 4_000_000, 1_000_000
CHOSEN_ON = (5, 90, (1, 0), (2, 1), (3, 2), (4, 3))
SEEDS = (11, 12, 13, 14, 15)
LAWS = ("annex_a10", "dcqcn", "rtt", "endpoint")
MOST_SLOWER, MOST_LOST, LEAST_KEPT = 2.0, 0.10, 0.95
DRAWS = 8


def ideal_us() -> float:
    """A bystander's message alone on the longest path: its bits, six wires and five switches."""
    wire_bytes = COLD_BYTES + -(-COLD_BYTES // 4096) * 26 + 16
    return wire_bytes * 8 / 200e3 + (6 * workloads.WIRE_PS + 5 * 200_000) / 1e6


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
    return max(cold), max(end for end, row in timed if row["size_bytes"] == HOT_BYTES)


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


SWEEP: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("threshold", (2, 4, 6, 8, 10, 12, 14, 15)),
    ("marking_rate", (0, 1, 4, 16)),
    ("increase", (1, 2, 3, 5, 8, 16)),
    ("timer_ns", (5_000, 10_000, 15_000, 20_000, 40_000, 80_000)),
    ("cnp_interval_ns", (0, 10_000, 20_000, 30_000, 60_000)),
    ("victim_mask", ("none", "hosts", "all")),
    ("slows", ("queue_pair", "lane")),
    ("ccti_limit", (32, 64, 96, 127)),
)


def measure(control: Document | None) -> tuple[float, float, float, float]:
    """W1r's mean and slowest efficiency, worst bystander / ideal and drain over eight shifts."""
    mean, least = harmless(control, SEEDS[:1])[0]
    found = all_suffered([incast(moved(shift), control) for shift in range(3, N_HOSTS, 16)])
    return mean, least, max(c for c, _ in found) / ideal_us(), max(h for _, h in found)


def sweep() -> Iterator[str]:
    """One knob of annex A10 at a time, the others as they are by default."""
    yield "\n### InfiniBand's law, knob by knob\n"
    yield "One knob changed at a time. W1r of seed 11 against none; W4 of eight destinations.\n"
    yield "| knob | W1r mean kept | slowest kept | worst bystander / ideal | drained later |"
    yield "|---|---|---|---|---|"
    bare = measure(None)
    yield f"| no congestion control | 1.000 | 1.000 | {bare[2]:.2f} | +0.0% |"
    for knob, values in SWEEP:
        for value in values:
            found = measure({"annex_a10": {knob: value}})
            yield f"| `{knob}` {value} | {against(found, bare)} |"


def against(found: tuple[float, ...], bare: tuple[float, ...]) -> str:
    """The cells of `measure`, beside those without congestion control."""
    return (
        f"{found[0] / bare[0]:.3f} | {found[1] / bare[1]:.3f} | {found[2]:.2f}"
        f" | {found[3] / bare[3] - 1:+.1%}"
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


def switched(**keys: Any) -> Callable[[Document], Document]:
    """Change keys of `switch`."""
    return lambda scenario: {**scenario, "switch": {**scenario["switch"], **keys}}


def graded(grade_bytes: int) -> Callable[[Document], Document]:
    """Change the grade of adaptive routing."""

    def change(scenario: Document) -> Document:
        routing = {**scenario["routing"], "adaptive": {"grade_bytes": grade_bytes}}
        return {**scenario, "routing": routing}

    return change


CONSTANTS: tuple[tuple[str, Callable[[Document], Document]], ...] = (
    ("as above", lambda scenario: scenario),
    ("buffers of 32 KiB", switched(buffer_bytes=32768)),
    ("buffers of 128 KiB", switched(buffer_bytes=131072)),
    ("buffers of 256 KiB", switched(buffer_bytes=262144)),
    ("grades of 4 KiB", graded(4096)),
    ("grades of 16 KiB", graded(16384)),
    ("switches of 100 ns", switched(delay_ps=100_000)),
    ("switches of 400 ns", switched(delay_ps=400_000)),
)


def constants() -> Iterator[str]:
    """The claims under what nobody publishes."""
    yield "\n### What nobody publishes, varied\n"
    yield "Claims: adaptive routing lets an incast slow bystanders down at least tenfold; every law"
    yield "helps them at least fourfold; W1r keeps its mean. W1r of seed 11; W4 of eight places."
    yield "Cells: worst bystander / ideal, drained later, W1r's mean and slowest kept.\n"
    yield f"| constant | none | {' | '.join(LAWS)} | collapse | all help | harmless mean |"
    yield f"|---|---|{'---|' * len(LAWS)}---|---|---|"
    for title, change in CONSTANTS:
        figures = {law: varied(change, law) for law in (None, *LAWS)}
        bare = figures[None]
        cells = [
            f"{f[2]:.2f}, {f[3] / bare[3] - 1:+.1%}, {f[0] / bare[0]:.3f}, {f[1] / bare[1]:.3f}"
            for law, f in figures.items()
            if law is not None
        ]
        collapse = "yes" if bare[2] >= 10 else "no"
        help_all = "yes" if all(4 * figures[law][2] <= bare[2] for law in LAWS) else "no"
        kept = "yes" if all(figures[law][0] >= LEAST_KEPT * bare[0] for law in LAWS) else "no"
        yield (
            f"| {title} | {bare[2]:.1f} | {' | '.join(cells)} | {collapse} | {help_all} | {kept} |"
        )


def varied(
    change: Callable[[Document], Document], law: str | None
) -> tuple[float, float, float, float]:
    """`measure` of changed scenarios."""
    control = None if law is None else {law: {}}
    mean, least = efficiency(outcome_of(change(permutation(SEEDS[0], control))), 2_000_000)
    made = [change(incast(moved(shift), control)) for shift in range(3, N_HOSTS, 16)]
    found = all_suffered(made)
    return mean, least, max(c for c, _ in found) / ideal_us(), max(h for _, h in found)


def main() -> None:
    """Print the tables, or put them into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="every n-th destination")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    lines = []
    for part in (gates(given.every), sweep(), lanes(), constants()):
        for line in part:
            print(line, flush=True)
            lines.append(line)
    if given.write:
        before, _, rest = PAGE.read_text().partition(BEGIN)
        _, _, after = rest.partition(END)
        PAGE.write_text(before + BEGIN + "\n\n" + "\n".join(lines) + "\n\n" + END + after)


if __name__ == "__main__":
    main()
