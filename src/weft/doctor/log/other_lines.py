"""Lines of libfabric and of ld.so in a log, beside those that `weft doctor container` predicted."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from weft.bench.logs.ranks import SOCKET, JobLog
from weft.core.finding import Finding, FindingKind, Severity
from weft.core.words import counted
from weft.doctor.facts import PartingFacts
from weft.doctor.log.network import finding, not_judged
from weft.doctor.log.plugin_lines import ABOUT, PluginLine

OF_PROVIDER = "log   of libfabric's provider "
OF_START = "log   of the program, which ends at its start:"
"""Headings of predicted lines. The name of the provider follows the first one."""
NO_LINE = "no line names it"
LINKER = "the dynamic linker"
_PREDICTED = re.compile(r"^ *libfabric:\.\.\.(<\w+> .+)$", re.M)
_HEADING = re.compile(rf"^{OF_PROVIDER}([\w;-]+),", re.M)
_START = re.compile(r"(error while loading shared libraries: .+|version `\S+' not found .+)$", re.M)
ANY = "..."
"""Stands for what nobody knows before."""
_REGISTERED = "<info> registering provider: "
_WHO = ("process", "processes")


@dataclass(frozen=True, slots=True)
class OtherLines:
    """Predicted lines: of libfabric about a provider ("" and None where nothing is predicted), and
    of ld.so with which the program ends, from its own words on."""

    provider: str = ""
    of_provider: tuple[str, ...] | None = None
    of_start: tuple[str, ...] = ()


def lines_of_text(text: str) -> OtherLines:
    """Of the output of `weft doctor container --predict-log` as text."""
    heading = _HEADING.search(text)
    start = text.partition(f"\n{OF_START}\n")[2].partition("\n\n")[0]
    return OtherLines(
        heading[1] if heading is not None else "",
        tuple(_PREDICTED.findall(text)) if heading is not None else None,
        tuple(_START.findall(start)),
    )


def lines_of_record(record: Mapping[str, object]) -> OtherLines:
    """Of the same as JSON. Documents of before predict neither."""
    provider = record.get("predicted_provider")
    lines = _texts(record.get("predicted_provider_log"))
    start = _texts(record.get("predicted_start_log")) or ()
    if not isinstance(provider, str) or lines is None:
        provider, lines = "", None
    told = None if lines is None else tuple(_PREDICTED.findall("\n".join(lines)))
    return OtherLines(provider, told, tuple(_START.findall("\n".join(start))))


def _texts(value: object) -> Sequence[str] | None:
    is_whole = isinstance(value, list) and all(isinstance(one, str) for one in value)
    return value if is_whole else None  # type: ignore[return-value]


def judge_start(log: JobLog, predicted: OtherLines) -> Iterator[Finding]:
    """Whether the program ended at its start as predicted."""
    facts = [one for one in log.facts.of("warning") if one.words[0] == LINKER]
    logged = [one for one in facts if _START.match(one.words[2])]
    if predicted.of_start and {one.words[2] for one in logged} == set(predicted.of_start):
        yield not_judged("the program ended at its start, as predicted")
    elif predicted.of_start or logged:
        wanted = predicted.of_start[0] if predicted.of_start else "the program starts"
        has = logged[0].words[2] if logged else "the program started"
        place = f"  ({log.facts.place(logged[0])})" if logged else ""
        what = "ended" if logged else "did not end"
        yield finding(
            Severity.BAD if logged else Severity.WARNING,
            f"the program {what} at its start, unlike the prediction",
            f"predicted  {wanted}",
            f"logged     {has}{place}",
            kind=FindingKind.CONTRADICTION,
            facts=PartingFacts(1, wanted, has, "the start of the program", 1),
        )


def judge_provider(
    log: JobLog, processes: Mapping[str, Mapping[str, PluginLine]], predicted: OtherLines
) -> Iterator[Finding]:
    """Whether libfabric met its provider as predicted. `processes` have all lines about providers,
    by process id; one at a level below info has no line about a provider that it registers."""
    if predicted.of_provider is None:
        return
    told = [one for one in processes.values() if any(map(_is_registered, one))]
    if not told:
        yield not_judged(
            "no process logged which providers libfabric has; what shows it: FI_LOG_LEVEL=info"
        )
        return
    n_equal, parted = 0, dict[tuple[int, str], list[PluginLine | None]]()
    for logged in told:
        own = [one for one in logged.values() if provider_of(one.text) == predicted.provider]
        at = _parting(predicted.of_provider, own)
        if at is None:
            n_equal += 1
            continue
        line = own[at] if at < len(own) else None
        parted.setdefault((at, line.text if line is not None else NO_LINE), []).append(line)
    for (at, text), lines in parted.items():
        wanted = predicted.of_provider[at] if at < len(predicted.of_provider) else NO_LINE
        lost = not _is_registered(text)
        is_fast = bool(log.networks) and SOCKET not in log.networks
        place = f"  ({lines[0].place})" if lines[0] is not None else ""
        who = counted(len(told), *_WHO)
        yield finding(
            Severity.BAD if lost and not is_fast else Severity.WARNING,
            f"{len(lines):,} of {who} met libfabric's provider {predicted.provider} otherwise than "
            "predicted",
            f"predicted  {wanted}",
            f"logged     {text}{place}",
            kind=FindingKind.CONTRADICTION,
            facts=PartingFacts(at + 1, wanted, text, f"provider {predicted.provider}", len(lines)),
        )
    if n_equal:
        yield not_judged(
            f"{n_equal:,} of {counted(len(told), *_WHO)} met libfabric's provider "
            f"{predicted.provider} as predicted"
        )


def provider_of(message: str) -> str:
    """The provider that a message of libfabric is about, "" where it is about none."""
    found = ABOUT.search(message)
    return "" if found is None else next(one for one in found.groups() if one is not None)


def _is_registered(text: str) -> bool:
    return text.startswith(_REGISTERED)


def _parting(predicted: Sequence[str], logged: Sequence[PluginLine]) -> int | None:
    """The index of the first line that is another one; None where none is."""
    for at, (wanted, has) in enumerate(zip_longest(predicted, logged)):
        if wanted is None or has is None:
            return at
        pattern = ".+".join(map(re.escape, wanted.split(ANY)))
        if not re.fullmatch(pattern, has.text):
            return at
    return None
