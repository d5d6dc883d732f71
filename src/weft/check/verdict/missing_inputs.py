"""Inputs that would show more: one for each question that a check left open."""

import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from pydantic import Field

from weft.catalog.document import Document, Text
from weft.catalog.toml_file import shipped_document
from weft.check.external_evidence.fabric_marks import Marks
from weft.check.external_evidence.platform_choice import ExpectedPlatform
from weft.check.suspects.accusation import Accusation, Standing
from weft.check.suspects.survey import Survey
from weft.check.verdict.coverage import Covered
from weft.check.wording.figures import own_node
from weft.core.finding import Finding, FindingKind


class Input(Document):
    """`open`: the open question; `give`: files, options or acts; `tells`: the answer they add."""

    open: Text
    give: Text
    tells: Text

    @property
    def text(self) -> str:
        """One line."""
        return f"{self.give}; this shows {self.tells}"


class _InputsFile(Document):
    schema_: Literal["weft.check_inputs/1"] = Field(alias="schema")
    inputs: dict[str, Input]


@functools.cache
def inputs() -> dict[str, Input]:
    """Every input by its name, in the order of the file."""
    return shipped_document(_InputsFile, "missing_inputs.toml", "table of inputs").inputs


_BY_STANDING = {
    Standing.OUT_OF_USE: "out_of_use",
    Standing.EXCHANGED: "exchanged",
    Standing.ANOTHER_ENTRY: "another_entry",
    Standing.MET: "met",
    Standing.PASSING: "passing",
    Standing.COMING_AND_GOING: "passing",
    Standing.LONGER: "longer",
    Standing.PARTNERS: "fabric",
}


def inputs_of(
    survey: Survey,
    accusations: Sequence[Accusation],
    coverage: Covered,
    *,
    marks: Marks,
    machine: ExpectedPlatform | None,
) -> tuple[str, ...]:
    """Names of the inputs that this run lacks: those about accusations first, then about limits."""
    names = [_about(survey, accusation, marks) for accusation in accusations]
    names += _about_the_run(survey, coverage, machine)
    return tuple(dict.fromkeys(name for name in names if name))


def with_findings(names: Iterable[str], findings: Iterable[Finding]) -> tuple[str, ...]:
    """The same, with what findings about no component leave open."""
    by_kind = {
        FindingKind.BELOW_EXPECTED: "whole_class",
        FindingKind.SUSPECT_PAIR: "lone_pair",
    }
    more = [by_kind[finding.kind] for finding in findings if finding.kind in by_kind]
    return tuple(dict.fromkeys((*names, *more)))


def _about(survey: Survey, accusation: Accusation, marks: Marks) -> str:
    """The input that would show more about an accusation; "" where the files have shown it."""
    if accusation.standing in _BY_STANDING:
        return _BY_STANDING[accusation.standing]
    components = accusation.components
    cables = [c.thing for c in components if c.thing[0] == "cable"]
    known = bool(marks.of(cables)) or (bool(cables) and marks.counted.issuperset(cables))
    if own_node(components) is not None:
        return "host_tie"
    if accusation.tie:
        chosen = survey.crossings.adaptive and len(cables) == len(components)
        return "adaptive_tie" if chosen else "cable_tie"
    kind = components[0].thing[0]
    if kind == "cable":
        return "" if known else "cable"
    return "node" if kind == "hca" else kind


def _about_the_run(
    survey: Survey, coverage: Covered, machine: ExpectedPlatform | None
) -> Iterator[str]:
    between_hosts = len(survey.crossings.hosts) > 1
    if between_hosts and survey.crossings.network is None:
        yield "fabric"
    if between_hosts and machine is None:
        yield "platform"
    if coverage.n_nodes <= survey.limits.few_nodes:
        yield "few_nodes"
    if coverage.cables_never_crossed:
        yield "never_crossed"
