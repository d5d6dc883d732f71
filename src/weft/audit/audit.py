"""All rules over one case, and what they say together."""

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from weft.audit.case import AuditCase, Ruling
from weft.audit.facts import facts_of
from weft.audit.rules import RULES, Rule
from weft.core.errors import InputError
from weft.core.finding import Finding, Severity, worst_first
from weft.core.words import counted
from weft.topology.subnet.subnet import Subnet

CABLE_RULES = {"gone", "missing-up-links", "missing-cables"}
"""Rules that see a cable between switches that is not there."""


@dataclass(frozen=True, slots=True)
class Audit:
    """Findings by severity, then in the order of the rules; and what each rule could judge.
    `has_links`: switches are joined, so that cables between them can be missing."""

    findings: tuple[Finding, ...]
    rulings: tuple[tuple[Rule, Ruling], ...]
    has_links: bool = False

    @property
    def is_bad(self) -> bool:
        """Whether anything is wrong."""
        return any(finding.severity is Severity.BAD for finding in self.findings)

    @property
    def is_unknown(self) -> bool:
        """Whether no fault is found, and no rule could have seen a missing cable."""
        judged = {rule.name for rule, ruling in self.rulings if ruling.judged}
        return self.has_links and not self.is_bad and not judged & CABLE_RULES

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
            return f"no rule could judge whether a cable is missing (--before); {found}; {by}"
        if n_ran * 4 < len(self.rulings):
            by = f"only {by}"
        return f"no fault found{', ' if others else ''}{', '.join(others)}; {by}"

    def to_record(self) -> dict[str, Any]:
        """The audit as plain JSON values."""
        return {
            "schema": "weft.fabric_audit/1",
            "verdict": self.verdict,
            "is_bad": self.is_bad,
            "is_unknown": self.is_unknown,
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
        }


def audit(case: AuditCase) -> Audit:
    """Judge a case by every rule. Raises InputError where its files say nothing at all."""
    require_something(case.subnet)
    rulings = [(rule, rule.judge(case)) for rule in RULES]
    findings = [
        replace(finding, facts=replace(facts_of(finding), rule=rule.name))
        for rule, ruling in rulings
        for finding in ruling.findings
    ]
    has_links = any(case.wiring.between.values())
    return Audit(worst_first(findings), tuple(rulings), has_links)


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
