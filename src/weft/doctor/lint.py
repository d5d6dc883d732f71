"""The linter: every rule over one job, with complaints in the order of the text."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from weft.catalog.libraries.setting_rules import SettingRule, setting_rules
from weft.core.finding import Finding, FindingKind, Severity, severity_rank
from weft.core.words import counted
from weft.doctor.case import DoctorCase, Edit, Found, Rule
from weft.doctor.facts import SettingFacts
from weft.doctor.job import Job
from weft.doctor.rules import (
    algorithms,
    devices,
    fabrics,
    forwarding,
    gpudirect,
    launches,
    masks,
    names,
    plugins,
    transports,
    values,
)
from weft.doctor.value_syntax import written

FAMILIES: tuple[Rule, ...] = (
    names.rules,
    values.rules,
    devices.rules,
    transports.rules,
    gpudirect.rules,
    algorithms.rules,
    fabrics.rules,
    launches.rules,
    forwarding.rules,
    masks.rules,
    plugins.rules,
)

MOST_LINES = 4
"""Lines of equal faults that a sentence names."""


@dataclass(frozen=True, slots=True)
class Complaint:
    """A fault that a rule found, with the rule."""

    rule: SettingRule
    found: Found

    @property
    def happens(self) -> str:
        """The effect, in one sentence."""
        also = self.found.also
        lines = [str(line) for line in also[:MOST_LINES]]
        more = [f"{len(also) - MOST_LINES} more"] if len(also) > MOST_LINES else []
        there = f" (the same in {counted(len(also), 'other line')}: {', '.join(lines + more)})"
        return _capital(self._filled(self.rule.happens)) + (there if also else "") + "."

    @property
    def fix(self) -> str:
        """The correction, in words."""
        return self._filled(self.rule.fix)

    @property
    def source(self) -> str:
        """The document that it rests on."""
        return self._filled(self.rule.cited)

    @property
    def severity(self) -> Severity:
        """That of the case, or else of its rule."""
        return self.found.severity or Severity(self.rule.severity)

    @property
    def is_bad(self) -> bool:
        """Whether it makes the verdict bad."""
        return self.severity is Severity.BAD

    def _filled(self, sentence: str) -> str:
        return sentence.format_map(_Words(self.found.words))


class _Words(dict[str, str]):
    """Words of a sentence; one that is missing shows as itself, so that a sentence never fails."""

    def __missing__(self, key: str) -> str:
        return f"{{{key}}}"


OPINIONS = {
    *("conflict", "nvls-demanded", "default-value", "default-changed", "many-queue-pairs"),
    *("pxn-off", "algorithm-fixed", "gid-fixed", "plugin-name", "monitor-of-the-kernel"),
}
"""Rules that a machine's own operators may overrule: silent about settings of their recipe."""


def lint(case: DoctorCase) -> list[Complaint]:
    """Complaints about a job and its parts: by place, each rule once for a place and a name.

    Where something is bad, opinions about the same setting are left out.
    """
    complaints: dict[tuple[str, int, str], Complaint] = {}
    for job in (case.job, *case.job.parts):
        for key, complaint in _of_part(replace(case, job=job)):
            known = complaints.setdefault(key, complaint)
            if severity_rank(complaint) < severity_rank(known):
                complaints[key] = complaint
    return sorted(
        complaints.values(), key=lambda one: (one.found.at.start, severity_rank(one), one.rule.id)
    )


def _of_part(case: DoctorCase) -> Iterator[tuple[tuple[str, int, str], Complaint]]:
    rules = setting_rules()
    everything = [found for family in FAMILIES for found in family(case)]
    bad = {one.at.start for one in everything if Complaint(rules[one.rule], one).is_bad}
    for found in everything:
        if found.rule in OPINIONS and (found.at.start in bad or _is_of_the_recipe(case, found)):
            continue
        name = found.setting.name if found.setting is not None else ""
        whole = replace(found, edits=_as_written(case.job, found.edits))
        yield (found.rule, found.at.start, name), Complaint(rules[found.rule], whole)


def _as_written(job: Job, edits: Sequence[Edit]) -> tuple[Edit, ...]:
    """Edits with their values in the file's language; none where the language cannot write one."""
    done = []
    for edit in edits:
        text = written(job, edit.at, edit.text) if edit.is_value else edit.text
        if text is None:
            return ()
        done.append(Edit(edit.at, text))
    return tuple(done)


def _is_of_the_recipe(case: DoctorCase, found: Found) -> bool:
    setting = found.setting
    if case.recipe is None or setting is None:
        return False
    own = {(one.name, one.value) for one in case.recipe.settings}
    return (setting.name, setting.known) in own


def as_finding(complaint: Complaint, file: str) -> Finding:
    """The complaint as weft's finding."""
    found = complaint.found
    return Finding(
        FindingKind.MIS_SETTING,
        complaint.severity,
        f"{file}:{found.at.line}: {complaint.happens}",
        (f"fix: {complaint.fix}", f"source: {complaint.source}"),
        facts=SettingFacts(
            rule=complaint.rule.id,
            title=complaint.rule.title,
            file=file,
            line=found.at.line,
            column=found.at.column,
            name=found.setting.name if found.setting is not None else None,
            value=found.setting.known if found.setting is not None else None,
            happens=complaint.happens,
            fix=complaint.fix,
            source=complaint.source,
            can_be_fixed=bool(found.edits),
        ),
    )


def _capital(text: str) -> str:
    """A sentence begins with a capital, unless it begins with a name or a value."""
    first = text.split(" ", 1)[0]
    plain = first.isalpha() and first.islower()
    return text[0].upper() + text[1:] if plain else text
