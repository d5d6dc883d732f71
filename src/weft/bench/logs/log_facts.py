"""Logs as the engine reads them: facts, each once, with all of its writers."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from weft.core.documents.text_file import refuse_endless
from weft.core.errors import InputError
from weft.topology.engine import engine_at_work, engine_module

EXPECTED = "a log of NCCL, RCCL, UCX, libfabric, an MPI or SHARP, '-' for standard input"


@dataclass(frozen=True, slots=True)
class LogWriter:
    """A GPU of a process; `rank` is that in its largest communicator, None before it has one."""

    number: int
    host: str
    pid: str
    device: str
    rank: int | None
    n_ranks: int | None


@dataclass(frozen=True, slots=True)
class LogFact:
    """One thing that was logged `n` times; docs/reference/doctor_log.md explains `words`.

    `by` counts it for each writer; lines that name no writer are in `n` alone.
    """

    kind: str
    words: tuple[str, ...]
    n: int
    source: int
    line: int
    least: int | None
    most: int | None
    by: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class LogSource:
    """A file that was read."""

    name: str
    n_lines: int
    n_bytes: int
    n_understood: int
    n_torn: int
    cut: int | None
    endless: bool


@dataclass(frozen=True)
class LogFacts:
    """All facts of some logs."""

    sources: tuple[LogSource, ...]
    writers: tuple[LogWriter, ...]
    facts: tuple[LogFact, ...]
    n_left_out: int

    @cached_property
    def _of_kind(self) -> dict[str, list[LogFact]]:
        kinds: dict[str, list[LogFact]] = {}
        for fact in self.facts:
            kinds.setdefault(fact.kind, []).append(fact)
        return kinds

    def of(self, kind: str) -> Sequence[LogFact]:
        """Facts of one kind, in order of first appearance."""
        return self._of_kind.get(kind, ())

    def place(self, fact: LogFact) -> str:
        """Where a fact stands first: 'job.log:12'."""
        return f"{self.sources[fact.source].name}:{fact.line}"


def read_logs(names: Sequence[str]) -> LogFacts:
    """The facts of logs ('-' is standard input). Raises InputError for other files."""
    for name in names:
        refuse_endless(name, expected=EXPECTED)
    try:
        log_facts = log_facts_of(names)
    except OSError as error:
        raise InputError(f"cannot be read: {error}", expected=EXPECTED) from error
    if not log_facts.facts:
        raise InputError(
            "weft understood no line of NCCL, RCCL, UCX, libfabric, an MPI or SHARP",
            where=", ".join(names),
            expected=EXPECTED,
            hint="NCCL is silent unless NCCL_DEBUG is set to INFO",
        )
    return log_facts


def log_facts_of(names: Sequence[str]) -> LogFacts:
    """The facts of files, or none. Raises OSError, and MissingError without an engine."""
    with engine_at_work("reading logs") as engine:
        return _log_facts(json.loads(engine.read_logs([(name, None) for name in names])))


def log_facts_of_bytes(name: str, content: bytes) -> LogFacts:
    """The facts of a file's content. Raises as `log_facts_of`."""
    return _log_facts(json.loads(engine_module().read_logs([(name, content)])))


def _log_facts(document: dict[str, Any]) -> LogFacts:
    return LogFacts(
        sources=tuple(LogSource(**source) for source in document["sources"]),
        writers=tuple(
            LogWriter(number, **writer) for number, writer in enumerate(document["speakers"])
        ),
        facts=tuple(_fact(fact) for fact in document["facts"]),
        n_left_out=document["n_left_out"],
    )


def _fact(fact: dict[str, Any]) -> LogFact:
    least, most = fact.get("sizes", (None, None))
    source, line = fact["first"]
    by = {number: n for first, last, n in fact["by"] for number in range(first, last + 1)}
    return LogFact(fact["kind"], tuple(fact["words"]), fact["n"], source, line, least, most, by)
