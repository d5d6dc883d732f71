"""The scoreboard's tables as Markdown, from the records of its cases."""

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from benches.check_figures import figures
from benches.check_kinds import KINDS
from benches.check_record import Record
from benches.check_score import FaultRecord

from weft.core.errors import ExitCode

LEAST_NAMED = 0.98
LEAST_OF_KIND = 0.95
LEAST_FAINT = 0.90
MOST_BESIDE = 0.002
MOST_HIDDEN = 0.15
LEAST_DEPTH = 0.10
MOST_FABRIC_S = 60.0
MOST_ANALYSIS_S = 5.0
"""The promises: shares of identifiable faults named, of all and of each kind, and of those that
show by two to three standard errors; cases in which something else is accused; faults of a kind
that are not identifiable, of those that take so much of a component's speed; fabric time; time of
the analysis."""

ANALYSIS = f"analysis within {MOST_ANALYSIS_S:.0f} s of processor time"
HIDDEN = f"at most {MOST_HIDDEN:.0%} of a kind, {LEAST_DEPTH:.0%} deep or more, not identifiable"
NAMED = f"{LEAST_NAMED:.0%} of identifiable faults named"
OF_KIND = f"{LEAST_OF_KIND:.0%} of every kind"
FAINT = f"{LEAST_FAINT:.0%} of those at 2 to 3 standard errors"
TIMED = (ANALYSIS,)
"""Promises that depend on the machine at hand."""

AGGRESSOR = "aggressor"
"""The kind that is no fault."""

MOST_LISTED = 60


@dataclass(frozen=True, slots=True)
class Gate:
    """A promise and its measurement."""

    promise: str
    measured: str
    held: bool


def gates(records: Sequence[Record]) -> list[Gate]:
    """Every promise."""
    every = [one for record in records for one in record.faults]
    faults = [one for one in every if one.identifiable]
    faint = [one for one in every if one.is_faint and one.kind != AGGRESSOR]
    of_kind = {kind: [one for one in faults if one.kind == kind] for kind in KINDS}
    shares = {kind: _named(of) / len(of) for kind, of in of_kind.items() if of}
    worst = min(shares, key=lambda kind: shares[kind], default="-")
    cases = [record for record in records if not record.healthy]
    beside = sum(bool(record.wrong) for record in cases)
    healthy = [record for record in records if record.healthy]
    accused = sum(bool(record.wrong) for record in healthy)
    judged = [record for record in records if record.failure is None]
    fabric_s = max((record.fabric_s for record in judged), default=0.0)
    analysis_s = max((record.analysis_s for record in judged), default=0.0)
    failed = len(records) - len(judged)
    return [
        Gate(
            NAMED,
            _share(_named(faults), len(faults)),
            _named(faults) >= LEAST_NAMED * len(faults),
        ),
        Gate(
            OF_KIND,
            f"{sum(share >= LEAST_OF_KIND for share in shares.values())} of {len(shares)} kinds;"
            f" least: {worst} {shares.get(worst, 1.0):.1%}",
            all(share >= LEAST_OF_KIND for share in shares.values()),
        ),
        Gate(
            FAINT,
            _share(_named(faint), len(faint)),
            _named(faint) >= LEAST_FAINT * len(faint),
        ),
        Gate(
            f"something else accused in at most {MOST_BESIDE:.1%} of cases",
            _share(beside, len(cases)),
            beside <= MOST_BESIDE * len(cases),
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
        *_gates_of_truth(every),
    ]


def _gates_of_truth(every: Sequence[FaultRecord]) -> Iterable[Gate]:
    """What the other gates leave out: other traffic, and faults that timing cannot show."""
    loads = [one for one in every if one.kind == AGGRESSOR]
    faults = [one for one in every if one.kind != AGGRESSOR]
    blamed = sum(one.blamed for one in loads)
    yield Gate("no traffic of others called hardware", f"{blamed} of {len(loads)}", blamed == 0)
    hidden = {}
    for kind in {one.kind for one in faults if one.depth >= LEAST_DEPTH}:
        deep = [one for one in faults if one.kind == kind and one.depth >= LEAST_DEPTH]
        hidden[kind] = sum(not one.identifiable for one in deep) / len(deep)
    most = max(sorted(hidden), key=lambda kind: hidden[kind], default="-")
    n_held = sum(share <= MOST_HIDDEN for share in hidden.values())
    measured = f"{n_held} of {len(hidden)} kinds; most: {most} {hidden.get(most, 0.0):.1%}"
    yield Gate(HIDDEN, measured, n_held == len(hidden))


def _named(faults: Sequence[FaultRecord]) -> int:
    return sum(one.named for one in faults)


def tables(records: Sequence[Record], *, of: int) -> str:
    """All tables, and below them the cases that went wrong, each by what repeats it."""
    cases = sum(not record.healthy for record in records)
    faults = sum(len(record.faults) for record in records)
    head = (
        f"{cases} cases with {faults} faults and {len(records) - cases} healthy runs"
        + ("" if len(records) == of else f" ({len(records)} of {of}: interrupted)")
        + f"; seed {', '.join(sorted({str(record.seed) for record in records}))}."
    )
    parts = [
        head,
        _gate_table(gates(records)),
        _kind_table(records),
        _file_table(records),
        _setting_table(records),
    ]
    return "\n\n".join([*filter(None, parts), *_lists(records)])


def _gate_table(of: Iterable[Gate]) -> str:
    rows = [(gate.promise, gate.measured, "yes" if gate.held else "**no**") for gate in of]
    return markdown_table(("promise", "measured", "held"), rows)


def _kind_table(records: Sequence[Record]) -> str:
    rows = []
    for kind in KINDS:
        faults = [one for record in records for one in record.faults if one.kind == kind]
        if faults:
            faint = [one for one in faults if one.is_faint]
            at_least = "-" if kind == AGGRESSOR else _share(_named(faint), len(faint))
            blamed = sum(one.blamed for one in faults)
            hardware = str(blamed) if kind == AGGRESSOR else "-"
            rows.append(
                (kind, figures()["kinds"][kind]["planted"], *_counts(faults), at_least, hardware)
            )
    header = ("fault", "planted as", "planted", "identifiable", "named", "wider", "missed")
    return markdown_table((*header, "at 2 to 3 s.e. named", "called hardware"), rows)


def _file_table(records: Sequence[Record]) -> str:
    """Kinds of which timing left some unnamed, and the file that names these."""
    rows = []
    for kind in KINDS:
        if kind == AGGRESSOR:
            continue
        faults = [one for record in records for one in record.faults if one.kind == kind]
        left = [one for one in faults if not one.named]
        if left:
            hidden = sum(not one.identifiable for one in left)
            asked = [one for one in left if one.by_file is not None]
            by_file = sum(bool(one.by_file) for one in asked)
            named = _share(by_file, len(asked)) if asked else "not tried"
            rows.append(
                (kind, str(len(left)), str(hidden), figures()["kinds"][kind]["shown_by"], named)
            )
    header = ("fault", "not named by timing", "of these not identifiable", "shows in")
    return markdown_table((*header, "named with that file"), rows) if rows else ""


def _counts(faults: Sequence[FaultRecord]) -> tuple[str, ...]:
    shown = [one for one in faults if one.identifiable]
    named = _named(shown)
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
                f"{sum(bool(record.wrong) for record in cases)} of {len(cases)}",
                str(sum(bool(record.doubted) for record in cases)),
                f"{sum(bool(record.wrong) for record in healthy)} of {len(healthy)}",
                str(sum(bool(record.doubted) for record in healthy)),
                str(sum(record.exit_code == ExitCode.NO_VERDICT for record in healthy)),
                _most(done, lambda record: record.fabric_s),
                _median_and_most(done, lambda record: record.analysis_s),
                _median_and_most(done, lambda record: record.seconds),
            )
        )
    header = ("twin, routing", "faults", "identifiable", "named", "wider", "missed")
    healthy_header = (
        *("cases that accuse others", "only warn of others", "healthy runs accused"),
        *("only warned of", "UNKNOWN"),
    )
    times = ("fabric s", "analysis CPU s: median, most", "a case s: median, most")
    return markdown_table((*header, *healthy_header, *times), rows)


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
