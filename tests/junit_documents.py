"""JUnit documents as servers read them: the structure of Jenkins' junit-10.xsd."""

from xml.etree import ElementTree

# By element: attributes it may have and those it must, children in their order.
# SOURCE: junit-10.xsd of Jenkins' xUnit plugin (structure only).
OUTPUT = ("system-out", "system-err")
SCHEMA = {
    "testsuites": ({"name", "time", "tests", "failures", "disabled", "errors"}, set(),
                   ("testsuite",)),
    "testsuite": ({"name", "tests", "failures", "errors", "time", "disabled", "skipped",
                   "timestamp", "hostname", "id", "package"}, {"name", "tests"},
                  ("properties", "testcase", *OUTPUT)),
    "testcase": ({"name", "assertions", "time", "classname", "status"}, {"name"},
                 ("skipped", "error", "failure", *OUTPUT)),
    "failure": ({"type", "message"}, set(), ()),
    "error": ({"type", "message"}, set(), ()),
    "skipped": ({"type", "message"}, set(), ()),
    "system-out": (set(), set(), ()),
}  # fmt: skip


def assert_valid(element):
    may, must, children = SCHEMA[element.tag]
    assert must <= set(element.attrib) <= may, element.attrib
    order = [children.index(child.tag) for child in element]
    assert order == sorted(order), [child.tag for child in element]
    for child in element:
        assert_valid(child)


def read(text):
    root = ElementTree.fromstring(text)
    assert_valid(root)
    for suite in root:
        cases = suite.findall("testcase")
        assert int(suite.get("tests")) == len(cases)
        for tag, attribute in (("failure", "failures"), ("error", "errors")):
            n = sum(case.find(tag) is not None for case in cases)
            assert int(suite.get(attribute)) == int(root.get(attribute)) == n
    return {(c.get("classname"), c.get("name")): c for c in root.iter("testcase")}
