"""Fabric documents in short."""

from collections.abc import Iterable, Sequence
from typing import Any


def fabric_document(
    nodes: Sequence[str], switches: Iterable[str], links: Iterable[tuple[str, str]]
) -> dict[str, Any]:
    """Nodes of one HCA each, and cables of 200 Gb/s."""
    return {
        "schema": "weft.fabric/1",
        "name": "tree",
        "nodes": [{"name": node, "hcas": [f"{node}/hca0"]} for node in nodes],
        "switches": [{"name": name, "ports": 200, "level": 1} for name in switches],
        "links": [
            {"a": a, "b": b, "bits_per_s": 200_000_000_000, "delay_ps": 5000} for a, b in links
        ],
    }
