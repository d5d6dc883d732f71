"""A list of tenants: who runs where, what each sends, and how much its neighbours may cost it."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from weft.bench.aggressor import (
    FEWEST_NODES,
    MOST_AGGRESSORS,
    MOST_LEVEL,
    ONE_SIDED,
    Aggressor,
    parse_aggressor,
)
from weft.catalog.document import Document, Slug, Text, parse_document
from weft.core.documents.text_file import read_text_file
from weft.core.errors import InputError, did_you_mean
from weft.core.nodeset import expand

MOST_BYTES = 1 << 20
MOST_LANES = 15
DEFAULT_PARTITION = 0x7FFF
FULL_MEMBER = 0x8000
"""The bit of a key that says so. SOURCE: InfiniBand Architecture Specification, volume 1."""
MOST_TARGET = 1000.0


def _is_a_key(text: str) -> str:
    if not re.fullmatch(r"0x(?!0000|7fff)[0-7][0-9a-f]{3}", text):
        raise ValueError("0x0001 to 0x7ffe in small letters, without the bit of membership")
    return text


Key = Annotated[str, AfterValidator(_is_a_key)]


class Tenant(Document):
    """A job that goes on for long: its `nodes`, its `traffic` as an aggressor's (alltoall:64K), and
    by which factor the others may lengthen an iteration of it (`target`; None: any).

    `partition_key` (without the bit of membership) and `service_level` are weft's choice where they
    are left out.
    """

    name: Slug
    nodes: Text
    traffic: Text
    target: float | None = Field(default=None, ge=1, le=MOST_TARGET)
    partition_key: Key | None = None
    service_level: int | None = Field(default=None, ge=0, le=MOST_LEVEL)

    @property
    def node_names(self) -> tuple[str, ...]:
        """Its nodes. Raises InputError."""
        return expand(self.nodes)

    @property
    def pattern(self) -> Aggressor:
        """What it sends, as an aggressor on its nodes. Raises InputError."""
        return parse_aggressor(f"{self.traffic}@{self.nodes}")

    @property
    def key(self) -> int:
        """Its partition's key, without the bit of membership."""
        return int(self.partition_key or "0", 16)


class Tenancy(Document):
    """The tenants of a fabric. `services` are nodes that all tenants reach (storage, logins),
    `data_lanes` how many virtual lanes every switch and adapter has, `congestion_control` the law
    that the adapters have: that of annex A10, which OpenSM sets, or one of the firmware by round
    trips."""

    schema_: Literal["weft.tenants/1"] = Field(alias="schema")
    data_lanes: int = Field(default=8, ge=1, le=MOST_LANES)
    congestion_control: Literal["annex_a10", "rtt", "off"] = "annex_a10"
    services: str = ""
    tenants: tuple[Tenant, ...] = Field(alias="tenant", min_length=1)

    @property
    def victims(self) -> tuple[Tenant, ...]:
        """Those with a target."""
        return tuple(tenant for tenant in self.tenants if tenant.target is not None)

    @property
    def service_nodes(self) -> tuple[str, ...]:
        """The nodes that all tenants reach. Raises InputError."""
        return expand(self.services) if self.services else ()

    def beside(self, tenant: Tenant) -> tuple[Tenant, ...]:
        """The other tenants."""
        return tuple(other for other in self.tenants if other is not tenant)


def read_tenancy(path: Path) -> Tenancy:
    """The tenants of a TOML file, each with a partition key. Raises InputError."""
    text = read_text_file(path, expected="tenants, as TOML", most_bytes=MOST_BYTES)
    tenancy = parse_document(Tenancy, text, str(path), "list of tenants")
    _check(tenancy, str(path))
    used = {tenant.key for tenant in tenancy.tenants}
    free = (key for key in range(1, DEFAULT_PARTITION) if key not in used)
    return tenancy.model_copy(
        update={
            "tenants": tuple(
                tenant
                if tenant.partition_key
                else tenant.model_copy(update={"partition_key": f"{next(free):#06x}"})
                for tenant in tenancy.tenants
            )
        }
    )


def require_nodes(tenancy: Tenancy, known: Sequence[str], where: str) -> None:
    """Raises InputError for a node of a tenant or service that the fabric does not have."""
    there = set(known)
    whose = [(f"tenant '{one.name}'", one.node_names) for one in tenancy.tenants]
    for name, nodes in [*whose, ("services", tenancy.service_nodes)]:
        for node in nodes:
            if node not in there:
                raise InputError(
                    f"{name}: no node '{node}' in the fabric",
                    where=where,
                    expected=f"its nodes, {known[0]} to {known[-1]}",
                    hint=did_you_mean(node, list(known)),
                )


def _pattern(tenant: Tenant, place: str) -> Aggressor:
    """Raises InputError, in words about a tenant."""
    try:
        # Its traffic alone: nodes of aggressors may also be a number or a share.
        parse_aggressor(f"{tenant.traffic}@{FEWEST_NODES}")
    except InputError as error:
        raise InputError(
            f"traffic = '{tenant.traffic}': {error.what}",
            where=place,
            expected="PATTERN:SIZE, such as alltoall:64K",
            hint=error.hint,
        ) from error
    nodes = set(expand(tenant.nodes))
    is_counted = tenant.nodes == "job" or not re.search(r"[^\d.%,\[\]-]", tenant.nodes)
    if len(nodes) < FEWEST_NODES or is_counted:
        raise InputError(
            f"nodes = '{tenant.nodes}'",
            where=place,
            expected=f"names of {FEWEST_NODES} nodes or more, such as n[001-016]",
        )
    return tenant.pattern


def _check(tenancy: Tenancy, where: str) -> None:
    if not tenancy.victims:
        raise InputError(
            "no tenant has a target",
            where=where,
            expected="target = 1.1 of one at least: by which factor others may lengthen its steps",
        )
    if len(tenancy.tenants) > MOST_AGGRESSORS + 1:
        raise InputError(
            f"{len(tenancy.tenants)} tenants",
            where=where,
            expected=f"at most {MOST_AGGRESSORS + 1}: each is simulated beside all others",
        )
    for what, values in (
        ("named", [tenant.name for tenant in tenancy.tenants]),
        ("of partition key", [one.partition_key for one in tenancy.tenants if one.partition_key]),
    ):
        value, n = Counter(values).most_common(1)[0] if values else (None, 1)
        if n > 1:
            raise InputError(f"{n} tenants {what} '{value}'", where=where, expected="one")
    owner = dict.fromkeys(tenancy.service_nodes, "services")
    for tenant in tenancy.tenants:
        place = f"{where}: tenant '{tenant.name}'"
        pattern = _pattern(tenant, place)
        if tenant.target is not None and pattern.benchmark in ONE_SIDED:
            raise InputError(
                f"traffic '{tenant.traffic}' with a target",
                where=place,
                expected="a pattern of messages: weft times no remote memory on a twin",
            )
        for node in pattern.nodes:
            if node in owner:
                raise InputError(
                    f"node '{node}' is one of {owner[node]}, too",
                    where=place,
                    expected="nodes of its own",
                )
            owner[node] = f"tenant '{tenant.name}'"
