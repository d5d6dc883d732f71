"""Small random scenarios that between them use every feature of the engine.

A scenario is a function of its number alone. A profile draws what goes together; one scenario in
eight then takes a key of another profile, so that refusals are drawn, too.
"""

from random import Random
from typing import Any

from benches.random_work import messages, pattern, step, switch_step
from benches.workloads import GBPS, Document

MAX_EVENTS = 60_000
RATES = (25 * GBPS, 54_545_000_000, 100 * GBPS, 200 * GBPS)


def rates(draw: Random, *kinds: str) -> Document:
    """A rate and a delay for each kind of cable."""
    made: Document = {f"{kind}_bits_per_s": draw.choice(RATES) for kind in kinds}
    return made | {f"{kind}_delay_ps": draw.choice((0, 5000, 150_000)) for kind in kinds}


def fat_tree(draw: Random) -> Document:
    """Two or three levels."""
    tree: Document = {"generate": "fat_tree", **rates(draw, "host", "switch")}
    if draw.random() < 0.3:
        return tree | {"levels": 3, "radix": 4, "nodes": draw.choice((9, 16))}
    leaves = {"nodes_per_leaf": draw.choice((2, 4)), "spines": draw.choice((1, 2, 3))}
    cables = {"cables_per_spine": draw.choice((1, 1, 2))}
    hcas = {"hcas_per_node": draw.choice((1, 1, 1, 2))}
    return tree | {"levels": 2, "nodes": draw.choice((6, 8, 12)), **leaves, **cables, **hcas}


def dragonfly(draw: Random) -> Document:
    """Three groups, with or without spines."""
    shape = {"groups": 3, "routers_per_group": 2, "nodes_per_router": 2}
    ports = {"global_ports": draw.choice((1, 2)), "spines_per_group": draw.choice((0, 0, 2))}
    kinds = rates(draw, "host", "local", "global")
    return {"generate": "dragonfly", **shape, **ports, **kinds}


def directors(draw: Random) -> Document:
    """Leaves below two directors of one switch each, or of boards."""
    shape: Document = {"nodes": 12, "nodes_per_leaf": 4, "directors": 2, "cables_per_director": 1}
    shape["inside"] = draw.choice(("one_switch", "boards"))
    if shape["inside"] == "boards":
        shape |= {"board_ports": 4, "inside_delay_ps": 5000}
    return {"generate": "directors", **shape, **rates(draw, "host", "switch")}


def rails(draw: Random) -> Document:
    """Two rails of six nodes."""
    shape = {"levels": 2, "nodes": 6, "hcas_per_node": 2, "nodes_per_unit": 3, "spines": 2}
    return {"generate": "rails", **shape, **rates(draw, "host", "switch")}


def fabric(draw: Random) -> Document:
    """Any fabric, most often a tree."""
    return draw.choice((fat_tree, fat_tree, fat_tree, dragonfly, directors, rails))(draw)


def host(draw: Random) -> Document:
    """Costs of hosts: none, or all of them."""
    if draw.random() < 0.3:
        return {"regimes": [{}]}
    small = {"max_bytes": 2000, "send_overhead_ns": 100, "recv_overhead_ns": 50.5, "gap_ns": 17}
    large = {"protocol": draw.choice(("eager", "rendezvous")), "latency_ns": 90}
    made: Document = {"regimes": [small, large | {"recv_ns_per_byte": 0.01}]}
    made["message_gap_ns"] = draw.choice((0, 5, 40))
    if draw.random() < 0.4:
        made["intra_node"] = {"latency_ns": 200, "bits_per_s": 50 * GBPS}
    if draw.random() < 0.3:
        by = draw.choice(("software", "hardware"))
        made["matching"] = {"by": by, "ns_per_entry": 2, "hardware_entries": draw.choice((1, 8))}
    if draw.random() < 0.2:
        made |= {"noise": {"probability": 0.1, "mean_ns": 900}, "start_jitter_ns": 700}
    return made


def switch(draw: Random) -> Document:
    """How switches queue."""
    model = draw.choice(("voq", "voq", "input_fifo", "shared_buffer", "infinite"))
    made: Document = {"model": model, "buffer_bytes": draw.choice((9000, 20_000, 131_072))}
    made["forwarding"] = draw.choice(("cut_through", "cut_through", "store_and_forward"))
    if model == "shared_buffer":
        made["output_share"] = draw.choice((0.5, 0.9))
    if draw.random() < 0.2:
        made["speedup"] = draw.choice((0.8, 1.5, 2))
    return made


def lanes(draw: Random) -> Document:
    """Several virtual lanes, with tables of arbitration or without."""
    count = draw.choice((2, 3, 4))
    if draw.random() < 0.5:
        return {"count": count}
    low = [{"vl": vl, "weight": 8 * vl + 8} for vl in range(count)]
    high = [{"vl": count - 1, "weight": 4}]
    return {"count": count, "low": low, "high": high, "high_limit": draw.choice((0, 2, 255))}


def routing(draw: Random, fabric: Document, adaptive: bool) -> Document:
    """An engine, and adaptive routing with any of its choices."""
    on_dragonfly = fabric["generate"] == "dragonfly"
    made: Document = {"engine": "dragonfly" if on_dragonfly else None}
    if not on_dragonfly:
        engines = ("dmodk", "dmodk", "updn", "minhop", "ecmp")
        made["engine"] = draw.choice(engines[:4] if adaptive else engines)
    if adaptive:
        granularity = {"granularity": "flowlet", "flowlet_gap_ns": draw.choice((100, 3000))}
        made["adaptive"] = {
            **draw.choice(({}, {}, granularity)),
            "grade_bytes": draw.choice((64, 4096, 8192)),
            **draw.choice(({}, {"grades": 4})),
            **draw.choice(({}, {}, {"service_levels": [0]})),
        }
        if on_dragonfly and draw.random() < 0.6:
            kind = draw.choice(("ugal", "valiant"))
            made["adaptive"] |= {"non_minimal": kind, "bias_bytes": draw.choice((0, 4096))}
    if draw.random() < 0.3:
        reaction = draw.choice(("switch", "subnet_manager"))
        made["link_death"] = {"reaction": reaction, "delay_ns": draw.choice((500, 3000))}
    return made


def cable_of(draw: Random, fabric: Document) -> str:
    """A cable that the fabric has, most often between two switches."""
    kind = fabric["generate"]
    if kind == "rails":
        return draw.choice(("rail0-leaf-01[4]", "rail1-leaf-02[5]"))
    if kind == "dragonfly":
        return draw.choice(("router-01[3]", "router-02[4]", "router-05[3]"))
    hosts = int(fabric.get("nodes_per_leaf", 2)) * int(fabric.get("hcas_per_node", 1))
    digits = 3 if kind == "directors" else 2
    up = hosts + draw.choice((1, 1, 2))
    ends = (f"leaf-{1:0{digits}}[{up}]", f"leaf-{2:0{digits}}[{up}]", "n001/hca0[1]")
    return draw.choice(ends)


def fault(draw: Random, fabric: Document) -> Document:
    """One fault of any kind."""
    link = {"link": cable_of(draw, fabric)}
    times: Document = {"from_ns": draw.choice((0, 100, 2000))}
    times |= draw.choice(({}, {"until_ns": 4000}, {"until_ns": 2500, "every_ns": 9000}))
    forms: list[Document] = [
        {**link, "rate_factor": 0.25},
        {**link, "rate_factor": 0.5, **times},
        {**link, "lanes": [1, 4], **draw.choice(({}, times))},
        {**link, "down": True},
        {**link, "down": True, **times},
        {**link, "down": True, **times},
        {**link, "lost": draw.choice((0.01, 0.2)), **draw.choice(({}, times))},
        {**link, "corrected": {"probability": 0.1, "cost_ns": 300}},
        {"node": "n001", "slow_factor": 3.0},
        {"node": "n002", "noise": {"probability": 0.1, "mean_ns": 500}},
        {"switch": "leaf-01", "dst": "n002", "port": draw.choice((2, 5))},
        {"swapped": ["leaf-01[5]", "leaf-02[5]"]},
    ]
    return draw.choice(forms)


def congestion(draw: Random) -> Document:
    """One of the laws, tight enough to act on small traffic."""
    annex_a10 = {
        "threshold": draw.choice((8, 15)),
        "full_bytes": 20_000,
        "victim_mask": draw.choice(("hosts", "all", "none")),
        "slows": draw.choice(("queue_pair", "lane")),
        "timer_ns": 900,
        "cnp_interval_ns": draw.choice((0, 2000)),
        **draw.choice(({}, {"table": ["0:0", "3:7", "1:900"]})),
    }
    dcqcn = {"least_bytes": 4096, "most_bytes": 9000, "probability": 0.5, "cnp_interval_ns": 900}
    rtt = {"target_ns": draw.choice((300, 2000)), "probe_interval_ns": draw.choice((0, 500))}
    endpoint = {"queue_bytes": 9000, "hold_ns": 9000, "count_ns": 500}
    laws = {"annex_a10": annex_a10, "dcqcn": dcqcn, "rtt": rtt, "endpoint": endpoint}
    name = draw.choice(list(laws))
    return {name: draw.choice((laws[name], laws[name], {}))}


def transport(draw: Random) -> Document:
    """A reliable connection: acknowledgements often or seldom, timeouts soon."""
    made: Document = {"ack_every": draw.choice((1, 2, 256)), "timeout_exponent": 4}
    made |= {"retries": draw.choice((1, 7)), "acknowledge": True}
    return made | draw.choice(({}, {"out_of_order_ns": 20}))


def node_inside(draw: Random) -> Document:
    """Two GPUs, a PCIe switch and memory below each HCA."""

    def wire(a: str, b: str) -> Document:
        return {"a": a, "b": b, "bits_per_s": 192 * GBPS, "delay_ps": 90_000}

    names = {"gpu0": "gpu", "gpu1": "gpu", "pcie0": "pcie_switch", "ram": "memory"}
    inside: Document = {
        "vertices": [{"name": name, "kind": kind} for name, kind in names.items()],
        "links": [wire(end, "pcie0") for end in ("gpu0", "gpu1", "ram", "hca0")],
        "ranks_on": ["gpu0", "gpu1"],
        "rail": draw.choice(("nearest", "round_robin")),
    }
    if draw.random() < 0.5:
        inside |= {"gpudirect": False, "bounce": "ram", "bounce_chunk_bytes": 8192}
        inside["bounce_chunks"] = draw.choice((1, 2))
    return inside


def nv_inside() -> Document:
    """Two GPUs below two NvSwitches and a PCIe switch."""
    kinds = {"gpu0": "gpu", "gpu1": "gpu", "nvs0": "nv_switch", "nvs1": "nv_switch"}
    kinds["pcie"] = "pcie_switch"
    ends = [(f"gpu{g}", f"nvs{s}") for s in (0, 1) for g in (0, 1)]
    ends += [("gpu0", "pcie"), ("gpu1", "pcie"), ("hca0", "pcie")]
    rate = {"bits_per_s": 200 * GBPS, "delay_ps": 90_000}
    return {
        "vertices": [{"name": name, "kind": kind} for name, kind in kinds.items()],
        "links": [{"a": a, "b": b, **rate} for a, b in ends],
        "ranks_on": ["gpu0", "gpu1"],
    }


def in_network(draw: Random) -> Document:
    """The part of switches in collectives."""
    made: Document = {"reduction_ns": draw.choice((0, 400)), "payload_bytes": 256}
    made |= {"outstanding": draw.choice((1, 4)), "header_bytes": draw.choice((0, 12))}
    made |= {"task_ns": draw.choice((0, 20)), "result": draw.choice(("tree", "multicast"))}
    if draw.random() < 0.3:
        made["quota"] = {"trees_per_switch": 1, "operations_per_switch": draw.choice((3, 9))}
    if draw.random() < 0.6:
        lock = draw.choice(("port", "switch"))
        made["sat"] = {"threshold_bytes": 2000, "payload_bytes": 512, "lock": lock}
        made["sat"]["outstanding"] = draw.choice((2, 256))
    return made | draw.choice(({}, {"max_bytes": 5000}, {"interval_ns": 300}))


def tenants(draw: Random, make_step: Any) -> list[Document]:
    """A victim, and aggressors that repeat."""
    made = []
    for number in range(draw.choice((2, 2, 3))):
        nodes = draw.sample([f"n{n:03}" for n in range(1, 7)], draw.choice((2, 3, 4)))
        tenant: Document = {"name": f"t{number}", "work": [make_step(draw)]}
        tenant["placement"] = {"nodes": nodes, "tasks_per_node": draw.choice((1, 2))}
        tenant["service_level"] = number if draw.random() < 0.5 else 0
        if number:
            tenant |= {"role": "aggressor", "repeat": draw.random() < 0.7, "start_ns": 12.5}
        made.append(tenant)
    return made


def probes(draw: Random) -> Document:
    """Rows of flows, fewer ports, and load over time."""
    made: Document = {"flows": draw.choice((0, 10)), "top_ports": draw.choice((5, 100))}
    return made | draw.choice(({}, {"load_bin_ns": 100, "load_ports": 3}))


def of_congestion(draw: Random, _made: Document) -> Document:
    """A law, and traffic that congests."""
    return {"congestion_control": congestion(draw), "work": [pattern(draw), messages(draw)]}


def of_dct(draw: Random, _made: Document) -> Document:
    """Initiators that turn from target to target."""
    dct = {"initiators": draw.choice((1, 2, 8)), "reconnect_ns": draw.choice((0, 500))}
    kind = {"kind": "dct", "ack_every": draw.choice((1, 2, 256)), "dct": dct}
    return {"transport": kind, "work": [messages(draw), step(draw)]}


def of_switches(draw: Random, _made: Document) -> Document:
    """Switches that reduce and copy."""
    found = {"in_network": in_network(draw), "work": [switch_step(draw), step(draw)]}
    found["switch"] = {"model": draw.choice(("voq", "voq", "infinite")), "buffer_bytes": 9000}
    return found


def of_nv_switches(draw: Random, _made: Document) -> Document:
    """NvSwitches that reduce inside nodes."""
    name = draw.choice(("nvls", "collnet", "nvls_tree"))
    nodes = ["n001"] if name == "nvls" else ["n001", "n002", "n005"]
    wide = {"payload_bytes": 300, "outstanding": draw.choice((2, 7)), "reduction_ns": 50}
    model = {"reduction_ns": 400, "payload_bytes": 256, "sat": {"payload_bytes": 512}}
    work = {"benchmark": "allreduce", "algorithm": name, "size_bytes": 9000}
    work |= {"segment_bytes": 1000} if name == "nvls_tree" else {}
    found = {"node": nv_inside(), "in_network": {**model, "nvls": wide}, "work": [work]}
    return found | {"placement": {"nodes": nodes, "tasks_per_node": 2}}


def of_node(draw: Random, _made: Document) -> Document:
    """GPUs behind PCIe."""
    return {"node": node_inside(draw), "placement": {"tasks_per_node": draw.choice((1, 2))}}


def of_steady(draw: Random, _made: Document) -> Document:
    """Work of which part is skipped."""
    ring = {"benchmark": "allreduce", "algorithm": "ring", "size_bytes": 400_000}
    windows = {"benchmark": "bandwidth", "size_bytes": 900_000, "iterations": 2, "warmup": 1}
    steady = {"tolerance": draw.choice((0.01, 0.2)), "least_moves": draw.choice((16, 64))}
    return {"steady_state": steady, "work": draw.choice(([ring], [windows, step(draw)]))}


def of_faults(draw: Random, made: Document) -> Document:
    """Faults of any kind, and a transport that repeats soon."""
    n_faults = draw.choice((1, 1, 2, 3))
    found = {"faults": [fault(draw, made["fabric"]) for _ in range(n_faults)]}
    return found | {"transport": transport(draw)}


def of_flow(draw: Random, _made: Document) -> Document:
    """Messages as flows."""
    found: Document = {"fidelity": draw.choice(("flow", "flow", "flow", "auto"))}
    found["switch"] = {"forwarding": draw.choice(("cut_through", "store_and_forward"))}
    return found


PROFILES = {
    "base": lambda _draw, _made: {},
    "congestion": of_congestion,
    "dct": of_dct,
    "in_network": of_switches,
    "nv": of_nv_switches,
    "node": of_node,
    "steady": of_steady,
    "faults": of_faults,
    "flow": of_flow,
}


def scenario(number: int) -> Document:
    """The scenario of that number."""
    draw = Random(f"scenario {number}")  # noqa: S311
    profile = draw.choice(list(PROFILES))
    where = fabric(draw)
    if profile in ("nv", "node"):
        where = {**fat_tree(draw), "hcas_per_node": 1}
    made: Document = {
        "schema": "weft.scenario/1",
        "seed": draw.randint(1, 9),
        "fabric": where,
        "routing": routing(draw, where, draw.random() < 0.4),
        "host": host(draw),
        "work": [step(draw) for _ in range(draw.choice((1, 1, 2)))],
        "limits": {"max_events": MAX_EVENTS, "stall_ns": 1e6},
    }
    tight = profile not in ("nv", "node")
    chances = {"switch": 0.5, "probes": 0.3, "transport": 0.4, "lanes": 0.3, "packets": 0.2}
    drawn = {key for key, chance in chances.items() if draw.random() < chance}
    makers: Document = {"switch": switch, "probes": probes, "transport": transport, "lanes": lanes}
    for key in sorted(drawn & makers.keys()):
        if tight or key != "switch":
            made[key] = makers[key](draw)
    if where["generate"] == "dragonfly":
        made["lanes"] = {"count": draw.choice((3, 4, 6))}
    if "packets" in drawn:
        headers = draw.choice(("none", "infiniband"))
        made["packets"] = {"mtu_bytes": 2048, "headers": headers, "routed": draw.random() < 0.5}
    made |= PROFILES[profile](draw, made)
    if draw.random() < 0.12:
        made |= PROFILES[draw.choice(list(PROFILES))](draw, made)
    if draw.random() < 0.15 and profile not in ("nv", "node"):
        made["tenants"] = tenants(draw, switch_step if profile == "in_network" else step)
        del made["work"]
        made.pop("placement", None)
    if draw.random() < 0.1:
        made["elide"] = False
    return made
