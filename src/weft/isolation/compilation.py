"""The first arrangement that keeps every tenant within its target, and why there is none."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from weft.isolation.arrangement import Arrangement, arrangements
from weft.isolation.tenant_twin import TenantImpact, TenantTwin
from weft.isolation.tenants import Tenancy, Tenant
from weft.topology.subnet.place_names import Places
from weft.topology.subnet.subnet import Subnet


@dataclass(frozen=True, slots=True)
class Tried:
    """An arrangement and the impact of the others on each tenant with a target, by name."""

    arrangement: Arrangement
    impacts: Mapping[str, TenantImpact]

    def unmet(self, tenancy: Tenancy) -> tuple[Tenant, ...]:
        """The tenants that it does not keep within their targets, in any run."""
        return tuple(one for one in tenancy.victims if self.excess(one) > 1)

    def excess(self, tenant: Tenant) -> float:
        """A tenant's largest impact over its target."""
        assert tenant.target is not None
        return self.impacts[tenant.name].largest / tenant.target


@dataclass(frozen=True, slots=True)
class Compilation:
    """All that were tried, in order: `chosen` is the last one if it meets every target, else that
    which comes nearest."""

    tenancy: Tenancy
    tried: tuple[Tried, ...]

    @property
    def chosen(self) -> Tried:
        """The arrangement to load."""
        if not self.tried[-1].unmet(self.tenancy):
            return self.tried[-1]
        victims = self.tenancy.victims
        return min(self.tried, key=lambda one: max(map(one.excess, victims)))

    @property
    def unmet(self) -> tuple[Tenant, ...]:
        """The tenants whose targets the chosen one does not meet."""
        return self.chosen.unmet(self.tenancy)


def compile_isolation(twin: TenantTwin, gbps: float) -> Compilation:
    """Try arrangements until one meets every target; `gbps` is the rate of hosts.

    Raises InputError, BenchmarkError.
    """
    tried: list[Tried] = []
    for arrangement in arrangements(twin.tenancy, gbps):
        tried.append(Tried(arrangement, twin.impacts(arrangement)))
        if not tried[-1].unmet(twin.tenancy):
            break
    return Compilation(twin.tenancy, tuple(tried))


@dataclass(frozen=True, slots=True)
class SharedCable:
    """A cable between switches that paths of a tenant and of `others` cross, by the tables: of all
    such cables the one with the most paths of others for each of the tenant's."""

    port: str
    far: str
    n_own: int
    others: Mapping[str, int]


def shared_cable(subnet: Subnet, tenancy: Tenancy, tenant: Tenant) -> SharedCable | None:
    """The cable where a tenant meets most of the others; None where it shares none. Raises
    InputError."""
    routed = subnet if subnet.has_tables else subnet.route("minhop")
    loads = {one.name: _paths(routed, one.node_names) for one in tenancy.tenants}
    own = loads.pop(tenant.name)
    shared = [
        (sum(load.get(end, 0) for load in loads.values()) / n_own, end)
        for end, n_own in own.items()
        if any(end in load for load in loads.values())
    ]
    if not shared:
        return None
    end = max(shared)[1]
    far = subnet.cable_at[end].beyond(end)
    others = {name: load[end] for name, load in loads.items() if end in load}
    return SharedCable(subnet.name(*end), subnet.name(far.node, far.port), own[end], others)


def _paths(subnet: Subnet, nodes: Iterable[str]) -> dict[tuple[int, int], int]:
    """By egress port between switches the paths between these nodes."""
    places = Places(subnet)
    ends = {(place.node, place.port) for name in nodes for place in places.find(name)}
    numbers = [at for at, one in enumerate(subnet.endports) if (one.node, one.port) in ends]
    pairs = [(a, b) for a in numbers for b in numbers if a != b]
    found = subnet.loads(pairs)
    used = np.flatnonzero(np.asarray(found["n_paths"]))
    return {
        (int(found["node"][at]), int(found["port"][at])): int(found["n_paths"][at]) for at in used
    }
