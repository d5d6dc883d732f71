"""`weft fabric congestion FILE... --before FILE`: who hurts whom between two readings."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from weft.cli.fabric.audit import open_earlier
from weft.cli.fabric.files import open_subnet
from weft.cli.options import EXISTING_FILE, NumberRange
from weft.cli.output import emit, format_option
from weft.core.errors import ExitCode, InputError
from weft.core.nodeset import expand
from weft.core.units import format_duration
from weft.core.words import counted

if TYPE_CHECKING:
    from weft.audit.case import AuditCase, PortKey
    from weft.audit.congestion import Congestion, CongestionTree

MOST_SHOWN = 6
MOST_BYTES = 1 << 24
"""Of a list of jobs."""


@click.command("congestion")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--before",
    multiple=True,
    required=True,
    metavar="FILE",
    help="The earlier reading of counters. Repeatable.",
)
@click.option(
    "--seconds",
    type=NumberRange(min=0, min_open=True),
    help="Time between the two readings of counters; else that of the files.",
)
@click.option(
    "--jobs",
    "jobs_file",
    type=EXISTING_FILE,
    help="A line a job: its name and its hosts, as squeue -h -t R -o '%i %N' prints them.",
)
@format_option
def command(
    files: tuple[str, ...],
    before: tuple[str, ...],
    seconds: float | None,
    jobs_file: Path | None,
    format_: str,
) -> int:
    """Find the ports that others wait for, and the jobs behind it.

    FILES are the fabric (ibnetdiscover, opensm-lfts.dump) and a reading of all ports' counters
    (perfquery); --before is an earlier reading. Ports that had data and no credit are followed to
    what they wait for: a cable that carries all it can, or an adapter that takes too little. With
    forwarding tables and --jobs, weft names the jobs whose messages cross it and those that wait.

    Exit 1 if something is waited for, 5 if nothing is and not all ports were read.
    """
    from weft.audit.case import AuditCase
    from weft.audit.congestion import congestion_of, to_record
    from weft.audit.counters.interval import interval_of

    jobs = read_jobs(jobs_file) if jobs_file is not None else {}
    subnet = open_subnet(files)
    earlier, has_cables = open_earlier(subnet, before)
    case = AuditCase(subnet, earlier, has_cables, interval_of(subnet, earlier, seconds))
    found = congestion_of(case, jobs)
    record = to_record(case, found)
    emit(
        format_,
        text=lambda: _text(case, found, has_jobs=bool(jobs)),
        record=record,
        rows=[
            {
                "root": tree["root"]["port"],
                "sent": tree["root"]["sent"],
                "waited": tree["root"]["waited"],
                "is_slow_receiver": tree["is_slow_receiver"],
                "n_waiting": len(tree["waiting"]),
                "aggressors": " ".join(one["job"] for one in tree["aggressors"]),
                "victims": " ".join(one["job"] for one in tree["victims"]),
            }
            for tree in record["trees"]
        ],
    )
    if found.trees:
        return int(ExitCode.VERDICT_BAD)
    is_whole = found.n_read == found.n_ports and not found.unexplained
    return int(ExitCode.GOOD if is_whole else ExitCode.NO_VERDICT)


def read_jobs(path: Path) -> dict[str, tuple[str, ...]]:
    """By job its hosts. Raises InputError for a line that is no job."""
    from weft.core.documents.text_file import read_text_file

    jobs: dict[str, tuple[str, ...]] = {}
    for number, line in enumerate(
        read_text_file(path, expected="jobs", most_bytes=MOST_BYTES).splitlines(), 1
    ):
        words = line.split("#", 1)[0].split()
        if not words:
            continue
        if len(words) != 2:
            raise InputError(
                f"'{line.strip()[:60]}' is no job",
                where=f"{path}:{number}",
                expected="its name and its hosts: 4711 node[1-16]",
            )
        if words[0] in jobs:
            raise InputError(f"job '{words[0]}' again", where=f"{path}:{number}")
        jobs[words[0]] = expand(words[1])
    return jobs


def _text(case: "AuditCase", found: "Congestion", *, has_jobs: bool) -> str:
    assert case.interval is not None
    lines = [_verdict(case, found)]
    for tree in found.trees[:MOST_SHOWN]:
        lines += ["", *_tree_lines(case, found, tree, has_jobs=has_jobs)]
    if len(found.trees) > MOST_SHOWN:
        lines.append(f"... and {len(found.trees) - MOST_SHOWN} more: --format json")
    if found.unexplained:
        names = [_waiting(case, found, key) for key in found.unexplained[:MOST_SHOWN]]
        lines += ["", f"wait for what was not read: {', '.join(names)}"]
    seconds = format_duration(case.interval.seconds)
    lines += [
        "",
        f"covered  {found.n_read} of {found.n_ports} ports read twice, {seconds} apart "
        f"({case.interval.how})",
        f"waits    {case.thresholds.wait_share.source}",
    ]
    if found.unusable:
        lines.append(f"left out {counted(len(found.unusable), 'port')}: cleared, or full at 2^32-1")
    return "\n".join(lines)


def _verdict(case: "AuditCase", found: "Congestion") -> str:
    least = f"{100 * case.thresholds.wait_share.value:g} %"
    if found.trees:
        n_waiting = len({key for tree in found.trees for key in tree.waiting})
        first = _root(case, found.trees[0])
        others = len(found.trees) - 1
        more = f", and {counted(others, 'other port')}" if others else ""
        return f"BAD  {counted(n_waiting, 'port')} waited for {first}{more}"
    if found.unexplained:
        return f"UNKNOWN  {counted(len(found.unexplained), 'port')} waited; what for was not read"
    if found.n_read < found.n_ports:
        missing = found.n_ports - found.n_read
        return (
            f"UNKNOWN  no port that was read twice waited for {least} of the time; "
            f"{counted(missing, 'port')} not read twice"
        )
    return f"GOOD  no port waited for {least} of the time"


def _root(case: "AuditCase", tree: "CongestionTree") -> str:
    far = case.subnet.cable_at[tree.root].beyond(tree.root)
    return f"{case.subnet.name(*tree.root)} -> {case.subnet.name(far.node, far.port)}"


def _tree_lines(
    case: "AuditCase", found: "Congestion", tree: "CongestionTree", *, has_jobs: bool
) -> list[str]:
    sent = f"{100 * tree.use.sent:.0f} % of its rate"
    why = (
        f"its adapter takes too little: it sends {sent} and waits {100 * tree.use.waited:.0f} %"
        if tree.is_slow_receiver
        else f"it carries {sent}"
    )
    names = [_waiting(case, found, key) for key in tree.waiting[:MOST_SHOWN]]
    more = len(tree.waiting) - len(names)
    lines = [
        f"{_root(case, tree)}: {why}",
        f"  waiting: {', '.join(names)}{f' and {more} more' if more else ''}",
    ]
    if not has_jobs:
        return lines
    if not case.subnet.has_tables:
        return [*lines, "  jobs: unknown without forwarding tables (opensm-lfts.dump)"]
    by = ", ".join(f"{job} ({100 * share:.0f} %)" for job, share in tree.aggressors)
    hurt = ", ".join(f"{job} ({100 * share:.0f} % of its paths)" for job, share in tree.victims)
    return [
        *lines,
        f"  sent through it by: {by or 'no job of the list'}",
        f"  hurt: {hurt or 'no other job of the list'}",
    ]


def _waiting(case: "AuditCase", found: "Congestion", key: "PortKey") -> str:
    return f"{case.subnet.name(*key)} {100 * found.uses[key].waited:.0f} %"
