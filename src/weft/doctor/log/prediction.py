"""A log beside the lines that `weft doctor container --predict-log` predicted for it."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from weft.bench.logs.echoes import says_what_it_reads
from weft.bench.logs.ranks import SOCKET, JobLog
from weft.core.documents.text_file import read_text_file
from weft.core.errors import InputError
from weft.core.finding import Finding, FindingKind, Severity, cannot_tell
from weft.core.words import counted
from weft.doctor.facts import PartingFacts
from weft.doctor.log.network import OWN_NETWORKS, finding, not_judged, share
from weft.doctor.log.other_lines import (
    ANY,
    OtherLines,
    judge_provider,
    judge_start,
    lines_of_record,
    lines_of_text,
)
from weft.doctor.log.plugin_lines import FAILURE, MARK, PluginLine, PluginLines, failures

EXPECTED = "the output of weft doctor container IMAGE --predict-log, as text or as json"
SCHEMA = "weft.doctor-container/1"
MOST_BYTES = 16 << 20
NO_LINE = "no further line"
NETWORK = "Using network "
_LINE = re.compile(rf"^ *({MARK.pattern})(.+)$", re.M)
_LEVEL = "NCCL INFO "
"""Documents of before have the lines without it."""
_END = re.compile(r"^ *NCCL WARN (.+)$", re.M)
_VERSION = re.compile(r"^(?:!! )?NCCL (\d+\.\d+\.\d+)(?::|$)", re.M)
_WHO = ("process", "processes")
_DO_SHOW = "NCCL_DEBUG=INFO, and INIT and NET if NCCL_DEBUG_SUBSYS is set"


@dataclass(frozen=True, slots=True)
class PredictedLog:
    """Lines about the plug-in. `network` is the one that ranks will take, `version` that of the
    image's NCCL, and `ends` the warning with which the job ends, each "" where the file does not
    tell it."""

    lines: tuple[PluginLine, ...]
    version: str
    network: str = ""
    ends: str = ""
    others: OtherLines = field(default_factory=OtherLines)


def read_prediction(path: Path) -> PredictedLog:
    """The predicted lines of a file. Raises InputError where it has none."""
    text = read_text_file(path, expected=EXPECTED, most_bytes=MOST_BYTES)
    if text.lstrip().startswith("{"):
        record = _record(text, path)
        lines = record.get("predicted_log", "")
        lines = [] if lines is None else lines
        links = record.get("chain")
        is_whole = isinstance(lines, list) and all(isinstance(one, str) for one in lines)
        if not is_whole or record.get("schema") != SCHEMA or not isinstance(links, list):
            raise InputError(f"no document of {SCHEMA}", where=str(path), expected=EXPECTED)
        names = [str(one.get("link")) for one in links if isinstance(one, dict)]
        marked = (one if one.startswith("NCCL ") else f"{_LEVEL}{one}" for one in lines)
        found = predicted_log("\n".join(marked), _version("\n".join(names)))
        others = lines_of_record(record)
    else:
        found, others = predicted_log(text, _version(text)), lines_of_text(text)
    found = replace(found, others=others)
    if not (found.lines or found.network or found.ends or others != OtherLines()):
        raise InputError(
            "no predicted line",
            where=str(path),
            expected=EXPECTED,
            hint="weft predicts the lines of an NCCL whose own formats it knows; see 'log' in "
            "that output",
        )
    return found


def predicted_log(text: str, version: str) -> PredictedLog:
    """The lines of NCCL in a text, each from its mark on."""
    found = [PluginLine(one[2].strip(), mark=one[1]) for one in _LINE.finditer(text)]
    lines = tuple(one for one in found if not one.text.startswith(NETWORK))
    names = [one.text.removeprefix(NETWORK) for one in found if one not in lines]
    end = _END.search(text)
    return PredictedLog(
        lines, version, names[0] if names else "", end[1].strip() if end is not None else ""
    )


def _record(text: str, path: Path) -> dict[str, Any]:
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"no JSON: {error}", where=str(path), expected=EXPECTED) from error
    return record if isinstance(record, dict) else {}


def _version(text: str) -> str:
    found = _VERSION.search(text)
    return found[1] if found is not None else ""


def judge_prediction(log: JobLog, lines: PluginLines, predicted: PredictedLog) -> Iterator[Finding]:
    """Where prediction and log part: at the program's start, at libfabric's provider, and at NCCL's
    plug-in and network."""
    yield from judge_start(log, lines, predicted.others)
    yield from judge_provider(log, lines, predicted.others)
    if not predicted.others.of_start:
        yield from _judge_plugin(log, lines, predicted)


def _judge_plugin(log: JobLog, lines: PluginLines, predicted: PredictedLog) -> Iterator[Finding]:
    """BAD if the log's next lines say that a plug-in is not used, and no rank used another network
    than sockets; else a warning. UNKNOWN where no process logged such lines."""
    processes = lines.by_process
    if lines.torn:
        yield not_judged(f"{counted(len(lines.torn), *_WHO)} with torn or mixed lines not compared")
    ran = {one.split(" ")[-1].partition("+")[0] for one in log.versions}
    is_other = bool(predicted.version and ran) and predicted.version not in ran
    if not is_other:
        yield from _networks(log, predicted)
    if not (processes or predicted.lines or lines.torn):
        yield not_judged("no process logged a line about a plug-in, as predicted")
        return
    if not processes:
        yield finding(
            Severity.UNKNOWN,
            cannot_tell(
                "whether the log is as predicted (no line about NCCL's plug-in is in it)",
                f"a log with {_DO_SHOW}",
            ),
            kind=FindingKind.NOT_ENOUGH_DATA,
        )
        return
    if is_other:
        yield _other_version(log, processes.values(), predicted.version, sorted(ran))
        return
    parted: dict[tuple[int, str | None], list[list[PluginLine]]] = {}
    n_more = n_hidden = 0
    unhidden = _unhidden(log, lines, predicted.lines)
    for logged in processes.values():
        at = _parting(predicted.lines, logged)
        if at == 0 and _is_equal(unhidden, logged):
            n_hidden += 1
            continue
        if at is None:
            n_more = max(n_more, len(logged) - len(predicted.lines))
            continue
        text = logged[at].text if at < len(logged) else None
        parted.setdefault((at, text), []).append(logged)
    for (at, _), those in parted.items():
        yield _parted(log, predicted, at, those, len(processes))
    if n_hidden:
        n = len(predicted.lines) - len(unhidden)
        yield not_judged(
            f"{n_hidden:,} of {counted(len(processes), *_WHO)} logged the predicted lines about "
            f"NCCL's plug-in without the first {n:,}, which NCCL_DEBUG_SUBSYS may hide; what shows "
            f"all: {_DO_SHOW}"
        )
    n_equal = len(processes) - n_hidden - sum(map(len, parted.values()))
    if n_equal:
        more = f"; {counted(n_more, 'more line')} about plug-ins not predicted" if n_more else ""
        yield not_judged(
            f"{n_equal:,} of {counted(len(processes), *_WHO)} logged the predicted "
            f"{counted(len(predicted.lines), 'line')} about NCCL's plug-in{more}"
        )
    if lines.silent:
        yield not_judged(f"{counted(len(lines.silent), *_WHO)} logged no line about a plug-in")


def _parting(predicted: Sequence[PluginLine], logged: Sequence[PluginLine]) -> int | None:
    """The index of the first line that is another one, None where none is. Lines behind those
    predicted count only if they are failures: some versions tell more of a plug-in they take."""
    for at, one in enumerate(predicted):
        if at >= len(logged) or not _is_same(one.text, logged[at].text):
            return at
    end = len(predicted)
    more = (at for at in range(end, len(logged)) if FAILURE.search(logged[at].text))
    return next(more, None)


_HIDDEN_WITHOUT_INIT = re.compile(r"Plugin name set by env to ")
_HIDDEN_WITHOUT_ENV = re.compile(r"NCCL_NET_PLUGIN (?:set by environment to|list contains )")
"""Lines that the rest of the log may lack: the first of 2.18.3 wants INIT, the other one of 2.32.3
ENV or NET. 2.26.5 shows its own with either. SOURCE: tried on these libraries."""


def _unhidden(
    log: JobLog, lines: PluginLines, predicted: Sequence[PluginLine]
) -> Sequence[PluginLine]:
    """The predicted lines that every NCCL_DEBUG_SUBSYS with INIT or NET shows: all of them, where
    other lines of the log tell that it hides none."""
    hidden = []
    if not lines.shows_init:
        hidden.append(_HIDDEN_WITHOUT_INIT)
    if not says_what_it_reads(log.echoed):
        hidden.append(_HIDDEN_WITHOUT_ENV)
    return [one for one in predicted if not any(form.match(one.text) for form in hidden)]


def _is_equal(predicted: Sequence[PluginLine], logged: Sequence[PluginLine]) -> bool:
    return len(predicted) == len(logged) and all(
        _is_same(one.text, other.text) for one, other in zip(predicted, logged, strict=True)
    )


def _is_same(predicted: str, logged: str) -> bool:
    first, *parts = predicted.split(ANY)
    text = logged.strip()
    if not parts:
        return text == first
    if not text.startswith(first):
        return False
    at = len(first)
    for one in parts[:-1]:
        at = text.find(one, at + 1) + len(one)
        if at < len(one):
            return False
    return text.endswith(parts[-1]) and len(text) - len(parts[-1]) > at


def _networks(log: JobLog, predicted: PredictedLog) -> Iterator[Finding]:
    """Ranks that took another network than the predicted one, or any where the job was to end. A
    plug-in's network has any name that NCCL's own do not have."""
    name = predicted.network
    wanted = f"{_LEVEL}{NETWORK}{name}" if name else f"NCCL WARN {predicted.ends}"
    if not (name or predicted.ends):
        return
    for fact in log.facts.of("network"):
        other, ranks = fact.words[0], log.by(fact)
        is_plugin = other not in OWN_NETWORKS
        if is_plugin if name == ANY else other.lower() == name.lower():
            continue
        logged = f"{NETWORK}{other}"
        shown = "a plug-in's" if name == ANY else f"NET/{name}"
        shown = shown if name else "the job ends"
        yield finding(
            Severity.WARNING,
            f"{share(log, ranks)} took NET/{other}; predicted: {shown}",
            f"predicted  {wanted}",
            f"logged     {PluginLine(logged).shown}  ({log.facts.place(fact)})",
            kind=FindingKind.CONTRADICTION,
            facts=PartingFacts(
                len(predicted.lines) + 1,
                f"{NETWORK}{name}" if name else predicted.ends,
                logged,
                "the network",
                len(ranks),
            ),
        )


def _severity(log: JobLog, failed: PluginLine | None) -> Severity:
    is_fast = bool(log.networks) and SOCKET not in log.networks
    return Severity.WARNING if failed is None or is_fast else Severity.BAD


def _other_version(
    log: JobLog, processes: Iterable[list[PluginLine]], version: str, ran: Sequence[str]
) -> Finding:
    several = list(processes)
    every = [one for logged in several for one in logged]
    failed = next(failures(every), None)
    first = failed or every[0]
    facts = PartingFacts(0, f"NCCL {version}", f"NCCL {ran[0]}", "NCCL", len(several))
    return finding(
        _severity(log, failed),
        f"the job ran NCCL {', '.join(ran)}, and the prediction is of NCCL {version}: it loaded "
        "another libnccl than the one that was judged",
        f"logged     {first.shown}  ({first.place})",
        kind=FindingKind.CONTRADICTION,
        facts=facts,
    )


def _parted(
    log: JobLog, predicted: PredictedLog, at: int, those: Sequence[list[PluginLine]], n_all: int
) -> Finding:
    logged = those[0]
    wanted = predicted.lines[at] if at < len(predicted.lines) else None
    has = logged[at] if at < len(logged) else None
    link, what = _meaning(has)
    if has is None:
        what = "the log ends here, or tells no more of plug-ins"
    _, expected = _meaning(wanted)
    differ = "differs" if len(those) == 1 else "differ"
    texts = (wanted.text if wanted is not None else None, has.text if has is not None else None)
    return finding(
        _severity(log, next(failures(logged[at:]), None)),
        f"{len(those):,} of {counted(n_all, *_WHO)} {differ} from the prediction at {link}, line "
        f"{at + 1}: {what}; predicted: {expected}",
        f"predicted  {wanted.shown if wanted is not None else NO_LINE}",
        f"logged     {has.shown}  ({has.place})" if has is not None else f"logged     {NO_LINE}",
        kind=FindingKind.CONTRADICTION,
        facts=PartingFacts(at + 1, *texts, link, len(those)),
    )


_MEANINGS = (
    (r"set by env to (?P<a>\S+)", "NCCL_NET_PLUGIN", "NCCL looks for {a}"),
    (r"NCCL_NET_PLUGIN set by environment to ?(?P<a>.*)", "NCCL_NET_PLUGIN",
     "NCCL_NET_PLUGIN is '{a}'"),
    (r"NCCL_NET_PLUGIN list (?P<a>contains .+)", "NCCL_NET_PLUGIN", "the list {a}"),
    (r"Failed to initialize NET plugin (?P<a>.+)", "the start of the plug-in",
     "the plug-in {a} does not start"),
    (r"version `(?P<a>[^']+)' not found \(required by (?P<b>[^)]+)\)", "versions of symbols",
     "{b} needs {a}"),
    (r"(?P<a>\S*libnccl-net\S*): cannot open shared object", "the net plug-in",
     "{a} is not found"),
    (r"(?P<a>\S+): cannot open shared object", "a library below the plug-in",
     "{a} is not found"),
    (r"(?P<a>\S+): (?P<b>[^:]*(?:ELF|too short)[^:]*)", "a broken file", "{a}: {b}"),
    (r"Could not find: ?(?P<a>.*?)(?:\. Using.*)?$", "the net plug-in", "{a} is not found"),
    (r"network plugin (?P<a>\S+) is unsupported", "the plug-in's interface",
     "NCCL does not take {a}"),
    (r"Failed to find (?P<a>\S+)", "the plug-in's interface", "the plug-in has no {a}"),
    (r"No plugin found|Using internal", "the net plug-in", "NCCL uses no plug-in"),
    (r"Successfully loaded external network plugin (?P<a>\S+)", "the net plug-in",
     "NCCL loads {a}"),
    (r"Loaded (?P<a>net|coll\w*) plugin (?P<b>.+)", "the net plug-in", "NCCL loads {b}"),
)  # fmt: skip
"""A line of NCCL, the link of the chain that it is about, and what it says."""


def _meaning(line: PluginLine | None) -> tuple[str, str]:
    """The link that a line is about, and what it says in plain words."""
    if line is None:
        return "the net plug-in", NO_LINE
    for pattern, link, words in _MEANINGS:
        found = re.search(pattern, line.text)
        if found is not None:
            return link, words.format_map(found.groupdict())
    return "the net plug-in", line.text
