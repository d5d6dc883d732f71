"""Rounds of pairs as scenarios of their own, so that they are simulated on all cores at once.

Rounds meet at an ideal barrier, and where nothing is left to chance none remembers the one before:
apart they take the same time, to the picosecond (tests/unit/bench/twin/test_twin_pairs.py).
"""

import os
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from weft.topology.fabric_spec import Document

ROW_COLUMNS = ("step", "round", "pair", "duration_ps")
FEWEST_PAIRS = 256
"""Of a part. Below it building the fabric again costs more than another core gains."""
PARTS_A_CORE = 2
"""So that a core which is done early has something left to do."""


def apart(document: Document, n_cores: int | None = None) -> list[Document]:
    """The scenario of pairs cut into as many of the rounds as cores can use; itself where few."""
    rounds = document["work"][0]["rounds"]
    cores = n_cores if n_cores is not None else len(os.sched_getaffinity(0))
    n_pairs = sum(len(pairs) for pairs in rounds)
    n_parts = min(len(rounds), PARTS_A_CORE * cores, n_pairs // FEWEST_PAIRS)
    if cores < 2 or n_parts < 2:
        return [document]
    ends = [len(rounds) * part // n_parts for part in range(n_parts + 1)]
    return [_only(document, first, end) for first, end in pairwise(ends)]


def _only(document: Document, first: int, end: int) -> Document:
    work = [{**step, "rounds": step["rounds"][first:end]} for step in document["work"]]
    return {**document, "work": work}


def joined(parts: Sequence[Document], outcomes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The rows of all parts, rounds numbered as in the whole."""
    columns: dict[str, list[Any]] = {name: [] for name in ROW_COLUMNS}
    first = 0
    for part, outcome in zip(parts, outcomes, strict=True):
        for name in ROW_COLUMNS:
            values = np.asarray(outcome[name], dtype=np.uint64)
            columns[name].append(values + np.uint64(first) if name == "round" else values)
        first += len(part["work"][0]["rounds"])
    whole: dict[str, Any] = {name: np.concatenate(values) for name, values in columns.items()}
    flows = any(outcome["fidelity"] == "flow" for outcome in outcomes)
    notes = dict.fromkeys(note for outcome in outcomes for note in outcome["notes"])
    return whole | {"fidelity": "flow" if flows else "packet", "notes": list(notes)}
