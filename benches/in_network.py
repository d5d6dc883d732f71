"""Published figures of switches that reduce, beside the twin's: a part of scripts/fidelity.py.

Hosts are those of the platform, and for the host's own figure also bare machines whose messages
take 0.7 us below one switch: the class of an EDR adapter, assumed, as nobody's table of bare EDR
hosts could be read. What an
aggregation node takes is what a multicast of results saved where two levels of switches reduce
(Bloch et al. 2017): one node's work.
"""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from weft.bench.model import Launch, Trial
from weft.bench.twin import TwinBackend, simulate
from weft.catalog.load import facts, platform, published_figures
from weft.catalog.nccl import nccl_constants
from weft.catalog.platform import HostRegime, Platform
from weft.catalog.published import Fact, PublishedFigure
from weft.topology.fabric_spec import Document, fabric_spec

FACTS = "fact-sharp-"
SMALL, LARGE = "8-b-allreduce-128-hosts-", "4096-b-allreduce-128-hosts-"
HOSTS = 128
BARE_LATENCY_NS = 700
"""Between two hosts below one switch. Assumed."""
BARE_OVERHEAD_NS = 150
"""Of it, each processor's part. Assumed."""
N_NV_SWITCHES = 4
"""Of an HGX H100 board: NVIDIA, DGX H100 architecture."""
NODE_DELAY_PS = 250_000
"""Of a link inside a node. Assumed."""
NVLS_REDUCTION_NS = 300
"""Of an NvSwitch. Assumed."""
NVLS_OUTSTANDING = 4096
"""Pieces of a GPU under way: 16 MiB. Assumed."""
TASKS = (1, 2, 4, 14, 28, 56)
TASK_NODES = 128


@dataclass(frozen=True, slots=True)
class Row:
    """A published figure beside what the twin gives with the hosts of its platform, and bare."""

    what: str
    published: float
    twin: float
    bare: float
    source: str


def fact(name: str) -> Fact:
    """A published figure of SHARP by the end of its id, `up-to` and the like cut off."""
    return next(one for one in facts() if one.id.startswith(FACTS + name))


def number(name: str) -> float:
    """The value of a published figure."""
    value = fact(name).value
    assert value is not None
    return value


def reduction_ns() -> float:
    """What a multicast of results saved: one aggregation node fewer of two on the way down."""
    saved = number("ud-multicast-result-distribution") / 100
    return round(saved * number(SMALL + "sharp-on") * 1e3)


def switches(scale: float = 1.0, **more: Any) -> dict[str, Any]:
    """Switch-IB 2 with its published payload, or other keys."""
    payload = number("resources-payload-per-outstanding-operation-switch-ib-2")
    return {"reduction_ns": scale * reduction_ns(), "payload_bytes": round(payload), **more}


def bare(of: Platform, scale: float = 1.0) -> Platform:
    """A platform whose hosts are bare machines of the EDR generation."""
    assert of.host is not None
    assert of.switch is not None
    assert of.links.host.delay is not None
    wires_ns = 2 * of.links.host.delay.value + of.switch.delay.value
    regime = HostRegime.model_validate(
        {
            "protocol": "eager",
            "send_overhead_ns": scale * BARE_OVERHEAD_NS,
            "recv_overhead_ns": scale * BARE_OVERHEAD_NS,
            "latency_ns": scale * (BARE_LATENCY_NS - 2 * BARE_OVERHEAD_NS - wires_ns),
            "class": "assumed",
            "source": "assumed: the class of an EDR adapter",
        }
    )
    adapter = of.host.adapter_latency.model_copy(update={"value": 0.0})
    host = of.host.model_copy(update={"regimes": (regime,), "adapter_latency": adapter})
    return of.model_copy(update={"host": host})


def latency_us(
    on: Platform,
    n_nodes: int,
    benchmark: str,
    size: int,
    *,
    tasks_per_node: int = 1,
    fabric: Document | None = None,
    **options: Any,
) -> float:
    """What a collective of all tasks of so many nodes takes, on a fabric of its own or not."""
    twin = TwinBackend(on, n_nodes, fabric=fabric)
    counts = {"iterations": 1, "warmup": 0, **options}
    trial = Trial("sharp", benchmark, (size,), tuple(twin.nodes), tasks_per_node, {}, {}, counts)
    (sample,) = twin.measure(Launch(trial, 0, 0))
    return float(sample.metrics["latency_us"])


def by_switches(
    on: Platform, n_nodes: int, benchmark: str, size: int, model: Mapping[str, Any], **more: Any
) -> float:
    """The same by `sharp`."""
    options = {"algorithm": "sharp", "in_network": dict(model)}
    return latency_us(on, n_nodes, benchmark, size, **options, **more)


def rows() -> Iterator[Row]:
    """Graham et al. 2016: 128 hosts."""
    edr = platform("generic-edr")
    hosts = (edr, bare(edr))
    for name, size in ((SMALL, 8), (LARGE, 4096)):
        one = fact(name + "sharp-on")
        times = [by_switches(on, HOSTS, "allreduce", size, switches()) for on in hosts]
        yield Row(one.what, number(name + "sharp-on"), times[0], times[1], one.source)
    for name, size in ((SMALL, 8), (LARGE, 4096)):
        one = fact(name + "without")
        algorithm = "recursive_doubling"
        times = [latency_us(on, HOSTS, "allreduce", size, algorithm=algorithm) for on in hosts]
        yield Row(one.what, number(name + "without"), times[0], times[1], one.source)


def anchor_lines() -> Iterator[str]:
    """The table of 128 hosts."""
    yield "### Switches that reduce: 128 hosts below Switch-IB 2"
    yield ""
    yield f"An aggregation node takes {reduction_ns():g} ns for an operation, up or down, and does"
    yield "one at a time: what a multicast of results saved (Bloch et al. 2017: 16 % of 2.83 us,"
    yield "one of three nodes' work). No other constant of switches is ours: payload (256 B) and"
    yield "operations under way (8) are NVIDIA's. Hosts are those of `generic-edr`, a virtual"
    yield "machine's; or bare, with messages of 0.7 us below one switch (assumed: an EDR adapter's"
    yield "class). The last row gates nothing: it is two to five times what these hosts take."
    yield ""
    yield "| figure | published us | generic-edr | error | bare hosts | error | source |"
    yield "|---|---:|---:|---:|---:|---:|---|"
    for row in rows():
        cells = [row.what, f"{row.published:g}"]
        for twin in (row.twin, row.bare):
            cells += [f"{twin:.2f}", f"{twin / row.published - 1:+.0%}"]
        yield f"| {' | '.join([*cells, row.source])} |"


def frontera_speed_ups(on: Platform, *, boards: bool) -> dict[str, tuple[float, float]]:
    """By benchmark, the published bound and the twin's speed-up at 7,861 nodes; with `boards` its
    directors have the inside that the catalogue takes them to have.
    """
    n_nodes = round(number("on-frontera-nodes"))
    fabric = fabric_spec(on, n_nodes, cabled=True) if boards else None
    model = switches(
        payload_bytes=round(number("resources-payload-per-outstanding-operation-quantum"))
    )
    found = {}
    for benchmark, size in (("allreduce", 8), ("barrier", 0)):
        hosts = latency_us(on, n_nodes, benchmark, size, fabric=fabric)
        reduced = by_switches(on, n_nodes, benchmark, size, model, fabric=fabric)
        found[benchmark] = (number(f"on-frontera-{benchmark}-improvement"), hosts / reduced)
    return found


def frontera_lines() -> Iterator[str]:
    """Frontera's bounds."""
    yield "### Switches that reduce: Frontera, 7,861 nodes"
    yield ""
    yield "Published is the best of all sizes and tasks a node, so none should be above it. A ratio"
    yield "of two times is as good as the slower: what makes hosts slow makes it large. A director"
    yield "is one switch, as in a twin of the platform, or line and spine boards, as the catalogue"
    yield "takes it to be: the tree then has two levels more."
    yield ""
    yield "| benchmark | directors | published, up to | platform's hosts | kept | bare | kept |"
    yield "|---|---|---:|---:|---|---:|---|"
    frontera = platform("frontera")
    for boards in (False, True):
        ups = [frontera_speed_ups(on, boards=boards) for on in (frontera, bare(frontera))]
        for benchmark, (bound, _) in ups[0].items():
            cells = [benchmark, "boards" if boards else "one switch", f"{bound:g}"]
            for up in ups:
                kept = up[benchmark][1] <= bound
                cells += [f"{up[benchmark][1]:.1f}", "yes" if kept else "no"]
            yield f"| {' | '.join(cells)} |"


def task_speed_ups(on: Platform, task_ns: float = 0) -> dict[int, float]:
    """By tasks a node, what switches gain for 8 B."""
    model = switches(task_ns=task_ns)
    return {
        tasks: latency_us(on, TASK_NODES, "allreduce", 8, tasks_per_node=tasks)
        / by_switches(on, TASK_NODES, "allreduce", 8, model, tasks_per_node=tasks)
        for tasks in TASKS
    }


def claim_lines() -> Iterator[str]:
    """Ordinal claims with assumed constants at half and twice."""
    edr = platform("generic-edr")
    yield "### Switches that reduce: what survives half and twice"
    yield ""
    yield f"{HOSTS} hosts as above; speed-up is the hosts' recursive doubling over `sharp`."
    yield ""
    yield "| reduction | hosts | 8 B speed-up | 4 KiB speed-up | multicast results save at 8 B |"
    yield "|---:|---|---:|---:|---:|"
    hosts = {"generic-edr": edr, "bare": bare(edr), "bare x 0.5": bare(edr, 0.5)}
    hosts["bare x 2"] = bare(edr, 2)
    for scale in (0.5, 1, 2):
        for name, on in hosts.items():
            times = []
            for size in (8, 4096):
                slow = latency_us(on, HOSTS, "allreduce", size, algorithm="recursive_doubling")
                times.append((slow, by_switches(on, HOSTS, "allreduce", size, switches(scale))))
            ups = [slow / fast for slow, fast in times]
            model = switches(scale, result="multicast")
            saved = 1 - by_switches(on, HOSTS, "allreduce", 8, model) / times[0][1]
            yield f"| x {scale:g} | {name} | {ups[0]:.2f} | {ups[1]:.2f} | {saved:.0%} |"
    yield ""
    yield f"By tasks a node ({TASK_NODES} nodes of Frontera, 8 B; `task_ns` 0, 100 and 200):"
    yield ""
    yield f"| task_ns | {' | '.join(str(tasks) for tasks in TASKS)} |"
    yield f"|---:|{'---:|' * len(TASKS)}"
    for task_ns in (0, 100, 200):
        ups_of = task_speed_ups(platform("frontera"), task_ns)
        yield f"| {task_ns} | {' | '.join(f'{ups_of[tasks]:.2f}' for tasks in TASKS)} |"


def h100_node(share: float) -> dict[str, Any]:
    """Eight GPUs on four NvSwitches, their links at a share of what NCCL counts on."""
    gpus = platform("azure-ndv5").gpus
    assert gpus is not None
    assert gpus.nvlink is not None
    link_bits_per_s = round(share * gpus.nvlink.value * 8e9 / N_NV_SWITCHES)
    pcie_bits_per_s = round(gpus.pcie.value * 8e9)
    numbers = range(round(gpus.per_node.value))
    switches_of = [f"nvs{switch}" for switch in range(N_NV_SWITCHES)]
    vertices = [{"name": "root", "kind": "root_complex"}]
    vertices += [{"name": name, "kind": "nv_switch"} for name in switches_of]
    vertices += [{"name": f"gpu{gpu}", "kind": "gpu"} for gpu in numbers]
    pairs = [("root", f"hca{gpu}") for gpu in numbers] + [("root", f"gpu{gpu}") for gpu in numbers]
    links = [
        {"a": a, "b": b, "bits_per_s": pcie_bits_per_s, "delay_ps": NODE_DELAY_PS} for a, b in pairs
    ]
    links += [
        {"a": f"gpu{gpu}", "b": name, "bits_per_s": link_bits_per_s, "delay_ps": NODE_DELAY_PS}
        for gpu in numbers
        for name in switches_of
    ]
    return {"vertices": vertices, "links": links, "ranks_on": [f"gpu{gpu}" for gpu in numbers]}


def slices_busbw_gb_s(
    algorithm: str, share: float, size_bytes: int = 256 << 20, n_nodes: int = 1
) -> float:
    """Bus bandwidth of an allreduce of nodes of eight GPUs, whose NvSwitches reduce."""
    node = h100_node(share)
    n_gpus = len(node["ranks_on"])
    n_hosts = max(2, n_nodes)
    fabric = {
        **{"generate": "fat_tree", "levels": 2, "nodes": n_hosts, "nodes_per_leaf": n_hosts},
        **{"host_bits_per_s": 400_000_000_000, "switch_bits_per_s": 400_000_000_000, "spines": 1},
        **{"host_delay_ps": 15_000, "switch_delay_ps": 50_000, "hcas_per_node": n_gpus},
    }
    document = {
        "schema": "weft.scenario/1",
        "fabric": fabric,
        "packets": {"headers": "none"},
        "host": {"regimes": [{}]},
        "node": node,
        "placement": {
            "nodes": [f"n{number:03d}" for number in range(1, n_nodes + 1)],
            "tasks_per_node": n_gpus,
        },
        "in_network": {
            **{"reduction_ns": NVLS_REDUCTION_NS, "payload_bytes": 256},
            "sat": {"payload_bytes": 4096},
            "nvls": {
                **{"payload_bytes": 4096, "reduction_ns": NVLS_REDUCTION_NS},
                "outstanding": NVLS_OUTSTANDING,
            },
        },
        "work": [{"benchmark": "allreduce", "algorithm": algorithm, "size_bytes": size_bytes}],
    }
    seconds = float(simulate(document)["duration_ps"][0]) * 1e-12
    n_ranks = n_nodes * n_gpus
    return size_bytes / seconds * 2 * (n_ranks - 1) / n_ranks / 1e9


def nvls_shares() -> tuple[float, float]:
    """What NCCL counts on: all of a link, and what NVLS makes of it on this architecture."""
    return 1.0, nccl_constants().nvls_efficiency["hopper"]


def ndv5_figure(name: str) -> PublishedFigure:
    """A published bus bandwidth of nodes of eight H100."""
    figures = published_figures()["azure-ndv5"]
    return next(figure for figure in figures if figure.id == name)


NVLS, NVLS_TREE = "af-t1-nvls", "af-t2-32"
"""One node by NVLS, four by NVLSTree."""
TREE_NODES = 4


def slices_lines() -> Iterator[str]:
    """NVLS in one node, NVLSTree and CollNet in four."""
    whole, share = nvls_shares()
    one, four = ndv5_figure(NVLS), ndv5_figure(NVLS_TREE)
    yield "### NvSwitches that reduce: nodes of eight H100"
    yield ""
    yield "GPUs' links at the 370.8 GB/s that NCCL counts on, or at what it expects NVLS to make of"
    yield f"that on this architecture (x {share:g}); 48 GB/s between a GPU and its adapter, NCCL's"
    yield "count of PCIe. 256 MiB in one node, 64 MiB in four, 16 G published; delays are assumed"
    yield "and hardly show at these sizes. CollNet's figure does not say of how many nodes"
    yield "(Azure/ai-infrastructure-on-azure a01b073) and gates nothing."
    yield ""
    yield "| algorithm | nodes | links | published GB/s | twin | error | source |"
    yield "|---|---:|---:|---:|---:|---:|---|"
    rows = [("nvls", 1, one.value, one.source, of) for of in (whole, share)]
    rows.append(("nvls_tree", TREE_NODES, four.value, four.source, share))
    rows.append(("collnet", TREE_NODES, 450.0, "Azure's checks of H100 with SHARP", share))
    for algorithm, n_nodes, published, source, of in rows:
        size = (256 if n_nodes == 1 else 64) << 20
        twin = slices_busbw_gb_s(algorithm, of, size, n_nodes)
        cells = [algorithm, str(n_nodes), f"x {of:g}", f"{published:g}", f"{twin:.1f}"]
        yield f"| {' | '.join([*cells, f'{twin / published - 1:+.1%}', source])} |"


def lines() -> Iterator[str]:
    """All tables."""
    yield from anchor_lines()
    yield ""
    yield from frontera_lines()
    yield ""
    yield from claim_lines()
    yield ""
    yield from slices_lines()


if __name__ == "__main__":
    sys.stdout.write("\n".join(lines()) + "\n")
