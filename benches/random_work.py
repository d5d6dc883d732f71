"""Random steps of work: messages, patterns, and collectives by every algorithm."""

from random import Random

from benches.workloads import Document

ALGORITHMS = {
    "barrier": ("dissemination", "recursive_doubling", "tree"),
    "allreduce": (
        "recursive_doubling",
        "ring",
        "rabenseifner",
        "double_binary_tree",
        "reduce_broadcast",
    ),
    "alltoall": ("pairwise", "linear", "bruck"),
    "alltoallv": ("pairwise", "linear"),
    "allgather": ("ring", "recursive_doubling", "bruck", "neighbor_exchange"),
    "reduce_scatter": ("recursive_halving", "ring", "pairwise"),
    "broadcast": ("binomial", "scatter_allgather", "chain"),
    "reduce": ("binomial", "rabenseifner"),
    "gather": ("binomial", "linear"),
    "scatter": ("binomial", "linear"),
}


def messages(draw: Random, n_ranks: int = 6) -> Document:
    """A few messages with starts of their own."""
    ends = [draw.sample(range(n_ranks), 2) for _ in range(draw.randint(2, 20))]
    rows = [
        {
            "src": src,
            "dst": dst,
            "size_bytes": draw.choice((0, 8, 4096, 9000, 60_000)),
            "start_ps": draw.choice((0, 0, 70_000, 900_000)),
        }
        for src, dst in ends
    ]
    return {"benchmark": "messages", "messages": rows}


def pattern(draw: Random) -> Document:
    """A step that is no collective."""
    size = draw.choice((8, 5000, 40_000))
    forms: list[Document] = [
        {"benchmark": "latency", "iterations": 3, "warmup": 1},
        {"benchmark": "bandwidth", "window": 8, "iterations": 2},
        {"benchmark": "bidirectional", "window": 4},
        {"benchmark": "message_rate", "window": 4},
        {"benchmark": "pairs", "kind": "bandwidth_ab", "window": 2, "rounds": [[[0, 1]], [[2, 3]]]},
        {"benchmark": "natural_ring"},
        {"benchmark": "random_ring", "shuffle": 3, "compute_ns": 40},
        {"benchmark": "permutation", "permutation": {"affine": [5, 1]}, "window": 2},
        {"benchmark": "permutation", "permutation": {"random": draw.randint(1, 9)}},
        {"benchmark": "bisect", "seed": 3, "both_ways": True},
        {"benchmark": "incast", "fan": 3, "bystander_bytes": 9000, "bystander_start_ns": 50},
        {"benchmark": "fan_in"},
        {"benchmark": "fan_out", "fan": 4},
    ]
    return {**draw.choice(forms), "size_bytes": size}


def step(draw: Random) -> Document:
    """Any step of ranks."""
    kind = draw.random()
    if kind < 0.25:
        return messages(draw)
    if kind < 0.55:
        return pattern(draw)
    benchmark = draw.choice(list(ALGORITHMS))
    made: Document = {"benchmark": benchmark, "algorithm": draw.choice(ALGORITHMS[benchmark])}
    if benchmark != "barrier":
        made["size_bytes"] = draw.choice((8, 3001, 20_000))
    if made["algorithm"] in ("double_binary_tree", "chain"):
        made["segment_bytes"] = 5000
    if made["algorithm"] in ("linear", "pairwise") and benchmark.startswith("alltoall"):
        made |= draw.choice(({}, {"window": 2}, {"barrier_every_step": True}))
    if draw.random() < 0.2:
        made |= {"shuffle": draw.randint(1, 9), "iterations": 2}
    if draw.random() < 0.2:
        made |= {"compute_ns": 40, "imbalance": 0.5}
    return made


def switch_step(draw: Random) -> Document:
    """A collective that switches carry out."""
    form = draw.choice(("allreduce", "broadcast", "reduce", "barrier", "multicast"))
    made: Document = {"benchmark": form, "algorithm": "sharp", "iterations": draw.choice((1, 3))}
    if form == "multicast":
        made |= {"benchmark": "broadcast", "algorithm": "multicast"}
    if form != "barrier":
        made["size_bytes"] = draw.choice((8, 3000, 9000))
    return made
