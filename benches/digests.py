"""Digests of what the engine prints, to compare two builds of it byte by byte.

`python benches/digests.py --out before.txt` runs every named scenario and 2,000 random ones and
writes a line each: the SHA-256 of its outcome, what it says on standard error and its exit code.
`--against before.txt` compares and ends with 1 where a line differs. `--short` leaves out what
takes longer than seconds.
"""

import argparse
import concurrent.futures
import hashlib
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benches.workloads import Document

from benches import random_scenarios, workloads
from weft.bench.twin.congestion_control import LAWS

ROOT = Path(__file__).resolve().parent.parent
WEFT_SIM = ROOT / "target" / "release" / "weft-sim"
RANDOM = "random "


def long_scenarios() -> dict[str, Document]:
    """Whole workloads, and 8,192 hosts."""
    made = {}
    for adaptive in (False, True):
        how = "adaptive" if adaptive else "static"
        for name in ("W1a", "W1b", "W1r", "8192"):
            made[f"{name}, {how}"] = workloads.w1(name, adaptive=adaptive)
        form = "window 16, shuffled"
        made[f"W2 {form}, {how}"] = workloads.w2(form, adaptive=adaptive)
        made[f"W4 lasting, {how}"] = workloads.w4(form="lasting", adaptive=adaptive)
    made["W1c, static"] = workloads.w1("W1c", adaptive=False)
    made["W3: an allreduce of 8 B, 8,008 hosts"] = workloads.sharp()
    return made


def controlled(law: str, *, adaptive: bool) -> Document:
    """The incast W4 under a law of congestion control."""
    return {**workloads.w4(adaptive=adaptive, form="as is"), "congestion_control": {law: {}}}


def named_scenarios() -> dict[str, Document]:
    """Scenarios of seconds: smaller cousins of the workloads, every law, flows, lasting faults."""
    made = {}
    for adaptive in (False, True):
        how = "adaptive" if adaptive else "static"
        for form in ("as is", "outside"):
            made[f"W4 {form}, {how}"] = workloads.w4(form=form, adaptive=adaptive)
        for form in workloads.W2_FORMS:
            made[f"W2 {form}, 88 hosts, {how}"] = workloads.w2(form, adaptive=adaptive, n_hosts=88)
        for law in LAWS:
            made[f"W4 under {law}, {how}"] = controlled(law, adaptive=adaptive)
        flows = workloads.w2("window 16, shuffled", adaptive=adaptive, n_hosts=88)
        made[f"W2 as flows, {how}"] = {**flows, "fidelity": "flow"}
        made[f"W1r as flows, {how}"] = {
            **workloads.w1("W1r", adaptive=adaptive),
            "fidelity": "flow",
        }
    sharp = workloads.sharp(440)
    made["sharp, 440 hosts"] = sharp
    stream = {"payload_bytes": 1024, "threshold_bytes": 4096}
    streamed = [{**sharp["work"][0], "size_bytes": 200_000}]
    network = {**sharp["in_network"], "sat": stream}
    made["sharp streams, 440 hosts"] = {**sharp, "work": streamed, "in_network": network}
    triples = workloads.random_permutation(128, 300_000, 1)
    step = workloads.messages(triples)
    lossy = workloads.scenario(workloads.deep_tree(8), step, adaptive=True)
    link = {"link": "leaf-01[5]"}
    faults = [
        {**link, "down": True, "from_ns": 4000, "until_ns": 9000, "every_ns": 20_000},
        {"link": "leaf-02[6]", "lost": 0.01},
        {"link": "leaf-03[6]", "corrected": {"probability": 0.1, "cost_ns": 100}},
        {"link": "leaf-04[6]", "rate_factor": 0.5, "from_ns": 5000},
    ]
    soon = {"timeout_exponent": 4}
    made["losses and flaps, adaptive"] = {**lossy, "faults": faults, "transport": soon}
    dct = {"kind": "dct", "dct": {"initiators": 2, "reconnect_ns": 1000}}
    alltoall = [{"benchmark": "alltoall", "algorithm": "linear", "size_bytes": 8192, "window": 8}]
    made["alltoall over dct"] = {**lossy, "work": alltoall, "transport": dct}
    return made


def digest(engine: Path, scenario: Document) -> tuple[str, str]:
    """How a run ended, and the digest of all it printed."""
    text = json.dumps(scenario, sort_keys=True).encode()
    argv = [str(engine), "--quiet", "--threads", "1", "-"]
    done = subprocess.run(argv, input=text, capture_output=True, check=False)
    whole = b"%d\n%s\n%s" % (done.returncode, done.stdout, done.stderr)
    status = done.stdout[:40].partition(b'"status":"')[2].partition(b'"')[0].decode()
    return status or f"exit {done.returncode}", hashlib.sha256(whole).hexdigest()[:32]


def main() -> int:
    """Write the digests, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", type=Path, default=WEFT_SIM)
    parser.add_argument("--random", type=int, default=2000, help="how many random scenarios")
    parser.add_argument("--short", action="store_true", help="leave out the long ones")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--against", type=Path)
    given = parser.parse_args()
    scenarios = named_scenarios() | ({} if given.short else long_scenarios())
    for number in range(given.random):
        scenarios[f"{RANDOM}{number}"] = random_scenarios.scenario(number)
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        found = list(pool.map(lambda one: digest(given.engine, one), scenarios.values()))
    lines = {name: code for name, (_, code) in zip(scenarios, found, strict=True)}
    print(dict(Counter(status for status, _ in found).most_common()))
    if given.out:
        given.out.write_text("".join(f"{code}  {name}\n" for name, code in lines.items()))
    if not given.against:
        return 0
    rows = (line.split("  ", 1) for line in given.against.read_text().splitlines())
    before = {name: code for code, name in rows}
    differing = [name for name, code in lines.items() if before.get(name) != code]
    print(f"{len(lines)} scenarios, {len(differing)} differ: {differing[:20]}")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
