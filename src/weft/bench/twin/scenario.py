"""From a platform and a trial to a scenario document (docs/reference/scenario.md)."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from weft.bench.aggressor import OPTION as AGGRESSORS
from weft.bench.model import Trial
from weft.bench.phase import phases_of
from weft.bench.replay import is_replay, replay_steps
from weft.bench.twin.congestion_control import OFF, congestion_control
from weft.bench.twin.fault import Fault
from weft.bench.twin.gpu.network import (
    by_sockets,
    gpu_network,
    inside_of_node,
    is_one_rail,
    nccl_jobs,
)
from weft.bench.twin.gpu.rails import (
    RankJob,
    alltoall_job,
    joined_packets,
    message_costs,
    reducing_switches,
    sendrecv_job,
)
from weft.bench.twin.rounds import count_of, rounds_of
from weft.bench.twin.routing import routes_adaptively, routing
from weft.bench.twin.tenant_network import adaptive_levels, controlled
from weft.bench.twin.tenants import RINGS, highest_level
from weft.bench.twin.training_step import is_training, training_step
from weft.catalog.benchmark import Benchmark
from weft.catalog.libraries.mpi_algorithms import mpi_algorithms
from weft.catalog.machine.in_network import InNetwork
from weft.catalog.machine.platform import HostRegime, Noise, Platform, PlatformHost
from weft.core.errors import InputError
from weft.topology.fabric import DRAGONFLY
from weft.topology.fabric_spec import Document, no_twin, picoseconds, twin_parts

SCENARIO_SCHEMA = "weft.scenario/1"

DATA_LANES = 8
"""Data lanes of a port where packets change theirs between groups, as OpenSM uses on ibsim."""

HEADERS = {"infiniband": "infiniband", "ethernet": "none"}
"""The engine's headers for those of a platform: rates of Ethernet are taken to be of payload."""

REGIME_KEYS = (
    *("protocol", "send_overhead_ns", "recv_overhead_ns", "send_ns_per_byte", "recv_ns_per_byte"),
    *("latency_ns", "latency_ns_per_byte", "gap_ns", "gap_ns_per_byte"),
)
"""Keys of a regime that have the same name in a platform and in a scenario."""

Rounds = Sequence[Sequence[tuple[int, int]]]


def scenario(
    platform: Platform,
    fabric: Document,
    faults: Sequence[Fault],
    trial: Trial,
    seed: int,
    *,
    fidelity: str = "packet",
) -> Document:
    """The engine's scenario without its `work`: fabric, hosts, placement, faults."""
    _, links, host = twin_parts(platform)
    if platform.packets is None or platform.switch is None:
        raise no_twin(platform)
    switch = platform.switch
    # No platform says what is inside its nodes: a trial does.
    own = {key: trial.options[key] for key in ("in_network", "node") if key in trial.options}
    if asks_for_switches(trial):
        own["in_network"] = _in_network(platform).to_scenario()
    network = gpu_network(trial)
    if network is not None:
        own["node"] = inside_of_node(platform, trial, network)
    costs = _host(host) | _noise(platform, trial)
    packet_bytes = platform.packets.mtu.whole
    if network is not None and network.by_rails:
        costs |= message_costs()
        is_part = is_one_rail(trial)
        packet_bytes *= joined_packets(len(trial.nodes)) if is_part else 1
        share = 1 / trial.tasks_per_node if is_part else 1.0
        own["in_network"] = reducing_switches(packet_bytes, share)
    if network is not None and network.sockets:
        costs["regimes"] = by_sockets(costs["regimes"], links.host.rate.value)
    levels = adaptive_levels(platform, trial)
    return {
        "schema": SCENARIO_SCHEMA,
        "seed": seed,
        "fidelity": fidelity,
        "fabric": fabric,
        "routing": routing(platform, fabric, trial, fidelity, levels=levels),
        "packets": {
            "mtu_bytes": packet_bytes,
            "headers": HEADERS[platform.packets.headers],
        },
        "switch": {
            "model": switch.model,
            "forwarding": switch.forwarding,
            "delay_ps": picoseconds(switch.delay.value),
            "buffer_bytes": switch.buffer.whole,
        },
        **controlled(platform, trial, fidelity),
        **_lanes(fabric, trial),
        "host": costs,
        "placement": {"nodes": list(trial.nodes), "tasks_per_node": trial.tasks_per_node},
        "work": [],
        "faults": [fault.to_document() for fault in faults],
        **own,
    }


def _noise(platform: Platform, trial: Trial) -> Document:
    """The noise of the platform's hosts, where a trial asks for it."""
    asked = trial.options.get("host_noise")
    if asked is None:
        return {}
    _, _, host = twin_parts(platform)
    cores = platform.node.get("cores")
    full = cores is not None and trial.tasks_per_node >= cores.whole
    noise = host.full_node_noise if full else host.idle_core_noise
    if asked != "platform" or noise is None:
        raise InputError(
            f"option 'host_noise' is {asked!r}",
            where=f"platform '{platform.name}'",
            expected="'platform', of a platform with idle_core_noise and full_node_noise",
        )
    return {"noise": _noise_of(noise)}


def _noise_of(noise: Noise) -> Document:
    return {"probability": noise.probability.value, "mean_ns": noise.mean.value}


def asks_for_switches(trial: Trial) -> bool:
    """Whether the platform's switches reduce what its library hands over."""
    return bool(trial.options.get("in_network") == "platform")


def _in_network(platform: Platform) -> InNetwork:
    if platform.in_network is None:
        raise InputError(
            f"platform '{platform.name}' does not say what its switches reduce",
            expected="a platform with [in_network], or the keys of the scenario's in_network",
        )
    return platform.in_network


def _lanes(fabric: Document, trial: Trial) -> Document:
    # Lanes of other engines' paths are in the fabric.
    engine = trial.options.get("routing", fabric.get("routing", {}).get("engine"))
    level = highest_level(trial)
    if engine != DRAGONFLY:
        return {"lanes": {"count": level + 1}} if level else {}
    if level:
        raise InputError(
            "option 'service_level' on a dragonfly",
            where=trial.id,
            expected="level 0: its paths take all lanes, to be free of deadlocks",
        )
    return {"lanes": {"count": DATA_LANES}}


def work(
    platform: Platform, benchmark: Benchmark, trial: Trial, faults: Sequence[Fault] = ()
) -> list[Document]:
    """The steps of a trial, one a size; of random rings, one a size and ring; of `pairs`,
    one for each kind of its phases."""
    options = {**benchmark.options, **trial.options}
    counts = _counts(benchmark, options)
    if "mpi_choice" in options and benchmark.kind != "collective":
        raise InputError(
            f"option 'mpi_choice' with {benchmark.name}: on a twin libraries differ in the "
            "algorithms of their collectives alone",
            where=trial.id,
            expected="a collective",
        )
    if is_replay(benchmark):
        return replay_steps(platform, trial, benchmark.options)
    if benchmark.kind == "pairs":
        if not left_to_chance(platform, faults, trial):
            counts = {"iterations": 1, "warmup": 0}
        return _pair_steps(trial, options, counts)
    steps = []
    for size in trial.sizes_bytes:
        if size == 0 and benchmark.headline.startswith("bandwidth"):
            raise InputError(
                f"{benchmark.name} of 0 B",
                where=f"trial {trial.id}",
                expected="sizes from 1 B up: empty messages have no bandwidth",
            )
        step: Document = {"benchmark": RINGS.get(benchmark.name, benchmark.name)}
        step |= {"size_bytes": size, **counts}
        if "window" in benchmark.options:
            step["window"] = count_of(options, "window", least=1)
        elif benchmark.kind == "collective":
            step |= _algorithm(platform, trial, options, size)
        if "skew" in options:
            step["skew"] = options["skew"]
        if options.get("closing_barrier"):
            step["closing_barrier"] = True
        steps += _on_rings(benchmark, options, step) if "rings" in benchmark.options else [step]
    return steps


def channel_work(platform: Platform, benchmark: Benchmark, trial: Trial) -> list[list[RankJob]]:
    """The steps of a trial between GPUs, each as the jobs that carry it out at the same time.
    Raises InputError."""
    network = gpu_network(trial)
    if network is None:
        raise InputError(f"trial {trial.id} is not between GPUs", expected="option 'gpu_network'")
    options = {**benchmark.options, **trial.options}
    counts = _counts(benchmark, options)
    sizes = trial.sizes_bytes
    if benchmark.name == "alltoall" and network.by_rails:
        work = [[alltoall_job(size, options)] for size in sizes]
    elif benchmark.name == "sendrecv" and network.by_rails:
        work = [[sendrecv_job(trial.n_ranks, size)] for size in sizes]
    elif benchmark.name == "allreduce" or is_training(benchmark):
        if is_training(benchmark):
            sizes = training_step(platform, trial, benchmark.options).sizes
        work = [nccl_jobs(platform, trial, network, size) for size in sizes]
    else:
        raise InputError(
            f"{benchmark.name} with option 'gpu_network'",
            where=f"trial {trial.id}",
            expected="allreduce, a step of training; by 'rails' alltoall, sendrecv and pairs, too",
        )
    return [[RankJob({**job.step, **counts}, job.first_task) for job in jobs] for jobs in work]


def _on_rings(benchmark: Benchmark, options: Mapping[str, Any], step: Document) -> list[Document]:
    """A step for each ring, in the orders the live kernel draws: ring k is that of seed + k."""
    most = benchmark.twin.get("rings", 1)
    n_rings = min(count_of(options, "rings", least=1), step["iterations"], most)
    seed = count_of(options, "seed", least=0)
    share = step["iterations"] // n_rings
    return [{**step, "iterations": share, "shuffle": seed + ring} for ring in range(n_rings)]


def _algorithm(platform: Platform, trial: Trial, options: Mapping[str, Any], size: int) -> Document:
    """The algorithm asked for, or else the library's, or the platform's."""
    tasks = trial.tasks_per_node
    if "algorithm" in options:
        _refuse_beside_algorithm(trial)
        asked = ("algorithm", "between", "fallback", "segment_bytes")
        found = {key: options[key] for key in asked if key in options}
        return found | _groups(count_of({"leaders": 1, **options}, "leaders", least=1), tasks)
    if asks_for_switches(trial) and _in_network(platform).reduces(trial.benchmark, size):
        return {"algorithm": "sharp"}
    if "mpi_choice" in trial.options:
        library = mpi_algorithms(str(trial.options["mpi_choice"]))
        chosen, row = library.choose(trial.benchmark, trial.n_ranks, size, tasks), None
        if chosen is None:
            raise InputError(
                f"no algorithm is known that {trial.options['mpi_choice']} has for "
                f"{trial.benchmark} of {trial.n_ranks} ranks",
                where=trial.id,
                expected="a collective of its document in the catalogue",
            )
    else:
        chosen = platform.choice(trial.benchmark, size, trial.n_ranks, tasks)
        row = platform.algorithm(trial.benchmark, size, tasks)
    if chosen is not None:
        found = {"algorithm": chosen.engine, "window": chosen.window, "between": chosen.between}
        found |= _groups(chosen.leaders, tasks)
    elif row is not None:
        found = {"algorithm": row.algorithm, "between": row.between} | _groups(row.leaders, tasks)
    else:
        found = {}
    return {key: value for key, value in found.items() if value is not None}


def _refuse_beside_algorithm(trial: Trial) -> None:
    """An algorithm by name leaves nothing to choose to a library or to switches."""
    other = "mpi_choice" if "mpi_choice" in trial.options else "in_network"
    if other == "mpi_choice" or asks_for_switches(trial):
        raise InputError(
            f"option 'algorithm' with '{other}'",
            where=trial.id,
            expected="one of them: the algorithm is fixed",
        )


def _groups(n_leaders: int, tasks_per_node: int) -> Document:
    """The tasks of one leader, where a node has several."""
    if n_leaders == 1:
        return {}
    if tasks_per_node % n_leaders:
        raise InputError(
            f"{n_leaders} leaders of {tasks_per_node} tasks a node",
            expected="as many tasks for each leader",
        )
    return {"tasks_per_node": tasks_per_node // n_leaders}


def window_of(benchmark: Benchmark, trial: Trial) -> int:
    """Messages of one window; one where the benchmark has none."""
    return int({**benchmark.options, **trial.options}.get("window", 1))


def _counts(benchmark: Benchmark, options: Mapping[str, Any]) -> Document:
    """Iterations on a twin: few, because each gives the same time but for jitter and noise; beside
    aggressors as many as asked for."""
    counts = {}
    for key, least in (("iterations", 1), ("warmup", 0)):
        most = benchmark.twin.get(key, least)
        asked = count_of({key: most, **options}, key, least=least)
        counts[key] = asked if AGGRESSORS in options else min(asked, most)
    return counts


def left_to_chance(platform: Platform, faults: Sequence[Fault], trial: Trial) -> bool:
    """Whether chance, or what came before, decides anything: else one iteration of `pairs` gives
    all, to the picosecond, and thousands of pairs cost a third."""
    host = twin_parts(platform)[2]
    by_host = host.start_jitter is not None or host.noise is not None
    by_fault = any(fault.is_random for fault in faults)
    is_controlled = congestion_control(platform, trial) != OFF
    by_network = routes_adaptively(platform, trial) or is_controlled
    return by_host or by_fault or by_network


def _pair_steps(trial: Trial, options: Mapping[str, Any], counts: Document) -> list[Document]:
    rounds = [[list(pair) for pair in pairs] for pairs in rounds_of(trial)]
    common = {"benchmark": "pairs", "rounds": rounds, **counts}
    steps: list[Document] = []
    for phase in phases_of(options):
        step = {**common, "size_bytes": pair_size(trial, is_small=phase.is_small)}
        if not phase.is_small:
            step["window"] = count_of(options, "window", least=1)
        steps.extend({**step, "kind": kind} for kind in phase.kinds)
    return steps


def pair_size(trial: Trial, *, is_small: bool) -> int:
    """The size of a phase of `pairs`: the smallest of the trial's, or the largest."""
    return min(trial.sizes_bytes) if is_small else max(trial.sizes_bytes)


def _host(host: PlatformHost) -> Document:
    document: Document = {
        "regimes": [_regime(regime) for regime in host.regimes],
        "message_gap_ns": host.message_gap.value,
        "intra_node": {
            "latency_ns": host.intra_node.latency.value,
            "bits_per_s": round(host.intra_node.rate.value * 1e9),
        },
    }
    if host.intra_node.overhead_share is not None:
        share = host.intra_node.overhead_share.value
        document["intra_node"]["regimes"] = [_inner_regime(one, share) for one in host.regimes]
    if host.start_jitter is not None:
        document["start_jitter_ns"] = host.start_jitter.value
    if host.noise is not None:
        document["noise"] = _noise_of(host.noise)
    return document


def _inner_regime(regime: HostRegime, share: float) -> Document:
    document: Document = {} if regime.max_bytes is None else {"max_bytes": regime.max_bytes}
    overheads = ("send_overhead_ns", "recv_overhead_ns")
    return document | {key: round(share * getattr(regime, key), 3) for key in overheads}


def _regime(regime: HostRegime) -> Document:
    document: Document = {} if regime.max_bytes is None else {"max_bytes": regime.max_bytes}
    return document | {name: getattr(regime, name) for name in REGIME_KEYS}


def steps_of(document: Document) -> list[Document]:
    """The steps of a scenario's only job, or of its first."""
    job = document["tenants"][0] if "tenants" in document else document
    steps: list[Document] = job["work"]
    return steps


def recipe_text(document: Document) -> str:
    """JSON to be read by people too: a line a key, but a line a step of rounds of thousands."""
    if not any("rounds" in step for step in document.get("work", ())):
        return json.dumps(document, indent=1)
    lines = json.dumps({**document, "work": []}, indent=1)
    steps = ",\n".join(f"  {json.dumps(step)}" for step in document["work"])
    return lines.replace(' "work": []', f' "work": [\n{steps}\n ]')
