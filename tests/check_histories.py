"""Directories of checks over simulated weeks: readings of a twin with noise and planted faults.

A base check is measured by the twin once. Each night repeats its readings with noise of their own,
and with what is planted: the truth that a history must find.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from weft.bench.model import Sample
from weft.cli import run as weft
from weft.study.run.store import RunStore, StudyRun, read_run

DAY_S = 86_400.0
FIRST_S = 1_793_577_600.0
"""Monday 2026-11-02, 00:00 UTC."""

Factor = Callable[[str, str, str], float]
"""By metric and both ends of a pair how many times slower it is."""


@dataclass(frozen=True)
class Night:
    """What holds in one night: `slower` for readings, `base` the measured check to repeat,
    `settings` to record beside the base's."""

    base: StudyRun
    slower: Factor = lambda metric, a, b: 1.0
    settings: Mapping[str, Any] = field(default_factory=dict)


def measured_check(where: Path, *options: str, nodes: int = 16) -> StudyRun:
    """A check of a twin of a fat-tree, as the program measures it."""
    argv = ["check", "--twin", "fat-tree", "--nodes", str(nodes), "--dir", str(where)]
    assert weft([*argv, "--no-report", *options]) in (0, 1)
    return read_run(where)


def night_run(night: Night, number: int, rng: np.random.Generator, noise: float = 0.01) -> StudyRun:
    """The base with the noise and the faults of one night: half of the noise is of readings, the
    other half of nodes for the night."""
    base = night.base
    nodes = sorted({end for s in base.samples if s.pair for end in (s.pair.a, s.pair.b)})
    busy = dict(zip(nodes, rng.normal(0, noise / 2, len(nodes)), strict=True))
    samples = []
    for sample in base.samples:
        if sample.pair is None:
            samples.append(sample)
            continue
        a, b = sample.pair.a, sample.pair.b
        metrics = {}
        for metric, value in sample.metrics.items():
            slower = night.slower(metric, a, b) * np.exp(
                rng.normal(0, noise) + max(busy[a], busy[b])
            )
            metrics[metric] = value * slower if metric.startswith("latency") else value / slower
        samples.append(dataclasses.replace(sample, metrics=metrics))
    started = FIRST_S + number * DAY_S
    meta = dict(base.meta) | {"started_unix_s": started, "seed": number}
    meta["host"] = {**meta.get("host", {}), **night.settings}
    shifted = started - float(base.meta["started_unix_s"])
    samples = [dataclasses.replace(s, started_unix_s=s.started_unix_s + shifted) for s in samples]
    return dataclasses.replace(base, samples=tuple(samples), meta=meta)


def write_check(where: Path, run: StudyRun) -> Path:
    """A run directory of a run in memory."""
    of_launch: dict[tuple[str, int], list[Sample]] = {}
    for sample in run.samples:
        of_launch.setdefault((sample.trial, sample.repeat), []).append(sample)
    with RunStore.create(where, {k: v for k, v in run.meta.items() if k != "schema"}) as store:
        store.set_plan(run.launches)
        if run.fabric_document is not None:
            store.set_fabric(run.fabric_document)
        for launch in run.launches:
            for sample in of_launch.get(launch.key, []):
                store.append(sample)
            store.done(launch, n_samples=len(of_launch.get(launch.key, [])), seconds=1.0)
    return where


def write_nights(
    where: Path, nights: Sequence[Night], *, seed: int = 1, noise: float = 0.01
) -> list[Path]:
    """A run directory a night, 'check-000' first."""
    rng = np.random.default_rng(seed)
    return [
        write_check(where / f"check-{i:03d}", night_run(night, i, rng, noise))
        for i, night in enumerate(nights)
    ]


def slow_node(node: str, factor: float) -> Factor:
    """All readings of a node."""
    return lambda metric, a, b: factor if node in (a, b) else 1.0


def slow_pair(one: str, other: str, factor: float) -> Factor:
    """All readings of one pair."""
    return lambda metric, a, b: factor if {one, other} == {a, b} else 1.0
