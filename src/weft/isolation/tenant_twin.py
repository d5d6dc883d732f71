"""What the other tenants cost a tenant, on the twin of their fabric."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from weft.bench.aggressor import OPTION
from weft.bench.model import Launch, Trial
from weft.bench.twin.backend import TwinBackend, completed, simulate_parts
from weft.bench.twin.samples import rows_of, series_samples
from weft.bench.twin.scenario import steps_of
from weft.bench.twin.tenants import rows_of_job
from weft.catalog.load import benchmark
from weft.catalog.machine.platform import Platform
from weft.core.errors import InputError
from weft.isolation.arrangement import Arrangement
from weft.isolation.tenants import Tenancy, Tenant
from weft.topology.fabric_spec import Document

N_RUNS = 3
"""Runs in which the others begin at other moments, drawn anew: how their messages meet the
tenant's depends on it."""
MOST_APART_US = 1000.0


@dataclass(frozen=True, slots=True)
class TenantImpact:
    """The time of a tenant's iteration beside all others, of each run, over that alone on one lane
    without congestion control; the means of both in microseconds. A target holds if the largest
    does not exceed it."""

    alone_us: float
    beside_us: float
    ratios: tuple[float, ...]

    @property
    def largest(self) -> float:
        """Of all runs."""
        return max(self.ratios)


class TenantTwin:
    """The twin of a fabric with its tenants. `simulate` gives impacts; alone, each tenant is
    simulated once."""

    def __init__(
        self, platform: Platform, fabric: Document, tenancy: Tenancy, *, iterations: int, seed: int
    ) -> None:
        if "lanes" in fabric:
            raise InputError(
                "the fabric's tables need their virtual lanes to be free of credit loops",
                expected="tables that are free of them on one lane (updn, ftree, minhop of a tree)",
                hint="lanes for tenants would put packets of several levels on one of them",
            )
        self.tenancy = tenancy
        self._twin = TwinBackend(platform, 0, seed=seed, fabric=fabric)
        rng = random.Random(seed)  # noqa: S311 - reproducible, not secret
        self._starts_us = [
            {one.name: rng.uniform(1, MOST_APART_US) for one in tenancy.tenants}
            for _ in range(N_RUNS)
        ]
        self._iterations = iterations
        self._alone_us: dict[str, float] = {}

    def impacts(self, arrangement: Arrangement) -> Mapping[str, TenantImpact]:
        """Of all tenants with a target, by name. Raises InputError, BenchmarkError."""
        victims = self.tenancy.victims
        missing = [tenant for tenant in victims if tenant.name not in self._alone_us]
        launches = [self._launch(tenant, {}) for tenant in missing]
        documents = [self._twin.scenario(launch) for launch in launches]
        for tenant in victims:
            for starts_us in self._starts_us:
                launches.append(self._launch(tenant, starts_us, arrangement))
                documents.append(self._twin.scenario(launches[-1]) | arrangement.to_scenario())
        outcomes = simulate_parts(documents[0], documents)
        cells = zip(launches, documents, outcomes, strict=True)
        times = [_mean_us(*cell, beside=at >= len(missing)) for at, cell in enumerate(cells)]
        for tenant, alone_us in zip(missing, times, strict=False):
            self._alone_us[tenant.name] = alone_us
        found = {}
        for at, tenant in enumerate(victims):
            alone_us, first = self._alone_us[tenant.name], len(missing) + at * N_RUNS
            beside = times[first : first + N_RUNS]
            ratios = tuple(one / alone_us for one in beside)
            found[tenant.name] = TenantImpact(alone_us, fmean(beside), ratios)
        return found

    def _launch(
        self,
        tenant: Tenant,
        starts_us: Mapping[str, float],
        arrangement: Arrangement | None = None,
    ) -> Launch:
        """Beside the others as they are arranged; without an arrangement alone."""
        options: dict[str, Any] = {"iterations": self._iterations, "warmup": 1, OPTION: []}
        if arrangement is not None:
            options[OPTION] = [
                f"{other.traffic}@{other.nodes},sl={arrangement.levels[other.name]},"
                f"start={starts_us[other.name] / 1e3:.6f}ms"
                for other in self.tenancy.beside(tenant)
            ]
            options["service_level"] = arrangement.levels[tenant.name]
        one = tenant.pattern
        trial = Trial(tenant.name, one.benchmark, (one.size_bytes,), one.nodes, 1, options=options)
        return Launch(trial, 0, 0)


def _mean_us(
    launch: Launch, document: Document, outcome: Mapping[str, Any], *, beside: bool
) -> float:
    whole = completed(launch, outcome)
    rows = rows_of(rows_of_job(whole) if beside else whole)
    measured = benchmark(launch.trial.benchmark)
    (sample,) = series_samples(launch, measured, steps_of(document), rows, fit=None, evidence={})
    return fmean(sample.times_ns or ()) / 1e3
