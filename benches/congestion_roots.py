"""Who hurts whom: does `weft fabric congestion` name the right root and the right job?

    congestion_roots.py [--cases N] [--healthy N] [--seed N]

Jobs on a twin of 64 nodes with OpenSM's minhop tables: none to two send to one of their hosts (an
incast of 64 KiB to 1 MiB), up to two repeat small collectives, and one is measured. Its ports'
counters before and after are what perfquery would print. Prints Markdown tables.
"""

import argparse
import json
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from weft.audit.case import AuditCase, Interval
from weft.audit.congestion import Congestion, congestion_of
from weft.bench.aggressor import nodes_of, parse_aggressor
from weft.bench.model import Launch, Trial
from weft.bench.twin.backend import TwinBackend, simulate
from weft.bench.twin.port_counters import PortCounters
from weft.catalog.load import platform
from weft.cli.fabric.audit import open_earlier
from weft.cli.fabric.files import open_subnet
from weft.topology.fabric import Fabric

HOT = ("fan_in:64K", "fan_in:1M", "put_incast:256K", "put_incast:1M")
CALM = ("allreduce:8", "broadcast:4K", "natural_ring_bandwidth:4K")
PS_A_SECOND = 1e12
IS_FULL = 0.5
"""An incast that fills no port of its way by half delays nobody: its receiver is slow."""


def drawn(rng: random.Random, n_hot: int) -> list[str]:
    """The aggressors of a case: incasts, then calm ones."""
    hot = [f"{rng.choice(HOT)}@{rng.randint(8, 20)}" for _ in range(n_hot)]
    calm = [f"{rng.choice(CALM)}@{rng.randint(4, 8)}" for _ in range(rng.randint(0, 2))]
    return hot + calm


def judged(
    twin: TwinBackend, rng: random.Random, asked: list[str], folder: Path
) -> tuple[AuditCase, Congestion, dict[str, tuple[str, ...]]]:
    """What the counters of a case say, and the hosts of its jobs."""
    nodes = tuple(sorted(rng.sample(twin.nodes, 6)))
    options = {"iterations": 40, "warmup": 0, "aggressors": asked, "routing": "minhop"}
    trial = Trial("t", "allreduce", (4096,), nodes, 1, options=options)
    document = twin.scenario(Launch(trial, 0, 0))
    outcome = simulate(document)
    nothing: dict[str, Any] = {
        key: np.zeros_like(np.asarray(column))
        if key.startswith("port_") and key != "port_name"
        else column
        for key, column in outcome.items()
    }
    files = {}
    for name, counted in (("before", nothing), ("after", outcome)):
        counters = PortCounters(twin.fabric_document)
        counters.add(counted)
        files[name] = folder / f"{name}.out"
        files[name].write_text(counters.text)
    fabric = folder / "fabric.json"
    fabric.write_text(json.dumps(Fabric.with_tables(document["fabric"]).document))
    subnet = open_subnet([str(fabric), str(files["after"])])
    earlier, has_cables = open_earlier(subnet, [str(files["before"])])
    seconds = max(outcome["tenant_end_ps"]) / PS_A_SECOND
    case = AuditCase(subnet, earlier, has_cables, Interval(seconds, "simulated"))
    others = nodes_of([parse_aggressor(one) for one in asked], trial, twin.nodes)
    jobs = {"job": nodes, **{f"a{n}": own for n, own in enumerate(others)}}
    return case, congestion_of(case, jobs), jobs


def ways_in(case: AuditCase, hosts: tuple[str, ...]) -> set[tuple[int, int]]:
    """The ports that messages to the first host of a job cross behind their first switch: all that
    an incast can fill."""
    ends = {case.subnet.name(one.node).split()[0]: one for one in case.subnet.endports}
    target = ends[hosts[0]]
    found = set()
    for host in hosts[1:]:
        hops, _, _ = case.subnet.trace(ends[host].node, ends[host].port, target.lid)
        found |= {egress for egress, _ in hops[1:]}
    return found


def main() -> int:
    """Draw, judge, print."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n", 1)[0])
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--healthy", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    twin = TwinBackend(platform("fat-tree"), 64)
    n_hot = n_root = n_job = n_other = n_innocent = n_accused = n_weak = 0
    for number in range(given.cases):
        rng = random.Random(f"{given.seed}/{number}")  # noqa: S311 - reproducible, not secret
        asked = drawn(rng, rng.randint(1, 2))
        hot = [f"a{n}" for n, text in enumerate(asked) if text.split("@")[0] in HOT]
        with tempfile.TemporaryDirectory() as folder:
            case, found, jobs = judged(twin, rng, asked, Path(folder))
        ways = {job: ways_in(case, jobs[job]) for job in hot}
        for job, ports in ways.items():
            if max((found.uses[key].sent for key in ports), default=0.0) < IS_FULL:
                n_weak += 1
                continue
            trees = [tree for tree in found.trees if tree.root in ports]
            named = [[one for one, _ in tree.aggressors] for tree in trees]
            n_hot += 1
            n_root += bool(trees)
            n_job += any(job in one for one in named)
            if not any(job in one for one in named):
                print(f"{number}: {asked} misses {job}", file=sys.stderr)
        n_other += sum(not any(tree.root in p for p in ways.values()) for tree in found.trees)
        # The largest part of what a root carries.
        firsts = {tree.aggressors[0][0] for tree in found.trees if tree.aggressors}
        n_innocent += bool(firsts - set(hot))
    for number in range(given.healthy):
        rng = random.Random(f"healthy/{given.seed}/{number}")  # noqa: S311
        with tempfile.TemporaryDirectory() as folder:
            _, found, _ = judged(twin, rng, drawn(rng, 0), Path(folder))
        n_accused += bool(found.trees or found.unexplained)
    heads = ("cases", "incasts", "root on its way", "and its job", "other roots", "innocent job")
    print(f"| {' | '.join(heads)} | weak incasts, not counted |\n|{'---|' * 7}")
    figures = (given.cases, n_hot, n_root, n_job, n_other, n_innocent, n_weak)
    print(f"| {' | '.join(map(str, figures))} |")
    print(f"\nHealthy: {n_accused} of {given.healthy} accused.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
