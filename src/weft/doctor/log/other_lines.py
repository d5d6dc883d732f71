"""Lines of libfabric and of ld.so in a log, beside those that `weft doctor container` predicted."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from weft.bench.logs.ranks import SOCKET, JobLog
from weft.core.finding import Finding, FindingKind, Severity
from weft.core.words import counted
from weft.doctor.facts import PartingFacts
from weft.doctor.log.network import finding, not_judged
from weft.doctor.log.plugin_lines import ABOUT, PluginLine, PluginLines, StartLine

OF_PROVIDER = "log   of libfabric's provider "
OF_START = "log   of ld.so about "
ENDS, STARTS = ", which does not start:", ": none, it finds all libraries"
"""Headings of predicted lines: the name of the provider, or of the program as JSON, follows."""
ANY = "..."
"""Stands for what nobody knows before."""
REGISTERED = "<info> registering provider: "
_FILTERED = " filtered by provider include/exclude list"
_PREDICTED = re.compile(r"^ *libfabric:\.\.\.(<\w{1,10}> .+)$", re.M)
_PROVIDER = re.compile(rf"^{OF_PROVIDER}([\w;-]{{1,64}}),", re.M)
_PROGRAM = re.compile(rf'^{OF_START}("(?:[^"\\\n]|\\.){{1,4096}}")({ENDS}|{STARTS})$', re.M)
_VERSION = re.compile(r"\(\d{1,10}\.\d{1,10}\)$")
_WHO = ("process", "processes")


@dataclass(frozen=True, slots=True)
class OtherLines:
    """Predicted lines: of libfabric about a provider ("" and None where nothing is predicted), and
    of ld.so about a program ("" and None as well), behind its name; none where it starts."""

    provider: str = ""
    of_provider: tuple[str, ...] | None = None
    program: str = ""
    of_start: tuple[str, ...] | None = None


def lines_of_text(text: str) -> OtherLines:
    """Of the output of `weft doctor container --predict-log` as text."""
    provider, program = _PROVIDER.search(text), _PROGRAM.search(text)
    name = _name(program[1]) if program is not None else ""
    start: list[str] = []
    if program is not None and program[2] == ENDS:
        block = text[program.end() + 1 :].partition("\n\n")[0]
        start = [one.strip().removeprefix(f"{name}: ") for one in block.splitlines()]
    return OtherLines(
        provider[1] if provider is not None else "",
        tuple(_PREDICTED.findall(text)) if provider is not None else None,
        name,
        tuple(start) if name else None,
    )


def _name(text: str) -> str:
    try:
        return str(json.loads(text))
    except ValueError:
        return ""


def lines_of_record(record: Mapping[str, object]) -> OtherLines:
    """Of the same as JSON. Documents of before predict neither."""
    provider, lines = record.get("predicted_provider"), _texts(record.get("predicted_provider_log"))
    program, start = record.get("predicted_program"), _texts(record.get("predicted_start_log"))
    if not isinstance(provider, str) or not provider or lines is None:
        provider, lines = "", None
    if not isinstance(program, str) or not program or start is None:
        program, start = "", None
    return OtherLines(
        provider,
        None if lines is None else tuple(_PREDICTED.findall("\n".join(lines))),
        program,
        None if start is None else tuple(one.removeprefix(f"{program}: ") for one in start),
    )


def _texts(value: object) -> Sequence[str] | None:
    is_whole = isinstance(value, list) and all(isinstance(one, str) for one in value)
    return value if is_whole else None  # type: ignore[return-value]


def judge_start(log: JobLog, lines: PluginLines, predicted: OtherLines) -> Iterator[Finding]:
    """Whether the program starts as predicted: by the lines of ld.so with its own name."""
    if predicted.of_start is None:
        return
    logged = [one for one in lines.of_starts if _is_of(one, predicted.program)]
    started = bool(lines.by_process or lines.silent or log.networks)
    if not logged and (not predicted.of_start or not started):
        return
    if {one.text for one in logged} == set(predicted.of_start):
        yield not_judged(f"{predicted.program} did not start, as predicted")
        return
    wanted = predicted.of_start[0] if predicted.of_start else "it starts"
    has = logged[0].text if logged else "it started"
    place = f"  ({logged[0].place})" if logged else ""
    did = "did not start" if logged else "started"
    yield finding(
        Severity.WARNING if started else Severity.BAD,
        f"{predicted.program} {did}; predicted: {wanted}",
        f"predicted  {wanted}",
        f"logged     {has}{place}",
        kind=FindingKind.CONTRADICTION,
        facts=PartingFacts(1, wanted, has, "the start of the program", 1),
    )


def _is_of(line: StartLine, program: str) -> bool:
    """Whether a line of ld.so is about a program: the last word before the message is its name."""
    return line.program in (program, program.rpartition("/")[2])


def judge_provider(log: JobLog, lines: PluginLines, predicted: OtherLines) -> Iterator[Finding]:
    """Whether libfabric met its provider as predicted, process by process; one that logs at a level
    below info has no line about a provider that it registers."""
    if predicted.of_provider is None:
        return
    name, none = predicted.provider, f"no line about {predicted.provider}"
    told = [one for one in lines.of_providers.values() if any(map(_is_registered, one))]
    whole = [one for one in told if not _is_mixed(one, name)]
    if n_mixed := len(told) - len(whole) + len(lines.torn_of_providers):
        who = counted(n_mixed, *_WHO)
        yield not_judged(f"{who} with torn or mixed lines of libfabric not compared")
    if not whole:
        yield not_judged(
            f"provider {name} is not compared: the log has none of libfabric's lines about its "
            "providers; what shows them: FI_LOG_LEVEL=info"
        )
        return
    n_equal, parted = 0, dict[tuple[int, str], list[tuple[PluginLine | None, bool]]]()
    for logged in whole:
        own = provider_lines_of(logged, name)
        texts = list(own)
        at = next((i for i, one in enumerate(predicted.of_provider) if texts[i : i + 1] != [one]),
                  len(predicted.of_provider))  # fmt: skip
        if at >= len(texts) and at >= len(predicted.of_provider):
            n_equal += 1
            continue
        text = texts[at] if at < len(texts) else ("no further line" if at else none)
        has_it = any(map(_is_registered_text, texts)) and not any(_FILTERED in x for x in texts)
        line = own[texts[at]] if at < len(texts) else None
        parted.setdefault((at, text), []).append((line, has_it))
    is_fast = bool(log.networks) and SOCKET not in log.networks
    for (at, text), those in parted.items():
        nothing = "no further line" if at else none
        wanted = predicted.of_provider[at] if at < len(predicted.of_provider) else nothing
        line, has_it = those[0]
        place = f"  ({line.place})" if line is not None else ""
        who = counted(len(whole), *_WHO)
        yield finding(
            Severity.WARNING if has_it or is_fast else Severity.BAD,
            f"{len(those):,} of {who} logged other lines about libfabric's provider {name} than "
            "predicted",
            f"predicted  {wanted}",
            f"logged     {text}{place}",
            kind=FindingKind.CONTRADICTION,
            facts=PartingFacts(at + 1, wanted, text, f"provider {name}", len(those)),
        )
    if n_equal:
        yield not_judged(
            f"{n_equal:,} of {counted(len(whole), *_WHO)} met libfabric's provider {name} as "
            "predicted"
        )


def provider_lines_of(logged: Sequence[PluginLine], name: str) -> dict[str, PluginLine]:
    """The lines about a provider, each once and without its version, with where each is first."""
    found: dict[str, PluginLine] = {}
    for line in logged:
        if provider_of(line.text) == name:
            text = _VERSION.sub(f"({ANY})", line.text) if _is_registered(line) else line.text
            found.setdefault(text, line)
    return found


def provider_of(message: str) -> str:
    """The provider that a message of libfabric is about, "" where it is about none."""
    found = ABOUT.match(message)
    return "" if found is None else next(one for one in found.groups() if one is not None)


def _is_mixed(logged: Sequence[PluginLine], name: str) -> bool:
    """Whether the lines are of several processes with one number, and not all have the provider:
    one process registers it as often as any other, or never."""
    counts = Counter(provider_of(one.text) for one in logged if _is_registered(one))
    return 0 < counts[name] < max(counts.values())


def _is_registered(line: PluginLine) -> bool:
    return _is_registered_text(line.text)


def _is_registered_text(text: str) -> bool:
    return text.startswith(REGISTERED)
