"""Verdicts of a twin at half and at twice each assumed constant: which of them it decides."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from weft.core.documents.text_file import read_text_file
from weft.core.errors import InputError
from weft.core.files import write_part
from weft.study.comparison.cells import StudyCell
from weft.study.comparison.rows import ComparisonRow
from weft.study.run.store import StudyRun

SENSITIVITY_FILE = "sensitivity.jsonl"
"""In a run directory: a line a constant and factor."""

Overturned = Mapping[tuple[str, StudyCell], tuple[str, ...]]
"""By arm and cell, the assumed constants of which another value gives another verdict."""


@dataclass(frozen=True, slots=True)
class VerdictRules:
    """What outcomes were judged by: they compare with outcomes of the same rules alone."""

    first: str
    margin: float
    tolerance: float


def variant_record(
    name: str, factor: float, rows: Sequence[ComparisonRow], rules: VerdictRules
) -> dict[str, Any]:
    """The outcomes with one constant at another value, as plain JSON values."""
    return {
        "constant": name,
        "factor": factor,
        **asdict(rules),
        "outcomes": [[row.second, *_key(row.cell), row.outcome.value] for row in rows],
    }


def tried(run_dir: Path) -> list[dict[str, Any]]:
    """The records of a run directory. Raises InputError."""
    path = run_dir / SENSITIVITY_FILE
    if not path.is_file():
        return []
    records = []
    text = read_text_file(path, expected=_EXPECTED, most_bytes=_MOST_BYTES)
    for number, line in enumerate(text.splitlines(), 1):
        try:
            record = json.loads(line)
            fields = [record[key] for key in ("constant", "first", "outcomes")]
            for key in ("factor", "margin", "tolerance"):
                float(record[key])
            is_good = all(isinstance(one, list) and len(one) == _FIELDS for one in fields[2])
            is_good = is_good and all(isinstance(one, str) for one in fields[:2])
        except (ValueError, TypeError, KeyError):
            is_good = False
        if not is_good:
            raise InputError(
                "this line is no result of --sensitivity",
                where=f"{path}:{number}",
                expected=_EXPECTED,
                hint="delete the line, then weft study run ... --resume --sensitivity",
            )
        records.append(record)
    return records


def keep(run_dir: Path, records: Sequence[Mapping[str, Any]]) -> None:
    """Write the records of a run directory, whole or not at all. Raises StorageError."""
    text = "".join(json.dumps(record) + "\n" for record in records)
    write_part(run_dir / SENSITIVITY_FILE, text, what="outcomes at other values")


def overturned_of(run: StudyRun, rows: Sequence[ComparisonRow], rules: VerdictRules) -> Overturned:
    """The verdicts of `rows` that another value changes, each with 'constant x factor'; empty where
    none was tried, or with other rules."""
    found: dict[tuple[str, StudyCell], list[str]] = {}
    for record in tried(run.directory):
        if any(record[key] != value for key, value in asdict(rules).items()):
            continue
        outcomes = {tuple(one[:-1]): one[-1] for one in record["outcomes"]}
        for row in rows:
            outcome = outcomes.get((row.second, *_key(row.cell)), row.outcome.value)
            if outcome != row.outcome.value:
                name = f"{record['constant']} x {record['factor']:g}"
                found.setdefault((row.second, row.cell), []).append(name)
    return {key: tuple(names) for key, names in found.items()}


_EXPECTED = "lines as weft wrote them"
_MOST_BYTES = 1 << 28
_FIELDS = 7
"""Of an outcome: the arm, the five of its cell, the outcome."""


def _key(cell: StudyCell) -> tuple[str, int, int, int, str]:
    return (
        cell.benchmark,
        cell.n_nodes,
        cell.tasks_per_node,
        cell.size_bytes,
        cell.condition,
    )
