"""The report of `weft doctor container`: the verdict, the chain as a tree, variables and mounts."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from weft.cli.output import would_show_lines
from weft.core.finding import Severity, cannot_tell
from weft.doctor.container.case import ContainerCase
from weft.doctor.container.chain.process_lines import ProviderLog, StartLog
from weft.doctor.container.chain.report import Chain, ChainFault, ChainLink, open_parts
from weft.doctor.container.judge import TITLES, outcome
from weft.doctor.container.launch.environment import VariableValue
from weft.doctor.log.other_lines import ENDS, OF_PROVIDER, OF_START, STARTS

SHOWN = (
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "NCCL_NET",
    "NCCL_NET_PLUGIN",
    "FI_PROVIDER",
    "FI_PROVIDER_PATH",
)
"""Variables that decide which files are opened."""
_WIDTH = 16


def container_lines(
    case: ContainerCase, chain: Chain, *, n_launches: int, shows_log: bool
) -> Iterator[str]:
    """The whole report."""
    yield from verdict_lines(case, chain)
    yield ""
    yield f"{'container':<{_WIDTH}}{_container(case)}"
    if n_launches > 1:
        yield f"{'launch':<{_WIDTH}}the worst of {n_launches}: {case.plan.place}"
    if chain.fabric:
        yield f"{'network':<{_WIDTH}}{TITLES[chain.fabric]}"
    if chain.links:
        yield ""
    depth = 0
    for one in chain.links:
        depth = 0 if one.is_first else depth
        yield _link(depth, one)
        depth += 1
    variables = [case.variables[one] for one in SHOWN if one in case.variables]
    if variables:
        yield ""
        yield from (f"{_variable(one)}" for one in variables)
    if shows_log:
        yield from _log(chain)
    yield ""
    yield f"next  {_next(chain)}"


def _log(chain: Chain) -> Iterator[str]:
    yield ""
    start, provider = chain.start_log, chain.provider_log
    if start is not None:
        yield f"{OF_START}{json.dumps(start.program)}{ENDS if start.lines else STARTS}"
        yield from (f"      {one}" for one in start.lines)
    if start is not None and start.lines:
        return
    if chain.log is None:
        yield "log   no prediction: weft does not know this NCCL's lines about plug-ins"
    else:
        yield f"log   of each rank, with NCCL_DEBUG=INFO:{'' if chain.log else ' no line is known'}"
        yield from (f"      {one}" for one in chain.log)
    if provider is not None and provider.reason:
        yield f"log   of libfabric: no prediction: {provider.reason}"
    elif provider is not None:
        none = "" if provider.lines else f" no line about {provider.provider}"
        yield f"{OF_PROVIDER}{provider.provider}, with FI_LOG_LEVEL=info:{none}"
        yield from (f"      {one}" for one in provider.lines)


def verdict_lines(case: ContainerCase, chain: Chain) -> Iterator[str]:
    """The verdict, with its faults or its open questions."""
    verdict = chain.verdict()
    begin = outcome(case, chain)
    for number, fault in enumerate(chain.faults):
        yield f"BAD  {begin}: {fault.happens}" if number == 0 else f"BAD  {fault.happens}"
        yield f"     fix: {fault.fix}  [{fault.rule.id}]"
    if verdict is Severity.UNKNOWN:
        for gap in chain.gaps:
            yield f"UNKNOWN  {cannot_tell(gap.unknown, gap.would_tell)}"
    if verdict is Severity.GOOD:
        yield f"GOOD  {begin}"
        yield from would_show_lines(chain.would_show)
        seen = [*(what for what, _ in open_parts(case)), *case.image.not_seen]
        unseen = ["symbols without a version"]
        if not case.locked_memory.told_by:
            unseen.append("the limit of locked memory (ulimit -l)")
        yield f"not seen: {'; '.join([*seen, *unseen])}"
    for one in chain.warnings:
        yield f"warning  {one.happens}"
        yield f"     fix: {one.fix}  [{one.rule.id}]"


def _container(case: ContainerCase) -> str:
    glibc = case.directories.glibc
    libc = f"glibc 2.{glibc}" if glibc else "no glibc"
    where = f"{case.plan.runtime.name} ({case.plan.place})" if case.plan.place else ""
    started = where or case.plan.runtime.name
    built = ", ".join(word for word in (case.architecture, libc) if word)
    return f"{case.image.kind} {case.image.name}; {built}; {started}"


def _link(depth: int, link: ChainLink) -> str:
    begin = "" if depth == 0 else f"{'   ' * (depth - 1)}└─ "
    mark = "" if link.severity is Severity.GOOD else "!! "
    detail = f"  ({link.detail})" if link.file else link.detail
    return f"{begin}{mark}{link.name}: {link.file}{detail}"


def _variable(value: VariableValue) -> str:
    beaten = "".join(f"; wins over {one.origin}: {one.text}" for one in value.beaten)
    return f"{value.name}={value.text}  ({value.origin}{beaten})"


def _next(chain: Chain) -> str:
    if chain.faults:
        return "mend the first fault, then run this command again"
    return "weft doctor log JOB.log   # of a run with NCCL_DEBUG=INFO, to see that it is so"


def container_record(case: ContainerCase, chain: Chain) -> dict[str, Any]:
    """As plain values."""
    return {
        "schema": "weft.doctor-container/1",
        "image": case.image.name,
        "kind": case.image.kind,
        "architecture": case.architecture,
        "glibc": f"2.{case.directories.glibc}" if case.directories.glibc else None,
        "runtime": case.plan.runtime.name,
        "launch": case.plan.place,
        "fabric": chain.fabric or None,
        "verdict": chain.verdict().value,
        "outcome": outcome(case, chain),
        "would_show": list(chain.would_show),
        "faults": rule_rows(case, chain.faults),
        "warnings": rule_rows(case, chain.warnings),
        "unknown": [{"unknown": one.unknown, "would_tell": one.would_tell} for one in chain.gaps],
        "chain": [
            {"link": one.name, "file": one.file, "detail": one.detail, "ok": _is_good(one)}
            for one in chain.links
        ],
        "predicted_log": None if chain.log is None else list(chain.log),
        **_predicted(chain.provider_log, chain.start_log),
        "variables": [
            {
                "name": one.name,
                "value": one.text,
                "origin": one.origin,
                "beaten": [{"value": other.text, "origin": other.origin} for other in one.beaten],
            }
            for one in case.variables.values()
        ],
        "mounts": [
            {
                "source": one.source.replace("\0", "..."),
                "target": one.target.replace("\0", "..."),
                "origin": one.origin,
            }
            for one in case.mounts
        ],
    }


def _predicted(provider: ProviderLog | None, start: StartLog | None) -> dict[str, Any]:
    is_told = provider is not None and not provider.reason
    return {
        "predicted_provider": provider.provider if provider is not None else None,
        "predicted_provider_log": list(provider.lines) if provider and is_told else None,
        "predicted_program": start.program if start is not None else None,
        "predicted_start_log": list(start.lines) if start is not None else None,
    }


def _is_good(link: ChainLink) -> bool:
    return link.severity is Severity.GOOD


def container_rows(case: ContainerCase, chain: Chain) -> list[dict[str, str]]:
    """A row for each fault, and behind them for each warning."""
    return rule_rows(case, (*chain.faults, *chain.warnings))


def rule_rows(case: ContainerCase, found: Iterable[ChainFault]) -> list[dict[str, str]]:
    """A row for each of some faults or warnings."""
    return [
        {
            "image": case.image.name,
            "severity": one.rule.severity,
            "rule": one.rule.id,
            "happens": one.happens,
            "fix": one.fix,
            "source": one.rule.cited,
        }
        for one in found
    ]
