"""The settings of a launch compared with those that libraries log."""

from collections.abc import Iterator, Mapping

from weft.bench.logs.echoes import is_comparable, is_value, says_what_it_reads, why_unread
from weft.bench.logs.ranks import JobLog
from weft.catalog.libraries.variables import VariableList
from weft.core.finding import Finding, Severity
from weft.doctor.case import DoctorCase
from weft.doctor.facts import VariableFacts
from weft.doctor.job import Job
from weft.doctor.log.network import finding, not_judged, share, some


def judge_settings(log: JobLog, job: Job, lists: Mapping[str, VariableList]) -> Iterator[Finding]:
    """Variables that a file sets and that no rank read, or read as another value.

    Gaps of the log are reported, too: it echoes no variable, or ends too soon. So are variables
    that this version of NCCL reads without a log line, or that plug-ins read.
    """
    case = DoctorCase(job, lists)
    values = {setting.name: case.value(setting.name) for setting in job.settings}
    of_nccl = {name: value for name, value in values.items() if name.startswith("NCCL_")}
    yield from _nccl(log, job, lists, of_nccl)
    for name, value in values.items():
        if name not in of_nccl and name in log.echoed:
            yield from _otherwise(log, job, name, value, log.echoed[name])
    if any(name.startswith("UCX_") for name in log.echoed):
        for name, value in values.items():
            if name.startswith("UCX_") and name not in log.echoed:
                yield _unread(job, name, value, "no process of UCX saw it")


def _nccl(
    log: JobLog, job: Job, lists: Mapping[str, VariableList], values: Mapping[str, str | None]
) -> Iterator[Finding]:
    unread = []
    for name, value in values.items():
        read = log.echoed.get(name)
        if read is not None:
            yield from _otherwise(log, job, name, value, read)
            yield from _not_everywhere(log, name, read)
        elif name not in log.values("refused") and value != "":
            unread.append(name)
    has_echoes = says_what_it_reads(log.echoed)
    is_ready = bool(log.values("communicator", 2).get("COMPLETE"))
    if unread and not (has_echoes and is_ready):
        why = "names no variable that was read" if not has_echoes else "ends before ranks are ready"
        yield not_judged(f"the log {why}: variables of {job.name} are not judged")
        return
    reasons = {name: why_unread(name, log.versions, lists) for name in unread}
    for name, reason in reasons.items():
        if reason is not None:
            yield _unread(job, name, values[name], f"no rank read it: {reason}")
    silent = [name for name, reason in reasons.items() if reason is None]
    if silent:
        yield not_judged(
            f"unknown whether {some(silent)} of {job.name} took effect: no library "
            "logs that it reads them"
        )


def _otherwise(
    log: JobLog, job: Job, name: str, value: str | None, read: Mapping[str, frozenset[int]]
) -> Iterator[Finding]:
    """Ranks that read another value than the file gives."""
    if value is None or not is_comparable(name, value):
        return
    others = {seen: ranks for seen, ranks in read.items() if not is_value(name, value, seen)}
    for seen, ranks in others.items():
        yield _wrong(
            f"{name} is {value} in {job.name}, and {share(log, ranks)} read {seen}", name, value
        )


def _not_everywhere(
    log: JobLog, name: str, read: Mapping[str, frozenset[int]]
) -> Iterator[Finding]:
    """A variable that hosts did not read on which others were read: it may not have got there."""
    here = log.hosts_of(frozenset().union(*read.values()))
    echoing = (frozenset().union(*values.values()) for values in log.echoed.values())
    missing = log.hosts_of(frozenset().union(*echoing)) - here
    if missing and here:
        yield not_judged(
            f"{name} was read on {', '.join(sorted(here)[:4])} and not on "
            f"{some(sorted(missing), most=4)}: it was not passed on, or no library there needs it"
        )


def _unread(job: Job, name: str, value: str | None, why: str) -> Finding:
    shown = name if value is None else f"{name}={value}"
    return _wrong(f"{shown} is set in {job.name}, and {why}", name, value)


def _wrong(sentence: str, name: str, value: str | None) -> Finding:
    return finding(Severity.WARNING, sentence, facts=VariableFacts(name, value))
