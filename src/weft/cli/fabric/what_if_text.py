"""The risk of a change in words, at 60 columns."""

import textwrap
from collections.abc import Iterable, Mapping

from weft.audit.change_risk.reach import hosts_of_ports
from weft.audit.change_risk.report import ChangeRisk
from weft.audit.change_risk.slowdown import JobRisk
from weft.audit.change_risk.work_order import WorkStep
from weft.cli.output import table_text
from weft.core.finding import Severity
from weft.core.natural import natural_key
from weft.core.nodeset import fold
from weft.core.words import counted

MOST_SHOWN = 10
MOST_OF_LOOP = 6
_WIDTH = 60


def risk_text(risk: ChangeRisk) -> str:
    """The verdict, what is lost, the jobs, the order of work, and how it is known."""
    lines = _folded(f"{risk.severity.value.upper()}  {_verdict(risk)}", "  ")
    for sentence in _losses(risk):
        lines += _folded(f"  - {sentence}", "    ")
    if risk.jobs:
        lines += ["", *_job_lines(risk)]
    lines += ["", *_order_lines(risk)]
    lines += ["", *_tables_lines(risk)]
    return "\n".join(lines)


def _verdict(risk: ChangeRisk) -> str:
    if risk.cut_off:
        return f"{_hosts(risk.cut_off)} would be cut off"
    if risk.severity is not Severity.BAD:
        return _mild_verdict(risk)
    if risk.without_path:
        return f"{counted(risk.without_path, 'pair')} of hosts would have no path"
    if risk.has_new_loop:
        return f"a credit loop over {counted(len(risk.loop), 'port')} would arise"
    return "no safe order: hosts would be cut off, or a credit loop arise, between the steps"


def _mild_verdict(risk: ChangeRisk) -> str:
    if risk.severity is Severity.UNKNOWN:
        jobs = [f"job {job.name}: {job.unknown}" for job in risk.jobs if job.unknown]
        return f"cannot tell: {[*risk.unknown, *jobs][0]}"
    if risk.slower:
        job = risk.slower[0]
        others = len(risk.slower) - 1
        more = f", and {counted(others, 'other job')}" if others else ""
        return f"job {job.name} would be slower by {_percent(job.mean)}{more}"
    if risk.severity is Severity.WARNING and risk.bisection is not None:
        return f"{_percent(risk.bisection.loss)} of the bisection bandwidth would be lost"
    return "nothing would be lost: every host reached, no credit loop, no job slower"


def _losses(risk: ChangeRisk) -> Iterable[str]:
    if risk.cut_off:
        part = {host: n for host, n in risk.cut_off.items() if host not in risk.drained}
        if part:
            yield f"lose some of their adapters only: {_hosts(part)}"
    if risk.without_path and risk.cut_off:
        yield f"{counted(risk.without_path, 'pair')} of hosts have no path by the new tables"
    if risk.has_new_loop:
        shown = " -> ".join(risk.loop[:MOST_OF_LOOP])
        yield f"credit loop: {shown}{' -> ...' if len(risk.loop) > MOST_OF_LOOP else ''}"
    elif risk.loop:
        yield "a credit loop, as before"
    else:
        yield "no credit loop"
    if (it := risk.bisection) is not None:
        interval = f"{100 * it.low:.1f} to {100 * it.high:.1f} %"
        yield (
            f"bisection bandwidth {100 * it.before:.1f} % of the hosts' rate, then "
            f"{100 * it.after:.1f} %: {100 * it.loss:.1f} % lost ({interval})"
        )
    if risk.left_apart:
        yield f"switches left without a host: {', '.join(risk.left_apart[:MOST_SHOWN])}"


def _job_lines(risk: ChangeRisk) -> list[str]:
    rows = [[job.name, str(job.n_hosts), *_slowdowns(job)] for job in risk.jobs[:MOST_SHOWN]]
    lines = table_text(["job", "hosts", "slower", "worst shift"], rows, last=0).split("\n")
    if len(risk.jobs) > MOST_SHOWN:
        lines.append(f"... and {len(risk.jobs) - MOST_SHOWN} more: --format json")
    for job in risk.jobs[:MOST_SHOWN]:
        if job.unknown:
            lines += _folded(f"  job {job.name}: unknown: {job.unknown}", "    ")
        if job.cut_off:
            lines += _folded(f"  job {job.name}: loses {fold(job.cut_off)}", "    ")
    lines += _folded(
        "  slower: an alltoall of the job alone on the fabric, as shifts of its hosts", "    "
    )
    return lines


def _slowdowns(job: JobRisk) -> tuple[str, str]:
    if job.unknown or job.cut_off:
        return ("unknown", "-") if job.unknown else ("ends", "-")
    worst = _percent(job.worst)
    return _percent(job.mean), worst if job.worst_shift is None else f"{worst} ({job.worst_shift})"


def _order_lines(risk: ChangeRisk) -> list[str]:
    order = risk.order
    if order.unsafe is not None:
        lines = _folded(f"order of work: {order.unsafe}; as asked:", "    ")
    elif len(risk.changes) == 1:
        lines = ["order of work: one step"]
    else:
        lines = ["order of work, safe at every step:"]
    for number, step in enumerate(order.steps, 1):
        lines += _step_lines(risk, number, step)
    return lines


def _step_lines(risk: ChangeRisk, number: int, step: WorkStep) -> list[str]:
    lines = []
    if step.drain:
        lost, _ = hosts_of_ports(risk.before, step.drain)
        lines += _folded(f"  {number}. drain {_hosts(lost)}, then", "     ")
    words = "; ".join(change.words for change in step.changes)
    together = " (together, in any order)" if len(step.changes) > 1 else ""
    head = "     " if step.drain else f"  {number}. "
    return lines + _folded(f"{head}{words}{together}", "     ")


def _tables_lines(risk: ChangeRisk) -> list[str]:
    if risk.used is None:
        by = "entries over lost cables move to another shortest path"
    else:
        by = f"OpenSM's {risk.used}"
        if risk.routing.engine not in (None, risk.used):
            by += f", since {risk.routing.engine} gives up after the change"
    share = f"{risk.n_changed:,} of {risk.n_entries:,} entries change"
    return [
        *_folded(f"tables   {by} ({risk.routing.known_by}); {share}", " " * 9),
    ]


def _hosts(ports: Mapping[str, int]) -> str:
    names = sorted(ports, key=natural_key)
    return f"{counted(len(names), 'host')}: {fold(names)}"


def _percent(share: float | None) -> str:
    return f"{100 * (share or 0.0):.0f} %"


def _folded(text: str, indent: str) -> list[str]:
    return textwrap.wrap(
        text,
        _WIDTH,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
