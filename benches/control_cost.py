"""The cost of congestion control for a simulation, in instructions, which no neighbour disturbs.

    control_cost.py [--only NAME...]

Short cousins of W1c, W1r, W2 and W4 under adaptive routing, as two tenants on two lanes, with
counters of all ports and load over time, without congestion control and with each law: instructions
(callgrind) less those of the set-up, for each packet hop and in all.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benches.congestion import LAWS
from benches.engine import instructions_of, run_once
from benches.workloads import Document, Triples

from benches import workloads


def of_messages(triples: Triples) -> list[list[Document]]:
    """Every other message for each of two tenants."""
    return [workloads.messages(triples[first::2]) for first in (0, 1)]


def cousins() -> dict[str, tuple[Document, list[list[Document]]]]:
    """Fabric, and the work of each tenant."""
    tree = workloads.deep_tree(8)
    exchange = workloads.w2("window 16, shuffled", adaptive=True, n_hosts=88)["work"][0]
    return {
        "W1c, 128 hosts, 2 MB": (tree, of_messages(workloads.half_shift(128, 2_000_000))),
        "W1r, 128 hosts, 2 MB": (
            tree,
            of_messages(workloads.random_permutation(128, 2_000_000, 1)),
        ),
        "W2 window 16, shuffled, 88 hosts, 32 KiB": (
            workloads.tapered_tree(88),
            [[{**exchange, "size_bytes": 32768}]] * 2,
        ),
        "W4, 2 MB": (tree, of_messages(workloads.incast(0, 2_000_000))),
    }


def scenario(fabric: Document, works: list[list[Document]], law: str | None) -> Document:
    """Two tenants on two lanes, under a law or none."""
    made = workloads.scenario(fabric, [], adaptive=True)
    del made["work"]
    made["tenants"] = [
        {"name": f"level {level}", "service_level": level, "work": work}
        for level, work in enumerate(works)
    ]
    made |= {"lanes": {"count": 2}, "probes": {"load_bin_ns": 1000}}
    return made if law is None else {**made, "congestion_control": {law: {}}}


def counted(document: Document, scratch: Path) -> tuple[int, int]:
    """Instructions beyond the set-up, and packet hops."""
    path, out = scratch / "case.json", scratch / "case.out"
    path.write_text(json.dumps({**document, "limits": {"max_events": 1}}))
    before = instructions_of(path, scratch)
    path.write_text(json.dumps(document))
    run_once(path, out)
    outcome = json.loads(out.read_bytes())
    assert outcome["status"] == "complete", outcome["message"]
    return instructions_of(path, scratch) - before, outcome["hops"]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=[])
    given = parser.parse_args()
    print("M hops, instructions a hop, the same to none, all instructions to none:\n")
    print(f"| workload | none | {' | '.join(LAWS)} |")
    print(f"|---|---|{'---|' * len(LAWS)}")
    with tempfile.TemporaryDirectory() as scratch:
        for title, (fabric, works) in cousins().items():
            if given.only and not any(part in title for part in given.only):
                continue
            all_0, hops_0 = counted(scenario(fabric, works, None), Path(scratch))
            cells = [f"{hops_0 / 1e6:.2f}, {all_0 / hops_0:.0f}"]
            for law in LAWS:
                found, hops = counted(scenario(fabric, works, law), Path(scratch))
                a_hop = found / hops
                to_none = f"{a_hop * hops_0 / all_0:.2f}, {found / all_0:.2f}"
                cells.append(f"{hops / 1e6:.2f}, {a_hop:.0f}, {to_none}")
            print(f"| {title} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
