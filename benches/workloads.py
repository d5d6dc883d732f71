"""The engine's workloads W1a to W4 as scenario documents.

All on 200 Gb/s three-level trees of 4 KiB packets with 500 ns of wire and 200 ns of switch, 64 KiB
of buffer a port, InfiniBand headers and acknowledgements on; W2 on a two-level tree of 44 hosts at
100 Gb/s below 18 up-links at 200 Gb/s (11:9, as Frontera's leaves).
"""

from collections.abc import Sequence
from typing import Any

Document = dict[str, Any]
Triples = list[tuple[int, int, int]]

GBPS = 1_000_000_000
WIRE_PS = 500_000
SWITCH = {"model": "voq", "forwarding": "cut_through", "delay_ps": 200_000, "buffer_bytes": 65536}


def deep_tree(radix: int) -> Document:
    """The whole three-level tree of switches with `radix` ports: radix^3 / 4 hosts."""
    return {
        "generate": "fat_tree",
        "levels": 3,
        "nodes": radix**3 // 4,
        "radix": radix,
        "host_bits_per_s": 200 * GBPS,
        "switch_bits_per_s": 200 * GBPS,
        "host_delay_ps": WIRE_PS,
        "switch_delay_ps": WIRE_PS,
    }


def tapered_tree(n_hosts: int = 512) -> Document:
    """Leaves of 44 hosts at 100 Gb/s, one cable at 200 Gb/s to each of 18 spines."""
    return {
        "generate": "fat_tree",
        "levels": 2,
        "nodes": n_hosts,
        "nodes_per_leaf": 44,
        "spines": 18,
        "host_bits_per_s": 100 * GBPS,
        "switch_bits_per_s": 200 * GBPS,
        "host_delay_ps": WIRE_PS,
        "switch_delay_ps": WIRE_PS,
    }


def scenario(fabric: Document, work: Sequence[Document], *, adaptive: bool) -> Document:
    """Free hosts: what is left is the network."""
    routing: Document = {"engine": "dmodk"}
    if adaptive:
        routing["adaptive"] = {"grade_bytes": 8192}
    return {
        "schema": "weft.scenario/1",
        "fabric": fabric,
        "routing": routing,
        "switch": SWITCH,
        "host": {"regimes": [{}]},
        "work": list(work),
    }


def messages(triples: Triples, starts_ps: Sequence[int] | None = None) -> list[Document]:
    """One step of messages (src, dst, bytes)."""
    starts = starts_ps or [0] * len(triples)
    rows = [
        {"src": src, "dst": dst, "size_bytes": size, "start_ps": start}
        for (src, dst, size), start in zip(triples, starts, strict=True)
    ]
    return [{"benchmark": "messages", "messages": rows}]


def half_shift(n_hosts: int, size_bytes: int) -> Triples:
    """Host s sends to s + n/2: W1a, W1c."""
    return [(s, (s + n_hosts // 2) % n_hosts, size_bytes) for s in range(n_hosts)]


def affine(n_hosts: int, size_bytes: int) -> Triples:
    """Host s sends to 37 s + 11: W1b."""
    return [(s, (37 * s + 11) % n_hosts, size_bytes) for s in range(n_hosts)]


def random_permutation(n_hosts: int, size_bytes: int, seed: int) -> Triples:
    """Fisher-Yates with the 64-bit LCG of Knuth's MMIX, fixed points left out: W1r."""
    to = list(range(n_hosts))
    x = seed
    for i in range(n_hosts - 1, 0, -1):
        x = (x * 6364136223846793005 + 1442695040888963407) % 2**64
        j = (x >> 33) % (i + 1)
        to[i], to[j] = to[j], to[i]
    return [(s, d, size_bytes) for s, d in enumerate(to) if s != d]


def incast(target: int = 0, size_bytes: int = 1_000_000) -> Triples:
    """W4 on 128 hosts: 64 hosts send to one, the others' pairs stand by.

    Hosts 64 to 127 send to `target`; hosts 1 to 63 send 1 MB each among themselves.
    """
    hot = [(s, target, size_bytes) for s in range(64, 128) if s != target]
    return hot + [(s, 1 + (s - 1 + 32) % 63, 1_000_000) for s in range(1, 64)]


def w4(*, adaptive: bool, form: str) -> Document:
    """W4 `as is`, `lasting` (4 MB, bystanders from 3 ms on), or with its target `outside`."""
    target = 127 if form == "outside" else 0
    triples = incast(target, 4_000_000 if form == "lasting" else 1_000_000)
    late_ps = 3_000_000_000 if form == "lasting" else 0
    starts = [0 if d == target else late_ps for _, d, _ in triples]
    return scenario(deep_tree(8), messages(triples, starts), adaptive=adaptive)


def w1(name: str, *, adaptive: bool, seed: int = 1) -> Document:
    """W1a, W1b, W1c, W1r, or `8192`: random on 8,192 hosts."""
    made: dict[str, tuple[int, Triples]] = {
        "W1a": (8, half_shift(128, 10_000_000)),
        "W1b": (8, affine(128, 10_000_000)),
        "W1c": (16, half_shift(1024, 10_000_000)),
        "W1r": (16, random_permutation(1024, 2_000_000, seed)),
    }
    if name == "8192":
        made[name] = (32, random_permutation(8192, 1_000_000, seed))
    radix, triples = made[name]
    return scenario(deep_tree(radix), messages(triples), adaptive=adaptive)


W2_FORMS = (
    "barrier, in order",
    "barrier, shuffled",
    "window 1, in order",
    "window 1, shuffled",
    "window 16, in order",
    "window 16, shuffled",
)


def w2(form: str, *, adaptive: bool, n_hosts: int = 512, seed: int = 1) -> Document:
    """W2: every host sends 64 KiB to every other, in step k to host + k, in one of `W2_FORMS`.

    `barrier`: an ideal barrier after each step; `window w`: at most w steps under way. Messages of
    this size are agreed on first, as in every MPI: a send is over when it is acknowledged.
    """
    pace, order = form.split(", ")
    step: Document = {"benchmark": "alltoall", "algorithm": "linear", "size_bytes": 65536}
    step |= {"window": 1, "barrier_every_step": True} if pace == "barrier" else {}
    step |= {"window": int(pace.split()[1])} if pace != "barrier" else {}
    step |= {"shuffle": seed} if order == "shuffled" else {}
    made = scenario(tapered_tree(n_hosts), [step], adaptive=adaptive)
    return {**made, "host": {"regimes": [{"protocol": "rendezvous"}]}}


def sharp(n_hosts: int = 8008) -> Document:
    """An allreduce of 8 B by switches: Frontera's leaves of 44 below six directors."""
    fabric = {
        "generate": "directors",
        "nodes": n_hosts,
        "nodes_per_leaf": 44,
        "directors": 6,
        "cables_per_director": 3,
        "inside": "boards",
        "board_ports": 40,
        "host_bits_per_s": 100 * GBPS,
        "switch_bits_per_s": 200 * GBPS,
        "host_delay_ps": 15_000,
        "switch_delay_ps": 50_000,
        "inside_delay_ps": 5000,
    }
    step = {"benchmark": "allreduce", "algorithm": "sharp", "size_bytes": 8}
    made = scenario(fabric, [step], adaptive=False)
    return {**made, "in_network": {"reduction_ns": 450, "payload_bytes": 2048}}
