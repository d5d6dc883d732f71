"""Rows of a history, kept in the user's cache: a check is judged once, however often it is asked.

A kept row counts only if the run's files have the sizes and times that they had then, and the same
version of weft wrote it. A cache that cannot be read or written costs time, never an answer.
"""

import contextlib
import functools
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import weft
from weft.check.history.components_of import components_of
from weft.check.pipeline import has_pairs, judge_run
from weft.core.documents.document_text import MOST_JSON_BYTES
from weft.core.documents.text_file import read_file_bytes
from weft.core.errors import InputError, StorageError
from weft.core.files import write_whole
from weft.study.history.history_run import HistoryCell, HistoryRun, history_run
from weft.study.history.run_components import (
    ComponentSeries,
    NamedComponent,
    RunAccusation,
    RunComponents,
)
from weft.study.run.metadata import commit_of
from weft.study.run.run_folder import RUN_FILE, SAMPLES
from weft.study.run.store import StudyRun, read_run

SCHEMA = "weft.history_row/2"
_EXPECTED = f"a row of a history ({SCHEMA}), as `weft history` keeps it"
_JUDGED_BY = (
    *(RUN_FILE, "plan.jsonl", "fabric.json", "marks.json"),
    *("machine.toml", "detected.toml", "platform.toml"),
)
"""Files of a run, beside its samples, from which a check is judged."""

_TEXTS = ("no_time", "fabric", "kind", "identity")
_NUMBERS = ("started_unix_s", "ended_unix_s", "n_over")


def row_of(run: StudyRun) -> HistoryRun:
    """The row of a run as read; of a check with its components. Raises InputError."""
    row = history_run(run)
    if not has_pairs(run):
        return row
    if not run.complete:
        n = len(run.launches)
        why = f"the check is half-written: {run.n_over} of {n} launches are over"
        return replace(row, components=RunComponents("unknown", why))
    return replace(row, components=components_of(judge_run(run)))


def read_row(directory: Path) -> HistoryRun:
    """The row of a run directory, from the cache where its files are as they were. Raises
    InputError for what is no run, or is damaged."""
    return kept_row(directory) or judged_row(directory)


def kept_row(directory: Path) -> HistoryRun | None:
    """The row of a run directory in the cache; None where there is none of its files as they are.
    Takes a millisecond, less than sending the row from another process."""
    try:
        text = read_file_bytes(_place(directory), expected=_EXPECTED, most_bytes=MOST_JSON_BYTES)
        record = json.loads(text, parse_constant=_refuse_constant)
        return _of_record(directory, record, _signature(directory))
    except (InputError, KeyError, TypeError, ValueError, AttributeError, RecursionError):
        return None


def judged_row(directory: Path) -> HistoryRun:
    """The row of a run directory, judged now and kept. Raises InputError for what is no run, or is
    damaged."""
    signature = _signature(directory)
    row = row_of(read_run(directory))
    keep_row(directory, row, signature)
    return row


def keep_row(directory: Path, row: HistoryRun, signature: str = "") -> None:
    """Keep a row of a run directory; `signature`: of its files when they were read, default now. A
    full disk is no obstacle."""
    record = json.dumps(_to_record(row, signature or _signature(directory)), separators=(",", ":"))
    place = _place(directory)
    with contextlib.suppress(InputError, StorageError, OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        write_whole(place, record, what="kept row")


def _place(directory: Path) -> Path:
    name = hashlib.sha256(os.path.realpath(directory).encode()).hexdigest()
    return kept_folder() / f"{name}.json"


def kept_folder() -> Path:
    """The folder of kept rows of this user."""
    user_cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(user_cache) / "weft/history"


@functools.lru_cache(maxsize=256)
def _series(text: str) -> tuple[ComponentSeries, ...]:
    """The series of a row, by their JSON text: that of most checks of a fabric is the same, and
    then read once."""
    return tuple(
        ComponentSeries(NamedComponent(kind, name), metric)
        for kind, name, metric in json.loads(text)
    )


def _refuse_constant(name: str) -> float:
    """No row has NaN or Infinity. Raises ValueError."""
    raise ValueError(name)


@functools.cache
def _version() -> str:
    return commit_of(Path(__file__).parent) or weft.__version__


def _signature(directory: Path) -> str:
    """Of the version of weft, and of the names, sizes and times of the run's files."""
    found = []
    for name in _JUDGED_BY:
        with contextlib.suppress(OSError):
            state = (directory / name).stat()
            found.append((name, state.st_size, state.st_mtime_ns))
    with contextlib.suppress(OSError), os.scandir(directory / SAMPLES) as entries:
        for entry in entries:
            state = entry.stat()
            found.append((entry.name, state.st_size, state.st_mtime_ns))
    return hashlib.sha256(json.dumps([_version(), sorted(found)]).encode()).hexdigest()


def _to_record(row: HistoryRun, signature: str) -> dict[str, Any]:
    parts = row.components
    return {
        "schema": SCHEMA,
        "signature": signature,
        **{key: getattr(row, key) for key in (*_TEXTS, *_NUMBERS)},
        "files": sorted(row.files),
        "settings": dict(row.settings),
        "left_out": dict(row.left_out),
        "cells": [
            [*(getattr(cell, name) for name in HistoryCell.__slots__), value, row.slowness[cell]]
            for cell, value in row.values.items()
        ],
        "verdict": parts.verdict,
        "why_not": parts.why_not,
        "series": json.dumps([[*one.component, one.metric] for one in parts.slowness]),
        "slower": list(parts.slowness.values()),
        "accused": [[*one.component, one.severity] for one in parts.accused],
    }


def _of_record(directory: Path, record: Mapping[str, Any], signature: str) -> HistoryRun:
    """Raises ValueError for a record of other files or of another version."""
    if record["schema"] != SCHEMA or record["signature"] != signature:
        raise ValueError("kept of other files")
    cells = {HistoryCell(*one[:-2]): (float(one[-2]), float(one[-1])) for one in record["cells"]}
    slower = map(float, record["slower"])
    slowness = dict(zip(_series(record["series"]), slower, strict=True))
    accused = tuple(
        RunAccusation(NamedComponent(kind, name), severity)
        for kind, name, severity in record["accused"]
    )
    return HistoryRun(
        directory=directory,
        files=frozenset(record["files"]),
        settings=record["settings"],
        left_out=record["left_out"],
        values={cell: value for cell, (value, _) in cells.items()},
        slowness={cell: slower for cell, (_, slower) in cells.items()},
        components=RunComponents(record["verdict"], record["why_not"], slowness, accused),
        started_unix_s=record["started_unix_s"],
        ended_unix_s=record["ended_unix_s"],
        n_over=record["n_over"],
        **{key: record[key] for key in _TEXTS},
    )
