"""The fewest components that explain the slow readings, and how sure that is.

A reading's slowness is taken to be that of the slowest component on its path, plus noise, plus now
and then a disturbance that only ever slows. A component is accused by the logarithm of the
likelihood ratio of all readings that cross it: slow by a common amount, against not slow. That uses
every reading for what it is worth, so a 5 % loss in 3 % noise is found by repetition, and one
extreme reading accuses no component. Components are taken one after another, the strongest first,
each judged with those before it in force, and given up again when later ones explain its readings.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from weft.check.readings.candidates import Candidates
from weft.check.readings.norms import Normed
from weft.check.readings.readings import METRICS, Bools, Floats, Ints, Metric, Readings
from weft.check.thresholds import CheckThresholds

_STEPS = 48
"""Slownesses tried, 11 % apart: finer than readings over one fault differ (`uneven_share`)."""
_ROWS_AT_ONCE = 512
"""So few that all intermediate results stay in the processor's cache."""


@dataclass(frozen=True)
class Suspect:
    """Something that the readings accuse.

    `candidates` explain the same slow readings about equally well, the best first; one of them is
    faulty. `slower` is by how much, as a natural logarithm, for each metric it slows. `evidence` is
    the logarithm of the likelihood ratio against its not being there.
    """

    candidates: tuple[int, ...]
    slower: dict[Metric, float]
    evidence: float

    @property
    def best(self) -> int:
        """The candidate that explains most."""
        return self.candidates[0]


@dataclass(frozen=True)
class Explanation:
    """`suspects`, the strongest first; `predicted`: how slow each reading is by them."""

    suspects: tuple[Suspect, ...]
    predicted: Floats


Scores = tuple[Floats, dict[Metric, tuple[Floats, Floats]]]
"""By candidate the evidence of all metrics together; by metric, and by candidate, the evidence and
the slowness that fits best."""


def log_likelihood(
    limits: CheckThresholds,
    slower: Floats,
    sigma: Floats,
    predicted: Floats,
    disturbed: Floats | float | None = None,
) -> Floats:
    """The log-likelihood of each reading, given the slowness of its path; arrays broadcast.
    `disturbed`: the share of readings that are."""
    z = slower - predicted
    # The cost of a fault differs a little from path to path.
    sigma = np.hypot(sigma, limits.uneven_share * predicted)
    share = limits.disturbed_share if disturbed is None else disturbed
    normal = np.log1p(-share) - np.log(sigma * np.sqrt(2 * np.pi)) - 0.5 * (z / sigma) ** 2
    late = np.log(limits.disturbed_slow_share / limits.disturbance)
    quick = np.log((1 - limits.disturbed_slow_share) / limits.surprise)
    wild = np.log(share) + np.where(
        z > 0, late - z / limits.disturbance, quick + z / limits.surprise
    )
    # numpy's logaddexp takes its logarithms one by one.
    result: Floats = np.maximum(normal, wild) + np.log(1 + np.exp(-np.abs(normal - wild)))
    return result


class Explainer:
    """Readings, their paths and their slowness, ready for questions.

    Rows `apart` were measured alone: they decide between components that
    explain the others about equally well, and take no part in finding these. `disturbed`: by
    reading the share of such readings that something else disturbs (None: as always).
    """

    def __init__(
        self,
        readings: Readings,
        candidates: Candidates,
        normed: Normed,
        limits: CheckThresholds,
        *,
        apart: Ints | None = None,
        disturbed: Floats | None = None,
    ) -> None:
        self.candidates = candidates
        self._limits = limits
        self._normed = normed
        usual = np.full(len(readings), limits.disturbed_share)
        self._disturbed = usual if disturbed is None else disturbed
        self._flow = readings.a * len(readings.endpoints) + readings.b
        self._metric = readings.metric
        self._judged = normed.norm >= 0
        self._together = self._judged.copy()
        self._together[[] if apart is None else apart] = False
        self._apart = np.flatnonzero(self._judged & ~self._together)
        self._grids = [
            np.geomspace(limits.least_effect(metric), limits.slowest_fitted, _STEPS)
            for metric in METRICS
        ]

    def explain(self) -> Explanation:
        """The suspects whose evidence reaches `suspect_evidence`."""
        limits = self._limits
        chosen: list[Suspect] = []
        predicted = np.zeros(self._normed.slower.size)
        scores, by_metric = self.scores(predicted)
        kept = np.flatnonzero(scores >= limits.suspect_evidence / 2)
        known: Scores | None = (
            scores[kept],
            {metric: (of[kept], fitted[kept]) for metric, (of, fitted) in by_metric.items()},
        )
        while len(chosen) < limits.most_suspects and kept.size:
            suspect = self._strongest(kept, predicted, known)
            known = None
            if suspect is None or suspect.best in {s.best for s in chosen}:
                break
            chosen = self._without_needless([*chosen, suspect])
            predicted = self.predicted(chosen)
        refined = [self._again(suspect, chosen, kept) for suspect in chosen]
        refined.sort(key=lambda suspect: -suspect.evidence)
        return Explanation(tuple(refined), self.predicted(refined))

    def scores(self, predicted: Floats, only: Ints | None = None) -> Scores:
        """By candidate (of `only`): the evidence of all metrics together; and by metric the
        evidence and the slowness that fits best."""
        columns = self.candidates.columns if only is None else self.candidates.columns[:, only]
        total = np.zeros(columns.shape[1])
        by_metric: dict[Metric, tuple[Floats, Floats]] = {}
        by_row = columns.tocsr()
        crossed = np.diff(by_row.indptr) > 0
        for metric, grid in zip(METRICS, self._grids, strict=True):
            rows = np.flatnonzero(crossed & self._together & (self._metric == metric.code))
            if not rows.size:
                continue
            gain = self._gain(rows, predicted, grid)
            sums = np.asarray(by_row[rows].T @ gain)
            best = np.argmax(sums, axis=1)
            evidence = np.take_along_axis(sums, best[:, None], axis=1)[:, 0]
            by_metric[metric] = (evidence, grid[best])
            total += np.maximum(0.0, evidence - self._limits.evidence_a_metric)
        return total, by_metric

    def evidence_of(self, suspect: Suspect, others: Sequence[Suspect], rows: Ints) -> float:
        """The evidence that `rows` alone give for a suspect, at the slowness fitted to all."""
        predicted = self.predicted([s for s in others if s is not suspect])
        return self._evidence(suspect.best, suspect.slower, predicted, rows)

    def _evidence(
        self, candidate: int, slower: Mapping[Metric, float], predicted: Floats, rows: Ints
    ) -> float:
        mine = np.intersect1d(self.candidates.rows(candidate), rows)
        total = 0.0
        for metric, least in slower.items():
            of = self._of_metric(mine, metric, self._judged)
            if of.size:
                grid = np.array([self._grids[metric.code][0], least])
                total += float(self._gain(of, predicted, grid)[:, 1].sum())
        return total

    def predicted(self, suspects: Sequence[Suspect]) -> Floats:
        """How slow each reading is by the suspects."""
        predicted = np.zeros(self._normed.slower.size)
        for suspect in suspects:
            rows = self.candidates.rows(suspect.best)
            for metric, slower in suspect.slower.items():
                of = self._of_metric(rows, metric, self._judged)
                predicted[of] = np.maximum(predicted[of], slower)
        return predicted

    def _of_metric(self, rows: Ints, metric: Metric, among: Bools) -> Ints:
        of: Ints = rows[among[rows] & (self._metric[rows] == metric.code)]
        return of

    def _gain(self, rows: Ints, predicted: Floats, grid: Floats) -> Floats:
        """Rows x grid: the gain in log-likelihood if a path is at least this slow."""
        gain = np.empty((rows.size, grid.size))
        for start in range(0, rows.size, _ROWS_AT_ONCE):
            part = slice(start, start + _ROWS_AT_ONCE)
            gain[part] = self._gain_of(rows[part], predicted, grid)
        return gain

    def _gain_of(self, rows: Ints, predicted: Floats, grid: Floats) -> Floats:
        """A slow reading gains by a component that is slower still by as much as matters."""
        slower, sigma = self._normed.slower[rows, None], self._normed.sigma[rows, None]
        before = predicted[rows, None]
        matters = (grid[None, :] >= before + grid[0]) | (before == 0)
        with_it = np.where(matters, np.maximum(before, grid[None, :]), before)
        given = (self._limits, slower, sigma)
        share = self._disturbed[rows, None]
        return log_likelihood(*given, with_it, share) - log_likelihood(*given, before, share)

    def _strongest(
        self, kept: Ints, predicted: Floats, known: Scores | None = None
    ) -> Suspect | None:
        """The candidate with most evidence whose readings agree, and those about as good; `known`:
        the scores of `kept`, where they were asked for already."""
        scores, by_metric = self.scores(predicted, kept) if known is None else known
        order = np.argsort(-scores, kind="stable").tolist()
        found: list[tuple[float, int, dict[Metric, float]]] = []
        for place in order:
            if scores[place] < self._limits.suspect_evidence:
                break
            if found and scores[place] < found[0][0] - self._limits.near_evidence:
                break
            candidate = int(kept[place])
            if found and not self._overlap(found[0][1], candidate):
                continue
            slower, evidence = self._fitted(candidate, place, by_metric, predicted)
            if evidence >= self._limits.suspect_evidence:
                found.append((evidence, candidate, slower))
        return self._chosen(found, predicted) if found else None

    def _fitted(
        self,
        candidate: int,
        place: int,
        by_metric: Mapping[Metric, tuple[Floats, Floats]],
        predicted: Floats,
    ) -> tuple[dict[Metric, float], float]:
        """How slow a candidate is in each metric in which its readings agree, and the evidence."""
        slower: dict[Metric, float] = {}
        total = 0.0
        for metric, (evidence, fitted) in by_metric.items():
            gain = float(evidence[place]) - self._limits.evidence_a_metric
            if gain <= 0:
                continue
            least = self._refined(candidate, metric, float(fitted[place]), predicted)
            if self._agree(candidate, metric, least, predicted):
                slower[metric] = least
                total += gain
        return slower, total

    def _chosen(
        self, found: Sequence[tuple[float, int, dict[Metric, float]]], predicted: Floats
    ) -> Suspect:
        """The best of candidates that explain about equally well; readings apart decide, where
        they are slow at all."""
        apart = [self._evidence(c, slower, predicted, self._apart) for _, c, slower in found]
        extra = apart if max(apart) > 0 else [0.0] * len(found)
        totals = [evidence + more for (evidence, _, _), more in zip(found, extra, strict=True)]
        ranked = sorted(range(len(found)), key=lambda i: (-totals[i], i))
        best = ranked[0]
        alike = [
            found[i][1] for i in ranked if totals[i] >= totals[best] - self._limits.near_evidence
        ]
        return Suspect(tuple(alike), found[best][2], totals[best])

    def _refined(self, candidate: int, metric: Metric, near: float, predicted: Floats) -> float:
        """The slowness that fits best between the grid's neighbours of `near`."""
        rows = self._of_metric(self.candidates.rows(candidate), metric, self._together)
        grid = self._grids[metric.code]
        ratio = grid[1] / grid[0]
        fine = np.geomspace(max(grid[0], near / ratio), near * ratio, _STEPS)
        slower, sigma = self._normed.slower[rows, None], self._normed.sigma[rows, None]
        with_it = np.maximum(predicted[rows, None], fine[None, :])
        share = self._disturbed[rows, None]
        log = log_likelihood(self._limits, slower, sigma, with_it, share)
        return float(fine[np.argmax(log.sum(axis=0))])

    def _agree(self, candidate: int, metric: Metric, least: float, predicted: Floats) -> bool:
        """Whether enough flows across a candidate are slow for it to be at fault. A fault slows all
        its flows; a component that shares paths with a fault has normal ones, too."""
        rows = self._of_metric(self.candidates.rows(candidate), metric, self._together)
        rows = rows[predicted[rows] < least]
        if not rows.size:
            return True
        _, flow = np.unique(self._flow[rows], return_inverse=True)
        order = np.lexsort((self._normed.slower[rows], flow))
        counts = np.bincount(flow)
        medians = order[np.concatenate([[0], np.cumsum(counts)[:-1]]) + counts // 2]
        slower, sigma = self._normed.slower[rows[medians]], self._normed.sigma[rows[medians]]
        # A fault may be smaller than the least that is fitted.
        least = float(np.clip(np.median(slower), least / 2, least))
        chance = norm.cdf(least / 2 / sigma * np.sqrt(counts))
        noise = self._limits.contradicted_sigma * np.sqrt((chance * (1 - chance)).sum())
        missing = self._limits.contradicted_share * counts.size
        return bool((slower > least / 2).sum() >= chance.sum() - noise - missing)

    def _overlap(self, one: int, other: int) -> bool:
        """Whether two candidates share readings: else they explain different ones."""
        return bool(np.intersect1d(self.candidates.rows(one), self.candidates.rows(other)).size)

    def _without_needless(self, chosen: list[Suspect]) -> list[Suspect]:
        """The suspects whose readings the others do not explain."""
        for suspect in sorted(chosen[:-1], key=lambda s: s.evidence):
            others = [s for s in chosen if s is not suspect]
            only = np.array([suspect.best])
            score = float(self.scores(self.predicted(others), only)[0][0])
            if score < self._limits.suspect_evidence:
                chosen = others
        return chosen

    def _again(self, suspect: Suspect, chosen: Sequence[Suspect], kept: Ints) -> Suspect:
        """The suspect fitted anew with all others in force."""
        others = [s for s in chosen if s is not suspect]
        near = np.array([c for c in kept if self._overlap(suspect.best, int(c))], np.int64)
        return self._strongest(near, self.predicted(others)) or suspect
