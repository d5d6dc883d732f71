"""Of each pair of nodes, what it reached of what its hop class delivers: matrices by rail."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.check.readings.readings import (
    Bools,
    Floats,
    Ints,
    Metric,
    host_of,
    is_rank,
    rank_in,
)
from weft.check.suspects.accusation import slow_rows
from weft.check.suspects.survey import Survey
from weft.core.natural import natural_key


@dataclass(frozen=True)
class Endpoints:
    """By endpoint: its `name` (a node; a rank, where one host holds them all), its `rail`, and the
    `leaf` switch that it is cabled to, "" where none is known."""

    names: tuple[str, ...]
    rail: Ints
    leaf: tuple[str, ...]

    @property
    def n_rails(self) -> int:
        """How many rails there are."""
        return int(self.rail.max(initial=0)) + 1


@dataclass(frozen=True)
class PairShares:
    """`names` in the order drawn: by leaf, then by name. `share`: from row to column, the median of
    its readings, NaN where none was judged; `slow`: whether a suspect slows most of them."""

    names: tuple[str, ...]
    leaves: tuple[str, ...]
    share: Floats
    slow: Bools


def endpoints_of(survey: Survey) -> Endpoints:
    """Names, rails and leaves of the endpoints."""
    readings, network = survey.readings, survey.crossings.network
    one_host = len(survey.crossings.hosts) == 1
    rails, leaves = [], []
    for name in readings.endpoints:
        hca = None if network is None else network.hca_of(name)
        if network is None or hca is None:
            rails.append(_rail_of(name, survey) if is_rank(name) and not one_host else 0)
            leaves.append("")
            continue
        rails.append(network.hcas_of[host_of(name)].index(hca) if is_rank(name) else 0)
        port = int(network.port_of_hca[network.vertex_id[hca] - network.n_switches])
        far = int(network.vertex[port ^ 1]) if port >= 0 else network.n_switches
        leaves.append(network.switches[far] if far < network.n_switches else "")
    names = readings.endpoints if one_host else tuple(host_of(n) for n in readings.endpoints)
    return Endpoints(names, np.array(rails, np.int64), tuple(leaves))


def _rail_of(name: str, survey: Survey) -> int:
    per_host = len(survey.readings.endpoints) // len(survey.crossings.hosts)
    return rank_in(name) % max(1, per_host)


def shares_of(survey: Survey, metric: Metric, ends: Endpoints, rail: int | None) -> PairShares:
    """The shares of one rail, or of the worst rail of each pair."""
    readings = survey.readings
    chosen = (readings.metric == metric.code) & (survey.normed.norm >= 0)
    chosen &= ends.rail[readings.a] == ends.rail[readings.b]
    if rail is not None:
        chosen &= ends.rail[readings.a] == rail
    names, leaves = _in_order(ends, 0 if rail is None else rail)
    number = {name: i for i, name in enumerate(names)}
    place = np.array([number.get(name, -1) for name in ends.names], np.int64)
    rows = np.flatnonzero(chosen & (place[readings.a] >= 0) & (place[readings.b] >= 0))
    a, b = place[readings.a[rows]], place[readings.b[rows]]
    share, slow = np.exp(-survey.normed.slower[rows]), _explained_slow(survey)[rows]
    on = ends.rail[readings.a[rows]]
    if metric.both_ways:
        a, b = np.concatenate([a, b]), np.concatenate([b, a])
        share, slow, on = np.tile(share, 2), np.tile(slow, 2), np.tile(on, 2)
    return PairShares(names, leaves, *_medians((on, a, b), share, slow, len(names)))


def _in_order(ends: Endpoints, rail: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    leaf_of = {
        name: leaf
        for name, leaf, on in zip(ends.names, ends.leaf, ends.rail.tolist(), strict=True)
        if on == rail
    }
    names = sorted(leaf_of, key=lambda name: (natural_key(leaf_of[name]), natural_key(name)))
    return tuple(names), tuple(leaf_of[name] for name in names)


def _explained_slow(survey: Survey) -> Bools:
    return np.asarray(slow_rows(survey) & (survey.explanation.predicted > 0), np.bool_)


def _medians(
    place: tuple[Ints, Ints, Ints], share: Floats, slow: Bools, n: int
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The median share of each pair on its worst rail, and whether a rail is slow in most of its
    readings. `place`: of each reading its rail, row and column."""
    rail, a, b = place
    shares, slows = np.full((n, n), np.nan), np.zeros((n, n), np.bool_)
    if not a.size:
        return shares, slows
    key = (rail * n + a) * n + b
    order = np.lexsort((share, key))
    found, start, count = np.unique(key[order], return_index=True, return_counts=True)
    ascending = share[order]
    middle = (ascending[start + (count - 1) // 2] + ascending[start + count // 2]) / 2
    mostly = 2 * np.add.reduceat(slow[order].astype(np.int64), start) > count
    cell = found % (n * n)
    # The worst rail comes last, and stays.
    last = np.argsort(-middle, kind="stable")
    shares.reshape(-1)[cell[last]] = middle[last]
    np.logical_or.at(slows.reshape(-1), cell, mostly)
    return shares, slows
