"""The GPUs that exchange with one another in a layout, by their numbers.

GPU = tp + TP x (cp + CP x (dp + DP x pp)), as Megatron-LM's order "tp-cp-ep-dp-pp" has it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from weft.train.communication import Exchange
from weft.train.layout import ModelLayout


@dataclass(frozen=True, slots=True)
class GroupNames:
    """Names of groups, each with its GPUs; a group that two dimensions share has one name."""

    layout: ModelLayout
    named: dict[tuple[int, ...], str]

    def name(self, kind: str, gpu: int) -> str:
        """The name of a GPU's group; numbers from 1 on, as ASTRA-sim takes them."""
        members = tuple(_MEMBERS[kind](self.layout, gpu))
        return self.named.setdefault(members, str(len(self.named) + 1))


def kind_of(one: Exchange) -> str:
    """Which group does an exchange."""
    if one.dimension == "tp":
        return "expert_tp" if one.what == "tokens of experts" else "tp"
    if one.dimension == "dp":
        return "expert_replicas" if one.what.endswith(" of experts") else "replicas"
    return one.dimension


def _strided(size: int, stride: int, gpu: int) -> Iterator[int]:
    first = gpu - gpu // stride % size * stride
    return iter(range(first, first + size * stride, stride))


def _expert_tp(layout: ModelLayout, gpu: int) -> Iterator[int]:
    return _strided(layout.expert_tp, 1, gpu)


def _experts(layout: ModelLayout, gpu: int) -> Iterator[int]:
    return _strided(layout.ep, layout.etp or layout.tp * layout.cp, gpu)


def _expert_replicas(layout: ModelLayout, gpu: int) -> Iterator[int]:
    if layout.etp:
        yield from _strided(layout.expert_replicas, layout.etp * layout.ep, gpu)
        return
    inner = layout.tp * layout.cp
    for first in _strided(layout.dp // layout.ep, inner * layout.ep, gpu):
        yield from _strided(layout.cp, layout.tp, first)


_MEMBERS: dict[str, Callable[[ModelLayout, int], Iterator[int]]] = {
    "tp": lambda layout, gpu: _strided(layout.tp, 1, gpu),
    "expert_tp": _expert_tp,
    "ep": _experts,
    "cp": lambda layout, gpu: _strided(layout.cp, layout.tp, gpu),
    "replicas": lambda layout, gpu: _strided(layout.cp * layout.dp, layout.tp, gpu),
    "expert_replicas": _expert_replicas,
}
