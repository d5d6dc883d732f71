"""The verdict of a check as JUnit XML: a test case a node, and one for each other thing accused."""

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from weft.check.facts import PairFacts
from weft.check.readings.components import Part
from weft.check.verdict.drain_list import accused_node
from weft.check.verdict.lost_hosts import lost_node, named_node
from weft.check.verdict.verdict import Verdict
from weft.check.wording.headline import components_of, headline_of, things_of
from weft.core.finding import Finding, Severity
from weft.core.natural import natural_key

SUITE = "weft check"
# SOURCE: Extensible Markup Language (XML) 1.0, 2.2: characters that no document may hold.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_text(verdict: Verdict, seconds: float) -> str:
    """The document of one check."""
    return junit_document([check_suite(verdict, seconds)])


def junit_document(suites: Sequence[ElementTree.Element]) -> str:
    """The document of test suites, with their sums."""
    root = ElementTree.Element("testsuites")
    # SOURCE: junit-10.xsd of Jenkins' xUnit plugin: `skipped` belongs to a testsuite only.
    for key in ("tests", "failures", "errors"):
        root.set(key, str(sum(int(suite.get(key, "0")) for suite in suites)))
    root.set("time", f"{sum(float(suite.get('time', '0')) for suite in suites):.3f}")
    root.extend(suites)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def check_suite(verdict: Verdict, seconds: float, name: str = SUITE) -> ElementTree.Element:
    """The suite of a check. A failure holds the sentence and its evidence; a run that proves
    nothing is an error, and its nodes are skipped."""
    bad = [one for one in verdict.findings if one.severity is Severity.BAD]
    if verdict.refused:
        bad = [one for one in bad if lost_node(one) is not None]
    without = "the run proves nothing" if verdict.refused else None
    if any(one.severity is Severity.UNKNOWN for one in verdict.findings):
        without = "the run could not show a fault"
    suite = ElementTree.Element("testsuite", name=clean(name))
    kind = verdict.coverage.endpoints.removesuffix("s")
    for node in sorted(verdict.endpoints, key=natural_key):
        case = _case(suite, kind, node)
        for finding in bad:
            if _endpoint(finding) == node:
                _add(case, "failure", finding)
        if without is not None and case.find("failure") is None:
            ElementTree.SubElement(case, "skipped", message=without)
    if verdict.refused:
        _add(_case(suite, "run", "validity"), "error", verdict.findings[0])
    for finding in verdict.findings:
        if finding.severity is Severity.UNKNOWN:
            _add(_case(suite, "run", "sensitivity"), "error", finding)
    for finding in bad:
        if _endpoint(finding) not in verdict.endpoints:
            _add(_case(suite, accused_kind(finding), accused_name(finding)), "failure", finding)
    # Caveats of the verdict and mere warnings fail no test.
    mere = (one for one in verdict.findings if one.severity in (Severity.WARNING, Severity.NOTE))
    notes = [f"{one.severity.value}: {one.sentence}" for one in mere]
    notes += [*(f"caveat: {caveat}" for caveat in verdict.caveats), verdict.coverage.text]
    ElementTree.SubElement(suite, "system-out").text = clean("\n".join(notes))
    count(suite, seconds)
    return suite


def _endpoint(finding: Finding) -> str | None:
    """The node that a finding accuses; the rank, where it accuses one."""
    ranks = [one.ends[0] for one in components_of(finding) if one.part is Part.RANK]
    return ranks[0] if len(ranks) == 1 else accused_node(finding)


def _case(suite: ElementTree.Element, kind: str, name: str) -> ElementTree.Element:
    attributes = {"classname": f"{SUITE}.{kind}", "name": clean(name), "time": "0"}
    return ElementTree.SubElement(suite, "testcase", attributes)


def _add(case: ElementTree.Element, tag: str, finding: Finding) -> None:
    attributes = {"message": clean(finding.sentence), "type": finding.kind.value}
    element = ElementTree.SubElement(case, tag, attributes)
    element.text = clean("\n".join((finding.sentence, *finding.evidence)))


def accused_kind(finding: Finding) -> str:
    """The kind of component that a finding accuses: node, cable, switch..."""
    if named_node(finding) is not None:
        return "node"
    kinds = {kind for kind, _ in things_of(finding)}
    return kinds.pop() if len(kinds) == 1 else finding.kind.value


def accused_name(finding: Finding) -> str:
    """Its name; the pairs where no component is accused."""
    named, headline = named_node(finding), headline_of(finding)
    if named is not None or headline is not None:
        return named or (headline.name if headline else "")
    pairs = finding.facts.pairs if isinstance(finding.facts, PairFacts) else ()
    return ", ".join(" - ".join(pair) for pair in pairs) or finding.kind.value


def count(suite: ElementTree.Element, seconds: float) -> None:
    """Write the numbers of a suite's test cases into it."""
    cases = suite.findall("testcase")
    suite.set("tests", str(len(cases)))
    for tag, attribute in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        suite.set(attribute, str(sum(case.find(tag) is not None for case in cases)))
    suite.set("time", f"{seconds:.3f}")


def clean(text: str) -> str:
    """Text that XML may hold: names come from machines and may hold anything."""
    return _NOT_XML.sub("\ufffd", text)
