"""The fabric under a fit: a platform's own, or one switch as fast as the tables themselves."""

from weft.catalog.document import Figure, SourceClass
from weft.catalog.load import platform
from weft.catalog.machine.platform import Cable, Links, Platform
from weft.core.errors import InputError
from weft.expect.fit.tables import CheckedTable
from weft.expect.wire import header_efficiency, path_through

SHAPE = "fat-tree"
"""The catalogue's platform whose shape a fit without --base takes."""
FASTEST_GBPS = 8000.0
"""The fastest cable the engine takes."""
ABOVE_LINK = 1.05
"""A table that exceeds the base's link by more than this was measured on another fabric."""


def require_same_fabric(base: Platform, tables: tuple[CheckedTable, ...], named: str = "") -> None:
    """Raises InputError where a table is faster than the links of the base, or the link `named`."""
    path, link = path_through(base, 1), named or f"a link of '{base.name}'"
    for checked in tables:
        table = checked.table
        if table.is_latency:
            continue
        size, value = max(table.rows, key=lambda row: row[1])
        most = path.rate_gbps / 8 * 1e3 * header_efficiency(size, path.mtu_bytes)
        each = table.one_way_mb_s(size, value)
        if each > ABOVE_LINK * most:
            raise InputError(
                f"{each:,.0f} MB/s one way at {size} B is more than {link} carries"
                f" ({most:,.0f} MB/s)",
                where=table.source,
                expected=f"tables measured on {'this link' if named else 'the fabric of --base'}",
                hint=f"name another --{'link' if named else 'base'}, or leave it out: then the"
                " tables give the link rate",
            )


def fabric_of_tables(tables: tuple[CheckedTable, ...], link: Figure | None = None) -> Platform:
    """One switch between two nodes, no delays, links of a known rate (Gb/s). Where none is known,
    they are as fast as the fastest row of any table, and limit nothing.

    What a real fabric adds is then part of the host costs. Raises InputError on an absurd rate, and
    where a table is faster than the link.
    """
    shape = platform(SHAPE)
    mtu = path_through(shape, 1).mtu_bytes
    rates = [
        checked.table.one_way_mb_s(size, value) * 8 / 1e3 / header_efficiency(size, mtu)
        for checked in tables
        for size, value in checked.table.rows
        if size > 0
    ]
    if max(rates) > FASTEST_GBPS:
        raise InputError(
            f"a payload rate of {max(rates):,.0f} Gb/s",
            where=", ".join(checked.table.source for checked in tables),
            expected=f"at most {FASTEST_GBPS:,.0f} Gb/s: the units of a table are not what it says",
        )
    fastest = _figure(float(f"{max(rates):.6g}"), "Gb/s", "the fastest row of the tables")
    cable = Cable(
        rate=link or fastest,
        delay=_figure(0, "ns", "part of the host costs"),
    )
    none = _figure(0, "ns", "part of the host costs")
    assert shape.host is not None
    assert shape.switch is not None
    document = shape.model_copy(
        update={
            "notes": ("The fabric is one ideal switch: its delays are part of the host costs.",),
            "node": {"hcas": shape.node["hcas"]},
            "links": Links(host=cable, switch=cable),
            "switch": shape.switch.model_copy(update={"delay": none}),
            "host": shape.host.model_copy(update={"adapter_latency": none, "message_gap": none}),
            "published": (),
            "figures": (),
            "facts": {},
        }
    )
    if link is not None:
        require_same_fabric(document, tables, named=f"a link of {link.value:g} Gb/s")
    return document


def _figure(value: float, unit: str, what: str) -> Figure:
    return Figure.model_validate(
        {"value": value, "unit": unit, "class": SourceClass.FITTED, "source": f"fitted: {what}"}
    )
