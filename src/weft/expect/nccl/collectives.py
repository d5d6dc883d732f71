"""What a collective of NCCL should deliver: the algorithm its version takes, at today's rates.

`time = latency + bytes / rate`. Which algorithm and protocol is the version's own choice; how fast
it then is does not depend on what that version believed, so the newest constants say it.
"""

from dataclasses import replace

from weft.catalog.document import SourceClass
from weft.catalog.libraries.nccl import ALGORITHMS, PROTOCOLS, nccl_constants
from weft.catalog.machine.platform import Platform
from weft.catalog.machine.practice import practice
from weft.core.errors import InputError, unknown_name
from weft.expect.model import SPREAD, Conditions, Expectation, Term, largest, span
from weft.expect.nccl.rccl import RCCL_SOURCE, rccl_ring
from weft.expect.nccl.topology import GpuTopology, is_of_amd, topology
from weft.expect.nccl.tuner import USES, Candidate, candidates, plateau

EXTRAPOLATED = "extrapolated"
"""Begins the note on a job that is larger than any that was measured."""


def busbw_factor(benchmark: str, n_ranks: int) -> float:
    """Bus bandwidth / algorithm bandwidth. SOURCE: NVIDIA/nccl-tests, doc/PERFORMANCE.md."""
    n = n_ranks
    if benchmark == "allreduce":
        return 2 * (n - 1) / n
    if benchmark in ("allgather", "reduce_scatter", "alltoall", "alltoallv", "gather", "scatter"):
        return (n - 1) / n
    return 1.0


def nccl(platform: Platform, conditions: Conditions) -> Expectation:
    """Bus bandwidth in GB/s of nccl-tests; the time of an empty buffer in us. Raises InputError."""
    benchmark = conditions.benchmark
    if benchmark not in USES:
        from weft.expect.nccl.p2p import nccl_p2p

        return nccl_p2p(platform, conditions)
    found = topology(platform, conditions)
    if is_of_amd(platform):
        return _expectation(
            platform, conditions, found, rccl_ring(platform, conditions, found), RCCL_SOURCE
        )
    chosen = _choice(found, conditions)
    now = nccl_constants()
    collnet = _wants_collnet(conditions)
    same = (
        candidate
        for candidate in candidates(found, now, benchmark, collnet=collnet)
        if (candidate.algorithm, candidate.protocol) == (chosen.algorithm, chosen.protocol)
    )
    rated = next(same, chosen)
    return _expectation(platform, conditions, found, rated)


def _wants_collnet(conditions: Conditions) -> bool:
    forced = plain(conditions.algorithm)
    return "collnet" in forced or (forced == "nvls" and not conditions.inside_node)


def _choice(found: GpuTopology, conditions: Conditions) -> Candidate:
    constants = nccl_constants(conditions.library_version)
    # NCCL takes a closing hop to cost no rate: its search finds 8 channels of 45 GB/s of 48.
    believed = replace(found, closing_hop=False)
    collnet = _wants_collnet(conditions)
    every = candidates(believed, constants, conditions.benchmark, collnet=collnet)
    algorithm, protocol = _forced(conditions)
    fitting = [
        candidate
        for candidate in every
        if algorithm in ("", candidate.algorithm) and protocol in ("", candidate.protocol)
    ]
    if not fitting:
        names = sorted({f"{c.algorithm} {c.protocol}" for c in every})
        raise InputError(
            f"NCCL has no {algorithm or 'algorithm'} {protocol} for {conditions.benchmark} here",
            expected="one of " + ", ".join(names),
        )
    size, coll = conditions.size_bytes, conditions.benchmark

    def time_us(one: Candidate) -> float:
        latency_us = one.latency_us * plateau(one, found, constants, coll, size)
        return latency_us + one.transfer_us(size, constants, coll)

    return min(fitting, key=time_us)


def plain(word: str) -> str:
    """An algorithm's or a protocol's name without case and signs, as NVLS_TREE for NVLSTree."""
    return "".join(letter for letter in word.lower() if letter.isalnum())


def _forced(conditions: Conditions) -> tuple[str, str]:
    algorithm, protocol = plain(conditions.algorithm), plain(conditions.protocol)
    for word, known, what in (
        (algorithm, ALGORITHMS, "algorithm"),
        (protocol, PROTOCOLS, "protocol"),
    ):
        if word and word not in known:
            raise unknown_name(f"NCCL has no {what} '{word}'", word, known)
    return algorithm, protocol


def _expectation(
    platform: Platform,
    conditions: Conditions,
    found: GpuTopology,
    chosen: Candidate,
    source: str = "",
) -> Expectation:
    """`source`: of the latencies, where they are not NCCL's."""
    constants = nccl_constants()
    coll, size = conditions.benchmark, conditions.size_bytes
    factor = plateau(chosen, found, constants, coll, size)
    latency = Term(
        f"latency of {chosen.algorithm} {chosen.protocol}",
        chosen.latency_us * factor * 1e3,
        SourceClass.ASSUMED,
        practice("nccl-latency").spread,
        source or constants.source,
    )
    rate = practice(rate_range(found, chosen.algorithm))
    transfer = Term(
        chosen.rate.bound,
        chosen.transfer_us(size, constants, coll) * 1e3,
        SourceClass.PUBLISHED,
        slower(rate.inverse_spread, found),
        rate.source,
    )
    limit, limit_name = limit_gb_s(found, conditions, chosen)
    return as_busbw(
        platform,
        conditions,
        (latency, transfer),
        formula=_formula(chosen, conditions)
        + ("" if source else f", constants of NCCL {constants.version}"),
        limit=limit,
        limit_name=limit_name,
        algorithm=f"{chosen.algorithm} {chosen.protocol}",
        note=_note(found, chosen, conditions),
    )


def slower(factors: tuple[float, float], found: GpuTopology) -> tuple[float, float]:
    """Factors on a time that reach what is published of the adapters, where that is slower."""
    if found.net_seen_share >= 1:
        return factors
    return factors[0], max(factors[1], SPREAD[SourceClass.PUBLISHED][1] / found.net_seen_share)


def rate_range(found: GpuTopology, algorithm: str = "") -> str:
    """The figure of practice that says how far NCCL's rate may lie from its model."""
    if found.sockets and found.n_nodes > 1:
        return "nccl-rate-sockets"
    through_host = not found.gpudirect and (found.n_nodes > 1 or found.loopback)
    if through_host and found.cpu != "arm":
        return "nccl-rate-without-gpudirect"
    return "nccl-rate-collnet" if "collnet" in algorithm else "nccl-rate"


def _formula(chosen: Candidate, conditions: Conditions) -> str:
    factor = busbw_factor(conditions.benchmark, conditions.n_ranks)
    return (
        f"bytes / (latency + bytes / {chosen.rate.gb_s:.4g} GB/s) x {factor:.4g};"
        f" {chosen.algorithm} {chosen.protocol}"
    )


def limit_gb_s(found: GpuTopology, conditions: Conditions, chosen: Candidate) -> tuple[float, str]:
    """The greatest bus bandwidth the links allow, and which: what each must carry at least."""
    factor = busbw_factor(conditions.benchmark, found.n_gpus)
    inside, group = found.nvlink_raw or found.pcie_raw, found.gpus_per_node
    # Least bytes through the NVLinks of one GPU of a group, in units of the buffer: what the
    # adapters bring from other nodes need not pass them.
    per_gpu = (group - 1) / group
    if conditions.benchmark == "allreduce":
        per_gpu *= 2
        if found.nvls:
            per_gpu = min(per_gpu, (group + 1) / group)
    if group <= 1:
        return _net_limit(found, conditions, chosen, factor)
    nvlink = (inside / per_gpu * factor, f"{found.link_name}, {inside:.4g} GB/s of one GPU at most")
    if found.loopback:
        return found.net_raw / found.gpus_per_node, found.net_limit
    if found.n_nodes == 1:
        return nvlink
    return min(nvlink, _net_limit(found, conditions, chosen, factor))


def _net_limit(
    found: GpuTopology, conditions: Conditions, chosen: Candidate, factor: float
) -> tuple[float, str]:
    # A file rarely says whether SHARP was on: where switches can add up, they may have.
    asked = "collnet" in chosen.algorithm or chosen.algorithm == "nvls"
    reduces = (asked or found.net_reduces) and not found.sockets
    per_node = least_between_nodes(conditions.benchmark, found.n_nodes, reduces_in_net=reduces)
    return found.net_raw / per_node * factor, found.net_limit


def least_between_nodes(benchmark: str, n_nodes: int, *, reduces_in_net: bool) -> float:
    """Least bytes that leave (or reach) some node, in units of the buffer, under any algorithm.

    `reduces_in_net`: switches add up (SHARP), so that a node sends its sum once.
    """
    if benchmark == "allreduce":
        return 1.0 if reduces_in_net else 2 * (n_nodes - 1) / n_nodes
    if benchmark in ("broadcast", "reduce"):
        return 1.0
    return (n_nodes - 1) / n_nodes


def as_busbw(
    platform: Platform,
    conditions: Conditions,
    terms: tuple[Term, ...],
    *,
    formula: str,
    limit: float,
    limit_name: str,
    algorithm: str,
    note: str = "",
) -> Expectation:
    """Terms of a time as the bus bandwidth of nccl-tests; the time itself for an empty buffer."""
    binding = largest(terms)
    bound = binding.name + (f" - {note}" if note and binding is not terms[0] else "")
    largest_job = practice("nccl-largest-job").value
    if conditions.n_ranks > largest_job:
        bound += f" - {EXTRAPOLATED}: the largest published measurement has {largest_job:,.0f} GPUs"
    source = f"platform {platform.name}; {terms[0].source}"
    value, low, high = span(terms)
    found = Expectation(
        metric="latency_us",
        value=value / 1e3,
        unit="us",
        low=low / 1e3,
        high=high / 1e3,
        bound=bound,
        formula=formula,
        source=source,
        terms=terms,
        algorithm=algorithm,
    )
    if conditions.size_bytes == 0:
        return found
    bus = conditions.size_bytes * busbw_factor(conditions.benchmark, conditions.n_ranks)
    low, value, high = (min(bus / time_ns, limit) for time_ns in (high, value, low))
    found = replace(found, metric="busbw_gb_s", unit="GB/s", limit=limit, limit_name=limit_name)
    return replace(found, value=value, low=low, high=high)


def _note(found: GpuTopology, chosen: Candidate, conditions: Conditions) -> str:
    """What surprises a reader about the figure, in half a sentence."""
    if found.sockets and found.n_nodes > 1:
        return "TCP instead of RDMA"
    if chosen.algorithm == "nvls" and found.n_nodes == 1:
        return (
            "the switches reduce, and the bus factor still counts what a ring would move:"
            " more than NVLink's rate is no error"
        )
    bus = chosen.rate.gb_s * busbw_factor(conditions.benchmark, found.n_gpus)
    if found.n_nodes == 2 and chosen.algorithm in ("tree", "nvlstree") and bus > found.net:
        return (
            "between two nodes each byte crosses the network once in each direction, so the bus"
            " bandwidth may exceed the adapters' rate"
        )
    return ""
