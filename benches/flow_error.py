"""Flows compared with packets: where they agree, and how far off they are where something blocks.

A part of scripts/fidelity.py. But for the pairs, hosts cost nothing: what is left is the network.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from benches.workloads import (
    Document,
    deep_tree,
    half_shift,
    incast,
    messages,
    random_permutation,
    scenario,
    tapered_tree,
    w2,
    w4,
)

from weft.bench.model import Launch, Trial
from weft.bench.twin.backend import TwinBackend, simulate
from weft.catalog.load import platform
from weft.core.units import format_size

MIB = 1 << 20
SEED = 1
BOTH = (("static", False), ("adaptive", True))
WHY = (
    "| row | reason |",
    "|---|---|",
    "| W4, adaptive | bystanders wait behind buffers that the incast has filled; flows fill none |",
    "| W4 outside | switches serve inputs in turn: with tables the three senders next to the"
    " target have a quarter of its cable each, each flow a 63rd |",
    "| random permutation | with tables, flows of one input share its turn; adaptive choices"
    " are not ideal |",
    "| shuffled rings on tables | two equal flows on a cable meet again at every step;"
    " packets drift apart (starts a random microsecond apart halve the error) |",
    "| one cable at a hundredth | requests wait behind whole packets of data |",
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A scenario by flows and by packets: when its work ends, and by how much the timed rows that
    differ least and most do, as parts of packets' times."""

    what: str
    packets_us: float
    flows_us: float
    least: float
    most: float

    @property
    def error(self) -> float:
        """By how much the work ends later by flows, as a part."""
        return self.flows_us / self.packets_us - 1

    @property
    def line(self) -> str:
        """The row of a table."""
        cells = [self.what, f"{self.packets_us:.2f}", f"{self.flows_us:.2f}"]
        parts = (self.error, self.least, self.most)
        # No minus before nought.
        cells += [f"{round(100 * part, 1) + 0.0:+.1f} %" for part in parts]
        return f"| {' | '.join(cells)} |"


def compared(what: str, made: Document) -> Comparison:
    """Run it by packets and by flows."""
    outcomes = [simulate({"faults": [], **made, "fidelity": name}) for name in ("packet", "flow")]
    for outcome in outcomes:
        if outcome["status"] != "complete":
            raise RuntimeError(f"{what}: {outcome['message']}")
    packets, flows = (np.asarray(one["duration_ps"], dtype=np.float64) for one in outcomes)
    ends = [float(one["end_ps"]) / 1e6 for one in outcomes]
    rows = np.round(flows / packets - 1, 6)
    return Comparison(what, ends[0], ends[1], float(rows.min()), float(rows.max()))


def collective(benchmark: str, algorithm: str | None, size: int) -> list[Document]:
    """A step of one iteration."""
    step = {"benchmark": benchmark, "iterations": 1, "warmup": 0}
    return [step if algorithm is None else {**step, "algorithm": algorithm, "size_bytes": size}]


def agreed(made: Document) -> Document:
    """Messages are agreed on first, as large ones are in every MPI."""
    return {**made, "host": {"regimes": [{"protocol": "rendezvous"}]}}


def shuffled(made: Document, n_hosts: int) -> Document:
    """Ranks on hosts in a random order."""
    order = np.random.default_rng(SEED).permutation(n_hosts)
    return {**made, "placement": {"nodes": [f"n{host + 1:03}" for host in order]}}


def pair(benchmark: str, size: int, window: int | None = None) -> Document:
    """Two nodes of a catalogue platform, their hosts' costs included."""
    twin = TwinBackend(platform("generic-hdr"), 2)
    options = {"iterations": 1, "warmup": 0, **({"window": window} if window else {})}
    trial = Trial("flow-error", benchmark, (size,), twin.nodes, 1, {}, {}, options)
    return twin.scenario(Launch(trial, 0, 0))


def where_nothing_blocks() -> Iterator[Comparison]:
    """One flow a link, or flows that share one link and come to it by inputs of their own."""
    full = deep_tree(8)
    for benchmark, size, window in (("latency", 8, None), ("bandwidth", MIB, 64)):
        yield compared(
            f"generic-hdr, {benchmark}, {format_size(size)}", pair(benchmark, size, window)
        )
    shift = scenario(full, messages(half_shift(128, 10_000_000)), adaptive=False)
    yield compared("128 hosts, 10 MB to the host half-way round", shift)
    only = [one for one in incast() if one[1] == 0]
    yield compared("64 x 1 MB into one host", scenario(full, messages(only), adaptive=False))
    for benchmark, algorithm, size in (
        ("allreduce", "ring", 16 * MIB),
        ("allreduce", "recursive_doubling", MIB // 4),
        ("allreduce", "rabenseifner", 4 * MIB),
        ("alltoall", "pairwise", MIB // 16),
        ("broadcast", "binomial", 4 * MIB),
        ("barrier", None, 0),
    ):
        by = f", {algorithm}, {format_size(size)}" if algorithm else ""
        made = of_64(collective(benchmark, algorithm, size))
        yield compared(f"{benchmark} of 64{by}".replace("_", " "), made)
    slow = {**of_64(collective("allreduce", "ring", 16 * MIB)), "faults": slow_cable(0.1)}
    yield compared("allreduce of 64, ring, 16 MiB, one cable at a tenth", slow)


def of_64(work: Sequence[Document]) -> Document:
    """Half of the full tree's hosts."""
    return agreed(scenario({**deep_tree(8), "nodes": 64}, work, adaptive=False))


def slow_cable(part: float) -> list[Document]:
    """A host whose cable has a part of its rate."""
    return [{"link": "n003/hca0[1]", "rate_factor": part}]


def where_something_blocks() -> Iterator[Comparison]:
    """Several flows an input, buffers that fill, choices that are not ideal, handshakes that wait
    behind data."""
    full = deep_tree(8)
    for form in ("as is", "lasting", "outside"):
        for how, adaptive in BOTH:
            yield compared(f"W4 {form}, {how}", w4(adaptive=adaptive, form=form))
    for how, adaptive in BOTH:
        work = messages(random_permutation(128, 2_000_000, SEED))
        what = f"128 hosts, 2 MB in a random permutation, {how}"
        yield compared(what, scenario(full, work, adaptive=adaptive))
    for form in ("window 1, in order", "window 1, shuffled", "barrier, shuffled"):
        for how, adaptive in BOTH:
            made = w2(form, adaptive=adaptive, n_hosts=132)
            yield compared(f"W2 of 132, {form}, {how}", made)
    ring = collective("allreduce", "ring", 4 * MIB)
    for how, adaptive in BOTH:
        for name, fabric, n_hosts in (("tree", full, 128), ("11:9 tree", tapered_tree(132), 132)):
            made = shuffled(agreed(scenario(fabric, ring, adaptive=adaptive)), n_hosts)
            yield compared(f"allreduce of {n_hosts}, shuffled ring, 4 MiB, {name}, {how}", made)
    slow = {**of_64(ring), "faults": slow_cable(0.01)}
    yield compared("allreduce of 64, ring, 4 MiB, one cable at a hundredth", slow)


def table(rows: Sequence[Comparison]) -> Iterator[str]:
    """Rows below their head."""
    yield "| what | ends at us, packets | flows | error | timed rows, from | to |"
    yield "|---|---:|---:|---:|---:|---:|"
    yield from (row.line for row in rows)


def lines() -> Iterator[str]:
    """Both tables."""
    yield "### Flows compared with packets"
    yield ""
    yield '`"fidelity": "flow"` against every packet: when the work ends, and the two timed rows'
    yield "(messages, or iterations of a collective) that differ most, either way. Without blocking"
    yield "(gate: 3 %):"
    yield ""
    yield from table(list(where_nothing_blocks()))
    yield ""
    yield "With blocking, flows are wrong, and no gate holds them:"
    yield ""
    yield from table(list(where_something_blocks()))
    yield ""
    yield from WHY


if __name__ == "__main__":
    sys.stdout.write("\n".join(lines()) + "\n")
