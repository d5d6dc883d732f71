"""SARIF 2.1.0, which code hosts and editors show next to the lines. SOURCE: OASIS, SARIF 2.1.0."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from weft.catalog.libraries.setting_rules import SettingRule
from weft.core.finding import Severity
from weft.doctor.job import TextPlace
from weft.doctor.lint import Complaint
from weft.launch.secret_text import holds_secret

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {Severity.BAD: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}


def sarif(reports: Sequence[tuple[str, Sequence[Complaint]]], version: str) -> dict[str, Any]:
    """One run over files and their complaints."""
    used: dict[str, SettingRule] = {}
    for _, complaints in reports:
        for one in complaints:
            used.setdefault(one.rule.id, one.rule)
    index = {rule: i for i, rule in enumerate(used)}
    results = [_result(file, one, index) for file, complaints in reports for one in complaints]
    driver = {"name": "weft", "version": version, "rules": [_rule(rule) for rule in used.values()]}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(rule: SettingRule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.happens},
        "help": {"text": f"{rule.fix}\nSource: {rule.source}"},
        "defaultConfiguration": {"level": LEVELS[Severity(rule.severity)]},
    }


def _result(file: str, complaint: Complaint, index: Mapping[str, int]) -> dict[str, Any]:
    at = complaint.found.at
    region: dict[str, Any] = {"startLine": at.line, "startColumn": at.column}
    if at.end > at.start:
        region |= _characters(at)
    artifact = {"uri": quote(file)}
    result: dict[str, Any] = {
        "ruleId": complaint.rule.id,
        "ruleIndex": index[complaint.rule.id],
        "level": LEVELS[complaint.severity],
        "message": {"text": f"{complaint.happens} Fix: {complaint.fix}."},
        "locations": [{"physicalLocation": {"artifactLocation": artifact, "region": region}}],
    }
    replacements = [
        {"deletedRegion": _characters(edit.at), "insertedContent": {"text": edit.text}}
        for edit in complaint.found.edits
    ]
    # A fix with a mask in it would spoil the job.
    if replacements and not any(_holds_secret(edit.text) for edit in complaint.found.edits):
        change = {"artifactLocation": artifact, "replacements": replacements}
        result["fixes"] = [{"description": {"text": complaint.fix}, "artifactChanges": [change]}]
    return result


def _holds_secret(quoted: str) -> bool:
    """Of a word as a shell quotes it."""
    return holds_secret(quoted) or holds_secret(quoted.replace("'\"'\"'", "'"))


def _characters(at: TextPlace) -> dict[str, int]:
    return {"charOffset": at.start, "charLength": at.end - at.start}
