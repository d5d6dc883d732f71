"""The times that a block of a submitted study ran: a run directory each, and how it ended."""

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from weft.core.errors import InputError

FOLDER = "blocks"
_NAME = re.compile(r"(\d+)-[\w-]+")


@dataclass(frozen=True, slots=True)
class Attempt:
    """A block in an allocation: `job` as squeue shows it; `error` why it ended early, else None.
    `ended_unix_s` is None while it runs, and for ever where it was killed."""

    block: int
    job: str
    nodes: tuple[str, ...]
    started_unix_s: float
    ended_unix_s: float | None = None
    error: str | None = None

    def write(self, directory: Path) -> None:
        """Beside the attempt's run directory, whole or not at all."""
        unfinished = directory.with_name(f".{directory.name}.json")
        unfinished.write_text(json.dumps(asdict(self)) + "\n", encoding="utf-8")
        unfinished.replace(record_of(directory))


def attempt_folder(run_dir: Path, block: int, job: str) -> Path:
    """The run directory of a block in a job. A job that Slurm starts again gets another one."""
    again = 0
    while True:
        name = f"{block:03d}-{job}" + (f"-{again + 1}" if again else "")
        folder = run_dir / FOLDER / name
        if not folder.exists() and not record_of(folder).exists():
            return folder
        again += 1


def record_of(directory: Path) -> Path:
    """Where an attempt's record lies."""
    return directory.with_name(f"{directory.name}.json")


def attempt_folders(run_dir: Path) -> dict[int, list[Path]]:
    """The run directories of all attempts by block, those of a block in the order they started."""
    found: dict[int, list[tuple[float, Path]]] = {}
    for path in sorted((run_dir / FOLDER).glob("*.json")):
        name = _NAME.fullmatch(path.stem)
        if name is not None:
            attempt = read_attempt(path)
            found.setdefault(int(name[1]), []).append(
                (attempt.started_unix_s, path.with_suffix(""))
            )
    return {block: [path for _, path in sorted(found[block])] for block in sorted(found)}


def read_attempt(path: Path) -> Attempt:
    """An attempt's record. Raises InputError."""
    try:
        said = json.loads(path.read_text())
        return Attempt(**(said | {"nodes": tuple(map(str, said["nodes"]))}))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"no record of a block ({error})",
            where=str(path),
            expected="what 'weft study submit' has its jobs write",
        ) from error


def started(folders: Iterable[Path]) -> tuple[Attempt, ...]:
    """The records of these attempts."""
    return tuple(read_attempt(record_of(folder)) for folder in folders)
