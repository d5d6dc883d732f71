"""The engine says the same however it is built and on however many threads."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILDS = ("debug", "release")
GBPS = 1_000_000_000


def newest_source() -> float:
    """When what the program is made of last changed; what only tests are made of does not count."""
    crates = [
        ROOT / "crates" / name / "src" for name in ("weft-fabric", "weft-traffic", "weft-sim")
    ]
    return max(file.stat().st_mtime for crate in crates for file in crate.rglob("*.rs"))


def program(build: str) -> Path:
    path = ROOT / "target" / build / "weft-sim"
    if not path.exists():
        pytest.skip(f"the {build} build of weft-sim is missing (make test builds both)")
    if path.stat().st_mtime < newest_source():
        pytest.skip(f"the {build} build of weft-sim is older than its sources")
    return path


def contended(seed: int, model: str) -> dict[str, Any]:
    """Small buffers, mixed rates, jitter and noise: what would show a difference if anything."""
    return {
        "schema": "weft.scenario/1",
        "seed": seed,
        "fabric": {
            "generate": "fat_tree",
            "levels": 2,
            "nodes": 12,
            "nodes_per_leaf": 4,
            "spines": 2,
            "host_bits_per_s": 54_545_000_000,
            "switch_bits_per_s": 97 * GBPS,
            "host_delay_ps": 20_000,
            "switch_delay_ps": 20_000,
        },
        "switch": {"model": model, "buffer_bytes": 9000},
        "host": {
            "regimes": [
                {"max_bytes": 1000, "send_overhead_ns": 100, "gap_ns_per_byte": 0.3},
                {"protocol": "rendezvous", "recv_ns_per_byte": 0.01, "latency_ns": 90},
            ],
            "start_jitter_ns": 700,
            "noise": {"probability": 0.1, "mean_ns": 900},
        },
        "work": [
            {"benchmark": "alltoall", "size_bytes": 20_000, "iterations": 3},
            {"benchmark": "allreduce", "size_bytes": 30_001, "algorithm": "ring"},
        ],
    }


def outcomes(build: str, threads: int, scenarios: list[Path]) -> list[str]:
    argv = [str(program(build)), "--quiet", "--threads", str(threads), *map(str, scenarios)]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.splitlines()


def test_debug_and_release_one_thread_and_two_give_the_same_bytes(tmp_path: Path) -> None:
    scenarios = []
    for seed, model in ((1, "voq"), (2, "input_fifo"), (3, "infinite")):
        path = tmp_path / f"{model}.json"
        path.write_text(json.dumps(contended(seed, model)))
        scenarios.append(path)
    runs = {
        (build, threads): outcomes(build, threads, scenarios)
        for build in BUILDS
        for threads in (1, 2)
    }
    first = runs[("debug", 1)]
    assert len({json.loads(line)["trace_hash"] for line in first}) == len(scenarios)
    assert all(json.loads(line)["status"] == "complete" for line in first)
    assert all(lines == first for lines in runs.values())
