"""Hosts whose TCP connections sent more again than others."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import pytest
from tests.unit.check.verdict.test_sensitivity import samples_of

from weft.bench.model import Sample
from weft.check.external_evidence.resent_segments import (
    ResentFacts,
    hosts_to_measure_again,
)
from weft.check.suspects.follow_up import follow_up
from weft.check.suspects.survey import survey_of
from weft.check.thresholds import thresholds
from weft.check.trials import ALONE
from weft.check.verdict.verdict import judge_check
from weft.core.finding import Finding, Severity


def found_with(
    n_nodes: int,
    resent: Mapping[str, int],
    *,
    fabric_bytes: int = 0,
    slow: Mapping[int, float] | None = None,
) -> list[Finding]:
    """What a healthy check of so many nodes says of segments sent again, by host."""
    first, *others = samples_of(n_nodes, slow or {}, 0.001)
    evidence = {
        "hosts": n_nodes,
        "device_errors": {f"{host} tcp RetransSegs": n for host, n in resent.items()},
        "carried_bytes": {"fabric": fabric_bytes, "elsewhere": 10**9},
    }
    verdict = judge_check([replace(first, evidence=evidence), *others], None)
    return [one for one in verdict.findings if isinstance(one.facts, ResentFacts)]


def hosts(n_nodes: int) -> list[str]:
    """The names of a check's nodes."""
    names = {
        end for one in samples_of(n_nodes, {}, 0.01) if one.pair for end in (one.pair.a, one.pair.b)
    }
    return sorted(names)


@pytest.mark.parametrize(
    ("n_nodes", "lossy", "each", "slow", "severity"),
    [
        # Measured on virtual hosts with 0.1 % loss: 183 where others have 3 to 8.
        (8, 183, 7, 1.005, Severity.BAD),
        # One burst at one host loses as much, and most of its messages are as fast as others'.
        (8, 183, 7, 1.0, Severity.WARNING),
        # Four nodes are too few to know what is normal.
        (4, 174, 24, 1.005, Severity.WARNING),
    ],
)
def test_the_host_that_sends_far_more_again_is_named(
    n_nodes: int, lossy: int, each: int, slow: float, severity: Severity
) -> None:
    names = hosts(n_nodes)
    (finding,) = found_with(
        n_nodes, {**dict.fromkeys(names, each), names[2]: lossy}, slow={2: slow}
    )
    assert finding.severity is severity
    assert finding.facts.to_record()["ends"] == [(names[2],)]
    assert f"sent {lossy} TCP segments again, other nodes {each}" in finding.sentence


def test_two_hosts_are_named_together() -> None:
    names = hosts(8)
    (finding,) = found_with(
        8, {**dict.fromkeys(names, 20), names[1]: 150, names[6]: 170}, slow={1: 1.005, 6: 1.005}
    )
    assert finding.severity is Severity.BAD
    assert {end for (end,) in finding.facts.to_record()["ends"]} == {names[1], names[6]}


@pytest.mark.parametrize(
    ("resent", "fabric_bytes"),
    [
        ({}, 0),
        # Few, or much the same everywhere.
        ({"one": 6}, 0),
        ({"all": 200, "one": 320}, 0),
        # TCP did not carry the messages.
        ({"all": 5, "one": 500}, 10**9),
    ],
)
def test_few_or_equal_counts_name_no_host(resent: Mapping[str, int], fabric_bytes: int) -> None:
    names = hosts(8)
    counts = dict.fromkeys(names, resent.get("all", 0))
    counts[names[0]] = resent.get("one", 0)
    assert found_with(8, counts, fabric_bytes=fabric_bytes) == []


def test_beside_a_slow_host_those_that_send_to_it_are_not_named() -> None:
    """16 were measured at one host beside another at 1 % of the others' rate."""
    names = hosts(8)
    counts = {**dict.fromkeys(names, 0), names[2]: 160}
    assert found_with(8, counts)
    assert found_with(8, counts, slow={5: 3.0}) == []
    (own,) = found_with(8, counts, slow={2: 3.0})
    assert own.facts.to_record()["ends"] == [(names[2],)]


def test_a_host_that_the_check_does_not_know_leaves_it_open() -> None:
    assert found_with(8, {"elsewhere": 900}) == []


@pytest.mark.parametrize(
    ("survey", "again", "n_found"),
    [(1, 42, 0), (42, 1, 0), (40, 44, 1), (4, 4, 1), (1, 1, 0), (146, 85, 1)],
)
def test_one_burst_in_one_launch_names_no_host(survey: int, again: int, n_found: int) -> None:
    """1 and 42 were measured on virtual hosts beside a slow one. A host that loses 0.1 % had 1.7
    times its share of 231 in one launch."""
    samples = samples_of(8, {}, 0.001)
    later = [replace(sample, trial=ALONE) for sample in samples]
    verdict = judge_check([*counted(samples, survey), *counted(later, again)], None)
    found = [one for one in verdict.findings if isinstance(one.facts, ResentFacts)]
    assert len(found) == n_found


@pytest.mark.parametrize(
    ("survey", "again", "severity"),
    [(78, 180, Severity.BAD), (20, 40, Severity.WARNING)],
)
def test_a_host_that_shows_in_survey_and_again_surely_loses(
    survey: int, again: int, severity: Severity
) -> None:
    """78 and 180 were measured with 0.1 % loss at one of eight hosts, all as fast."""
    samples = samples_of(8, {}, 0.001)
    others = {f"n0{i}": 5 for i in range(8) if i != 2}
    later = [replace(sample, trial=ALONE) for sample in samples]
    launches = [*counted(samples, survey, others), *counted(later, again, others)]
    verdict = judge_check(launches, None)
    (found,) = [one for one in verdict.findings if isinstance(one.facts, ResentFacts)]
    assert found.severity is severity


def counted(samples: list[Sample], n: int, others: Mapping[str, int] | None = None) -> list[Sample]:
    """Samples of a launch during which one host sent so many segments again."""
    evidence = {
        "hosts": 8,
        "device_errors": {
            f"{host} tcp RetransSegs": one for host, one in {**(others or {}), "n02": n}.items()
        },
        "carried_bytes": {"fabric": 0, "elsewhere": 10**9},
    }
    return [replace(samples[0], evidence=evidence), *samples[1:]]


@pytest.mark.parametrize(
    ("n", "others", "again"), [(29, 8, ["n02"]), (24, 8, ["n02"]), (9, 8, []), (0, 0, [])]
)
def test_a_host_that_may_lose_packets_is_measured_again(
    n: int, others: int, again: list[str]
) -> None:
    """29 and 24 were measured with 0.1 % loss: too little after the survey."""
    each = {"n00": others, "n01": others, "n02": n, "n03": others}
    first, *rest = samples_of(4, {}, 0.001)
    evidence = {"device_errors": {f"{host} tcp RetransSegs": one for host, one in each.items()}}
    samples = [replace(first, evidence=evidence), *rest]
    survey = survey_of(samples, None, thresholds())
    assert hosts_to_measure_again(samples, survey) == again
    together = follow_up(survey, 1, None, again).together
    messages = Counter(host for pairs in together for pair in pairs for host in pair)
    # Rounds that load all hosts alike, each of the survey's twice.
    assert set(messages.values()) == ({2 * 3} if again else set())


def test_who_was_measured_more_sends_more_again() -> None:
    """A host that is measured twice more, by all others, is as healthy as they are: it sent three
    times as many messages."""
    samples = samples_of(8, {}, 0.001)
    others = [f"n0{i}" for i in range(8) if i != 2]
    of_host = [one for one in samples if one.pair and "n02" in (one.pair.a, one.pair.b)]
    launches = counted(samples, 100, dict.fromkeys(others, 100))
    for n in (1, 2):
        again = [replace(one, trial=ALONE, repeat=n) for one in of_host]
        launches += counted(again, 100, dict.fromkeys(others, 100 // 7))
    verdict = judge_check(launches, None)
    assert not [one for one in verdict.findings if isinstance(one.facts, ResentFacts)]
