"""What a job was launched with beside what its libraries say they read."""

from collections.abc import Iterator, Mapping

from weft.bench.logs.ranks import JobLog
from weft.catalog.variables import Reads, Variable, VariableList
from weft.core.finding import Finding, FindingKind, Severity
from weft.doctor.case import Case
from weft.doctor.job import Job
from weft.doctor.log.network import share
from weft.doctor.numbers import strtoll

NCCL = "nccl"
TEXTS_ECHOED = {
    "NCCL_ALGO",
    "NCCL_COLLNET_ENABLE",
    "NCCL_COMM_ID",
    "NCCL_GRAPH_DUMP_FILE",
    "NCCL_GRAPH_FILE",
    "NCCL_HOSTID",
    "NCCL_IB_HCA",
    "NCCL_NET_GDR_LEVEL",
    "NCCL_P2P_LEVEL",
    "NCCL_PROTO",
    "NCCL_SOCKET_FAMILY",
    "NCCL_SOCKET_IFNAME",
    "NCCL_TOPO_DUMP_FILE",
    "NCCL_TOPO_FILE",
}
"""Variables that are no integers, and that NCCL says it read. SOURCE: the texts that NVIDIA's
libraries 2.18.3 and 2.32.3 print; tests/oracle/test_nccl_log.py looks for them there."""
NOT_ALWAYS_ECHOED = {
    "NCCL_P2P_DISABLE",
    "NCCL_SET_THREAD_NAME",
    "NCCL_WARN_ENABLE_DEBUG_INFO",
}
"""Integers that are read in another way than all others, which says nothing for some values."""


def judge_settings(log: JobLog, job: Job, lists: Mapping[str, VariableList]) -> Iterator[Finding]:
    """Variables that a file sets and that no rank read, or read as another value.

    Nothing is said of variables that no library echoes, nor where the log echoes none at all.
    """
    case = Case(job, lists)
    values = {setting.name: case.value(setting.name) for setting in job.settings}
    yield from _nccl(log, job, lists[NCCL], values)
    if any(name.startswith("UCX_") for name in log.echoed):
        for name, value in values.items():
            if name.startswith("UCX_") and name not in log.echoed:
                yield _unread(job, name, value, "no process of UCX saw it")


def _nccl(
    log: JobLog, job: Job, variables: VariableList, values: Mapping[str, str | None]
) -> Iterator[Finding]:
    echoes = [name for name in log.echoed if name.startswith("NCCL_")]
    asked = [name for name in values if name.startswith("NCCL_")]
    done = log.values("communicator", 2).get("COMPLETE", frozenset())
    if asked and not (echoes and done):
        why = "names no variable that was read" if not echoes else "ends before ranks are ready"
        yield Finding(
            FindingKind.NOT_JUDGED,
            Severity.NOTE,
            f"the log {why}: which of {job.name} were read cannot be told",
        )
        return
    refused = log.values("refused")
    for name in asked:
        value, variable = values[name], variables.by_name.get(name)
        read = log.echoed.get(name)
        if read is not None:
            yield from _otherwise(log, job, name, value, read)
        elif name in refused:
            continue
        elif variable is None:
            yield _unread(job, name, value, "no rank read it: it is no variable of NCCL")
        elif is_echoed(variable) and value != "":
            yield _unread(job, name, value, "no rank read it: it had no effect in this run")


def is_echoed(variable: Variable) -> bool:
    """Whether NCCL says so whenever it reads a variable."""
    if variable.name in NOT_ALWAYS_ECHOED:
        return False
    return variable.reads is Reads.INTEGER or variable.name in TEXTS_ECHOED


def _otherwise(
    log: JobLog, job: Job, name: str, value: str | None, read: Mapping[str, frozenset[int]]
) -> Iterator[Finding]:
    """Ranks that read another value than the file gives."""
    if value is None:
        return
    others = {seen: ranks for seen, ranks in read.items() if not same(value, seen)}
    for seen, ranks in others.items():
        yield _finding(
            f"{name} is {value} in {job.name}, and {share(log, ranks)} read {seen}", name, value
        )


def same(value: str, echoed: str) -> bool:
    """Whether an echo is that of a value: as text, or as the number that NCCL reads there."""
    return value == echoed or str(strtoll(value)[0]) == echoed


def _unread(job: Job, name: str, value: str | None, why: str) -> Finding:
    shown = name if value is None else f"{name}={value}"
    return _finding(f"{shown} is set in {job.name}, and {why}", name, value)


def _finding(sentence: str, name: str, value: str | None) -> Finding:
    facts = {"name": name, "value": value}
    return Finding(FindingKind.MIS_SETTING, Severity.WARNING, sentence, facts=facts)
