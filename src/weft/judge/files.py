"""Many result files: found, judged one by one, and those of one run by what all of them say."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from weft.catalog.tools import NCCL_TOOLS
from weft.core.errors import InputError
from weft.core.finding import WORST_FIRST
from weft.core.work.progress import each, phases
from weft.judge.judge import judge_results
from weft.judge.model import FileJudgement
from weft.judge.path_class.evidence import PathEvidence, evidence_of, with_run
from weft.judge.path_class.proof import FoundProof, proofs_in
from weft.judge.size_limit import ReadFile, may_be_long, of_a_part, read_file, read_stream
from weft.results.model import ResultFile

MOST_FILES = 100_000
"""So many files of a folder are looked at."""
READ_SHARE, READ_LONG_SHARE = 0.3, 0.85
"""Reading, of the CPU time that files take, for the bar; judging is the other part. Measured with
60 files of 22 rows, and with one of 264,000 rows, of which an excerpt is judged."""
_TEST_WORDS = re.compile(
    r"(?:osu|imb|ib|mpi1?|perf)?[-_.]?(?:latency|lat|bandwidth|bibw|bw|mbw_mr|multi_lat|pingpong|"
    r"pingping|sendrecv|exchange|uniband|biband|allreduce|alltoallv?|allgather|barrier|bcast|"
    r"reduce)(?:[-_]\d+)?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class JudgedFile:
    """A file with its judgement, or with the error that left it unjudged."""

    path: str
    judgement: FileJudgement | None = None
    error: InputError | None = None
    was_named: bool = True

    @property
    def rank(self) -> int:
        """Worst first: bad, unread, warning, note, good."""
        if self.judgement is None:
            return 1
        worst_first = WORST_FIRST.index(self.judgement.findings[0].severity)
        return worst_first if worst_first == 0 else worst_first + 1


@dataclass(frozen=True, slots=True)
class _Read:
    path: Path
    file: ReadFile
    proofs: tuple[FoundProof, ...]
    was_named: bool

    @property
    def results(self) -> ResultFile:
        """The tables of the file."""
        return self.file.results


def judge_files(
    names: Iterable[str], given: Mapping[str, Any], stream: BinaryIO | None = None
) -> list[JudgedFile]:
    """Every named file and every file below a named folder, judged, worst first; "-" is a stream.

    A file that cannot be read, or holds no table, stops no other one.
    """
    names = list(names)
    stream = stream if "-" in names else None
    found: list[_Read] = []
    judged: list[JudgedFile] = []
    files = list(files_below(names))
    share = READ_LONG_SHARE if any(may_be_long(path) for path, _ in files) else READ_SHARE
    with phases("judging files", read=share, judge=1 - share) as begin:
        for path, was_named in each(files, "reading files", unit="file"):
            try:
                found.append(_read(path, stream, was_named=was_named))
            except InputError as error:
                judged.append(JudgedFile(str(path), error=error, was_named=was_named))
        begin("judge")
        judged += _judgements(found, given)
    return sorted(judged, key=lambda one: (one.rank, one.path))


def _judgements(found: "Sequence[_Read]", given: Mapping[str, Any]) -> list[JudgedFile]:
    judged: list[JudgedFile] = []
    evidence = _evidence_by_run(found)
    for one in each(found, "judging files", unit="file"):
        try:
            judgement = judge_results(
                one.results, **given, log=one.file.log, evidence=evidence[str(one.path)]
            )
        except InputError as error:
            judged.append(JudgedFile(str(one.path), error=error, was_named=one.was_named))
        else:
            judgement = of_a_part(judgement, one.file.part)
            judged.append(JudgedFile(str(one.path), judgement, was_named=one.was_named))
    return judged


def _read(path: Path, stream: BinaryIO | None, *, was_named: bool) -> _Read:
    is_stream = stream is not None and was_named and str(path) == "-"
    file = read_stream(stream, "-") if stream is not None and is_stream else read_file(path)
    return _Read(path, file, proofs_in(file.head, file.results.environment), was_named)


def files_below(names: Iterable[str]) -> Iterator[tuple[Path, bool]]:
    """(path, whether the user named it) of files and of regular files below folders."""
    for name in names:
        path = Path(name)
        if not path.is_dir():
            yield path, True
            continue
        n = 0
        for folder, below, files in os.walk(path):
            below.sort()
            for file in sorted(files):
                inner = Path(folder) / file
                n += 1
                if n > MOST_FILES:
                    raise InputError(
                        f"more than {MOST_FILES} files",
                        where=name,
                        expected="a folder of result files",
                    )
                if inner.is_file() and not inner.is_symlink():
                    yield inner, False


def _evidence_by_run(found: Sequence[_Read]) -> dict[str, PathEvidence]:
    """What is known of each file's path: by its own rows and those of files of the same run."""
    runs: dict[tuple[str, str, bool, str], list[_Read]] = {}
    for one in found:
        runs.setdefault(_run_of(one), []).append(one)
    evidence: dict[str, PathEvidence] = {}
    for members in runs.values():
        tables = [table for one in members for table in one.results.tables]
        proofs = {proof.proof.says: proof for one in members for proof in one.proofs}
        together = evidence_of(tables, proofs.values())
        for one in members:
            own = evidence_of(one.results.tables, one.proofs)
            others = len(members) - 1 if own.n_rows else 0
            evidence[str(one.path)] = with_run(own, together, others) if others else own
    return evidence


def _run_of(one: _Read) -> tuple[str, str, bool, str]:
    """Files of one folder whose names differ only in the test are of one run."""
    name = _TEST_WORDS.sub("", one.path.stem)
    tables = one.results.tables
    is_nccl = any(table.tool in NCCL_TOOLS for table in tables)
    memory = "gpu" if any(table.memory == "gpu" for table in tables) else "host"
    unique = str(one.path) if is_nccl else name
    return str(one.path.parent), unique, is_nccl, memory
