"""What is kept beside the traces of the ranks: how the program was started and how it ended."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import zstandard

from weft.core.documents.text_file import read_file_bytes, read_text_file
from weft.core.errors import InputError
from weft.core.files import write_part
from weft.trace.rank_trace import EXPECTED, MOST_BYTES, PACKED, SCHEMA
from weft.trace.trace import NAME

RECORDING_FILE = "recording.json"
MOST_RECORDING_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Recording:
    """A run of a program: its command without secrets, how it ended, and when it began."""

    command: str
    exit_code: int
    started_unix_s: float
    seconds: float
    mpi: str
    weft_version: str


def write_recording(directory: Path, recording: Recording) -> None:
    """Keep it in the directory of the trace. Raises StorageError."""
    record = {"schema": SCHEMA, **asdict(recording)}
    write_part(
        directory / RECORDING_FILE, json.dumps(record, indent=1) + "\n", what="record of the run"
    )


def command_of(directory: Path) -> str:
    """The command of a recorded program; "" where that was not written down. Raises InputError."""
    path = directory / RECORDING_FILE
    if not path.exists():
        return ""
    text = read_text_file(path, expected=EXPECTED, most_bytes=MOST_RECORDING_BYTES)
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError("no JSON", where=str(path), expected=EXPECTED) from error
    command = record.get("command") if isinstance(record, dict) else None
    if not isinstance(command, str):
        raise InputError("no 'command'", where=str(path), expected=EXPECTED)
    return command


def pack(directory: Path) -> int:
    """Pack the traces of ranks by zstd; how many there are. Raises StorageError, InputError."""
    n = 0
    for path in sorted(directory.iterdir()):
        if NAME.fullmatch(path.name) is None:
            continue
        n += 1
        if path.suffix == PACKED:
            continue
        content = read_file_bytes(path, expected=EXPECTED, most_bytes=MOST_BYTES)
        packed = zstandard.ZstdCompressor(level=3).compress(content)
        write_part(path.with_name(path.name + PACKED), packed, what="trace of a rank")
        path.unlink()
    return n
