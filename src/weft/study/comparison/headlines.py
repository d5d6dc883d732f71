"""The metric of a benchmark that is shown and compared: the catalogue's, or one from the files.

Other tools print means where weft keeps medians, and tests that no catalogue knows; a headline of
an imported run is chosen among the metrics that all its rows of the benchmark have.
"""

import functools
from collections import Counter
from collections.abc import Iterable

from weft.bench.result_scale import has_own_benchmarks
from weft.catalog.benchmark import Benchmark
from weft.catalog.load import benchmark, readable_benchmark_names
from weft.study.run.store import StudyRun

TIMES = ("latency_us_p50", "latency_us", "latency_us_max", "overall_us", "latency_us_p99")
RATES = ("busbw_gb_s", "bandwidth_mb_s", "algbw_gb_s", "msg_rate_mps", "transactions_per_s")
RATIOS = ("impact", "impact_p99", "overlap_percent")
USUAL = 0.8
"""A headline metric stands in at least this share of a benchmark's rows."""
_LOWER_ENDS = ("_us", "_ns", "impact", "impact_p99", "n_wrong", "cpu_percent")


class Headlines:
    """Benchmarks of these runs by name, each with its headline; called like the catalogue's."""

    def __init__(self, runs: Iterable[StudyRun], *, second: bool = False) -> None:
        """`second` asks for the other kind of metric (a rate next to times, and the reverse)."""
        self._runs = tuple(runs)
        self._second = second
        self._of = functools.cache(self._choose)
        self._shared = functools.cache(self._shared_now)

    def __call__(self, name: str) -> Benchmark:
        """The benchmark, with the metric to show. Raises InputError for an unknown one that no
        file brought."""
        return self._of(name)

    def has(self, name: str) -> bool:
        """Whether a metric of the requested kind exists."""
        return self._of(name).headline in self._shared(name)

    def _choose(self, name: str) -> Benchmark:
        has_own = any(has_own_benchmarks(run.meta) for run in self._runs)
        if not has_own:
            return benchmark(name)
        base = base_name(name)
        known = benchmark(base) if base in readable_benchmark_names() else None
        has_sizes = any(
            size > 0
            for run in self._runs
            for launch in run.launches
            if launch.trial.benchmark == name
            for size in launch.trial.sizes_bytes
        )
        return _with_headline(known, name, self._preferred(known, self._shared(name)), has_sizes)

    def _preferred(self, known: Benchmark | None, shared: frozenset[str]) -> str:
        """The catalogue's own, its mean, then times, rates and ratios; for `second` the first of
        the other kind."""
        is_time = known is None or known.better == "lower"
        kinds = [TIMES, RATES, RATIOS] if is_time else [RATES, TIMES, RATIOS]
        if self._second:
            first = self._first(known, shared, kinds)
            kinds = [kind for kind in (TIMES, RATES) if first not in kind]
            return next((m for kind in kinds for m in kind if m in shared), "")
        return self._first(known, shared, kinds)

    def _first(
        self, known: Benchmark | None, shared: frozenset[str], kinds: list[tuple[str, ...]]
    ) -> str:
        wanted = [known.headline, known.headline.removesuffix("_p50")] if known else []
        wanted += [metric for kind in kinds for metric in kind]
        wanted += sorted(shared)
        return next((metric for metric in wanted if metric in shared), wanted[0])

    def _shared_now(self, name: str) -> frozenset[str]:
        """Metrics that nearly every sample of the benchmark has, in each of these runs."""
        found = [metrics for run in self._runs if (metrics := _usual_metrics(run, name))]
        return frozenset.intersection(*found) if found else frozenset()


def _usual_metrics(run: StudyRun, name: str) -> frozenset[str]:
    samples = [sample for sample in run.samples if sample.benchmark == name]
    counts = Counter(metric for sample in samples for metric in sample.metrics)
    return frozenset(metric for metric, n in counts.items() if n >= USUAL * len(samples))


def base_name(name: str) -> str:
    """'allreduce' of 'allreduce.in-place': the name in the catalogue."""
    return name.partition(".")[0]


def lower_is_better(metric: str) -> bool:
    """Whether a metric counts downwards, by the unit at its end."""
    stem = metric
    for end in ("_p50", "_p90", "_p95", "_p99", "_p999", "_min", "_max", "_stdev"):
        stem = stem.removesuffix(end)
    return stem.endswith(_LOWER_ENDS)


def _with_headline(known: Benchmark | None, name: str, metric: str, has_sizes: bool) -> Benchmark:
    better = "lower" if lower_is_better(metric) else "higher"
    changed = {"name": name, "headline": metric, "better": better}
    if known is not None:
        return known.model_copy(update={**changed, "sizes": known.sizes if has_sizes else ""})
    return Benchmark.model_validate(
        {
            "schema": "weft.benchmark/1",
            "title": name,
            "kind": "collective",
            "sizes": "1" if has_sizes else "",
            "osu": "",
            "kernel": False,
            **changed,
            "headline": metric or "none",
        }
    )
