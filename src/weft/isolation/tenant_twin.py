"""What the other tenants cost a tenant, on the twin of their fabric."""

from collections.abc import Mapping, Sequence
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
"""Runs with seeds of their own: what chance decides (ties of ports, noise of hosts) differs."""


@dataclass(frozen=True, slots=True)
class TenantImpact:
    """The time of a tenant's iteration beside all others over that alone, of each run, and the
    means of both in microseconds. A target holds if the largest does not exceed it."""

    alone_us: float
    beside_us: float
    ratios: tuple[float, ...]

    @property
    def largest(self) -> float:
        """Of all runs."""
        return max(self.ratios)

    @property
    def mean(self) -> float:
        """Of all runs."""
        return fmean(self.ratios)


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
        self._twins = [
            TwinBackend(platform, 0, seed=seed + run, fabric=fabric) for run in range(N_RUNS)
        ]
        self._iterations = iterations
        self._alone: dict[tuple[str, bool], list[float]] = {}

    def impacts(self, arrangement: Arrangement) -> Mapping[str, TenantImpact]:
        """Of all tenants with a target, by name. Raises InputError, BenchmarkError."""
        victims = self.tenancy.victims
        missing = [
            one for one in victims if (one.name, _is_controlled(arrangement)) not in self._alone
        ]
        jobs = [(tenant, False) for tenant in missing] + [(tenant, True) for tenant in victims]
        cells = [(tenant, beside, twin) for tenant, beside in jobs for twin in self._twins]
        launches = [
            _launch(tenant, self.tenancy, arrangement, self._iterations, beside=beside)
            for tenant, beside, _ in cells
        ]
        documents = [
            twin.scenario(launch) | arrangement.to_scenario()
            for (_, _, twin), launch in zip(cells, launches, strict=True)
        ]
        outcomes = simulate_parts(documents[0], documents)
        times: dict[tuple[str, bool], list[float]] = {}
        for (tenant, beside, _), launch, document, outcome in zip(
            cells, launches, documents, outcomes, strict=True
        ):
            mean = _mean_us(launch, document, outcome, beside=beside)
            times.setdefault((tenant.name, beside), []).append(mean)
        for tenant in missing:
            self._alone[tenant.name, _is_controlled(arrangement)] = times[tenant.name, False]
        return {
            tenant.name: _impact(
                self._alone[tenant.name, _is_controlled(arrangement)], times[tenant.name, True]
            )
            for tenant in victims
        }


def _is_controlled(arrangement: Arrangement) -> bool:
    return arrangement.law != "off"


def _impact(alone: Sequence[float], beside: Sequence[float]) -> TenantImpact:
    ratios = tuple(b / a for a, b in zip(alone, beside, strict=True))
    return TenantImpact(fmean(alone), fmean(beside), ratios)


def _launch(
    tenant: Tenant, tenancy: Tenancy, arrangement: Arrangement, iterations: int, *, beside: bool
) -> Launch:
    options: dict[str, Any] = {"iterations": iterations, "warmup": 1}
    others = [
        f"{other.traffic}@{other.nodes},sl={arrangement.levels[other.name]}"
        for other in tenancy.beside(tenant)
    ]
    # With the option, alone too, as many iterations are simulated as asked for.
    options[OPTION] = others if beside else []
    if beside:
        options["service_level"] = arrangement.levels[tenant.name]
    pattern = tenant.pattern
    sizes = (pattern.size_bytes,)
    return Launch(
        Trial(tenant.name, pattern.benchmark, sizes, pattern.nodes, 1, options=options), 0, 0
    )


def _mean_us(
    launch: Launch, document: Document, outcome: Mapping[str, Any], *, beside: bool
) -> float:
    whole = completed(launch, outcome)
    rows = rows_of(rows_of_job(whole) if beside else whole)
    measured = benchmark(launch.trial.benchmark)
    (sample,) = series_samples(launch, measured, steps_of(document), rows, fit=None, evidence={})
    return fmean(sample.times_ns or ()) / 1e3
