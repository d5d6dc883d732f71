"""Verdicts of a twin at half and at twice each assumed constant: which of them it decides."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from weft.core.errors import InputError
from weft.study.comparison.cells import StudyCell
from weft.study.comparison.rows import ComparisonRow
from weft.study.run.store import StudyRun

SENSITIVITY_FILE = "sensitivity.jsonl"
"""In a run directory: a line a constant and factor."""

Overturned = Mapping[tuple[str, StudyCell], tuple[str, ...]]
"""By arm and cell, the assumed constants of which another value gives another verdict."""


def variant_record(name: str, factor: float, rows: Sequence[ComparisonRow]) -> dict[str, Any]:
    """The outcomes with one constant at another value, as plain JSON values."""
    return {
        "constant": name,
        "factor": factor,
        "outcomes": [[row.second, *_key(row.cell), row.outcome.value] for row in rows],
    }


def tried(run_dir: Path) -> list[dict[str, Any]]:
    """The records of a run directory. Raises InputError."""
    path = run_dir / SENSITIVITY_FILE
    if not path.is_file():
        return []
    records = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        try:
            record = json.loads(line)
            record["constant"], record["factor"], record["outcomes"]
        except (ValueError, TypeError, KeyError) as error:
            where = f"{path}:{number}"
            what = "no line of other values of constants"
            raise InputError(what, where=where, expected="as weft wrote it") from error
        records.append(record)
    return records


def overturned_of(run: StudyRun, rows: Sequence[ComparisonRow]) -> Overturned:
    """The verdicts of `rows` that another value changes, each with 'constant x factor'; empty where
    none was tried."""
    found: dict[tuple[str, StudyCell], list[str]] = {}
    for record in tried(run.directory):
        outcomes = {tuple(one[:-1]): one[-1] for one in record["outcomes"]}
        for row in rows:
            outcome = outcomes.get((row.second, *_key(row.cell)), row.outcome.value)
            if outcome != row.outcome.value:
                name = f"{record['constant']} x {record['factor']:g}"
                found.setdefault((row.second, row.cell), []).append(name)
    return {key: tuple(names) for key, names in found.items()}


def _key(cell: StudyCell) -> tuple[str, int, int, int, str]:
    return (
        cell.benchmark,
        cell.n_nodes,
        cell.tasks_per_node,
        cell.size_bytes,
        cell.condition,
    )
