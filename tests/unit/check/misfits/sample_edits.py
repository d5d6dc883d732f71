"""Copies of a run directory with edited samples, and fabrics with edited cables."""

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from weft.topology.fabric import Fabric

Record = dict[str, Any]


def edited(run_dir: Path, copy: Path, edit: Callable[[Record], Record | None]) -> Path:
    """A copy whose samples are those that `edit` returns; None leaves a sample out."""
    shutil.copytree(run_dir, copy)
    (path,) = (copy / "samples").glob("*.jsonl")
    records, n_kept = [], Counter[str]()
    for line in path.read_text().splitlines():
        record = json.loads(line)
        if record["record"] == "sample":
            record = edit(record)
            if record is None:
                continue
            n_kept[record["trial"]] += 1
        if record["record"] == "done":
            record["n_samples"] = n_kept[record["trial"]]
        records.append(record)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return copy


def is_survey(record: Record) -> bool:
    """Whether a sample is of the survey."""
    return "survey" in record["trial"]


def with_clock(host: str, factor: float) -> Callable[[Record], Record]:
    """What a host timed, `factor` times as long: as the kernel times it (pairs.c), a pair's first
    host times the latency, and a sender its bandwidth."""

    def edit(record: Record) -> Record:
        first, second = record["pair"][:2]
        metrics = record["metrics"]
        if "latency_us" in metrics and first == host:
            metrics["latency_us"] *= factor
        for name, sender in (("bandwidth_ab_mb_s", first), ("bandwidth_ba_mb_s", second)):
            if name in metrics and sender == host:
                metrics[name] /= factor
        return record

    return edit


def renamed(old: str, new: str) -> Callable[[Record], Record]:
    """A host by another name after the survey."""

    def edit(record: Record) -> Record:
        if not is_survey(record):
            ends = [new if end == old else end for end in record["pair"][:2]]
            record["pair"] = [*ends, *record["pair"][2:]]
        return record

    return edit


def without(host: str, metric: str = "") -> Callable[[Record], Record | None]:
    """An edit that leaves out the readings of a host; of a metric, where one is named."""

    def edit(record: Record) -> Record | None:
        of_host = host in record["pair"][:2]
        of_metric = not metric or any(name.startswith(metric) for name in record["metrics"])
        return None if of_host and of_metric else record

    return edit


def with_exchanged_cables(document: dict) -> Fabric:
    """The fabric with two up-links exchanged at their spines, as before a re-cabling."""
    links = [dict(link) for link in document["links"]]
    ups = [link for link in links if "spine" in link["a"] + link["b"]]
    one, other = ups[0], ups[-1]
    ends = ["a" if "spine" in link["a"] else "b" for link in (one, other)]
    one[ends[0]], other[ends[1]] = other[ends[1]], one[ends[0]]
    bare = {key: value for key, value in document.items() if key != "lfts"}
    return Fabric.from_document({**bare, "links": links})
