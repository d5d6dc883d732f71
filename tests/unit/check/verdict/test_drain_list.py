"""Drain lists: only bad nodes, and nothing that a name could make of a shell line."""

import shlex
import subprocess

import pytest
from tests.unit.check.accusations import facts_of, suspect

from weft.check.verdict.drain_list import accused_node, drain_text, is_slurm_name
from weft.core.finding import Finding, FindingKind, Severity

HOSTILE = (
    "n1; rm -rf x",
    "n1$(touch x)",
    "n[1-3]",
    "ALL",
    "all",
    "n1 n2",
    "",
    "-n",
    "n1\nn2",
    "n1,n2",
)


def accusation(*suspects, severity=Severity.BAD, standing="confirmed", sentence="It is slow."):
    facts = facts_of(*suspects, measured=12_500.0, expected=25_000.0, standing=standing)
    return Finding(FindingKind.SUSPECT_NODE, severity, sentence, facts=facts)


def node(name):
    return suspect("node", name, node=name)


def commands(text):
    return [shlex.split(line, comments=True) for line in text.splitlines() if line[:1] != "#"]


def test_a_bad_node_is_drained_with_the_reason():
    """12,500 of 25,000 MB/s are 100 of 200 Gb/s."""
    assert commands(drain_text([accusation(node("n007"))])) == [
        ["scontrol", "update", "NodeName=n007", "State=DRAIN",
         "Reason=weft check: n007 50 % of others (100 of 200 Gb/s)"],
    ]  # fmt: skip


def test_an_adapter_and_a_hosts_cable_drain_their_node_once():
    hca = suspect("hca", "n007/hca0", node="n007")
    cable = suspect("cable", "n007/hca0[1]", "leaf-02[3]", node="n007")
    other = suspect("hca", "n007/hca1", node="n007")
    (line,) = commands(drain_text([accusation(hca, cable), accusation(other)]))
    assert line[2] == "NodeName=n007"
    assert "n007/hca0 or its cable" in line[-1]
    assert "; n007/hca1 50 %" in line[-1]


@pytest.mark.parametrize(
    "component",
    [
        suspect("switch", "spine-01"),
        suspect("cable", "leaf-01[5]", "spine-01[1]"),
    ],
)
def test_what_is_no_nodes_is_a_comment(component):
    text = drain_text([accusation(component, sentence="Cable or switch is slow.")])
    assert commands(text) == []
    assert "# no node to drain: Cable or switch is slow." in text


def test_two_nodes_that_nothing_tells_apart_are_not_drained():
    assert commands(drain_text([accusation(node("n1"), node("n2"))])) == []


def test_what_is_not_bad_drains_nothing():
    for finding in (
        accusation(node("n1"), severity=Severity.WARNING),
        accusation(node("n1"), severity=Severity.NOTE, standing="passing"),
        Finding(FindingKind.HEALTHY, Severity.GOOD, "All is well."),
    ):
        assert commands(drain_text([finding])) == []
    assert drain_text([]).endswith("# none\n")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_that_slurm_or_a_shell_would_read_otherwise_drains_nothing(name, tmp_path):
    text = drain_text([accusation(node(name), sentence=f"Node {name} is slow.")])
    assert not is_slurm_name(name)
    assert commands(text) == []
    done = subprocess.run(["sh", "-e"], input=text, text=True, cwd=tmp_path, check=False,
                          capture_output=True, timeout=20)  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []


def test_a_reason_with_quotes_stays_one_word(tmp_path):
    cable = suspect("cable", "n7/h'\"`touch x`$(touch y)[1]", "leaf[3]", node="n7")
    text = drain_text([accusation(cable)]).replace("scontrol", "printf '%s\\n'")
    done = subprocess.run(["sh", "-e"], input=text, text=True, cwd=tmp_path, check=True,
                          capture_output=True, timeout=20)  # fmt: skip
    *_, reason = done.stdout.splitlines()
    assert reason.startswith("Reason=weft check: n7/h'\"`touch x`$(touch y)[1] <-> leaf[3] 50 %")
    assert list(tmp_path.iterdir()) == []


def test_what_accuses_nothing_drains_nothing():
    """A node whose messages met others, and one that was slow once."""
    for standing in ("met other traffic", "passing"):
        finding = accusation(node("n007"), severity=Severity.WARNING, standing=standing)
        assert accused_node(finding) is None
        assert commands(drain_text([finding])) == []
    assert accused_node(accusation(node("n007"))) == "n007"
