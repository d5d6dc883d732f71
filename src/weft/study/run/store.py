"""The run directory: written one line at a time, readable after any kill.

docs/reference/run_directory.md is the format; this file is its only writer and reader.
"""

import contextlib
import json
import os
import socket
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

from weft.bench.live.lost_hosts import LostHost, lost_hosts_of_record
from weft.bench.model import Launch, Sample, State
from weft.core.errors import InputError, MissingError
from weft.core.files import write_whole
from weft.core.jsonl import LineWriter, read_lines
from weft.core.units import refuse_unusable
from weft.study.run.launch_record import launch_from_record, launch_to_record
from weft.study.submission.attempts import read_attempts

RUN_SCHEMA = "weft.run/1"
SAMPLES_SCHEMA = "weft.samples/1"
_FILES = (
    "run.toml", "plan.jsonl", "platform.toml", "machine.toml", "detected.toml", "marks.json",
    "fabric.json",
)  # fmt: skip
_FOLDERS = ("samples", "recipes", "raw")
LOST, EARLIER = "lost", "earlier"
"""The key of hosts that a check lost; the folder of the runs it discarded, numbered."""

Key = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Failure:
    """A launch that failed or hung: the result of its cell. `lost`: its lost hosts."""

    trial: str
    repeat: int
    state: State
    message: str
    lost: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StudyRun:
    """A run as read: `samples` in the order of the plan, of completed launches only."""

    directory: Path
    meta: Mapping[str, Any]
    launches: tuple[Launch, ...]
    samples: tuple[Sample, ...]
    failures: tuple[Failure, ...]
    done: frozenset[Key]
    fabric_document: Mapping[str, Any] | None
    remarks: tuple[str, ...] = ()

    @property
    def n_unfinished(self) -> int:
        """Launches of the plan that neither completed nor failed."""
        over = self.done | {(f.trial, f.repeat) for f in self.failures}
        return sum(launch.key not in over for launch in self.launches)

    @property
    def complete(self) -> bool:
        """Whether every launch of the plan is over."""
        return not self.n_unfinished

    @property
    def lost(self) -> tuple[LostHost, ...]:
        """The hosts that a check lost and left out."""
        return lost_hosts_of_record(self.meta.get(LOST))

    @property
    def failed_for_lost(self) -> tuple[Failure, ...]:
        """The launches that failed only because of these hosts."""
        hosts = {one.host for one in self.lost}
        return tuple(one for one in self.failures if one.lost and hosts.issuperset(one.lost))


class RunStore:
    """The one writer of a process in a run directory. `finished` are the launches over before,
    `worked` the trials that completed one."""

    def __init__(
        self,
        run_dir: Path,
        finished: frozenset[Key] = frozenset(),
        worked: frozenset[str] = frozenset(),
    ) -> None:
        self.run_dir = run_dir
        self.finished = finished
        self.worked = worked
        self._writer: LineWriter | None = None
        self._created: tuple[str, ...] = ()

    @staticmethod
    def create(run_dir: Path, meta: Mapping[str, Any]) -> "RunStore":
        """Claim a new run directory and write run.toml. Raises InputError where one exists."""
        with _disk_errors(run_dir):
            existed = run_dir.is_dir()
            run_dir.mkdir(parents=True, exist_ok=True)
            if any(path.name != EARLIER for path in run_dir.iterdir()):
                raise _not_empty(run_dir)
            text = tomli_w.dumps({"schema": RUN_SCHEMA, **_without_none(meta)})
            try:
                with (run_dir / "run.toml").open("x", encoding="utf-8") as file:
                    file.write(text)
            except FileExistsError as error:
                raise _not_empty(run_dir) from error
            for name in _FOLDERS:
                (run_dir / name).mkdir(exist_ok=True)
        store = RunStore(run_dir)
        store._created = (*_FILES, *_FOLDERS) if existed else (*_FILES, *_FOLDERS, ".")
        return store

    @staticmethod
    def set_aside(run_dir: Path) -> Path | None:
        """Move the content of a run directory below itself, as a run directory of its own, so
        that the run can start again. None if it holds no run."""
        if not (run_dir / "run.toml").exists():
            return None
        number = 1 + sum(1 for _ in (run_dir / EARLIER).glob("[0-9]*"))
        folder = run_dir / EARLIER / str(number)
        with _disk_errors(folder):
            folder.mkdir(parents=True)
            for name in (*_FOLDERS, *reversed(_FILES)):
                with contextlib.suppress(FileNotFoundError):
                    (run_dir / name).rename(folder / name)
        return folder

    @staticmethod
    def open(run_dir: Path) -> "RunStore":
        """A run directory to resume. Raises InputError if there is no run."""
        read_meta(run_dir)
        for name in _FOLDERS:
            (run_dir / name).mkdir(exist_ok=True)
        read = _read_samples(run_dir)
        return RunStore(run_dir, read.over, frozenset(trial for trial, _ in read.samples))

    def remember(self, more: Mapping[str, Any]) -> None:
        """Add facts to run.toml that a run learns while it runs."""
        path = self.run_dir / "run.toml"
        meta = {**read_meta(self.run_dir), **more}
        write_whole(path, tomli_w.dumps(meta), what="record of the run", hint=None)

    def abandon(self) -> None:
        """Remove the files of `create` if the run could not be prepared, so that the next
        try finds the directory free. If it holds other files, all of it stays."""
        if any(any((self.run_dir / name).iterdir()) for name in _FOLDERS if self._created):
            return
        with contextlib.suppress(OSError):
            for name in self._created:
                path = self.run_dir / name
                if name in _FILES:
                    path.unlink(missing_ok=True)
                else:
                    path.rmdir()

    def set_plan(self, launches: Sequence[Launch]) -> None:
        """Write plan.jsonl, or check that it is this plan. Raises InputError when it is not."""
        path = self.run_dir / "plan.jsonl"
        records = map(launch_to_record, launches)
        text = "".join(json.dumps(one, separators=(",", ":")) + "\n" for one in records)
        if not path.exists():
            write_whole(path, text, what="plan of the run", hint=None)
        elif path.read_text() != text:
            raise InputError(
                "this run was planned differently",
                where=str(path),
                expected="the study, nodes, seed and repeats that the run was started with",
                hint="resume with the same ones, or start a new run with another --dir",
            )

    def set_fabric(self, document: Mapping[str, Any]) -> None:
        """Write fabric.json once."""
        path = self.run_dir / "fabric.json"
        if not path.exists():
            text = json.dumps(document, separators=(",", ":")) + "\n"
            write_whole(path, text, what="fabric of the run", hint=None)

    def append(self, sample: Sample, *, started_unix_s: float = 0.0) -> None:
        """Keep one sample. It counts only once `done` follows."""
        self._append(sample.to_record(), started_unix_s)

    def done(self, launch: Launch, *, n_samples: int, seconds: float) -> None:
        """The launch is complete."""
        record = {"record": "done", "trial": launch.trial.id, "repeat": launch.repeat}
        self._append({**record, "n_samples": n_samples, "seconds": round(seconds, 6)})

    def failed(
        self, launch: Launch, state: State, message: str, lost: tuple[str, ...] = ()
    ) -> Failure:
        """The launch is over, and its failure is the cell's result."""
        failure = Failure(launch.trial.id, launch.repeat, state, message, lost)
        record = {"record": "failed", "trial": failure.trial, "repeat": failure.repeat}
        hosts = {"lost": list(lost)} if lost else {}
        self._append({**record, "state": state.value, "message": message, **hosts})
        return failure

    def close(self) -> None:
        """Flush this writer's file to disk. Safe to call twice."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def __enter__(self) -> "RunStore":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _append(self, record: Mapping[str, Any], started_unix_s: float = 0.0) -> None:
        with _disk_errors(self.run_dir / "samples"):
            if self._writer is None:
                self._writer = _claim_writer(self.run_dir / "samples")
                opened = {"record": "open", "schema": SAMPLES_SCHEMA}
                name = self._writer.path.stem
                self._writer.append({**opened, "writer": name, "started_unix_s": started_unix_s})
            self._writer.append(record)


def _claim_writer(directory: Path) -> LineWriter:
    """A file with one writer: exclusive create decides, on any file system, among any hosts."""
    host = socket.gethostname().split(".")[0] or "host"
    for counter in range(10_000):
        with contextlib.suppress(FileExistsError):
            return LineWriter(directory / f"{host}-{os.getpid()}-{counter}.jsonl")
    raise MissingError("no free writer name", where=str(directory), expected="a fresh file name")


def read_meta(run_dir: Path) -> dict[str, Any]:
    """run.toml as a dict. Raises InputError where there is none or it is of another schema."""
    path = run_dir / "run.toml"
    try:
        meta = tomllib.loads(path.read_text())
    except (FileNotFoundError, NotADirectoryError) as error:
        raise InputError(
            "not a run directory",
            where=str(run_dir),
            expected="a directory with run.toml, as `weft study run` or `weft bench` writes",
        ) from error
    except (ValueError, OSError, RecursionError) as error:
        raise InputError(f"cannot be read ({error})", where=str(path)) from error
    refuse_unusable(meta, str(path))
    if meta.get("schema") != RUN_SCHEMA:
        raise InputError(
            f"schema {meta.get('schema')!r}", where=str(path), expected=f"schema {RUN_SCHEMA}"
        )
    return meta


def read_run(run_dir: Path) -> StudyRun:
    """The run of a directory. Raises InputError if it is not a run directory or is damaged."""
    meta = read_meta(run_dir)
    launches = read_plan(run_dir)
    order = {launch.key: launch.order for launch in launches}
    read = _read_samples(run_dir)
    launches = _with_blocks(run_dir, launches, read)
    last = len(order)
    keys = sorted(read.samples, key=lambda key: (order.get(key, last), key))
    failures = sorted(read.failures.values(), key=lambda f: order.get((f.trial, f.repeat), last))
    return StudyRun(
        directory=run_dir,
        meta=meta,
        launches=launches,
        samples=tuple(sample for key in keys for sample in read.samples[key]),
        failures=tuple(failures),
        done=frozenset(read.samples),
        fabric_document=_fabric_of(run_dir),
        remarks=tuple(read.remarks),
    )


def _fabric_of(run_dir: Path) -> dict[str, Any] | None:
    path = run_dir / "fabric.json"
    if not path.exists():
        return None
    try:
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"cannot be read ({error})", where=str(path)) from error
    refuse_unusable(document, str(path))
    return document


def _with_blocks(run_dir: Path, launches: tuple[Launch, ...], read: "_Read") -> tuple[Launch, ...]:
    """The launches on the real nodes of their blocks, if blocks ran as separate jobs; their
    samples are added to `read`. Of each block one attempt counts, so that all its arms had one node
    set in one allocation: the first that is complete, else the last."""
    placed: dict[Key, Launch] = {}
    for block, attempts in read_attempts(run_dir).items():
        keys = {launch.key for launch in launches if launch.block == block}
        reads = [(folder, _read_samples(folder)) for folder, _ in attempts]
        whole = [one for one in reads if keys <= one[1].over]
        folder, part = (whole or reads[-1:])[0]
        placed |= {launch.key: launch for launch in read_plan(folder)}
        read.samples.update(part.samples)
        read.failures.update(part.failures)
        read.remarks.extend(part.remarks)
        if not whole:
            read.remarks.append(f"block {block} has {len(part.over)} of {len(keys)} launches")
    return tuple(placed.get(launch.key, launch) for launch in launches)


@dataclass(frozen=True, slots=True)
class _Read:
    samples: dict[Key, list[Sample]]
    failures: dict[Key, Failure]
    remarks: list[str]

    @property
    def over(self) -> frozenset[Key]:
        return frozenset(self.samples) | frozenset(self.failures)


def _read_samples(run_dir: Path) -> _Read:
    """INVARIANT: a launch counts once, from the first file (by name) in which it is over; samples
    without a `done` after them in the same file belong to a launch in flight at a kill."""
    read = _Read({}, {}, [])
    for path in sorted((run_dir / "samples").glob("*.jsonl")):
        lines = read_lines(path)
        if lines.truncated_tail:
            read.remarks.append(f"{path.name}: a half-written last line is ignored")
        pending: dict[Key, list[Sample]] = {}
        for record in lines.records:
            _take(read, pending, record, str(path))
    return read


def _take(
    read: _Read, pending: dict[Key, list[Sample]], record: dict[str, Any], where: str
) -> None:
    kind = record.get("record")
    try:
        if kind == "sample":
            sample = Sample.from_record(record)
            pending.setdefault((sample.trial, sample.repeat), []).append(sample)
        elif kind in ("done", "failed"):
            key = (str(record["trial"]), int(record["repeat"]))
            samples = pending.pop(key, [])
            if key in read.samples or key in read.failures:
                return
            if kind == "failed":
                state = State(record["state"])
                lost = tuple(map(str, record.get("lost", ())))
                read.failures[key] = Failure(*key, state, str(record["message"]), lost)
            elif len(samples) == int(record["n_samples"]):
                read.samples[key] = samples
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"not a '{kind}' record ({type(error).__name__}: {error})",
            where=where,
            expected=f"schema {SAMPLES_SCHEMA}",
        ) from error


def read_plan(run_dir: Path) -> tuple[Launch, ...]:
    """The launches of a run in order; none where there is no plan yet. Raises InputError."""
    path = run_dir / "plan.jsonl"
    if not path.exists():
        return ()
    return tuple(launch_from_record(record, str(path)) for record in read_lines(path).records)


def _not_empty(run_dir: Path) -> InputError:
    return InputError(
        "this directory is not empty",
        where=str(run_dir),
        expected="a new or empty directory",
        hint="continue an interrupted run with --resume, or choose another --dir",
    )


def _without_none(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _without_none(v) for k, v in value.items() if v is not None}
    if isinstance(value, list | tuple):
        return [_without_none(item) for item in value if item is not None]
    return value


@contextlib.contextmanager
def _disk_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except FileExistsError as error:
        raise InputError("exists and is not a directory", where=str(path)) from error
    except OSError as error:
        raise MissingError(
            f"cannot be written ({error.strerror})",
            where=str(path),
            expected="a directory with free space that you may write to",
        ) from error
