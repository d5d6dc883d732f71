"""The fewest components that explain the slow readings, and how sure that is.

A reading's slowness is taken to be that of the slowest component on its way, plus noise, plus now
and then a disturbance that only ever slows. A component is accused by the logarithm of the
likelihood ratio of all readings that cross it: slow by a common amount, against not slow. That
uses every reading for what it is worth, so a 5 % loss in 3 % noise is found by repetition, and one
wild reading accuses nobody. Components are taken one after another, the strongest first, each
judged with those before it in force, and given up again when later ones explain its readings.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from weft.diagnose.check.crossing import Candidates
from weft.diagnose.check.norms import Normed
from weft.diagnose.check.readings import METRICS, Floats, Ints, Metric, Readings
from weft.diagnose.check.thresholds import Thresholds

MOST_SUSPECTS = 24
"""More than this are no faults of components: something is wrong with all of the fabric."""

_SLOWEST = 4.0
_STEPS = 48


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


class Likelihood:
    """How likely a reading is, given how slow its way is said to be."""

    def __init__(self, limits: Thresholds) -> None:
        self._limits = limits

    def log(self, slower: Floats, sigma: Floats, predicted: Floats) -> Floats:
        """Log-likelihoods; arrays broadcast."""
        limits = self._limits
        z = slower - predicted
        normal = -0.5 * (z / sigma) ** 2 - np.log(sigma * np.sqrt(2 * np.pi))
        late = np.log(limits.disturbed_slow_share / limits.disturbance) - z / limits.disturbance
        quick = np.log((1 - limits.disturbed_slow_share) / limits.surprise) + z / limits.surprise
        wild = np.where(z > 0, late, quick)
        share = limits.disturbed_share
        result: Floats = np.logaddexp(np.log1p(-share) + normal, np.log(share) + wild)
        return result


class Explainer:
    """Readings, what they cross and how slow they are, ready for questions."""

    def __init__(
        self, readings: Readings, candidates: Candidates, normed: Normed, limits: Thresholds
    ) -> None:
        self.candidates = candidates
        self._limits = limits
        self._normed = normed
        self._likelihood = Likelihood(limits)
        self._judged = normed.norm >= 0
        self._flow = readings.a * len(readings.endpoints) + readings.b
        self._of_metric = [
            np.flatnonzero(self._judged & (readings.metric == metric.code)) for metric in METRICS
        ]
        self._grids = [
            np.geomspace(limits.least_effect(metric), _SLOWEST, _STEPS) for metric in METRICS
        ]

    def explain(self) -> Explanation:
        """The suspects whose evidence reaches `suspect_evidence`."""
        limits = self._limits
        chosen: list[Suspect] = []
        predicted = np.zeros(self._normed.slower.size)
        scores, _ = self.scores(predicted)
        kept = np.flatnonzero(scores >= limits.suspect_evidence / 2)
        while len(chosen) < MOST_SUSPECTS and kept.size:
            suspect = self._strongest(kept, predicted)
            if suspect is None or suspect.best in {s.best for s in chosen}:
                break
            chosen = self._without_needless([*chosen, suspect])
            predicted = self.predicted(chosen)
        refined = [self._again(suspect, chosen, kept) for suspect in chosen]
        refined.sort(key=lambda suspect: -suspect.evidence)
        return Explanation(tuple(refined), self.predicted(refined))

    def scores(
        self, predicted: Floats, only: Ints | None = None
    ) -> tuple[Floats, dict[Metric, tuple[Floats, Floats]]]:
        """By candidate (of `only`): the evidence of all metrics together; and by metric the
        evidence and the slowness that fits best."""
        columns = self.candidates.columns if only is None else self.candidates.columns[:, only]
        total = np.zeros(columns.shape[1])
        by_metric: dict[Metric, tuple[Floats, Floats]] = {}
        by_row = columns.tocsr()
        for metric, rows, grid in zip(METRICS, self._of_metric, self._grids, strict=True):
            if not rows.size:
                continue
            gain = self._gain(rows, predicted, grid)
            sums = np.asarray(by_row[rows].T @ gain)
            best = np.argmax(sums, axis=1)
            evidence = np.take_along_axis(sums, best[:, None], axis=1)[:, 0]
            by_metric[metric] = (evidence, grid[best])
            total += np.maximum(0.0, evidence - self._limits.evidence_a_metric)
        return total, by_metric

    def evidence_of(
        self, suspect: Suspect, others: Sequence[Suspect], rows: Ints, candidate: int | None = None
    ) -> float:
        """The evidence that `rows` alone give for a suspect, at the slowness fitted to all."""
        predicted = self.predicted([s for s in others if s is not suspect])
        best = suspect.best if candidate is None else candidate
        mine = np.intersect1d(self.candidates.rows(best), rows)
        total = 0.0
        for metric, slower in suspect.slower.items():
            of = np.intersect1d(mine, self._of_metric[metric.code])
            total += float(self._gain(of, predicted, np.array([slower])).sum())
        return total

    def fitted(self, candidate: int, rows: Ints, metric: Metric) -> tuple[float, float, int]:
        """Over the rows of a candidate and metric: the slowness that fits best (0: none does), its
        evidence, and how many rows there are."""
        of = np.intersect1d(self.candidates.rows(candidate), rows)
        of = np.intersect1d(of, self._of_metric[metric.code])
        if not of.size:
            return (0.0, 0.0, 0)
        grid = self._grids[metric.code]
        gain = self._gain(of, np.zeros(self._normed.slower.size), grid).sum(axis=0)
        best = int(np.argmax(gain))
        return (float(grid[best]) if gain[best] > 0 else 0.0, float(gain[best]), int(of.size))

    def predicted(self, suspects: Sequence[Suspect]) -> Floats:
        """How slow each reading is by the suspects."""
        predicted = np.zeros(self._normed.slower.size)
        for suspect in suspects:
            rows = self.candidates.rows(suspect.best)
            for metric, slower in suspect.slower.items():
                of = np.intersect1d(rows, self._of_metric[metric.code], assume_unique=True)
                predicted[of] = np.maximum(predicted[of], slower)
        return predicted

    def _gain(self, rows: Ints, predicted: Floats, grid: Floats) -> Floats:
        """Rows x grid: the gain in log-likelihood if a way is at least this slow. What is slow
        already gains by a component that is slower still by as much as matters."""
        slower, sigma = self._normed.slower[rows, None], self._normed.sigma[rows, None]
        before = predicted[rows, None]
        matters = (grid[None, :] >= before + grid[0]) | (before == 0)
        with_it = np.where(matters, np.maximum(before, grid[None, :]), before)
        log = self._likelihood.log
        gain: Floats = log(slower, sigma, with_it) - log(slower, sigma, before)
        return gain

    def _strongest(self, kept: Ints, predicted: Floats) -> Suspect | None:
        """The candidate with most evidence whose readings agree, and those about as good."""
        scores, by_metric = self.scores(predicted, kept)
        for first in np.argsort(-scores, kind="stable").tolist():
            if scores[first] < self._limits.suspect_evidence:
                return None
            candidate = int(kept[first])
            slower: dict[Metric, float] = {}
            best = 0.0
            for metric, (evidence, fitted) in by_metric.items():
                gain = float(evidence[first]) - self._limits.evidence_a_metric
                if gain <= 0:
                    continue
                least = self._refined(candidate, metric, float(fitted[first]), predicted)
                if self._agree(candidate, metric, least, predicted):
                    slower[metric] = least
                    best += gain
            if best >= self._limits.suspect_evidence:
                near = np.flatnonzero(scores >= best - self._limits.near_evidence)
                order = near[np.argsort(-scores[near], kind="stable")]
                alike = [int(kept[i]) for i in order if scores[i] <= scores[first]]
                alike = [c for c in alike if self._overlap(candidate, c)]
                return Suspect((candidate, *(c for c in alike if c != candidate)), slower, best)
        return None

    def _refined(self, candidate: int, metric: Metric, near: float, predicted: Floats) -> float:
        """The slowness that fits best between the grid's neighbours of `near`."""
        rows = np.intersect1d(self.candidates.rows(candidate), self._of_metric[metric.code])
        grid = self._grids[metric.code]
        ratio = grid[1] / grid[0]
        fine = np.geomspace(max(grid[0], near / ratio), near * ratio, _STEPS)
        slower, sigma = self._normed.slower[rows, None], self._normed.sigma[rows, None]
        with_it = np.maximum(predicted[rows, None], fine[None, :])
        return float(fine[np.argmax(self._likelihood.log(slower, sigma, with_it).sum(axis=0))])

    def _agree(self, candidate: int, metric: Metric, least: float, predicted: Floats) -> bool:
        """Whether so many flows across a candidate are slow as must be, were it at fault: a fault
        slows whatever crosses it, a component that shares ways with a fault only a part."""
        rows = np.intersect1d(self.candidates.rows(candidate), self._of_metric[metric.code])
        rows = rows[predicted[rows] < least]
        if not rows.size:
            return True
        _, flow = np.unique(self._flow[rows], return_inverse=True)
        order = np.lexsort((self._normed.slower[rows], flow))
        counts = np.bincount(flow)
        middle = order[np.concatenate([[0], np.cumsum(counts)[:-1]]) + counts // 2]
        slower, sigma = self._normed.slower[rows[middle]], self._normed.sigma[rows[middle]]
        chance = norm.cdf(least / 2 / sigma * np.sqrt(counts))
        scatter = np.sqrt((chance * (1 - chance)).sum())
        missing = self._limits.contradicted_share * counts.size
        return bool((slower > least / 2).sum() >= chance.sum() - 3 * scatter - missing)

    def _overlap(self, one: int, other: int) -> bool:
        """Whether two candidates share readings: else they explain different ones."""
        return bool(np.intersect1d(self.candidates.rows(one), self.candidates.rows(other)).size)

    def _without_needless(self, chosen: list[Suspect]) -> list[Suspect]:
        """Those that are still needed beside the others."""
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
