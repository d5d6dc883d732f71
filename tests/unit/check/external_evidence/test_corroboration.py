"""Accusations and the statements of files, on one thing."""

from typing import Any

from weft.check.external_evidence.corroboration import FileStatements
from weft.check.external_evidence.fabric_marks import Mark, Marks
from weft.check.suspects.follow_up import follow_up
from weft.check.suspects.survey import survey_of
from weft.check.thresholds import thresholds
from weft.check.verdict.verdict import judge_check
from weft.core.errors import ExitCode
from weft.core.finding import Severity


def cable_of(tree: Any, port: str) -> tuple[str, tuple[str, ...]]:
    return ("cable", tuple(sorted(tree.cable_of(port))))


def mark(thing: Any, severity: Severity = Severity.WARNING, rule: str = "error-totals") -> Mark:
    return Mark(thing, rule, severity, f"SymbolErrorCounter of {thing[1][0]} is at 42", "clean it")


def check(fabric: Any, marks: Marks, **more: Any) -> Any:
    samples = fabric.all_pairs()
    survey = survey_of(samples, fabric.tree, thresholds(), **more)
    again = fabric.follow_up(follow_up(survey, seed=1))
    return judge_check([*samples, *again], fabric.tree, marks=marks, **more)


def suspects(finding: Any) -> set[tuple[str, ...]]:
    return {tuple(sorted(suspect.component.ends)) for suspect in finding.facts.suspects}


def half(make_slow: Any, tree: Any, port: str) -> Any:
    return make_slow(0.5, ports=frozenset(tree.cable_of(port)), metrics=("bandwidth",))


def test_an_accused_cable_has_what_files_say_of_it_as_evidence(make_tree, make_slow, make_fabric):
    tree = make_tree(4, 4, 4)
    found = cable_of(tree, "leaf-02[6]")
    fabric = make_fabric(tree, [half(make_slow, tree, "leaf-02[6]")])
    verdict = check(fabric, Marks((mark(found),)))
    (bad,) = [f for f in verdict.findings if f.severity is Severity.BAD]
    assert suspects(bad) == {found[1]}
    assert [line for line in bad.evidence if "the files say" in line] == [
        f"the files say: SymbolErrorCounter of {found[1][0]} is at 42"
    ]
    # It is said once: beside the accusation.
    assert len(verdict.findings) == 1


def test_counters_without_an_error_are_evidence_too(make_tree, make_slow, make_fabric):
    tree = make_tree(4, 4, 4)
    found = cable_of(tree, "leaf-02[6]")
    fabric = make_fabric(tree, [half(make_slow, tree, "leaf-02[6]")])
    for counted, n in (({found}, 1), (set(), 0)):
        (bad, *_) = check(fabric, Marks(counted=frozenset(counted))).findings
        assert sum("show no error" in line for line in bad.evidence) == n


def test_what_files_say_of_a_cable_that_is_not_slow_is_a_warning(make_tree, make_fabric):
    tree = make_tree(4, 4, 4)
    marks = Marks((mark(cable_of(tree, "leaf-03[7]"), Severity.BAD),))
    verdict = check(make_fabric(tree), marks)
    warning, healthy = verdict.findings
    assert warning.severity is Severity.WARNING
    assert "no reading shows" in warning.sentence
    assert "leaf-03[7] is at 42" in warning.sentence
    # By hand: bandwidth each way and latency of the pairs that spine 3 serves.
    assert any("readings over it, 0 slow" in line for line in warning.evidence)
    assert healthy.severity is Severity.GOOD
    assert verdict.exit_code == ExitCode.GOOD


def test_what_no_pair_crosses_is_said_to_be_unmeasured(make_tree, make_fabric):
    # One node a leaf meets others by spines 1 to 4 as d-mod-k says; a fifth is never used.
    tree = make_tree(4, 1, 5)
    thing = cable_of(tree, "leaf-01[6]")
    verdict = check(make_fabric(tree), Marks((mark(thing),)))
    (warning,) = [
        f
        for f in verdict.findings
        if isinstance(f.facts, FileStatements) and f.facts.rule == "error-totals"
    ]
    assert any("nothing was measured there" in line for line in warning.evidence)


def test_statements_of_one_rule_are_one_warning(make_tree, make_fabric):
    tree = make_tree(4, 4, 4)
    things = [cable_of(tree, f"leaf-0{leaf}[6]") for leaf in (1, 2, 3)]
    verdict = check(make_fabric(tree), Marks(tuple(mark(thing) for thing in things)))
    (warning,) = [f for f in verdict.findings if f.severity is Severity.WARNING]
    assert "3 cables" in warning.sentence
    assert len(warning.facts.things) == 3


def test_notes_of_files_accuse_nothing(make_tree, make_fabric):
    tree = make_tree(4, 4, 4)
    note = Marks((mark(cable_of(tree, "leaf-03[7]"), Severity.NOTE),))
    assert [f.severity for f in check(make_fabric(tree), note).findings] == [Severity.GOOD]


def tie_of_two(make_tree: Any, make_slow: Any, make_fabric: Any) -> Any:
    """One node a leaf, one spine: both cables of the way from a node are crossed together."""
    tree = make_tree(8, 1, 1)
    return make_fabric(tree, [half(make_slow, tree, "leaf-02[2]")])


def test_of_cables_in_a_tie_the_only_one_with_errors_is_named(make_tree, make_slow, make_fabric):
    fabric = tie_of_two(make_tree, make_slow, make_fabric)
    host, up = cable_of(fabric.tree, "leaf-02[1]"), cable_of(fabric.tree, "leaf-02[2]")
    (before, *_) = check(fabric, Marks()).findings
    assert {host[1], up[1]} <= suspects(before)
    # A node or a switch in the tie has no counters of its own: it stays.
    (after, *_) = check(fabric, Marks((mark(up),))).findings
    assert suspects(after) == suspects(before)


def adaptive(make_tree: Any, make_slow: Any, make_fabric: Any) -> Any:
    tree = make_tree(4, 4, 4)
    leaf = frozenset(f"leaf-02[{port}]" for port in (5, 6, 7, 8))
    ports = leaf | {port for one in leaf for port in tree.cable_of(one)}
    slow = make_slow(0.7, ports=ports, metrics=("bandwidth",))
    return tree, make_fabric(tree, [slow])


def test_under_adaptive_routing_counters_decide_among_cables(make_tree, make_slow, make_fabric):
    tree, fabric = adaptive(make_tree, make_slow, make_fabric)
    flagged = cable_of(tree, "leaf-02[7]")
    open_, *_ = check(fabric, Marks(), adaptive=True).findings
    ups = {cable_of(tree, f"leaf-02[{port}]")[1] for port in (5, 6, 7, 8)}
    assert suspects(open_) == ups
    assert open_.facts.tie
    named, *others = check(fabric, Marks((mark(flagged),)), adaptive=True).findings
    assert suspects(named) == {flagged[1]}
    assert not named.facts.tie
    assert "leaf-02[7]" in named.sentence
    assert any("of 4 cables that no reading separates" in line for line in named.evidence)
    assert not others


def test_two_cables_with_errors_leave_a_tie(make_tree, make_slow, make_fabric):
    tree, fabric = adaptive(make_tree, make_slow, make_fabric)
    both = tuple(mark(cable_of(tree, f"leaf-02[{port}]")) for port in (6, 7))
    (found, *_) = check(fabric, Marks(both), adaptive=True).findings
    assert found.facts.tie
    assert len(suspects(found)) == 4
    assert sum("the files say" in line for line in found.evidence) == 2


def test_waiting_decides_nothing(make_tree, make_slow, make_fabric):
    tree, fabric = adaptive(make_tree, make_slow, make_fabric)
    note = Marks((mark(cable_of(tree, "leaf-02[7]"), Severity.NOTE),))
    (found, *_) = check(fabric, note, adaptive=True).findings
    assert found.facts.tie


def test_a_link_below_its_rate_points_at_the_cable_of_a_node(make_tree, make_slow, make_fabric):
    tree = make_tree(4, 4, 4)
    host = cable_of(tree, "leaf-02[2]")
    fabric = make_fabric(tree, [half(make_slow, tree, "leaf-02[2]")])
    marks = Marks((mark(host, Severity.BAD, rule="slow-cables"),))
    (found, *others) = check(fabric, marks).findings
    assert ("n006",) in suspects(found)
    assert "a link below its rate is its cable or a port: look there first" in found.evidence
    assert not others


def test_cables_that_are_not_there_are_one_warning_next_to_a_healthy_fabric(make_tree, make_fabric):
    tree = make_tree(4, 4, 4)
    lacks = [
        Mark(
            ("switch", (name,)), "missing-up-links", Severity.BAD, f"{name} lacks 1 of 4", "plug in"
        )
        for name in ("leaf-01", "leaf-02")
    ]
    verdict = check(make_fabric(tree), Marks((*lacks, lacks[0])))
    (warning,) = [f for f in verdict.findings if f.severity is Severity.WARNING]
    assert warning.sentence == "Cables are missing, according to the files: leaf-01 lacks 1 of 4."
    assert warning.evidence[0] == "leaf-02 lacks 1 of 4"
    assert warning.evidence[-1] == "to do: plug in"
    assert warning.facts.things == (("switch", ("leaf-01",)), ("switch", ("leaf-02",)))
    assert verdict.exit_code == 0
