"""All rules over one case, and what they say together."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from weft.audit.case import AuditCase, Ruling
from weft.audit.facts import facts_of
from weft.audit.rules import RULES, Rule
from weft.core.errors import InputError
from weft.core.finding import Finding, Severity, cannot_tell, verdict_of, worst_first
from weft.core.words import counted
from weft.core.work.progress import each
from weft.topology.subnet.subnet import Subnet

CABLE_RULES = {"gone", "missing-up-links", "missing-cables"}
"""Rules that see a cable between switches that is not there."""
BEFORE = "weft fabric audit FILES --before FILE"
MOST_NAMED = 3
"""So many switches without a sibling are named in the verdict."""
FORMAL_RULES = {"isolated", "duplicate-guids", "duplicate-lids", "files"}
"""Rules about names and form: alone they show nothing of cables, links, errors or routes."""


@dataclass(frozen=True, slots=True)
class Audit:
    """Findings by severity, then in the order of the rules; and what each rule could judge.
    `has_links`: there are several switches, so that cables between them can be missing. `renamed`:
    sentences about adapters whose description names no host."""

    findings: tuple[Finding, ...]
    rulings: tuple[tuple[Rule, Ruling], ...]
    has_links: bool = False
    renamed: tuple[str, ...] = ()

    @property
    def is_bad(self) -> bool:
        """Whether anything is wrong."""
        return any(finding.severity is Severity.BAD for finding in self.findings)

    @property
    def is_unknown(self) -> bool:
        """Whether no fault is found, and a missing cable would not show, or no rule judged more
        than names."""
        if self.is_bad:
            return False
        sees_no_cable = self.has_links and not self._judged & CABLE_RULES
        return self._shows_names_only or sees_no_cable or bool(self._unlike)

    @property
    def _unlike(self) -> tuple[str, ...]:
        """Switches of which neither siblings nor an earlier file tell how many cables they had."""
        if "gone" in self._judged:
            return ()
        return tuple(name for _, ruling in self.rulings for name in ruling.unknown)

    @property
    def _judged(self) -> set[str]:
        return {rule.name for rule, ruling in self.rulings if ruling.judged}

    @property
    def _shows_names_only(self) -> bool:
        return self._judged <= FORMAL_RULES

    @property
    def severity(self) -> Severity:
        """BAD, UNKNOWN, or the worst of the findings."""
        return Severity.UNKNOWN if self.is_unknown else verdict_of(self.findings)

    @property
    def would_show(self) -> tuple[str, ...]:
        """The faults that the rules which could judge look for."""
        return tuple(rule.looks_for for rule, ruling in self.rulings if ruling.judged)

    @property
    def verdict(self) -> str:
        """One sentence."""
        n = Counter(finding.severity for finding in self.findings)
        n_ran = sum(bool(ruling.judged) for _, ruling in self.rulings)
        others = [
            counted(n[severity], word)
            for severity, word in ((Severity.WARNING, "warning"), (Severity.NOTE, "note"))
            if n[severity]
        ]
        by = f"{n_ran} of {len(self.rulings)} rules could judge"
        if n[Severity.BAD]:
            return f"{', '.join([counted(n[Severity.BAD], 'fault'), *others])}; {by}"
        if self.is_unknown:
            found = ", ".join(["no fault found", *others])
            if self._shows_names_only:
                asked = "whether anything is wrong: no links, states, counters or tables"
                return cannot_tell(f"{asked}; {found}; {by}", "ibnetdiscover")
            return cannot_tell(f"{self.cable_question}; {found}; {by}", "--before FILE")
        if n_ran * 4 < len(self.rulings):
            by = f"only {by}"
        return f"no fault found{', ' if others else ''}{', '.join(others)}; {by}"

    @property
    def cable_question(self) -> str:
        """'whether a cable is missing at core03, which no sibling is like'."""
        asked = "whether a cable is missing"
        if not self._unlike:
            return f"{asked}: no pattern of siblings shows it"
        more = len(self._unlike) - MOST_NAMED
        named = ", ".join(self._unlike[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
        return f"{asked} at {named}, which no sibling is like"

    def to_record(self) -> dict[str, Any]:
        """The audit as plain JSON values."""
        return {
            "schema": "weft.fabric_audit/1",
            "verdict": self.verdict,
            "is_bad": self.is_bad,
            "is_unknown": self.is_unknown,
            "severity": self.severity.value,
            "would_show": list(self.would_show),
            "findings": [finding.to_record() for finding in self.findings],
            "rules": [
                {
                    "rule": rule.name,
                    "looks_for": rule.looks_for,
                    "judged": ruling.judged or None,
                    "missing": ruling.missing or None,
                    "n_findings": len(ruling.findings),
                }
                for rule, ruling in self.rulings
            ],
            "renamed": list(self.renamed),
        }


def audit(case: AuditCase) -> Audit:
    """Judge a case by every rule. Raises InputError where its files say nothing at all."""
    require_something(case.subnet)
    return _judged_by(RULES, case)


def cable_verdict(subnet: Subnet) -> tuple[Severity, str]:
    """What the rules about missing cables alone say of a subnet, in one sentence. GOOD with an
    empty one where there is no cable between switches to miss."""
    case = AuditCase(subnet)
    found = _judged_by([rule for rule in RULES if rule.name in CABLE_RULES], case)
    if any(case.wiring.between.values()):
        asked = cannot_tell(found.cable_question, BEFORE)
        return found.severity, asked if found.is_unknown else found.verdict
    n_alone = len(case.wiring.switches)
    if n_alone < 2:
        return Severity.GOOD, ""
    asked = f"whether a cable is missing: no file has a cable between its {n_alone} switches"
    return Severity.UNKNOWN, cannot_tell(asked, "ibnetdiscover")


def _judged_by(rules: Sequence[Rule], case: AuditCase) -> Audit:
    rulings = [(rule, rule.judge(case)) for rule in each(rules, "judging", unit="rule")]
    findings = [
        replace(finding, facts=replace(facts_of(finding), rule=rule.name))
        for rule, ruling in rulings
        for finding in ruling.findings
    ]
    has_links = bool(case.subnet.cables) and len(case.wiring.switches) > 1
    renamed = tuple(case.subnet.description.get("renamed", ()))
    return Audit(worst_first(findings), tuple(rulings), has_links, renamed)


def require_something(subnet: Subnet) -> None:
    """Files of which no line was understood are no healthy fabric. Raises InputError."""
    described = subnet.description
    if subnet.nodes or any(described[key] for key in ("devices", "sm_logs", "readings")):
        return
    names = ", ".join(source["name"] for source in described["sources"]) or "the files"
    raise InputError(
        f"{names}: no nodes, cables, counters or logs to audit",
        expected="ibnetdiscover, iblinkinfo, opensm-subnet.lst or ibdiagnet2.db_csv; also "
        "opensm-lfts.dump, opensm.log and counters",
        hint="counters and tables name ports that no file here describes"
        if described["misfits"]
        else None,
    )
