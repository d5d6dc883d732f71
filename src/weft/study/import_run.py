"""`weft import`: result files in, a run directory out, whole or not at all."""

import contextlib
import hashlib
import os
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from weft import __version__
from weft.bench.logs.evidence import evidence_of_bytes
from weft.bench.result_samples import Imported, SourceFile, launches_of
from weft.bench.result_scale import BACKEND_NAME, StatedScale, test_name
from weft.catalog.document import Slug, to_toml
from weft.catalog.load import platform
from weft.core.clock import Clock, system_clock
from weft.core.documents.text_file import read_file_bytes
from weft.core.errors import InputError, StorageError, did_you_mean
from weft.core.files import HeldFolder, storage_error, write_part
from weft.core.shell_line import quoted
from weft.core.units import format_size
from weft.launch.redact_text import redact_content
from weft.launch.secret_text import mask_words
from weft.results.model import ResultFile
from weft.results.result_file import read_results_text
from weft.study.imported_file import ImportedFile
from weft.study.plan.model import BenchmarkUse, Factor, FactorSetting, Study
from weft.study.run.metadata import commit_of, recorded_environment
from weft.study.run.store import RunStore, read_back

MOST_IMPORTED_BYTES = 1 << 28
"""The files of an import together: they are in memory twice, as read and as masked."""
MOST_IMPORTED_ROWS = 100_000
"""The rows of an import together, at 0.25 ms and 5 kB each. SOURCE: benchmarks.md."""

_SLUG: TypeAdapter[str] = TypeAdapter(Slug)


@dataclass(frozen=True, slots=True)
class ArmFiles:
    """Files of one arm, in the order given; the arm is empty where there is only one."""

    arm: Mapping[str, str]
    paths: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """Options of an import: the `asked` scale, the platform they were measured on."""

    asked: StatedScale = field(default_factory=StatedScale)
    platform: str = ""
    name: str = "imported"
    argv: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ImportOutcome:
    """The stored run. `remarks` name assumptions, skipped rows, masked and unread lines."""

    run_dir: Path
    n_files: int
    n_launches: int
    n_samples: int
    remarks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _ReadFile:
    path: Path
    arm: Mapping[str, str]
    raw_name: str
    content: bytes
    n_masked: int
    sha256: str
    results: ResultFile

    @property
    def source(self) -> SourceFile:
        log = evidence_of_bytes(self.raw_name, self.content)
        return SourceFile(self.raw_name, self.arm, self.results, log)


def parse_arm(text: str) -> dict[str, str]:
    """{'routing': 'static'} of 'routing=static'; several factors with commas. Raises InputError."""
    arm: dict[str, str] = {}
    for part in text.split(","):
        factor, equals, setting = part.partition("=")
        if not equals or factor in arm:
            raise _not_an_arm(text)
        try:
            arm[_SLUG.validate_python(factor)] = _SLUG.validate_python(setting)
        except ValidationError as error:
            raise _not_an_arm(text) from error
    return arm


def import_files(
    arms: Sequence[ArmFiles],
    run_dir: Path,
    options: ImportOptions,
    *,
    clock: Clock = system_clock,
) -> ImportOutcome:
    """Store the files of these arms as one run in `run_dir`.

    Raises InputError for a file that cannot be read or holds nothing to store, for one given twice,
    where scales contradict each other, or where `run_dir` is taken; StorageError on a disk that
    refuses. A failed or killed import leaves no run directory.
    """
    found, files = _read_arms(arms, run_dir, options)
    study = _study(found, arms, options.name)
    remarks = _remarks(found, files)
    meta = _meta(study, found, files, options, remarks)
    meta["imported_unix_s"] = round(clock(), 3)
    _write(run_dir, meta, found, files)
    return ImportOutcome(run_dir, len(files), len(found.launches), found.n_samples, remarks)


def preview_import(
    arms: Sequence[ArmFiles], run_dir: Path, options: ImportOptions
) -> tuple[Imported, tuple[str, ...]]:
    """The launches and remarks of `import_files`, without writing. Raises as it does."""
    found, files = _read_arms(arms, run_dir, options)
    return found, _remarks(found, files)


def _read_arms(
    arms: Sequence[ArmFiles], run_dir: Path, options: ImportOptions
) -> tuple[Imported, list[_ReadFile]]:
    _refuse_unlike_arms(arms)
    if run_dir.exists():
        raise InputError(
            "already exists",
            where=str(run_dir),
            expected="a directory that does not exist yet",
            hint="name another with -o DIR, or remove this one",
        )
    if options.platform:
        # Raises InputError for a name that the catalogue does not have.
        platform(options.platform)
    files = _read_all(arms)
    return launches_of([file.source for file in files], options.asked), files


def _read_all(arms: Sequence[ArmFiles]) -> list[_ReadFile]:
    files: list[_ReadFile] = []
    seen: dict[str, Path] = {}
    room, rows_left = MOST_IMPORTED_BYTES, MOST_IMPORTED_ROWS
    for arm in arms:
        for path in arm.paths:
            content = _content(path, room)
            room -= len(content)
            digest = hashlib.sha256(content).hexdigest()
            if digest in seen:
                raise InputError(
                    f"the same bytes as {seen[digest]}",
                    where=str(path),
                    expected="each measurement once: a copy is not a repeat",
                )
            seen[digest] = path
            masked, n_masked = redact_content(content)
            name = f"{len(files):03d}-{path.name}"
            results = read_results_text(masked, str(path))
            rows_left -= sum(len(table.rows) for table in results.tables)
            if rows_left < 0:
                raise _too_many_rows(path)
            files.append(_ReadFile(path, arm.arm, name, masked, n_masked, digest, results))
    return files


def _too_many_rows(path: Path) -> InputError:
    return InputError(
        f"with this file the import has more than {MOST_IMPORTED_ROWS:,} rows",
        where=str(path),
        expected="fewer repeats: a run keeps every row",
        hint=f"weft judge {quoted(path)} reads a file of any number of rows",
    )


def _content(path: Path, most_bytes: int) -> bytes:
    if path.is_dir():
        raise InputError(
            "cannot be read: it is a directory",
            where=str(path),
            expected="a result file of a benchmark tool",
            hint=f"weft import {quoted(path)}/*",
        )
    return read_file_bytes(
        path,
        expected="result files of a benchmark tool, together at most "
        + format_size(MOST_IMPORTED_BYTES),
        most_bytes=most_bytes,
    )


def _study(found: Imported, arms: Sequence[ArmFiles], name: str) -> Study:
    launches = [one.launch for one in found.launches]
    sizes: dict[str, set[int]] = defaultdict(set)
    for launch in launches:
        sizes[launch.trial.benchmark].update(launch.trial.sizes_bytes)
    uses = {
        benchmark: "" if of == {0} else ",".join(str(size) for size in sorted(of))
        for benchmark, of in sizes.items()
    }
    tests = dict.fromkeys(
        str(sample.evidence.get("test")) for one in found.launches for sample in one.samples[:1]
    )
    return Study(
        schema="weft.study/1",
        name=name,
        title=f"Imported: {', '.join(tests)}",
        question="What do these files say?",
        repeats=max(launch.repeat for launch in launches) + 1,
        nodes=tuple(dict.fromkeys(len(launch.trial.nodes) for launch in launches)),
        tasks_per_node=tuple(dict.fromkeys(launch.trial.tasks_per_node for launch in launches)),
        benchmarks=tuple(BenchmarkUse(name=use, sizes=text) for use, text in uses.items()),
        factors=_factors(arms),
    )


def _factors(arms: Sequence[ArmFiles]) -> tuple[Factor, ...]:
    """Manual factors: the order in which the files were measured is unknown."""
    factors = []
    for name in arms[0].arm:
        settings = dict.fromkeys(arm.arm[name] for arm in arms)
        if len(settings) > 1:
            made = tuple(FactorSetting(name=setting) for setting in settings)
            factors.append(Factor(name=name, settings=made, manual=True))
    return tuple(factors)


def _remarks(found: Imported, files: Sequence[_ReadFile]) -> tuple[str, ...]:
    remarks = list(found.remarks)
    remarks += [
        f"{n} row{'s' if n > 1 else ''} left out: {why}" for why, n in found.left_out.items()
    ]
    for file in files:
        name, results = file.path.name, file.results
        remarks += [f"{name}: {remark}" for remark in results.remarks]
        if results.n_unread:
            numbers = ", ".join(str(unread.line) for unread in results.unread[:5])
            more = " ..." if results.n_unread > 5 else ""
            lines = "line" if results.n_unread == 1 else "lines"
            remarks.append(f"{name}: {results.n_unread} {lines} not understood ({numbers}{more})")
        if file.n_masked:
            values = "value" if file.n_masked == 1 else "values"
            remarks.append(f"{name}: {file.n_masked} {values} that may be secret masked")
    return tuple(remarks)


def _meta(
    study: Study,
    found: Imported,
    files: Sequence[_ReadFile],
    options: ImportOptions,
    remarks: Sequence[str],
) -> dict[str, Any]:
    text = to_toml(study)
    nodes = dict.fromkeys(n for one in found.launches for n in one.launch.trial.nodes)
    facts = {
        "platform": options.platform or None,
        "tools": sorted({f"{t.tool} {t.version}".strip() for r in files for t in r.results.tables}),
        "files": [_imported_file(file).to_record() for file in files],
    }
    return {
        "weft_version": __version__,
        "commit": commit_of(Path(__file__).parent),
        "argv": mask_words(options.argv),
        "nodes": list(nodes),
        "remarks": list(remarks),
        "study_sha256": hashlib.sha256(text.encode()).hexdigest(),
        "study": text,
        "backend": {"name": BACKEND_NAME, "facts": facts},
        "environment": _shared_environment(files),
    }


def _imported_file(file: _ReadFile) -> ImportedFile:
    tables = file.results.tables
    conditions: dict[str, str] = {}
    for table in tables:
        conditions.update(table.conditions)
    devices = dict.fromkeys(device for table in tables for device in table.devices)
    return ImportedFile(
        name=file.path.name,
        raw=file.raw_name,
        sha256=file.sha256,
        arm=",".join(f"{factor}={setting}" for factor, setting in file.arm.items()),
        n_lines=file.results.n_lines,
        tests=tuple(dict.fromkeys(test_name(table) for table in tables)),
        tools=tuple(dict.fromkeys(f"{t.tool} {t.version}".strip() for t in tables)),
        devices=tuple(devices),
        conditions=conditions,
    )


def _shared_environment(files: Sequence[_ReadFile]) -> dict[str, str]:
    """The environment that all files share; secrets masked, unknown variables left out."""
    recorded = [dict(file.results.environment) for file in files if file.results.environment]
    if not recorded:
        return {}
    first, *others = recorded
    same = {k: v for k, v in first.items() if all(other.get(k) == v for other in others)}
    return recorded_environment(same)


def _write(
    run_dir: Path, meta: Mapping[str, Any], found: Imported, files: Sequence[_ReadFile]
) -> None:
    """INVARIANT: the run directory appears by one rename, complete."""
    try:
        run_dir.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f".{run_dir.name}.", dir=run_dir.parent))
    except OSError as error:
        raise _disk(run_dir, error) from error
    try:
        with RunStore.create(partial, meta) as store:
            store.set_plan([one.launch for one in found.launches])
            for one in found.launches:
                for sample in one.samples:
                    store.append(sample)
                store.done(one.launch, n_samples=len(one.samples), seconds=0.0)
            store.read_back(len(found.launches))
        for file in files:
            write_part(partial / "raw" / file.raw_name, file.content, what="result file")
        (partial / "recipes").rmdir()
        partial.chmod(0o777 & ~_umask())
        folder = HeldFolder(partial)
        partial.rename(run_dir)
        _refuse_damaged(run_dir, folder, len(found.launches))
    except OSError as error:
        raise _disk(run_dir, error) from error
    except StorageError as error:
        error.kept = "none of the import: the files to import are as they were"
        raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _refuse_damaged(run_dir: Path, folder: HeldFolder, n_launches: int) -> None:
    """Somebody else may have changed the directory until its name was there. A damaged one goes, so
    that the import can be repeated; never one in its place. Raises StorageError."""
    try:
        read_back(run_dir, n_launches)
    except StorageError:
        with contextlib.suppress(StorageError):
            folder.path = run_dir
            folder.refuse_lost()
            shutil.rmtree(run_dir, ignore_errors=True)
        raise
    finally:
        folder.close()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _disk(run_dir: Path, error: OSError) -> StorageError:
    return storage_error("the run", run_dir, error, hint="name another with -o DIR")


def _refuse_unlike_arms(arms: Sequence[ArmFiles]) -> None:
    names = [tuple(arm.arm) for arm in arms]
    if len({frozenset(name) for name in names}) > 1:
        raise InputError(
            "arms name different factors: " + " and ".join(",".join(name) for name in names[:2]),
            expected="the same factors in every --arm",
        )
    remarks = [tuple(sorted(arm.arm.items())) for arm in arms]
    for arm in remarks:
        if remarks.count(arm) > 1:
            raise InputError(
                "arm "
                + ",".join(f"{factor}={setting}" for factor, setting in arm)
                + " is given twice",
                expected="each arm once, with all its files after it",
            )


def _not_an_arm(text: str) -> InputError:
    return InputError(
        f"'{text}' is not an arm",
        expected="FACTOR=SETTING like routing=static; lower-case letters, digits, '.', '_', '-'",
        hint=did_you_mean(text, [text.lower()]) if text != text.lower() else None,
    )
