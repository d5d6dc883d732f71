"""The attempts of a block of a submitted study: a run directory each, and its end."""

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path

from weft.core.documents.document_text import read_json_file
from weft.core.errors import InputError
from weft.core.files import storage_error, write_part

FOLDER = "blocks"
_NAME = re.compile(r"(\d+)-[\w-]+")


@dataclass(frozen=True, slots=True)
class Attempt:
    """A block in an allocation: `job` as squeue shows it; `error`: the reason of an early end.
    `ended_unix_s` is None while it runs, and stays None if it was killed."""

    block: int
    job: str
    nodes: tuple[str, ...]
    started_unix_s: float
    ended_unix_s: float | None = None
    error: str | None = None

    def write(self, directory: Path) -> None:
        """Write it next to the attempt's run directory, in a run that must be there. Raises
        StorageError."""
        text = json.dumps(asdict(self)) + "\n"
        try:
            directory.parent.mkdir(exist_ok=True)
        except OSError as error:
            raise storage_error("the record of the block", directory.parent, error) from error
        write_part(record_of(directory), text, what="record of the block")


def attempt_folder(run_dir: Path, block: int, job: str) -> Path:
    """The run directory of a block in a job. A job that Slurm restarts gets a new one."""
    number = 0
    while True:
        name = f"{block:03d}-{job}" + (f"-{number + 1}" if number else "")
        folder = run_dir / FOLDER / name
        if not folder.exists() and not record_of(folder).exists():
            return folder
        number += 1


def record_of(directory: Path) -> Path:
    """The path of an attempt's record."""
    return directory.with_name(f"{directory.name}.json")


def read_attempts(run_dir: Path) -> dict[int, list[tuple[Path, Attempt]]]:
    """All attempts by block, each with its run directory, those of a block in the order they
    started. Raises InputError."""
    found: dict[int, list[tuple[Path, Attempt]]] = {}
    for path in sorted((run_dir / FOLDER).glob("*.json")):
        name = _NAME.fullmatch(path.stem)
        if name is not None:
            attempt = (path.with_suffix(""), read_attempt(path))
            found.setdefault(int(name[1]), []).append(attempt)
    for attempts in found.values():
        attempts.sort(key=lambda one: (one[1].started_unix_s, one[0]))
    return dict(sorted(found.items()))


def read_attempt(path: Path) -> Attempt:
    """An attempt's record. Raises InputError."""
    expected = "a file that a job of 'weft study submit' wrote"
    record = read_json_file(path, expected)
    try:
        return Attempt(**(record | {"nodes": tuple(map(str, record["nodes"]))}))
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"not a block record ({error})", where=str(path), expected=expected
        ) from error
