"""Versions of the library and of nccl-tests that differ between nodes, and what NCCL's own log says
of the launches of a check."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from weft.bench.logs.log_facts import log_facts_of
from weft.bench.logs.ranks import job_log
from weft.bench.nccl.backend import NODE_PASS, PAIR_PASS
from weft.check.nccl.outcomes import GroupOutcome, of_pass
from weft.check.trials import SURVEY
from weft.core.errors import MissingError
from weft.core.finding import FAULTS, Finding, FindingKind, Severity
from weft.core.words import counted, first_few
from weft.doctor.log.judge import judge

MOST_NAMED = 4
MOST_FINDINGS = 4
RAW = "raw"


def version_findings(outcomes: Sequence[GroupOutcome]) -> Iterator[Finding]:
    """Warnings: nodes run different versions. A launch prints that of its first host."""
    for what, of in (
        ("NCCL", {one.hosts[0]: one.version for one in _first(outcomes) if one.version}),
        (
            "nccl-tests",
            {one.hosts[0]: one.tool_version for one in _first(outcomes) if one.tool_version},
        ),
    ):
        by_version: dict[str, list[str]] = defaultdict(list)
        for host, version in of.items():
            by_version[version].append(host)
        if len(by_version) > 1:
            yield _versions(what, by_version)


def _first(outcomes: Sequence[GroupOutcome]) -> list[GroupOutcome]:
    return list(of_pass(outcomes, NODE_PASS)) or list(of_pass(outcomes, PAIR_PASS))


def _versions(what: str, by_version: Mapping[str, Sequence[str]]) -> Finding:
    rarest = sorted(by_version.items(), key=lambda item: len(item[1]))
    parts = [
        f"{version} on {first_few(hosts[:MOST_NAMED], len(hosts))}" for version, hosts in rarest
    ]
    return Finding(
        FindingKind.MIS_SETTING,
        Severity.WARNING,
        f"Nodes run {len(by_version)} versions of {what}: {'; '.join(parts)}.",
        evidence=("a launch of two versions may fail, hang or be slow: give all nodes the same",),
        next_command="ldd PATH/all_reduce_perf | grep -i ccl   # on a node of each version",
    )


def log_findings(
    run_dir: Path, outcomes: Sequence[GroupOutcome], *, is_fast: bool
) -> Iterator[Finding]:
    """What `weft doctor log` finds in the logs of the first round of pairs, each once. `is_fast`:
    whether a platform tells that the nodes have a fast network; what all pairs share is else no
    fault."""
    launches = [one for one in of_pass(outcomes, PAIR_PASS) if one.trial == SURVEY]
    first = [one for one in launches if one.round == 0 and one.is_ok]
    found: dict[str, tuple[Finding, list[GroupOutcome]]] = {}
    for one in first:
        for finding in _judged(run_dir, one):
            found.setdefault(finding.sentence, (finding, []))[1].append(one)
    for finding, of in list(found.values())[:MOST_FINDINGS]:
        yield _of_pairs(finding, of, len(first), is_fast=is_fast)


def log_line(run_dir: Path, one: GroupOutcome) -> str | None:
    """The gravest finding of `weft doctor log` about a launch that failed; None without one."""
    found = _judged(run_dir, one)
    return f"its log: {found[0].sentence}" if found else None


def _of_pairs(finding: Finding, of: Sequence[GroupOutcome], n: int, *, is_fast: bool) -> Finding:
    pairs = [" - ".join(one.ends or one.hosts) for one in of]
    is_usual = len(of) == n and not is_fast
    who = "all pairs" if len(of) == n else f"{len(of)} of {counted(n, 'pair')}"
    return Finding(
        FindingKind.MIS_SETTING,
        Severity.WARNING if is_usual else finding.severity,
        f"NCCL's log of {who}: {finding.sentence}.",
        evidence=(
            *finding.evidence[:MOST_NAMED],
            f"pairs: {first_few(pairs[:MOST_NAMED], len(pairs))}",
        )
        if len(of) < n
        else finding.evidence[:MOST_NAMED],
        next_command=f"weft doctor log {RAW}/{SURVEY}.r01.000.{'-'.join(of[0].hosts)}.out",
    )


def _judged(run_dir: Path, one: GroupOutcome) -> list[Finding]:
    """The faults that a launch's own output names, the gravest first."""
    number = max(0, one.round)
    device = "" if one.adapter is None else f".{one.adapter.partition(':')[0]}*"
    pattern = f"{one.trial}.r*.{number:03d}.{'-'.join(one.hosts)}{device}*.out"
    files = sorted((run_dir / RAW).glob(pattern)) if (run_dir / RAW).is_dir() else []
    with suppress(MissingError, OSError):
        facts = log_facts_of([str(path) for path in files[:1]]) if files else None
        if facts is not None and facts.facts:
            return [found for found in judge(job_log(facts)) if found.severity in FAULTS]
    return []
