"""One line of what logs report."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from weft.bench.logs.log_facts import LogFact
from weft.bench.logs.ranks import JobLog
from weft.doctor.log.network import share, some


@dataclass(frozen=True, slots=True)
class Aspect:
    """One line of the picture: its name, its text and the same as values."""

    name: str
    text: str
    values: Any


def rows_of(log: JobLog, facts: Iterable[LogFact], *names: str) -> list[dict[str, Any]]:
    """Each fact's words by these names, and how many ranks logged it."""
    return [
        {**dict(zip(names, fact.words, strict=False)), "n_ranks": len(log.by(fact))}
        for fact in facts
    ]


def counts_of(name: str, log: JobLog, by_value: Mapping[str, frozenset[int]]) -> Iterator[Aspect]:
    """An aspect of values with the ranks of each; none without a value."""
    if by_value:
        text = some([f"{value} by {share(log, ranks)}" for value, ranks in by_value.items()])
        yield Aspect(name, text, {value: len(ranks) for value, ranks in by_value.items()})
