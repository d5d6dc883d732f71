"""Several judged files: a line each, worst first, and the whole answers where they are few."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from weft.cli.judge.text import judgement_text
from weft.core.shell_line import quoted
from weft.core.words import counted
from weft.judge.files import JudgedFile
from weft.judge.path_class.statement import PathFacts

MOST_WHOLE = 6
"""So many files are answered whole; of more, each has its line."""


def files_text(judged: Sequence[JudgedFile], *, all_rows: bool) -> str:
    """The summary, then each file under its name."""
    shown = [one for one in judged if one.judgement is not None or one.was_named]
    lines = [_counts(judged), "", *(_line(one) for one in shown)]
    if len(shown) > MOST_WHOLE:
        first = next((one.path for one in shown if one.judgement is not None), shown[0].path)
        lines += ["", f"next     weft judge {quoted(Path(first))}"]
        return "\n".join(lines)
    for one in shown:
        if one.judgement is not None:
            lines += ["", f"FILE     {one.path}", judgement_text(one.judgement, all_rows=all_rows)]
    return "\n".join(lines)


def file_row(one: JudgedFile) -> dict[str, Any]:
    """A file as one row of a table."""
    if one.judgement is None:
        error = one.error.what if one.error else ""
        return {"file": one.path, "verdict": "unread", "what": error}
    judgement = one.judgement
    verdict = judgement.findings[0]
    facts = (finding.facts for finding in judgement.findings)
    path = next((one for one in facts if isinstance(one, PathFacts)), None)
    return {
        "file": one.path,
        "verdict": verdict.severity.value,
        "what": verdict.sentence,
        "platform": judgement.platform,
        **_path_columns(path),
    }


def _path_columns(path: PathFacts | None) -> dict[str, Any]:
    """The values of a statement about a path; empty where a file has none."""
    fits = path.fits if path else ()
    return {
        "latency_us": path.latency_us if path else None,
        "plateau_gb_s": path.plateau_gb_s if path else None,
        "transports": " ".join(path.transports if path else ()),
        "fits": " ".join(f"{fit.path_class.name}={round(fit.share, 4)}" for fit in fits),
    }


def _counts(judged: Sequence[JudgedFile]) -> str:
    words = Counter(_word(one) for one in judged if one.judgement is not None)
    parts = [f"{n} {word}" for word, n in words.items()]
    n_read = sum(words.values())
    unnamed = sum(one.judgement is None and not one.was_named for one in judged)
    without = f"; {counted(unnamed, 'other file')} without a table" if unnamed else ""
    return f"FILES  {counted(n_read, 'result file')}: {', '.join(parts) or 'none'}{without}"


def _word(one: JudgedFile) -> str:
    return one.judgement.findings[0].severity.value.upper() if one.judgement else "UNREAD"


def _line(one: JudgedFile) -> str:
    if one.judgement is None:
        return f"UNREAD  {one.path}: {one.error.what if one.error else ''}"
    return f"{_word(one)}  {one.path}: {one.judgement.findings[0].sentence}"
