"""Medians of readings as shares of what their hop class delivers: by pair and rail, by cable."""

from dataclasses import dataclass, replace

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
from weft.check.suspects.survey import Survey
from weft.check.trials import SURVEY
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

    def worst(self, most: int) -> "PairShares":
        """The nodes with the slowest pairs, at most so many, in their order."""
        if len(self.names) <= most:
            return self
        filled = np.where(np.isnan(self.share), np.inf, self.share)
        by_node = np.minimum(filled.min(axis=0), filled.min(axis=1))
        kept = np.sort(np.argsort(by_node, kind="stable")[:most])
        return replace(
            self,
            names=tuple(self.names[i] for i in kept),
            leaves=tuple(self.leaves[i] for i in kept),
            share=self.share[np.ix_(kept, kept)],
            slow=self.slow[np.ix_(kept, kept)],
        )


@dataclass(frozen=True, slots=True)
class MetricCount:
    """How many readings of a metric there are, how many a suspect slows, and whether any is
    judged."""

    n: int
    n_slow: int
    is_judged: bool


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
    chosen = (readings.metric == metric.code) & survey.judged
    chosen &= ends.rail[readings.a] == ends.rail[readings.b]
    if rail is not None:
        chosen &= ends.rail[readings.a] == rail
    names, leaves = _in_order(ends, 0 if rail is None else rail)
    number = {name: i for i, name in enumerate(names)}
    place = np.array([number.get(name, -1) for name in ends.names], np.int64)
    rows = np.flatnonzero(chosen & (place[readings.a] >= 0) & (place[readings.b] >= 0))
    a, b = place[readings.a[rows]], place[readings.b[rows]]
    share, slow = np.exp(-survey.normed.slower[rows]), (survey.slow & survey.explained)[rows]
    on = ends.rail[readings.a[rows]]
    if metric.both_directions:
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
    found, medians, order, start = _group_medians(key, share)
    count = np.diff(np.append(start, order.size))
    mostly = 2 * np.add.reduceat(slow[order].astype(np.int64), start) > count
    cell = found % (n * n)
    # The worst rail comes last, and stays.
    last = np.argsort(-medians, kind="stable")
    shares.reshape(-1)[cell[last]] = medians[last]
    np.logical_or.at(slows.reshape(-1), cell, mostly)
    return shares, slows


def count_of(survey: Survey, metric: Metric) -> MetricCount:
    """The readings of a metric, counted."""
    of = survey.readings.metric == metric.code
    n_slow = int((of & survey.slow & survey.explained).sum())
    return MetricCount(int(of.sum()), n_slow, bool(survey.judged[of].any()))


def slowest_rows(survey: Survey, metric: Metric, most: int) -> list[int]:
    """Rows of a metric, those with the smallest share of their hop class first, unjudged last."""
    rows = np.flatnonzero(survey.readings.metric == metric.code)
    faster = np.where(survey.judged, -survey.normed.slower, np.inf)[rows]
    slowest: list[int] = rows[np.argsort(faster, kind="stable")][:most].tolist()
    return slowest


def bandwidth_shares(survey: Survey) -> dict[tuple[str, str], float]:
    """By sender and receiver: the median share of the bandwidth that their hop class delivers."""
    readings = survey.readings
    judged = (readings.metric == Metric.BANDWIDTH.code) & survey.judged
    rows, n = np.flatnonzero(judged), len(readings.endpoints)
    flow = readings.a[rows] * n + readings.b[rows]
    flows, medians, _, _ = _group_medians(flow, np.exp(-survey.normed.slower[rows]))
    ends = ((readings.endpoints[one // n], readings.endpoints[one % n]) for one in flows.tolist())
    return dict(zip(ends, medians.tolist(), strict=True))


def cable_shares(survey: Survey) -> dict[frozenset[str], float]:
    """By cable: the median share of the expected bandwidth that readings over it reached in the
    survey. Later readings are left out: they are mostly of suspects."""
    network = survey.crossings.fabric
    judged = (survey.readings.metric == Metric.BANDWIDTH.code) & survey.judged
    in_survey = survey.readings.of_trial(SURVEY)
    rows = in_survey[judged[in_survey]] if in_survey.size else np.flatnonzero(judged)
    if not rows.size:
        return {}
    crossed = (survey.crossings.by_stage[rows] @ (survey.crossings.by_port > 0)).tocoo()
    share = np.exp(-survey.normed.slower[rows])[crossed.row]
    cables, medians, _, _ = _group_medians(crossed.col // 2, share)
    return {
        frozenset(network.cables[number]): float(value)
        for number, value in zip(cables.tolist(), medians.tolist(), strict=True)
    }


def _group_medians(key: Ints, share: Floats) -> tuple[Ints, Floats, Ints, Ints]:
    """The distinct keys, the median share of each, the order that sorts by key and share, and the
    place in it where each key starts."""
    order = np.lexsort((share, key))
    found, start, count = np.unique(key[order], return_index=True, return_counts=True)
    ascending = share[order]
    medians = (ascending[start + (count - 1) // 2] + ascending[start + count // 2]) / 2
    return found, medians, order, start
