"""The scoreboard's tables as Markdown, from the records of its cases."""

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from benches.check_case import KINDS, figures
from benches.check_record import Record
from benches.check_score import FaultRecord

LEAST_NAMED = 0.97
MOST_FABRIC_S = 60.0
MOST_ANALYSIS_S = 5.0
"""The promises: the share of identifiable faults named, fabric time, time of the analysis."""

ANALYSIS = f"analysis within {MOST_ANALYSIS_S:.0f} s of processor time"
TIMED = (ANALYSIS,)
"""Promises that depend on the machine at hand."""

MOST_LISTED = 60


@dataclass(frozen=True, slots=True)
class Gate:
    """A promise and its measurement."""

    promise: str
    measured: str
    held: bool


def gates(records: Sequence[Record]) -> list[Gate]:
    """Every promise."""
    faults = [one for record in records for one in record.faults if one.identifiable]
    named = sum(one.named for one in faults)
    healthy = [record for record in records if record.healthy]
    accused = sum(bool(record.wrong) for record in healthy)
    judged = [record for record in records if record.failure is None]
    fabric_s = max((record.fabric_s for record in judged), default=0.0)
    analysis_s = max((record.analysis_s for record in judged), default=0.0)
    failed = len(records) - len(judged)
    return [
        Gate(
            f"{LEAST_NAMED:.0%} of identifiable faults named",
            _share(named, len(faults)),
            named >= LEAST_NAMED * len(faults),
        ),
        Gate(
            "no false accusation in healthy runs",
            f"{accused} of {len(healthy)}",
            accused == 0,
        ),
        Gate(
            f"fabric time of the schedule within {MOST_FABRIC_S:.0f} s",
            f"{fabric_s:.1f} s at most",
            fabric_s <= MOST_FABRIC_S,
        ),
        Gate(
            ANALYSIS,
            f"{analysis_s:.1f} s at most",
            analysis_s <= MOST_ANALYSIS_S,
        ),
        Gate("every case judged", f"{failed} failed", failed == 0),
    ]


def tables(records: Sequence[Record], *, of: int) -> str:
    """All tables, and below them the cases that went wrong, each by what repeats it."""
    cases = sum(not record.healthy for record in records)
    faults = sum(len(record.faults) for record in records)
    head = (
        f"{cases} cases with {faults} faults and {len(records) - cases} healthy runs"
        + ("" if len(records) == of else f" ({len(records)} of {of}: interrupted)")
        + f"; seed {', '.join(sorted({str(record.seed) for record in records}))}."
    )
    parts = [head, _gate_table(gates(records)), _kind_table(records), _setting_table(records)]
    return "\n\n".join([*parts, *_lists(records)])


def _gate_table(of: Iterable[Gate]) -> str:
    rows = [(gate.promise, gate.measured, "yes" if gate.held else "**no**") for gate in of]
    return markdown_table(("promise", "measured", "held"), rows)


def _kind_table(records: Sequence[Record]) -> str:
    rows = []
    for kind in KINDS:
        faults = [one for record in records for one in record.faults if one.kind == kind]
        if faults:
            figure = figures()["kinds"][kind]
            shown = [one for one in faults if one.identifiable]
            hidden = len(faults) - len(shown)
            shown_by = figure["shown_by"] if hidden else "-"
            rows.append(
                (kind, figure["planted"], *_counts(faults), str(hidden), shown_by),
            )
    header = ("fault", "planted as", "planted", "identifiable", "named", "wider", "missed")
    return markdown_table((*header, "not identifiable", "which would show in"), rows)


def _counts(faults: Sequence[FaultRecord]) -> tuple[str, ...]:
    shown = [one for one in faults if one.identifiable]
    named = sum(one.named for one in shown)
    wide = sum(one.too_wide for one in shown)
    missed = len(shown) - named - wide
    return (str(len(faults)), str(len(shown)), _share(named, len(shown)), str(wide), str(missed))


def _setting_table(records: Sequence[Record]) -> str:
    rows = []
    for setting in dict.fromkeys(record.setting for record in records):
        of = [record for record in records if record.setting == setting]
        cases = [record for record in of if not record.healthy]
        healthy = [record for record in of if record.healthy]
        faults = [one for record in cases for one in record.faults]
        done = [record for record in of if record.failure is None]
        rows.append(
            (
                ", ".join(setting),
                *_counts(faults),
                str(sum(len(record.wrong) for record in cases)),
                f"{sum(bool(record.wrong) for record in healthy)} of {len(healthy)}",
                _most(done, lambda record: record.fabric_s),
                _median_and_most(done, lambda record: record.analysis_s),
                _median_and_most(done, lambda record: record.seconds),
            )
        )
    header = ("twin, routing", "faults", "identifiable", "named", "wider", "missed")
    times = ("fabric s", "analysis CPU s: median, most", "a case s: median, most")
    return markdown_table((*header, "others accused", "healthy runs accused", *times), rows)


def _lists(records: Sequence[Record]) -> Iterable[str]:
    missed = [
        f"{_where(record)}: {one.kind} {one.text}, {one.errors:.1f} standard errors on"
        f" {one.n_beyond} of {one.n_crossing} readings"
        f"{', in too wide an answer' if one.too_wide else ''}; noise {record.sigma:.3f}"
        for record in records
        for one in record.missed
    ]
    wrong = [
        f"{_where(record)}: {accused}"
        + "".join(f"; planted {one.text}" for one in record.faults)
        + f"; noise {record.sigma:.3f}"
        for record in records
        for accused in record.wrong
    ]
    failed = [f"{_where(r)}: {r.failure}" for r in records if r.failure is not None]
    titles = ("Missed", "Wrongly accused", "Failed")
    for title, lines in zip(titles, (missed, wrong, failed), strict=True):
        if lines:
            more = len(lines) - MOST_LISTED
            shown = lines[:MOST_LISTED] + ([f"and {more} more"] if more > 0 else [])
            yield "\n".join([f"{title}:", "", *(f"* {line}" for line in shown)])


def _where(record: Record) -> str:
    what = "healthy run" if record.healthy else "case"
    return f"{what} {record.number} ({', '.join(record.setting)}, seed {record.seed})"


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({part / whole:.1%})" if whole else "0 of 0"


def _most(records: Sequence[Record], of: Callable[[Record], float]) -> str:
    return f"{max(map(of, records)):.1f}" if records else "-"


def _median_and_most(records: Sequence[Record], of: Callable[[Record], float]) -> str:
    values = [of(record) for record in records]
    return f"{statistics.median(values):.1f}, {max(values):.1f}" if values else "-"


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Rows of cells as a table of Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
