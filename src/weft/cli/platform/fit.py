"""`weft platform fit`: host costs of a machine from tables that were measured on it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.cli.options import ANY_PATH
from weft.cli.output import emit, format_option, table_text, talk
from weft.cli.platform.text import band_lines
from weft.core.errors import InputError
from weft.core.files import write_whole
from weft.core.shell_line import quoted
from weft.core.units import format_size

if TYPE_CHECKING:
    from weft.catalog.machine.fit_report import FittedTable
    from weft.catalog.machine.platform import Platform
    from weft.expect.fit.platform_fit import FittedPlatform


@click.command("fit")
@click.argument("paths", metavar="[FILE]...", nargs=-1, type=ANY_PATH)
@click.option(
    "--healthy",
    multiple=True,
    metavar="RUN",
    type=ANY_PATH,
    help="A further healthy run; then every FILE is one.",
)
@click.option("--name", help="Name of the fitted platform. [default: from the files]")
@click.option("--base", metavar="PLATFORM", help="The machine the tables were measured on.")
@click.option("--link", metavar="L", help="Its link, if no --base: edr, 25gbe, '200 Gb/s'.")
@click.option("--out", "-o", type=ANY_PATH, help="Write the platform there. [default: NAME.toml]")
@click.option(
    "--window", type=click.IntRange(min=2), help="Messages in a window, if no file states it."
)
@format_option
def command(paths: tuple[Path, ...], *, format_: str, **given: Any) -> None:
    """Fit the host costs of a platform to tables of two ranks.

    FILE is the output of osu_latency, osu_bw, osu_bibw, IMB or another tool that is read, or a run
    directory of weft. A latency table is needed; bandwidths say how often messages can follow.
    With --healthy the medians of all runs are fitted, and `weft judge` takes their scatter as the
    band. Limits are those of the link: of --base, of --link, or as the rows tell it. Without FILE
    the tables are those published about BASE.
    """
    from weft.catalog.document import to_toml

    every = (*paths, *given["healthy"])
    if given["base"] is not None and given["link"]:
        raise click.UsageError("--base and --link both give the link: name one of them.")
    if not every and given["base"] is None:
        raise click.UsageError("Name a FILE to fit to, or --base for its published tables.")
    name = _slug(given["name"] or _name_of(every, given["base"]))
    out = given["out"] or _free(Path(f"{name}.toml"))
    fitted, remarks = _fitted(every, name, given)
    write_whole(out, to_toml(fitted.platform), what="platform", hint=None)
    talk(f"wrote {out}")
    for remark in remarks:
        talk(remark)
    rows = _rows(fitted)
    record = {
        "schema": "weft.fit/1",
        "platform": fitted.platform.model_dump(mode="json", by_alias=True, exclude_none=True),
        "held_out": rows,
    }
    emit(format_, text=lambda: _text(fitted, out, every), record=record, rows=rows)


def _fitted(
    every: tuple[Path, ...], name: str, given: Mapping[str, Any]
) -> "tuple[FittedPlatform, list[str]]":
    """The fit, and remarks on its tables and its link. Raises InputError."""
    from weft.catalog.load import platform
    from weft.cli.platform.fitted_link import named_link, told_link
    from weft.expect.fit.healthy_runs import healthy_runs, with_bands
    from weft.expect.fit.platform_fit import fit_platform
    from weft.study.fit_tables import published_tables, tables_of

    ground = platform(given["base"]) if given["base"] is not None else None
    several = bool(given["healthy"])
    found = (
        tables_of(every, given["window"], several_runs=several)
        if every or ground is None
        else published_tables(ground)
    )
    remarks, link = list(found.remarks), None
    if given["link"]:
        link = named_link(given["link"])
    elif ground is None:
        link, remark = told_link(every)
        remarks.append(remark)
    if not several:
        return fit_platform(found.tables, name=name, base=ground, link=link), remarks
    runs = healthy_runs(found.tables)
    fitted = fit_platform([one.table for one in runs], name=name, base=ground, link=link)
    return replace(fitted, platform=with_bands(fitted.platform, runs)), remarks


def _name_of(paths: Sequence[Path], base: str | None) -> str:
    """BASE-fitted, or the beginning that the names of all files share."""
    if base is not None:
        return f"{Path(base).stem.lower()}-fitted"
    letters = zip(*(path.stem.lower() for path in paths), strict=False)
    shared = "".join(group[0] for group in takewhile(lambda group: len(set(group)) == 1, letters))
    word = re.sub(r"[^a-z0-9._-]+", "-", shared).strip("._-")
    return f"{word}-fitted" if word else "fitted"


def _free(out: Path) -> Path:
    if out.exists():
        raise InputError(
            "the file is there already",
            where=str(out),
            expected=f"-o {quoted(out)}, which overwrites it, or another --name",
        )
    return out


def _slug(name: str) -> str:
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]*", name):
        raise InputError(
            f"'{name}' cannot name a platform",
            where="--name",
            expected="lower-case letters, digits, '.', '_' and '-'",
        )
    return name


def _text(fitted: "FittedPlatform", out: Path, paths: Sequence[Path]) -> str:
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
        *band_lines(fit.bands),
        "",
        "HELD-OUT ROWS (each half of the rows predicts the other half)",
        _held_out_table(fit.tables),
        "",
        "HOST COSTS",
        _costs_table(document),
        "",
        *(f"assumed: {text}" for text in fit.assumptions),
    ]
    target = quoted(out)
    twin = f"weft bench latency --twin {target} --nodes 2" if document.has_twin else ""
    if paths and paths[0].is_file():
        lines += [f"its twin: {twin}"] if twin else []
        step = f"weft judge {quoted(paths[0])} --platform {target}"
    else:
        step = twin or f"weft expect {target} latency"
    lines.append(f"next: {step}")
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
