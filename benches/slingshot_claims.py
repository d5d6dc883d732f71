"""What the study slingshot-plugin claims, at half and at twice each figure that it rests on."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from unittest.mock import patch

from pydantic import ValidationError

from weft.bench.model import Launch, Trial
from weft.bench.twin.backend import TwinBackend, simulate
from weft.catalog.libraries.training_model import SyntheticBenchmarks, synthetic_benchmarks
from weft.catalog.load import benchmark, platform
from weft.catalog.machine.platform import Platform, figures
from weft.catalog.machine.practice import PracticeFigure, practice_figures
from weft.catalog.machine.scaling import UNSURE, scaled, unsure_figures

ARMS = ("sockets", "ofi", "ofi-gpudirect")
MIB = 1 << 20
BUFFER = 64 * MIB
NODES = (1, 2, 4)
"""Of the runs with figures of half and twice their value."""
FACTORS = (0.5, 2.0)


def measured(
    machine: Platform, name: str, size: int, shape: tuple[int, int], arm: str
) -> dict[str, float]:
    """The metrics of one size between GPUs, `shape` nodes with so many each, on the first nodes."""
    nodes, gpus = shape
    options = {**benchmark(name).options, "iterations": 1, "warmup": 0, "gpu_network": arm}
    twin = TwinBackend(machine, nodes)
    trial = Trial("slingshot", name, (size,), twin.nodes, gpus, {}, {}, options)
    with patch("weft.bench.twin.backend.simulate_parts", _simulated_once):
        (sample,) = twin.measure(Launch(trial, 0, 0))
    return dict(sample.metrics)


_OUTCOMES: dict[bytes, Mapping[str, Any]] = {}
"""By digest of the scenario: most figures leave some scenarios as they are."""


def _simulated_once(_: object, parts: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    keys = [hashlib.sha256(json.dumps(part).encode()).digest() for part in parts]
    for key, part in zip(keys, parts, strict=True):
        if key not in _OUTCOMES:
            _OUTCOMES[key] = simulate(dict(part))
    return [_OUTCOMES[key] for key in keys]


@dataclass(frozen=True, slots=True)
class Claim:
    """Whether a claim of the study holds, and the rates it rests on."""

    holds: bool
    rates: tuple[float, ...]


def claims(machine: Platform) -> Mapping[str, Claim]:
    """What the study claims, on a machine."""
    rates = {
        (nodes, arm): measured(machine, "allreduce", BUFFER, (nodes, 4), arm)["busbw_gb_s"]
        for nodes in NODES
        for arm in ARMS
    }
    gains = [rates[nodes, "ofi"] / rates[nodes, "sockets"] for nodes in NODES]
    images = {
        (nodes, arm): measured(machine, "training_step", 0, (nodes, 4), arm)["images_per_s"]
        for nodes in NODES
        for arm in ARMS[:2]
    }
    trained = [images[nodes, "ofi"] / images[nodes, "sockets"] for nodes in NODES]
    one, more, slow, fast = NODES[:1], NODES[1:], ARMS[:2], ARMS[1:]
    return {
        "1 on one node": Claim(
            gains[0] == trained[0] == 1.0, _of(rates, one, slow) + _of(images, one, slow)
        ),
        "allreduce: rises": Claim(_rises(gains), _of(rates, NODES, slow)),
        "allreduce: GPUDirect above it": Claim(
            all(rates[nodes, "ofi-gpudirect"] > rates[nodes, "ofi"] for nodes in more),
            _of(rates, more, fast),
        ),
        "Horovod: rises": Claim(_rises(trained), _of(images, NODES, slow)),
    }


def _of(
    rates: Mapping[tuple[int, str], float], nodes: Sequence[int], arms: Sequence[str]
) -> tuple[float, ...]:
    return tuple(rates[one, arm] for one in nodes for arm in arms)


def _rises(values: Sequence[float]) -> bool:
    return all(before < after for before, after in pairwise(values))


@dataclass(frozen=True, slots=True)
class Variation:
    """A figure to vary: its name, and by a factor the machine and the catalogue to run with."""

    name: str
    machine: Callable[[float], Platform]
    catalogue: Callable[[float], AbstractContextManager[object]] = lambda _: nullcontext()

    def claims(self, factor: float) -> Mapping[str, Claim] | None:
        """The claims with the figure times `factor`; None where no machine can have it."""
        try:
            machine, catalogue = self.machine(factor), self.catalogue(factor)
        except ValidationError:
            return None
        with catalogue:
            return claims(machine)


def variations(machine: Platform) -> Iterator[Variation]:
    """Each assumed or unverified figure of the machine, of its host costs and of the training, and
    each figure of practice that a run of the claims reads."""
    for name, machine_with in unsure_figures(machine):
        yield Variation(name, machine_with)
    for path, figure in figures(synthetic_benchmarks()):
        if figure.class_ in UNSURE:
            yield Variation(
                f"training: {path}",
                lambda _: machine,
                lambda factor, path=path: with_training(path, factor),
            )
    for name in practice_read(machine):
        yield Variation(
            f"practice: {name}",
            lambda _: machine,
            lambda factor, name=name: with_practice(name, factor),
        )


def with_training(path: str, factor: float) -> AbstractContextManager[object]:
    """The table of training with one figure times `factor`. Raises ValidationError."""
    table: SyntheticBenchmarks = scaled(synthetic_benchmarks(), path, factor)
    return patch("weft.bench.twin.training_step.synthetic_benchmarks", lambda: table)


def with_practice(name: str, factor: float) -> AbstractContextManager[object]:
    """The table of practice with one figure times `factor`."""
    before = practice_figures()[name]
    bounds = {key: getattr(before, key) * factor for key in ("low", "value", "high")}
    table = {**practice_figures(), name: before.model_copy(update=bounds)}
    return patch("weft.catalog.machine.practice.practice_figures", lambda: table)


class PracticeReads(dict[str, PracticeFigure]):
    """The table of practice that keeps which figures were read."""

    def __init__(self) -> None:
        super().__init__(practice_figures())
        self.names: dict[str, None] = {}

    def __getitem__(self, name: str) -> PracticeFigure:
        self.names[name] = None
        return super().__getitem__(name)


def practice_read(machine: Platform) -> list[str]:
    """The figures of practice that a run of the claims reads, by name."""
    reads = PracticeReads()
    with patch("weft.catalog.machine.practice.practice_figures", lambda: reads):
        claims(machine)
    return sorted(reads.names)


def firm_lines() -> Iterator[str]:
    """The claims at half and twice each figure."""
    machine = platform("alps-a100")
    base = claims(machine)
    yield "The plug-in's gain, with each assumed or unverified figure and each figure of practice"
    yield f"at half and at twice its value: allreduce of {BUFFER // MIB} MiB and Horovod's step,"
    yield "four GPUs a node, one, two and four nodes. No effect: the rates that the claim rests on"
    yield "stay the same to the last digit. None: no machine can have that figure. Four nodes share"
    yield "a switch: figures of cables between switches, of groups and of detours have no effect."
    yield ""
    yield f"| figure | {' | '.join(base)} |"
    yield f"|---|{'---|' * len(base)}"
    for varied in variations(machine):
        found = [varied.claims(factor) for factor in FACTORS]
        yield f"| `{varied.name}` | {' | '.join(claim_cells(base, found))} |"


def claim_cells(
    base: Mapping[str, Claim], found: Sequence[Mapping[str, Claim] | None]
) -> Iterator[str]:
    """By claim, the words of a figure at half and at twice its value."""
    for name, before in base.items():
        half, twice = (_word(before, None if one is None else one[name]) for one in found)
        yield half if half == twice else f"half: {half}, twice: {twice}"


def _word(before: Claim, after: Claim | None) -> str:
    if after is None:
        return "none"
    if not after.holds:
        return "**fails**"
    return "no effect" if after == before else "holds"
