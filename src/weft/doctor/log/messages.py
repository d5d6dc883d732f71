"""Messages in a job's logs that the catalogue knows: the cause and the remedy of each."""

from collections.abc import Iterator
from dataclasses import dataclass

from weft.bench.logs.log_facts import LogFact
from weft.bench.logs.ranks import JobLog
from weft.catalog.libraries.log_messages import LogMessage, message_of
from weft.core.finding import Finding, FindingKind, Severity
from weft.core.words import counted
from weft.doctor.facts import MessageFacts
from weft.doctor.log.network import finding, share

SEVERITIES = {
    "fatal": Severity.BAD,
    "harmful": Severity.WARNING,
    "harmless": Severity.NOTE,
}
MOST_READ = 20_000
"""Different messages that are compared with the catalogue; each is one of a few dozen."""


@dataclass(frozen=True, slots=True)
class KnownMessage:
    """A message of the catalogue, the sentence of its first line, and all facts that are it."""

    message: LogMessage
    sentence: str
    facts: tuple[LogFact, ...]


def known_messages(log: JobLog) -> list[KnownMessage]:
    """Messages of the catalogue, first causes before what follows from them."""
    found: dict[str, tuple[LogMessage, str, list[LogFact]]] = {}
    for fact in log.facts.of("warning")[:MOST_READ]:
        known = message_of(*fact.words)
        if known is not None:
            message, words = known
            _, _, facts = found.setdefault(message.name, (message, message.sentence(words), []))
            facts.append(fact)
    known_ones = [
        KnownMessage(message, sentence, tuple(facts)) for message, sentence, facts in found.values()
    ]
    return sorted(known_ones, key=lambda one: one.message.consequence)


def unknown_warnings(log: JobLog) -> list[LogFact]:
    """Warnings that the catalogue does not know."""
    warnings = log.facts.of("warning")
    return [
        fact
        for number, fact in enumerate(warnings)
        if number >= MOST_READ or message_of(*fact.words) is None
    ]


def judge_messages(log: JobLog) -> Iterator[Finding]:
    """What happened, to whom, why, and what to do; what is harmless is called so."""
    for known in known_messages(log):
        message, first = known.message, known.facts[0]
        n = sum(fact.n for fact in known.facts)
        by = log.all_by(known.facts) if any(fact.by for fact in known.facts) else frozenset()
        hosts = sorted(log.hosts_of(by))
        place = f" (from {first.words[1]})" if first.words[1] else ""
        who = f" - {share(log, by)}" if by else ""
        where = f" on {', '.join(hosts[:4])}" if hosts else ""
        lines = [f"cause: {message.cause}", f"do: {message.remedy}"]
        is_one = len({fact.words[2] for fact in known.facts}) == 1
        times = counted(n, "time") if is_one else f"the first of {n:,}"
        text = f"{log.facts.place(first)}{place}, {times}: {first.words[2]}"
        if message.severity == "harmless":
            lines = lines[:1]
        yield finding(
            SEVERITIES[message.severity],
            f"{known.sentence}{who}{where}",
            *lines,
            text,
            kind=FindingKind.FAILURE,
            facts=MessageFacts(
                message.name, message.severity, n, hosts[:16], message.cause, message.remedy
            ),
        )


def has_fatal(log: JobLog) -> bool:
    """Whether any message ends a job."""
    return any(known.message.severity == "fatal" for known in known_messages(log))
