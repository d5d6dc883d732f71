"""The engine says the same however it is built and on however many threads."""

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
from tests.needs import absent

from weft import _engine

ROOT = Path(__file__).resolve().parents[2]
GBPS = 1_000_000_000


def newest_source() -> float:
    """When what the program is made of last changed; what only tests are made of does not count."""
    crates = [
        ROOT / "crates" / name / "src" for name in ("weft-fabric", "weft-traffic", "weft-sim")
    ]
    files = (file for crate in crates for file in crate.rglob("*.rs"))
    return max(file.stat().st_mtime for file in files if not file.stem.endswith("_tests"))


def fresh(built: Path, by: str) -> Path:
    if not built.exists():
        absent(f"{built.name} is missing ({by} builds it)")
    if built.stat().st_mtime < newest_source():
        absent(f"{built.name} is older than its sources ({by} builds it)")
    return built


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


def printed(threads: int, scenarios: list[Path]) -> list[str]:
    """What the debug build prints."""
    program = fresh(ROOT / "target" / "debug" / "weft-sim", by="cargo test")
    argv = [str(program), "--quiet", "--threads", str(threads), *map(str, scenarios)]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.splitlines()


TABLES = {"rows": "", "ports": "", "tenants": "tenant_", "flows": "flow_", "load": "load_"}
TABLES |= {"steady": "steady_", "offloads": "offload_"}
RENAMED = {
    ("rows", "left_out"): "rows_left_out",
    ("flows", "left_out"): "flows_left_out",
    ("tenants", "tenant_name"): "tenant_name",
}


def columns(line: str) -> dict[str, Any]:
    """A printed outcome under the names that the module gives its columns."""
    found: dict[str, Any] = {}
    for key, value in json.loads(line).items():
        if key not in TABLES:
            found[key] = value
            continue
        for name, column in value.items():
            found[RENAMED.get((key, name), TABLES[key] + name)] = column
    return found


def test_debug_and_release_one_thread_and_two_give_the_same_bytes(tmp_path: Path) -> None:
    scenarios = []
    for seed, model in ((1, "voq"), (2, "input_fifo"), (3, "infinite")):
        path = tmp_path / f"{model}.json"
        path.write_text(json.dumps(contended(seed, model)))
        scenarios.append(path)
    fresh(Path(_engine.__file__ or ""), by="make setup")
    debug = printed(1, scenarios)
    assert printed(2, scenarios) == debug
    expected = [columns(line) for line in debug]
    assert len({outcome["trace_hash"] for outcome in expected}) == len(scenarios)
    assert all(outcome["status"] == "complete" for outcome in expected)
    for threads in (1, 2):
        released = _engine.simulate([path.read_text() for path in scenarios], threads)
        for one, other in zip(expected, released, strict=True):
            assert {name: np.asarray(column).tolist() for name, column in other.items()} == one
