"""The run directory: written one line at a time, readable after any kill. The format is in
docs/reference/run_directory.md; this file is its only writer and reader."""

import contextlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tomli_w

from weft.bench.live.lost_hosts import LostHost, lost_hosts_of_record
from weft.bench.model import Launch, Sample, State
from weft.core.documents.document_text import read_json_file, read_toml_file
from weft.core.documents.text_file import read_file_bytes
from weft.core.errors import InputError, StorageError
from weft.core.jsonl import MOST_BYTES, LineWriter, read_lines, uncollected
from weft.core.work.progress import each
from weft.launch.secret_text import mask_forms, mask_text
from weft.study.run.launch_record import KnownTrials, launch_from_record, launch_to_record
from weft.study.run.run_folder import EARLIER, FILES, FOLDERS, SAMPLES, RunFolder, disk_errors
from weft.study.run.run_record import other_schema, refuse_misshapen
from weft.study.submission.attempts import read_attempts

RUN_SCHEMA = "weft.run/1"
_PLAN = "the launches of a run, one JSON object a line"
SAMPLES_SCHEMA = "weft.samples/1"
LOST = "lost"
"""The key of hosts that a check lost."""

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
    """A run as read: `samples` in the order of the plan, of completed launches only; `seconds` that
    each of these launches took."""

    directory: Path
    meta: Mapping[str, Any]
    launches: tuple[Launch, ...]
    samples: tuple[Sample, ...]
    failures: tuple[Failure, ...]
    done: frozenset[Key]
    fabric_document: Mapping[str, Any] | None
    remarks: tuple[str, ...] = ()
    seconds: Mapping[Key, float] = field(default_factory=dict)

    @property
    def n_unfinished(self) -> int:
        """Launches of the plan that neither completed nor failed."""
        over = self.done | {(f.trial, f.repeat) for f in self.failures}
        return sum(launch.key not in over for launch in self.launches)

    @property
    def n_over(self) -> int:
        """Launches of the plan that completed or failed."""
        return len(self.launches) - self.n_unfinished

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
    `worked` the trials that completed one. A disk that refuses, or a directory that is lost,
    raises StorageError."""

    def __init__(
        self,
        folder: RunFolder,
        finished: frozenset[Key] = frozenset(),
        worked: frozenset[str] = frozenset(),
    ) -> None:
        self.folder = folder
        self.run_dir = folder.path
        self.finished = finished
        self.worked = worked
        self._writer: LineWriter | None = None

    @staticmethod
    def create(run_dir: Path, meta: Mapping[str, Any]) -> "RunStore":
        """Claim a new run directory and write run.toml. Raises InputError where one exists."""
        text = mask_forms(tomli_w.dumps({"schema": RUN_SCHEMA, **_without_none(meta)}))
        return RunStore(RunFolder.claim(run_dir, text))

    @staticmethod
    def set_aside(run_dir: Path) -> Path | None:
        """Move the content of a run directory below itself, as a run directory of its own, so
        that the run can start again. None if it holds no run."""
        if not (run_dir / "run.toml").exists():
            return None
        number = 1 + sum(1 for _ in (run_dir / EARLIER).glob("[0-9]*"))
        folder = run_dir / EARLIER / str(number)
        with disk_errors(folder):
            folder.mkdir(parents=True)
            for name in (*FOLDERS, *reversed(FILES)):
                with contextlib.suppress(FileNotFoundError):
                    (run_dir / name).rename(folder / name)
        return folder

    @staticmethod
    def open(run_dir: Path) -> "RunStore":
        """A run directory to resume. Raises InputError if there is no run."""
        read_meta(run_dir)
        folder = RunFolder.open(run_dir)
        read = _read_samples(run_dir)
        return RunStore(folder, read.over, frozenset(trial for trial, _ in read.samples))

    def remember(self, more: Mapping[str, Any]) -> None:
        """Add facts to run.toml that a run learns while it runs."""
        self.folder.refuse_lost()
        meta = {**read_meta(self.run_dir), **more}
        text = mask_forms(tomli_w.dumps(meta))
        self.folder.write_part("run.toml", text, what="record of the run")

    def set_plan(self, launches: Sequence[Launch]) -> None:
        """Write plan.jsonl, or check that it is this plan. Raises InputError when it is not."""
        self.folder.refuse_lost()
        path = self.run_dir / "plan.jsonl"
        records = map(launch_to_record, launches)
        text = "".join(json.dumps(one, separators=(",", ":")) + "\n" for one in records)
        if not path.exists():
            self.folder.write_part(path.name, text, what="plan of the run")
        elif read_file_bytes(path, expected=_PLAN, most_bytes=MOST_BYTES) != text.encode():
            raise InputError(
                "this run was planned differently",
                where=str(path),
                expected="the study, nodes, seed and repeats that the run was started with",
                hint="resume with the same ones, or start a new run with another --dir",
            )

    def set_fabric(self, document: Mapping[str, Any]) -> None:
        """Write fabric.json once."""
        self.folder.refuse_lost()
        path = self.run_dir / "fabric.json"
        if not path.exists():
            text = json.dumps(document, separators=(",", ":")) + "\n"
            self.folder.write_part(path.name, text, what="fabric of the run")

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
        message, _ = mask_text(message)
        failure = Failure(launch.trial.id, launch.repeat, state, message, lost)
        record = {"record": "failed", "trial": failure.trial, "repeat": failure.repeat}
        hosts = {"lost": list(lost)} if lost else {}
        self._append({**record, "state": state.value, "message": message, **hosts})
        return failure

    def read_back(self, n_over: int) -> StudyRun:
        """`read_back`, after the last record."""
        self._close_writer()
        self.folder.refuse_lost()
        return read_back(self.run_dir, n_over)

    def close(self) -> None:
        """Flush this writer's file to disk. Safe to call twice."""
        try:
            self._close_writer()
        except StorageError:
            self.folder.refuse_lost()
            raise
        finally:
            self.folder.close()

    def __enter__(self) -> "RunStore":
        return self

    def __exit__(self, _: object, error: object, __: object) -> None:
        """Of a write that failed because the directory is lost, that is the error: it names the
        directory's new place."""
        try:
            if isinstance(error, StorageError | OSError):
                self.folder.refuse_lost()
        finally:
            self.close()

    def _close_writer(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()

    def _append(self, record: Mapping[str, Any], started_unix_s: float = 0.0) -> None:
        if self._writer is None:
            self._writer = self.folder.claim_samples()
            opened = {"record": "open", "schema": SAMPLES_SCHEMA}
            name = self._writer.path.stem
            self._writer.append({**opened, "writer": name, "started_unix_s": started_unix_s})
        self._writer.append(record)


def read_back(run_dir: Path, n_over: int) -> StudyRun:
    """The run as the disk holds it, of at least `n_over` ended launches. Raises StorageError where
    it holds fewer, so that no run ends well without its samples."""
    try:
        run = read_run(run_dir)
    except (InputError, OSError) as error:
        raise _not_read_back(run_dir, str(error)) from error
    n_missing = n_over - run.n_over
    if n_missing > 0:
        raise _not_read_back(run_dir, f"{n_missing} of {n_over} ended launches are not in it")
    return run


def _not_read_back(run_dir: Path, why: str) -> StorageError:
    return StorageError(
        f"the run cannot be read back: {why}",
        where=str(run_dir),
        expected="the samples that were written; only weft changes a run directory",
    )


def read_meta(run_dir: Path) -> dict[str, Any]:
    """run.toml as a dict. Raises InputError where there is none or it is of another schema."""
    path = run_dir / "run.toml"
    if not os.path.lexists(path):
        raise InputError(
            "not a run directory",
            where=str(run_dir),
            expected="a directory with run.toml, as `weft study run` or `weft bench` writes",
        )
    expected = f"the record of a run, schema {RUN_SCHEMA}"
    meta = read_toml_file(path, expected)
    if meta.get("schema") != RUN_SCHEMA:
        raise other_schema(meta.get("schema"), RUN_SCHEMA, str(path), meta.get("weft_version"))
    refuse_misshapen(meta, str(path), expected)
    return meta


def read_run(run_dir: Path, *, with_fabric: bool = True) -> StudyRun:
    """The run of a directory; the document of its fabric is large and may be left out. Raises
    InputError if it is not a run directory or is damaged."""
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
        fabric_document=_fabric_of(run_dir) if with_fabric else None,
        remarks=tuple(read.remarks),
        seconds=read.seconds,
    )


def _fabric_of(run_dir: Path) -> dict[str, Any] | None:
    path = run_dir / "fabric.json"
    if not os.path.lexists(path):
        return None
    expected = "the fabric of a run, a JSON object"
    document = read_json_file(path, expected)
    if not isinstance(document, dict):
        raise InputError("not a JSON object", where=str(path), expected=expected)
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
        read.seconds.update(part.seconds)
        read.remarks.extend(part.remarks)
        if not whole:
            read.remarks.append(f"block {block} has {len(part.over)} of {len(keys)} launches")
    return tuple(placed.get(launch.key, launch) for launch in launches)


@dataclass(frozen=True, slots=True)
class _Read:
    samples: dict[Key, list[Sample]]
    failures: dict[Key, Failure]
    remarks: list[str]
    seconds: dict[Key, float]

    @property
    def over(self) -> frozenset[Key]:
        return frozenset(self.samples) | frozenset(self.failures)


def _read_samples(run_dir: Path) -> _Read:
    """INVARIANT: a launch counts once, from the first file (by name) in which it is over; samples
    without a `done` after them in the same file belong to a launch in flight at a kill."""
    read = _Read({}, {}, [], {})
    for path in each(sorted((run_dir / SAMPLES).glob("*.jsonl")), "reading samples"):
        lines = read_lines(path)
        if lines.truncated_tail:
            read.remarks.append(f"{path.name}: a half-written last line is ignored")
        pending: dict[Key, list[Sample]] = {}
        with uncollected():
            for record in lines:
                _take(read, pending, record, str(path))
    return read


def _take(
    read: _Read, pending: dict[Key, list[Sample]], record: dict[str, Any], where: str
) -> None:
    kind = record.get("record")
    if kind == "open" and record.get("schema", SAMPLES_SCHEMA) != SAMPLES_SCHEMA:
        raise other_schema(record["schema"], SAMPLES_SCHEMA, where)
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
                read.seconds[key] = float(record.get("seconds", 0.0))
    except InputError as error:
        raise InputError(error.what, where=where, expected=error.expected) from error
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"not a '{kind}' record ({type(error).__name__}: {error})",
            where=where,
            expected=f"schema {SAMPLES_SCHEMA}",
        ) from error


def read_plan(run_dir: Path) -> tuple[Launch, ...]:
    """The launches of a run in order; none where there is no plan yet. Raises InputError."""
    path = run_dir / "plan.jsonl"
    if not os.path.lexists(path):
        return ()
    lines = read_lines(path)
    if lines.truncated_tail:
        raise InputError(
            "the last line is cut off", where=str(path), expected="a plan written by weft, whole"
        )
    trials: KnownTrials = {}
    return tuple(launch_from_record(record, str(path), trials) for record in lines)


def _without_none(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _without_none(v) for k, v in value.items() if v is not None}
    if isinstance(value, list | tuple):
        return [_without_none(item) for item in value if item is not None]
    return value
