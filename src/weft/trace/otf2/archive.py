"""An archive of OTF2, read by its own library in a child process."""

import importlib.util
import json
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from weft.core.errors import InputError, MissingError
from weft.core.process import Command, Ending, Limits, run
from weft.trace.rank_trace import RankTrace, read_rank_trace

ANSWER = "ANSWER "
LIBRARY = "_otf2"
SUFFIX = ".otf2"
LIMIT_S = 900.0
MOST_EVENTS = 20_000_000
EXPECTED = "an OTF2 archive with events of MPI, such as Score-P writes: its file traces.otf2"


def anchor_of(path: Path) -> Path | None:
    """The anchor file of an archive: the path itself, or the only one in a directory; None where
    there is no archive."""
    if path.suffix == SUFFIX and not path.is_dir():
        return path
    found = sorted(path.glob(f"*{SUFFIX}")) if path.is_dir() else []
    return found[0] if len(found) == 1 else None


def read_archive(anchor: Path) -> tuple[list[RankTrace], tuple[str, ...]]:
    """The traces of all ranks in an archive, and what a reader has to know besides. Raises
    MissingError without the library, InputError for an archive that it cannot read."""
    if not anchor.is_file():
        raise InputError("no such file", where=str(anchor), expected=EXPECTED)
    if importlib.util.find_spec(LIBRARY) is None:
        raise _missing("is not installed")
    with tempfile.TemporaryDirectory(prefix="weft-otf2-") as folder:
        found = _answer(anchor, Path(folder))
        if "error" in found:
            raise InputError(
                f"the archive cannot be read: {found['error']}",
                where=str(anchor),
                expected=EXPECTED,
            )
        ranks = [read_rank_trace(one) for one in sorted(Path(folder).iterdir())]
    return [replace(rank, path=anchor) for rank in ranks], tuple(found["notes"])


def _missing(how: str) -> MissingError:
    return MissingError(
        f"the library that reads OTF2 {how}",
        where=sys.executable,
        expected="the Python package otf2",
        hint="pip install otf2 (it compiles C), or Debian's python3-otf2 and python3-six",
    )


def _answer(anchor: Path, folder: Path) -> Mapping[str, Any]:
    """What the child process says. Raises InputError where it crashes, or needs too long, and
    MissingError where it cannot load the library."""
    child = f"{__package__}.child"
    command = Command((sys.executable, "-m", child, str(anchor.absolute()), str(folder)))
    end = run(command, Limits(LIMIT_S))
    lines = [
        one.removeprefix(ANSWER)
        for one in end.out.decode("utf-8", "replace").splitlines()
        if one.startswith(ANSWER)
    ]
    if end.ending is Ending.EXITED and end.exit_code == 0 and lines:
        found: Mapping[str, Any] = json.loads(lines[-1])
        return found
    said = end.err.decode("utf-8", "replace").strip().splitlines()
    if said and said[-1].startswith(("ImportError", "ModuleNotFoundError", "OSError")):
        raise _missing(f"cannot be loaded ({said[-1]})")
    how = f"failed with exit code {end.exit_code}"
    if end.ending is not Ending.EXITED:
        how = f"has not read it within {LIMIT_S:g} s"
    elif end.exit_code < 0:
        how = f"crashed (signal {-end.exit_code})"
    raise InputError(
        f"the library of OTF2 {how}" + (f": {said[-1]}" if said else ""),
        where=str(anchor),
        expected=EXPECTED,
        hint=f"otf2-print {anchor} shows whether the archive is whole",
    )
