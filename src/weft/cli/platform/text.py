"""The text of `weft platform show` and `list`: figures with numbered sources, tables, lists."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from weft.catalog.machine.fit_report import HealthyBand
from weft.catalog.machine.platform import (
    HOST_COSTS,
    HostRegime,
    Platform,
    PublishedFigure,
    PublishedTable,
)
from weft.catalog.published_figures import Fact
from weft.catalog.threshold import FieldThreshold
from weft.cli.output import table_text
from weft.core.shell_line import quoted
from weft.core.units import format_size


@dataclass(frozen=True, slots=True)
class PlatformView:
    """A platform and what belongs to it, as far as the reader asked for it.

    `rows` are its figures in the order of the document, as plain records.
    """

    document: Platform
    rows: Sequence[dict[str, Any]]
    regimes: Sequence[HostRegime]
    tables: Sequence[PublishedTable]
    figures: Sequence[PublishedFigure]
    facts: Sequence[Fact]
    thresholds: Sequence[FieldThreshold]
    list_figures: bool
    list_thresholds: bool


def list_text(rows: Iterable[Mapping[str, Any]]) -> str:
    """One line a platform."""
    cells = [
        [
            row["name"],
            "yes" if row["twin"] else "no",
            row["network"] or "-",
            row["gpus"] or "-",
            str(row["published"]),
            str(row["thresholds"]),
            row["title"],
        ]
        for row in rows
    ]
    headers = ["platform", "twin", "network of a node", "GPUs", "figures", "thresholds", "what"]
    lines = [
        table_text(headers, cells, left=7),
        "",
        f"next: weft platform show {quoted(cells[0][0])}",
    ]
    return "\n".join(lines)


def show_text(view: PlatformView) -> str:
    """The whole page of one platform."""
    document = view.document
    # In order of first use; an assumed figure says so itself and needs no number.
    cited = dict.fromkeys(row["source"] for row in view.rows if row["class"] != "assumed")
    numbers = {source: i for i, source in enumerate(cited, start=1)}
    parts = [f"{document.name}: {document.title}", *(f"  {note}" for note in document.notes)]
    figures = [_figure_line(row, numbers) for row in view.rows]
    parts += ["", "FIGURES", *figures] if figures else []
    sources = [f"[{number}] {plain_source(source)}" for source, number in numbers.items()]
    parts += ["", "SOURCES", *sources] if sources else []
    parts += _regimes_text(view.regimes)
    parts += _fit_text(document) if view.regimes else []
    for table in view.tables:
        parts += ["", *_published_text(table)]
    parts += _published_figures_text(view)
    facts = [f"  {fact.what}: {fact.text} ({fact.source})" for fact in view.facts]
    parts += ["", "IN WORDS", *facts] if facts and view.list_figures else []
    parts += _thresholds_text(view)
    return "\n".join([*parts, "", f"next: {_next_command(view)}"])


def _next_command(view: PlatformView) -> str:
    name = quoted(view.document.name)
    if view.figures and not view.list_figures:
        return f"weft platform show {name} --figures"
    if view.document.has_twin:
        return f"weft bench latency --twin {name} --nodes 2"
    if view.document.links is not None:
        return f"weft judge FILE --platform {name}"
    return "weft study run smoke"


def _figure_line(row: Mapping[str, Any], numbers: Mapping[str, int]) -> str:
    erratum = f"erratum: {row['erratum']}" if row["erratum"] else ""
    number = numbers.get(row["source"])
    source = plain_source(row["source"]) if number is None else f"[{number}]"
    extra = "; ".join(text for text in (row["conditions"], erratum) if text)
    head = f"{row['key']:<32} {row['value']:>12,.10g} {row['unit']:<8}  {row['class']:<10}"
    return f"{head}  {source}" + (f" ({extra})" if extra else "")


def _regimes_text(regimes: Sequence[HostRegime]) -> list[str]:
    if not regimes:
        return []
    costs = [cost for cost in HOST_COSTS if any(getattr(regime, cost) for regime in regimes)]
    headers = ["sizes", "protocol", "class", *(_cost_header(cost) for cost in costs)]
    cells = [
        [
            regime_limit(regime),
            regime.protocol,
            regime.class_.value,
            *(f"{getattr(regime, cost):g}" for cost in costs),
        ]
        for regime in regimes
    ]
    sources = dict.fromkeys(
        f"  {regime.class_.value}: {plain_source(regime.source)}"
        + (f" ({regime.conditions})" if regime.conditions else "")
        for regime in regimes
    )
    return ["", "HOST COSTS BY MESSAGE SIZE", table_text(headers, cells, left=3), *sources]


def band_lines(bands: Sequence[HealthyBand]) -> list[str]:
    """How far the runs scatter, and how far a further one may."""
    lines = []
    for band in bands:
        first, last = band.rows[0][0], band.rows[-1][0]
        apart = max(most / least for _, least, most in band.rows) - 1
        lines.append(
            f"band of {band.n_runs} healthy runs: {band.benchmark}, {format_size(first)} to"
            f" {format_size(last)}, runs up to {apart:.1%} apart; normal within"
            f" {band.factor - 1:.1%} beyond them"
        )
    return lines


def _fit_text(document: Platform) -> list[str]:
    if document.fit is None:
        return []
    found = document.fit
    span = f"{format_size(found.min_bytes)} to {format_size(found.max_bytes)}"
    worst = [
        f"  held-out rows of {table.benchmark} ({half.fitted_on} fitted): {half.median_error:.1%}"
        f" in the median, {half.worst_error:.1%} at worst ({format_size(half.worst_bytes)})"
        for table in found.tables
        for half in table.held_out
    ]
    return [
        f"  fit: {found.n_parameters} parameters, {found.n_rows} rows, good for {span}",
        *worst,
        *(f"  {line}" for line in band_lines(found.bands)),
        *(f"  assumed in the fit: {assumption}" for assumption in found.assumptions),
    ]


def _cost_header(cost: str) -> str:
    """send_overhead_ns -> send ns, send_ns_per_byte -> send ns/B."""
    words = cost.replace("_overhead", "").replace("_ns_per_byte", " ns/B")
    return words.replace("_ns", " ns").replace("_", " ")


def _published_text(table: PublishedTable) -> list[str]:
    cells = [[format_size(size), f"{value:.2f}"] for size, value in table.rows]
    return [
        f"PUBLISHED {table.name.upper()}: {table.source} ({table.conditions})",
        table_text(["size", f"{table.metric} [{table.unit}]"], cells, left=0),
        *(f"  erratum: {erratum}" for erratum in table.errata),
    ]


def _published_figures_text(view: PlatformView) -> list[str]:
    if not view.figures:
        return []
    kinds = Counter(figure.kind for figure in view.figures)
    counts = ", ".join(f"{n} {kind}" for kind, n in kinds.most_common())
    parts = ["", f"PUBLISHED FIGURES: {len(view.figures)} ({counts})"]
    if not view.list_figures:
        sources = Counter(figure.source for figure in view.figures)
        return [*parts, *(f"  {n:>4}  {source}" for source, n in sources.most_common())]
    place = ("", "")
    for figure in view.figures:
        if (figure.source, figure.place) != place:
            place = (figure.source, figure.place)
            parts += ["", f"{figure.source}: {figure.place}"]
        parts.append(_published_line(figure))
    return parts


def _published_line(figure: PublishedFigure) -> str:
    erratum = f"erratum: {figure.erratum}" if figure.erratum else ""
    name = " ".join(text for text in (figure.benchmark, figure.what) if text)
    extra = "; ".join(text for text in (figure.conditions, figure.notes, erratum) if text)
    head = f"  {figure.value:>12,.10g} {figure.unit:<12}  {figure.kind:<8}"
    return f"{head}  {name}" + (f" ({extra})" if extra else "") + f" [{figure.id}]"


def _thresholds_text(view: PlatformView) -> list[str]:
    if not view.thresholds:
        return []
    title = f"FIELD THRESHOLDS: {len(view.thresholds)}, limits that other people's checks require"
    if not view.list_thresholds:
        return ["", title + " (--thresholds lists them)"]
    cells = [
        [
            row.kind,
            row.direction,
            f"{row.printed_value:,.10g} {row.printed_unit}",
            row.system,
            row.text,
        ]
        for row in view.thresholds
    ]
    headers = ["kind", "means", "value", "system", "test"]
    sources = dict.fromkeys(row.source for row in view.thresholds)
    errata = dict.fromkeys(row.erratum for row in view.thresholds if row.erratum)
    return [
        "",
        title,
        table_text(headers, cells, left=5),
        *(f"  erratum: {erratum}" for erratum in errata),
        *(f"  {source}" for source in sources),
    ]


def regime_limit(regime: HostRegime) -> str:
    """Up to which size a regime goes, in words."""
    if regime.max_bytes is None:
        return "above"
    next_size = format_size(regime.max_bytes + 1)
    if not next_size.endswith(" B"):
        return f"under {next_size}"
    return f"up to {format_size(regime.max_bytes)}"


def plain_source(source: str) -> str:
    """A source next to its class, without repeating the class."""
    return source.removeprefix("assumed: ").removeprefix("fitted ")
