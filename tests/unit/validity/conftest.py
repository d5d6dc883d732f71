"""Samples of one launch of pairs with the evidence a case is about."""

from collections.abc import Callable
from typing import Any

import pytest

from weft.bench.model import Pair, Sample
from weft.core.finding import Finding
from weft.validity.validity import Validity, findings

Launch = Callable[..., list[Sample]]

MB = 10**6


def launch(**evidence: Any) -> list[Sample]:
    """Two hosts, 20 messages of 1 MB between them, a round trip of 4 us; all of it on the fabric
    unless `evidence` says otherwise. A value of None leaves the key out."""
    sound = {
        "mpi_library": "MPICH Version: 5.0.2",
        "mpi_selected": ["ch4:ucx"],
        "hosts": 2,
        "machines": 2,
        "device_bytes": {"eth0": 3000, "mlx5_0:1": 90 * MB},
        "carried_bytes": {"fabric": 90 * MB, "elsewhere": 3000},
        "fast_devices": [infiniband()],
        "clock": {"resolution_ns": 1, "cost_ns": 22, "common": True},
    }
    whole = {key: value for key, value in (sound | evidence).items() if value is not None}
    pair = Pair("n1", "n2", 0, 1)
    common: dict[str, Any] = {"trial": "t1", "repeat": 1, "benchmark": "pairs", "pair": pair}
    small = {"latency_us": 2.0}
    large = {"bandwidth_ab_mb_s": 12000.0, "bandwidth_ba_mb_s": 12000.0}
    return [
        Sample(size_bytes=8, metrics=small, iterations=100, started_unix_s=0.0, evidence=whole,
               **common),
        Sample(size_bytes=MB, metrics=large, iterations=20, started_unix_s=0.0, **common),
    ]  # fmt: skip


def infiniband(name: str = "mlx5_0:1", *states: str, n_bytes: int = 90 * MB) -> dict[str, Any]:
    return {
        "device": name,
        "link_layer": "InfiniBand",
        "hosts": 2,
        "states": list(states or ("ACTIVE",)),
        "bytes": n_bytes,
    }


def of(validity: Validity, name: str) -> Finding | None:
    """The warning of that name, or None."""
    found = [one for one in validity.warnings if one.facts.validity == name]
    assert len(found) <= 1
    return found[0] if found else None


@pytest.fixture
def judged() -> Callable[..., Validity]:
    """What validity says of a launch with this evidence."""
    return lambda **evidence: findings(launch(**evidence))
