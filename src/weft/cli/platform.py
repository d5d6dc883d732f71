"""`weft platform`: the machines of the catalogue, each figure with its source."""

from typing import TYPE_CHECKING, Any

import click

from weft.cli.output import emit, format_option, table_text

if TYPE_CHECKING:
    from weft.catalog.platform import HostRegime, Platform, PublishedTable


@click.group("platform")
def command() -> None:
    """List and show the platforms of the catalogue, with their sources.

    A platform is a TOML document: links, switches, host costs, published tables. Every figure says
    where it comes from; one marked assumed or unverified says so.
    """


@command.command("list")
@format_option
def list_(format_: str) -> None:
    """One line a platform."""
    from weft.catalog.load import platform, platform_names

    rows = [_summary(platform(name)) for name in platform_names()]
    cells = [[row["name"], "yes" if row["twin"] else "no", row["title"]] for row in rows]
    emit(
        format_,
        text=lambda: table_text(["platform", "twin", "what"], cells, left=3),
        record={"platforms": rows},
        rows=rows,
    )


@command.command("show")
@click.argument("name_or_path", metavar="PLATFORM")
@format_option
def show(name_or_path: str, format_: str) -> None:
    """Every figure of a platform, with its unit, class and source.

    PLATFORM is a name of the catalogue or a path to a .toml file of your own.
    """
    from weft.catalog.load import platform

    document = platform(name_or_path)
    emit(
        format_,
        text=lambda: _text(document),
        record=document.model_dump(mode="json", by_alias=True),
        rows=[*_figure_rows(document), *_regime_rows(document), *_published_rows(document)],
    )


def _summary(document: "Platform") -> dict[str, Any]:
    from weft.catalog.platform import figures

    classes = [figure.class_.value for _, figure in figures(document)]
    return {
        "name": document.name,
        "title": document.title,
        "twin": document.has_twin,
        "figures": len(classes),
        "assumed": classes.count("assumed"),
        "unverified": classes.count("unverified"),
    }


def _text(document: "Platform") -> str:
    parts = [f"{document.name}: {document.title}", *(f"  {note}" for note in document.notes)]
    figures = [_figure_line(row) for row in _figure_rows(document)]
    parts += ["", "FIGURES", *figures] if figures else []
    parts += _regimes_text(document)
    for table in document.published:
        parts += ["", *_published_text(table)]
    twin = f"weft bench latency --twin {document.name} --nodes 2"
    parts += ["", f"next: {twin if document.has_twin else 'weft study run smoke'}"]
    return "\n".join(parts)


def _figure_line(row: dict[str, Any]) -> str:
    extra = "; ".join(text for text in (row["conditions"], row["erratum"]) if text)
    head = f"{row['key']:<32} {row['value']:>12,.10g} {row['unit']:<8}  {row['class']:<10}"
    return f"{head}  {_plain(row['source'])}" + (f" ({extra})" if extra else "")


def _figure_rows(document: "Platform") -> list[dict[str, Any]]:
    from weft.catalog.platform import figures

    return [
        {
            "key": key,
            "value": figure.value,
            "unit": figure.unit,
            "class": figure.class_.value,
            "source": figure.source,
            "conditions": figure.conditions,
            "erratum": figure.erratum,
        }
        for key, figure in figures(document)
    ]


def _regime_rows(document: "Platform") -> list[dict[str, Any]]:
    from weft.catalog.platform import HOST_COSTS

    if document.host is None:
        return []
    return [
        {
            "key": f"host.regimes[{i}].{cost}",
            "value": getattr(regime, cost),
            "unit": unit,
            "class": regime.class_.value,
            "source": regime.source,
            "conditions": "; ".join(text for text in (_limit(regime), regime.conditions) if text),
            "erratum": "",
        }
        for i, regime in enumerate(document.host.regimes)
        for cost, unit in HOST_COSTS.items()
    ]


def _published_rows(document: "Platform") -> list[dict[str, Any]]:
    return [
        {
            "key": f"published.{table.name}[{size}]",
            "value": value,
            "unit": table.unit,
            "class": table.class_.value,
            "source": table.source,
            "conditions": table.conditions,
            "erratum": "",
        }
        for table in document.published
        for size, value in table.rows
    ]


def _regimes_text(document: "Platform") -> list[str]:
    if document.host is None:
        return []
    headers = ["sizes", "protocol", "class", "send ns", "recv ns", "send ns/B", "recv ns/B"]
    cells = [
        [
            _limit(regime),
            regime.protocol,
            regime.class_.value,
            f"{regime.send_overhead_ns:g}",
            f"{regime.recv_overhead_ns:g}",
            f"{regime.send_ns_per_byte:g}",
            f"{regime.recv_ns_per_byte:g}",
        ]
        for regime in document.host.regimes
    ]
    sources = dict.fromkeys(
        f"  {regime.class_.value}: {_plain(regime.source)}"
        + (f" ({regime.conditions})" if regime.conditions else "")
        for regime in document.host.regimes
    )
    return ["", "HOST COSTS BY MESSAGE SIZE", table_text(headers, cells, left=3), *sources]


def _published_text(table: "PublishedTable") -> list[str]:
    from weft.core.units import format_size

    cells = [[format_size(size), f"{value:.2f}"] for size, value in table.rows]
    return [
        f"PUBLISHED {table.name.upper()}: {table.source} ({table.conditions})",
        table_text(["size", f"{table.metric} [{table.unit}]"], cells, left=0),
        *(f"  erratum: {erratum}" for erratum in table.errata),
    ]


def _limit(regime: "HostRegime") -> str:
    from weft.core.units import format_size

    if regime.max_bytes is None:
        return "above"
    next_size = format_size(regime.max_bytes + 1)
    if not next_size.endswith(" B"):
        return f"under {next_size}"
    return f"up to {format_size(regime.max_bytes)}"


def _plain(source: str) -> str:
    """A source beside its class: the class is not said twice."""
    return source.removeprefix("assumed: ").removeprefix("fitted ")
