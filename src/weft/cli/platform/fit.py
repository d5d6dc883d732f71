"""`weft platform fit`: host costs of a machine from tables that were measured on it."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.cli.options import ANY_PATH
from weft.cli.output import emit, format_option, table_text, talk
from weft.core.errors import InputError
from weft.core.files import write_whole
from weft.core.units import format_size

if TYPE_CHECKING:
    from weft.catalog.machine.fit_report import FittedTable
    from weft.catalog.machine.platform import Platform
    from weft.expect.fit.platform_fit import FittedPlatform


@click.command("fit")
@click.argument("paths", metavar="[FILE]...", nargs=-1, type=ANY_PATH)
@click.option("--name", help="Name of the fitted platform. [default: BASE-fitted, or fitted]")
@click.option("--base", metavar="PLATFORM", help="The machine the tables were measured on.")
@click.option("--out", "-o", type=ANY_PATH, help="Write the platform there.")
@click.option(
    "--window", type=click.IntRange(min=2), help="Messages in a window, if no file states it."
)
@format_option
def command(  # noqa: PLR0917
    paths: tuple[Path, ...],
    name: str | None,
    base: str | None,
    out: Path | None,
    window: int | None,
    format_: str,
) -> None:
    """Fit the host costs of a platform to tables of two ranks.

    FILE is the output of osu_latency, osu_bw, osu_bibw, IMB or another tool that is read, or a run
    directory of weft. A latency table is needed; bandwidths say how often messages can follow.
    Without --base the fabric is one ideal switch, as fast as the tables; without FILE the tables
    are those published about BASE.
    """
    from weft.catalog.document import to_toml
    from weft.catalog.load import platform
    from weft.expect.fit.platform_fit import fit_platform
    from weft.study.fit_tables import published_tables, tables_of

    ground = platform(base) if base is not None else None
    if not paths and ground is None:
        raise click.UsageError("Name a FILE to fit to, or --base for its published tables.")
    found = tables_of(paths, window) if paths or ground is None else published_tables(ground)
    named = name or (f"{ground.name}-fitted" if ground is not None else "fitted")
    fitted = fit_platform(found.tables, name=_slug(named), base=ground)
    if out is not None:
        write_whole(out, to_toml(fitted.platform), what="platform", hint=None)
        talk(f"wrote {out}")
    for remark in found.remarks:
        talk(remark)
    rows = _rows(fitted)
    record = {
        "schema": "weft.fit/1",
        "platform": fitted.platform.model_dump(mode="json", by_alias=True, exclude_none=True),
        "held_out": rows,
    }
    emit(format_, text=lambda: _text(fitted, out), record=record, rows=rows)


def _slug(name: str) -> str:
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]*", name):
        raise InputError(
            f"'{name}' cannot name a platform",
            where="--name",
            expected="lower-case letters, digits, '.', '_' and '-'",
        )
    return name


def _text(fitted: "FittedPlatform", out: Path | None) -> str:
    document, fit = fitted.platform, fitted.platform.fit
    assert fit is not None
    assert document.host is not None
    lines = [
        f"{document.name}: {fit.n_parameters} parameters fitted to {fit.n_rows} rows,"
        f" {len(document.host.regimes)} protocol regimes",
        "",
        *(
            f"{one.benchmark}: held-out rows to {one.unseen.median_error:.1%} (median of the worse"
            f" half), {one.unseen.worst_error:.1%} at worst ({format_size(one.unseen.worst_bytes)})"
            for one in fit.tables
        ),
        *_anomaly_lines(fit.tables),
        f"Valid from {format_size(fit.min_bytes)} to {format_size(fit.max_bytes)}; predictions"
        " outside this range are marked.",
        "",
        "HELD-OUT ROWS (each half of the rows predicts the other half)",
        _held_out_table(fit.tables),
        "",
        "HOST COSTS",
        _costs_table(document),
        "",
        *(f"assumed: {text}" for text in fit.assumptions),
    ]
    target = out if out is not None else "FITTED.toml"
    step = f"weft expect {target} latency"
    if document.has_twin:
        step = f"weft bench latency --twin {target} --nodes 2"
    lines.append(f"next: {step}" if out is not None else f"next: --out {target}, then {step}")
    return "\n".join(lines)


def _anomaly_lines(tables: "tuple[FittedTable, ...]") -> list[str]:
    lines = []
    for table in tables:
        for row in table.left_out:
            at = f"{table.benchmark} at {format_size(row.size_bytes)}"
            missed = ""
            if row.held_out_error is not None:
                missed = f" (predicted {row.held_out_error:.0%} off; not counted above)"
            lines.append(f"anomaly, not fitted: {at}, {row.reason}{missed}")
    return lines


def _held_out_table(tables: "tuple[FittedTable, ...]") -> str:
    cells = [
        [
            table.benchmark,
            half.fitted_on,
            str(half.n_rows),
            f"{half.median_error:.1%}",
            f"{half.worst_error:.1%}",
            format_size(half.worst_bytes),
        ]
        for table in tables
        for half in table.held_out
    ]
    return table_text(["table", "fitted on", "rows", "median", "worst", "at"], cells, left=2)


def _costs_table(document: "Platform") -> str:
    from weft.catalog.machine.platform import HOST_COSTS

    assert document.host is not None
    keys = [key for key in HOST_COSTS if not key.startswith("recv_")]
    heads = [
        f"{key.replace('_ns_per_byte', '').replace('_ns', '')} {HOST_COSTS[key]}" for key in keys
    ]
    cells = [
        [
            "above" if regime.max_bytes is None else f"to {format_size(regime.max_bytes)}",
            *(f"{getattr(regime, key):.4g}" for key in keys),
        ]
        for regime in document.host.regimes
    ]
    return table_text(["sizes", *heads], cells)


def _rows(fitted: "FittedPlatform") -> list[dict[str, Any]]:
    return [
        {
            "table": half.table.benchmark,
            "fitted_on": half.fitted_on,
            "size_bytes": row.size_bytes,
            "measured": row.measured,
            "predicted": row.predicted,
            "error": row.error,
            "is_anomaly": row in half.named,
        }
        for half in fitted.held_out
        for row in sorted((*half.rows, *half.named), key=lambda row: row.size_bytes)
    ]
