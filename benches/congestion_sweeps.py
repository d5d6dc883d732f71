"""Settings of congestion control, and unpublished constants, varied one by one.

Tables of `congestion.py`'s page: a claim that does not survive them is said to be none.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from benches.congestion import (
    HOT_BYTES,
    LAWS,
    LEAST_KEPT,
    N_HOSTS,
    SEEDS,
    all_suffered,
    harmless,
    ideal_us,
    incast,
    moved,
    permutation,
)
from benches.routing import efficiency, outcome_of
from benches.workloads import GBPS, Document

LATER_PS = 8_000_000_000
Figures = tuple[float, float, float, float]
MOST_SLOWER_TO_HELP = 4

SWEEPS: dict[str, tuple[tuple[str, tuple[Any, ...]], ...]] = {
    "annex_a10": (
        ("threshold", (2, 4, 6, 7, 8, 9, 10, 12, 15)),
        ("full_bytes", (65_536, 131_072, 262_144, 524_288)),
        ("marking_rate", (0, 1, 4, 16)),
        ("increase", (2, 4, 5, 6, 7, 8, 10, 16)),
        ("timer_ns", (4_000, 6_000, 8_000, 9_000, 10_000, 12_000, 20_000)),
        ("cnp_interval_ns", (0, 10_000, 15_000, 20_000, 30_000, 60_000)),
        ("victim_mask", ("none", "hosts", "all")),
        ("slows", ("queue_pair", "lane")),
        ("ccti_limit", (64, 128, 192, 255)),
        ("ccti_min", (0, 4, 16)),
        ("packet_size", (1, 8, 64)),
        ("table", tuple({"doubling": n, "entries": 256} for n in (16, 24, 32, 48, 64))),
    ),
    "dcqcn": (
        ("least_bytes", (8_192, 16_384, 32_768, 65_536, 98_304)),
        ("most_bytes", (49_152, 98_304, 131_072, 196_608, 393_216)),
        ("probability", (0.05, 0.1, 0.2, 0.5, 1.0)),
        ("cnp_interval_ns", (0, 10_000, 20_000, 25_000, 30_000, 60_000)),
        ("gain", (0.015625, 0.03125, 0.0625, 0.125)),
        ("first_alpha", (0.02, 0.07, 0.2, 1.0)),
        ("alpha_timer_ns", (20_000, 35_000, 70_000, 140_000)),
        ("increase_timer_ns", (5_000, 10_000, 15_000, 20_000, 40_000)),
        ("increase_bytes", (1_000_000, 10_000_000, 100_000_000)),
        ("fast_rounds", (1, 3, 6)),
        ("additive_bits_per_s", (50_000_000, 75_000_000, 100_000_000, 150_000_000, 300_000_000)),
        ("hyper_bits_per_s", (250_000_000, 500_000_000, 1_000_000_000)),
        ("least_bits_per_s", (10_000_000, 40_000_000, 160_000_000)),
    ),
    "rtt": (
        ("target_ns", (500, 1_000, 2_000, 4_000, 8_000)),
        ("probe_interval_ns", (0, 2_000, 4_000, 8_000, 16_000)),
        ("gain", (0.05, 0.1, 0.2, 0.4, 0.8)),
        ("most_decrease", (0.2, 0.4, 0.8, 1.0)),
        ("most", (1, 2, 3, 4, 6, 12)),
        ("additive_bytes", (8, 16, 32, 64, 128, 512)),
        ("least_bits_per_s", (40_000_000, 80_000_000, 160_000_000, 320_000_000)),
    ),
    "endpoint": (
        ("queue_bytes", (16_384, 32_768, 65_536, 131_072, 262_144)),
        ("hold_ns", (100_000, 500_000, 1_000_000, 2_000_000, 10_000_000)),
        ("count_ns", (5_000, 10_000, 20_000, 40_000, 80_000)),
        ("change", (0.03125, 0.125, 0.5)),
    ),
}
TITLES = {
    "annex_a10": "InfiniBand's law",
    "dcqcn": "The law of rates",
    "rtt": "The law by round-trip time",
    "endpoint": "Back-pressure from the last hop",
}


def measure(control: Document | None) -> Figures:
    """W1r's mean and slowest efficiency, worst bystander / ideal and drain over eight shifts."""
    mean, least = harmless(control, SEEDS[:1])[0]
    found = all_suffered([incast(moved(shift), control) for shift in range(3, N_HOSTS, 16)])
    return mean, least, max(c for c, _ in found) / ideal_us(), max(h for _, h in found)


def sweeps() -> Iterator[str]:
    """One knob of each law at a time, the others as they are by default."""
    bare = measure(None)
    for law, knobs in SWEEPS.items():
        yield f"\n### {TITLES[law]}, knob by knob\n"
        yield "One knob changed at a time. W1r of seed 11 against none; W4 of eight destinations.\n"
        yield "| knob | W1r mean kept | slowest kept | worst bystander / ideal | drained later |"
        yield "|---|---|---|---|---|"
        yield f"| no congestion control | 1.000 | 1.000 | {bare[2]:.2f} | +0.0% |"
        as_it_is = against(measure({law: {}}), bare)
        yield f"| as it is | {as_it_is} |"
        same = []
        for knob, values in knobs:
            for value in values:
                written = f"`{knob}` " + json.dumps(value).strip('"')
                figures = against(measure({law: {knob: value}}), bare)
                if figures == as_it_is:
                    same.append(written)
                else:
                    yield f"| {written} | {figures} |"
        yield f"\nFigures as it is: {', '.join(same)}."


def against(found: tuple[float, ...], bare: tuple[float, ...]) -> str:
    """The cells of `measure`, beside those without congestion control."""
    return (
        f"{found[0] / bare[0]:.3f} | {found[1] / bare[1]:.3f} | {found[2]:.2f}"
        f" | {found[3] / bare[3] - 1:+.1%}"
    )


def switched(**keys: Any) -> Callable[[Document], Document]:
    """Change keys of `switch`."""
    return lambda scenario: {**scenario, "switch": {**scenario["switch"], **keys}}


def wired(delay_ps: int) -> Callable[[Document], Document]:
    """Change what every cable takes."""
    delays = dict.fromkeys(("host_delay_ps", "switch_delay_ps"), delay_ps)
    return lambda scenario: {**scenario, "fabric": {**scenario["fabric"], **delays}}


def graded(grade_bytes: int) -> Callable[[Document], Document]:
    """Change the grade of adaptive routing."""

    def change(scenario: Document) -> Document:
        routing = {**scenario["routing"], "adaptive": {"grade_bytes": grade_bytes}}
        return {**scenario, "routing": routing}

    return change


def later(scenario: Document) -> Document:
    """Twice the incast, and bystanders at 8 ms."""
    rows = [
        {**row, "size_bytes": 2 * HOT_BYTES}
        if row["size_bytes"] == HOT_BYTES
        else {**row, "start_ps": row["start_ps"] and LATER_PS}
        for row in scenario["work"][0]["messages"]
    ]
    return {**scenario, "work": [{**scenario["work"][0], "messages": rows}]}


def linked(gbps: int) -> Callable[[Document], Document]:
    """Change the rate of all links, and how late bystanders come by as much."""

    def change(scenario: Document) -> Document:
        fabric = dict.fromkeys(("host_bits_per_s", "switch_bits_per_s"), gbps * GBPS)
        rows = [
            {**row, "start_ps": row.get("start_ps", 0) * 200 // gbps}
            for row in scenario["work"][0]["messages"]
        ]
        work = [{**scenario["work"][0], "messages": rows}]
        return {**scenario, "fabric": {**scenario["fabric"], **fabric}, "work": work}

    return change


def both(
    first: Callable[[Document], Document], then: Callable[[Document], Document]
) -> Callable[[Document], Document]:
    """One change after the other."""
    return lambda scenario: then(first(scenario))


CONSTANTS: tuple[tuple[str, Callable[[Document], Document]], ...] = (
    ("as above", lambda scenario: scenario),
    ("buffers of 32 KiB", switched(buffer_bytes=32768)),
    ("buffers of 128 KiB", switched(buffer_bytes=131072)),
    ("buffers of 256 KiB", switched(buffer_bytes=262144)),
    ("buffers of 256 KiB, later", both(switched(buffer_bytes=262144), later)),
    ("grades of 4 KiB", graded(4096)),
    ("grades of 16 KiB", graded(16384)),
    ("switches of 100 ns", switched(delay_ps=100_000)),
    ("switches of 400 ns", switched(delay_ps=400_000)),
    ("wires of 250 ns", wired(250_000)),
    ("wires of 1 us", wired(1_000_000)),
)
LINKS = ((25, 64), (100, 64), (200, 64), (400, 64), (800, 64), (800, 256))
"""Links of other rates: (Gb/s, KiB of buffer)."""


def constants() -> Iterator[str]:
    """The claims under unpublished constants, varied."""
    yield "\n### Unpublished constants, varied\n"
    yield "Cells: worst bystander / ideal, drained later, W1r's mean and slowest kept. W1r of seed"
    yield "11; W4 of eight places; `later`: of 8 MB each, bystanders from 8 ms on.\n"
    yield f"| constant | none | {' | '.join(LAWS)} |"
    yield f"|---|---|{'---|' * len(LAWS)}"
    rows = []
    for title, change in CONSTANTS:
        figures = {law: varied(change, law) for law in (None, *LAWS)}
        yield varied_row(title, figures)
        rows.append((title, figures))
    yield "\nClaims: under adaptive routing an incast slows bystanders down at least tenfold; a law"
    yield f"helps them at least {MOST_SLOWER_TO_HELP}-fold; under it W1r keeps {LEAST_KEPT:.0%} of"
    yield f"its mean. Exceptions: {'; '.join(exceptions(rows)) or 'none'}."


def exceptions(rows: Sequence[tuple[str, Mapping[str | None, Figures]]]) -> Iterator[str]:
    """The constants under which a claim is wrong, with the reason."""
    for title, figures in rows:
        bare = figures[None]
        if bare[2] < 10:
            yield f"{title}: no collapse"
        for law in LAWS:
            if MOST_SLOWER_TO_HELP * figures[law][2] > bare[2]:
                yield f"{title}: {law} helps too little"
            if figures[law][0] < LEAST_KEPT * bare[0]:
                yield f"{title}: {law} does harm"


WIDTHS, SIZES = (2, 4, 16, 64), (500_000, 2_000_000, 8_000_000)
"""Of incasts: how many send, and how many bytes each."""


def widths() -> Iterator[str]:
    """The cost of a law for incasts that are narrower or shorter, without bystanders."""
    yield "\n### Narrower and shorter incasts\n"
    yield "No bystanders. How much later the last of so many senders is done than without a"
    yield "law, adaptive routing.\n"
    yield f"| senders | MB each | {' | '.join(LAWS)} |"
    yield f"|---|---|{'---|' * len(LAWS)}"
    for width in WIDTHS:
        for size in SIZES:
            rows = [(N_HOSTS // 2 + n, 0, size) for n in range(width)]
            ends = {
                law: max(outcome_of(incast(rows, law and {law: {}}))["rows"]["duration_ps"])
                for law in (None, *LAWS)
            }
            cells = [f"{ends[law] / ends[None] - 1:+.1%}" for law in LAWS]
            yield f"| {width} | {size / 1e6:g} | {' | '.join(cells)} |"


def varied_row(title: str, figures: dict[str | None, Figures]) -> str:
    """One constant's figures under each law, beside those without."""
    bare = figures[None]
    cells = [
        f"{f[2]:.2f}, {f[3] / bare[3] - 1:+.1%}, {f[0] / bare[0]:.3f}, {f[1] / bare[1]:.3f}"
        for f in (figures[law] for law in LAWS)
    ]
    return f"| {title} | {bare[2]:.1f} | {' | '.join(cells)} |"


def links() -> Iterator[str]:
    """The same settings, which scale with the link, at other rates."""
    yield "\n### Links of other rates\n"
    yield "Nothing is written but the law, so its times and rates scale with the link. Cells as"
    yield "above; bystanders come when as many packets have passed as in 3 ms at 200 Gb/s.\n"
    yield f"| links, buffers | none | {' | '.join(LAWS)} |"
    yield f"|---|---|{'---|' * len(LAWS)}"
    for gbps, kib in LINKS:
        changes = (linked(gbps), switched(buffer_bytes=kib * 1024))
        figures = {law: varied(both(*changes), law) for law in (None, *LAWS)}
        yield varied_row(f"{gbps} Gb/s, {kib} KiB", figures)


def varied(change: Callable[[Document], Document], law: str | None) -> Figures:
    """`measure` of changed scenarios."""
    control = None if law is None else {law: {}}
    mean, least = efficiency(outcome_of(change(permutation(SEEDS[0], control))), 2_000_000)
    made = [change(incast(moved(shift), control)) for shift in range(3, N_HOSTS, 16)]
    found = all_suffered(made)
    return mean, least, max(c for c, _ in found) / ideal_us(made[0]), max(h for _, h in found)
