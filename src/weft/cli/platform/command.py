"""`weft platform`: the machines of the catalogue, each figure with its source."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import click

from weft.cli.output import emit, format_option
from weft.cli.platform import detect as platform_detect
from weft.cli.platform import fit as platform_fit
from weft.core.errors import InputError

if TYPE_CHECKING:
    from weft.catalog.machine.platform import HostRegime, Platform, PublishedFigure
    from weft.catalog.threshold import FieldThreshold
    from weft.cli.platform.text import PlatformView


@click.group("platform")
def command() -> None:
    """Machines of the catalogue and your own, with the source of each figure.

    A platform is a TOML document: links, switches, host costs, published tables. Every figure says
    where it comes from; one marked assumed or unverified says so.
    """


command.add_command(platform_detect.command)
command.add_command(platform_fit.command)


@command.command("list")
@format_option
def list_(format_: str) -> None:
    """One line a platform: the network and GPUs of a node, and the number of published figures."""
    from weft.catalog.load import field_thresholds, platform, platform_names
    from weft.cli.platform.text import list_text

    thresholds = [name for row in field_thresholds() for name in row.platforms]
    rows = [_summary(platform(name), thresholds.count(name)) for name in platform_names()]
    emit(format_, text=lambda: list_text(rows), record={"platforms": rows}, rows=rows)


@command.command("show")
@click.argument("name_or_path", metavar="PLATFORM")
@click.option("--figures", "list_figures", is_flag=True, help="List the published figures too.")
@click.option(
    "--thresholds", "list_thresholds", is_flag=True, help="List other people's thresholds too."
)
@click.option(
    "--source",
    metavar="TEXT",
    help="Only figures and thresholds whose source contains TEXT; lists them.",
)
@format_option
def show(
    name_or_path: str,
    list_figures: bool,
    list_thresholds: bool,
    source: str | None,
    format_: str,
) -> None:
    """Every figure of a platform, with its unit, class and source.

    PLATFORM is a name of the catalogue or a path to a .toml file of your own. JSON and CSV hold all
    of it, published figures and thresholds included.
    """
    from weft.cli.platform.text import show_text

    lists = (list_figures or source is not None, list_thresholds or source is not None)
    shown = _shown(name_or_path, source, *lists)
    emit(format_, text=lambda: show_text(shown), record=_record(shown), rows=_rows_of(shown))


def _shown(
    name_or_path: str, source: str | None, list_figures: bool, list_thresholds: bool
) -> "PlatformView":
    """A platform; with `source` the parts that rest on a source with this text, in any case of
    letters. Raises InputError."""
    from weft.catalog.load import facts, field_thresholds
    from weft.catalog.machine.platform import figures
    from weft.cli.platform.text import PlatformView
    from weft.doctor.machine.detection.document import platform_named

    document = platform_named(name_or_path)
    name = document.name
    shown = PlatformView(
        document,
        rows=[_row(key, one.value, one.unit, one) for key, one in figures(document)],
        regimes=document.host.regimes if document.host is not None else (),
        tables=document.published,
        figures=document.figures,
        facts=[fact for fact in facts() if name in fact.platforms and fact.text],
        thresholds=[row for row in field_thresholds() if name in row.platforms],
        list_figures=list_figures,
        list_thresholds=list_thresholds,
    )
    if source is None:
        return shown

    def rests(part: Any) -> bool:
        cited = part["source"] if isinstance(part, dict) else part.source
        return source.casefold() in cited.casefold()

    narrowed: dict[str, Any] = {part: [*filter(rests, getattr(shown, part))] for part in _PARTS}
    if not any(narrowed.values()):
        raise InputError(
            f"no source of platform '{name}' contains '{source}'",
            expected="part of one of: " + "; ".join(_citations(shown)),
        )
    return replace(shown, **narrowed)


_PARTS = ("rows", "regimes", "tables", "figures", "facts", "thresholds")


def _citations(shown: "PlatformView") -> list[str]:
    """Authors and repositories, once: enough to choose one."""
    authors = [figure.source.partition(",")[0] for figure in shown.figures]
    tables = [table.source.partition(",")[0] for table in shown.tables]
    repositories = [row.source.partition(" ")[0].rstrip(",") for row in shown.thresholds]
    own = [row["source"] for row in shown.rows if row["class"] in ("sourced", "published")]
    cited = [source.partition(",")[0] for source in own]
    return list(dict.fromkeys([*authors, *tables, *repositories, *cited]))


def _summary(document: "Platform", n_thresholds: int) -> dict[str, Any]:
    from weft.catalog.machine.platform import figures

    classes = [figure.class_.value for _, figure in figures(document)]
    gpus, network = document.gpus, ""
    if document.links is not None:
        rate = document.links.host.rate
        network = f"{document.hcas_per_node} x {rate.value:g} {rate.unit}"
    return {
        "name": document.name,
        "title": document.title,
        "twin": document.has_twin,
        "network": network,
        "gpus": "" if gpus is None else f"{gpus.per_node.whole} x {gpus.model}",
        "figures": len(classes),
        "assumed": classes.count("assumed"),
        "unverified": classes.count("unverified"),
        "published": len(document.figures),
        "thresholds": n_thresholds,
    }


def _record(shown: "PlatformView") -> dict[str, Any]:
    return {
        **shown.document.model_dump(mode="json", by_alias=True),
        "figures": [figure.model_dump(mode="json") for figure in shown.figures],
        "facts_in_words": [fact.model_dump(mode="json") for fact in shown.facts],
        "field_thresholds": [asdict(row) for row in shown.thresholds],
    }


def _rows_of(shown: "PlatformView") -> list[dict[str, Any]]:
    return [
        *shown.rows,
        *_regime_rows(shown.regimes),
        *(
            _row(f"published.{table.name}[{size}]", value, table.unit, table, erratum="")
            for table in shown.tables
            for size, value in table.rows
        ),
        *(_published_figure_row(figure) for figure in shown.figures),
        *(_threshold_row(i, row) for i, row in enumerate(shown.thresholds)),
    ]


def _row(key: str, value: Any, unit: str, cited: Any, **other: Any) -> dict[str, Any]:
    """A figure as a record; `cited` has its source, and may have a class and conditions."""
    return {
        "key": key,
        "value": value,
        "unit": unit,
        "class": cited.class_.value if hasattr(cited, "class_") else "published",
        "source": cited.source,
        "conditions": getattr(cited, "conditions", ""),
        "erratum": getattr(cited, "erratum", ""),
        **other,
    }


def _regime_rows(regimes: "Sequence[HostRegime]") -> list[dict[str, Any]]:
    from weft.catalog.machine.platform import HOST_COSTS
    from weft.cli.platform.text import regime_limit

    rows = []
    for i, regime in enumerate(regimes):
        where = "; ".join(text for text in (regime_limit(regime), regime.conditions) if text)
        for cost, unit in HOST_COSTS.items():
            key, value = f"host.regimes[{i}].{cost}", getattr(regime, cost)
            rows.append(_row(key, value, unit, regime, conditions=where))
    return rows


def _published_figure_row(figure: "PublishedFigure") -> dict[str, Any]:
    what = " ".join(text for text in (figure.benchmark, figure.what) if text)
    more = {"kind": figure.kind, "what": what, "place": figure.place, "notes": figure.notes}
    return _row(f"figures.{figure.id}", figure.value, figure.unit, figure, **more)


def _threshold_row(i: int, row: "FieldThreshold") -> dict[str, Any]:
    more = {"conditions": row.special, "kind": row.kind, "what": f"{row.system}: {row.text}"}
    return _row(f"thresholds[{i}]", row.printed_value, row.printed_unit, row, **more)
