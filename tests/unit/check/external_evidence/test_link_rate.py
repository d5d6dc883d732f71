"""Rates of the Ethernet links that carried the messages."""

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.check.verdict.test_sensitivity import samples_of

from weft.bench.live.device_bytes import ethernet_links
from weft.bench.live.kernel_records import DeviceCounter
from weft.check.verdict.verdict import Verdict, judge_check
from weft.core.errors import ExitCode
from weft.core.finding import FindingKind, Severity

MB = 2**20


def counter(host: str, device: str, n_bytes: int, **more: Any) -> DeviceCounter:
    """A counter of received bytes."""
    own = {"link_layer": "Ethernet", "counter": "rx_bytes", "before": 0, "after": n_bytes}
    return DeviceCounter.model_validate({"host": host, "device": device, **own, **more})


def test_the_interface_that_carried_the_bytes_has_the_rate() -> None:
    counters = [
        counter("a", "eth0", 900 * MB, link_rate_gbps=10),
        counter("a", "eth1", MB, link_rate_gbps=100),
        counter("b", "eth0", 900 * MB, link_rate_gbps=1),
    ]
    assert ethernet_links(counters) == [
        {"device": "eth0", "gbps": 1.0, "n_hosts": 1, "hosts": ["b"]},
        {"device": "eth0", "gbps": 10.0, "n_hosts": 1, "hosts": ["a"]},
    ]


@pytest.mark.parametrize(
    "counters",
    [
        [counter("a", "eth0", 900 * MB, virtual=True, link_rate_gbps=10)],
        [counter("a", "eth0", 900 * MB)],
        [counter("a", "eth0", 1000, link_rate_gbps=10)],
        [
            counter("a", "veth0", 900 * MB, virtual=True, link_rate_gbps=10),
            counter("a", "eth0", MB, link_rate_gbps=25),
        ],
    ],
    ids=["veth", "no rate", "quiet", "beside a veth"],
)
def test_a_rate_that_is_not_that_of_the_messages_is_left_out(counters: list[DeviceCounter]) -> None:
    assert ethernet_links(counters) == []


def test_a_bond_has_the_rate_of_a_link_of_it() -> None:
    bond = counter("a", "bond0", 1000 * MB, virtual=True, link_rate_gbps=20)
    links = [counter("a", f"eth{i}", 500 * MB, link_rate_gbps=10) for i in range(2)]
    (one,) = ethernet_links([bond, *links])
    assert (one["device"], one["gbps"]) == ("eth0", 10.0)


def judged(n: int, links: list[dict[str, Any]], slow: dict[int, float] | None = None) -> Verdict:
    """Pairs of 10,000 MB/s, with what the launch says of its links."""
    evidence = {"hosts": n, "device_bytes": {"eth0": 900 * MB}, "ethernet": links}
    samples = samples_of(n, slow or {}, 0.02)
    return judge_check([replace(samples[0], evidence=evidence), *samples[1:]], None)


def links(gbps: float, *hosts: str, n_hosts: int = 0) -> dict[str, Any]:
    return {
        "device": "eth0",
        "gbps": gbps,
        "n_hosts": n_hosts or len(hosts),
        "hosts": [*hosts],
    }


def warned(verdict: Verdict) -> list[str]:
    """Warnings about links: that of no counter belongs to the evidence that a test leaves out."""
    warnings = [f for f in verdict.findings if f.severity is Severity.WARNING]
    return [f.sentence for f in warnings if f.kind is not FindingKind.NOT_JUDGED]


def test_two_hosts_far_below_their_links_say_so_and_none_is_accused() -> None:
    verdict = judged(2, [links(100, "n00", "n01")], {1: 5.0})
    (sentence,) = warned(verdict)
    assert sentence.startswith("Every pair delivers less than half of the link rate: ")
    assert "eth0 runs at 100 Gb/s (12500 MB/s)" in sentence
    assert verdict.exit_code is ExitCode.NO_VERDICT


def test_pairs_near_the_rate_are_as_they_should_be() -> None:
    assert not warned(judged(6, [links(100, n_hosts=6)]))


def test_a_link_of_another_rate_is_named() -> None:
    verdict = judged(6, [links(10, "n03"), links(100, n_hosts=5)])
    first = next(f for f in verdict.findings if f.kind is FindingKind.MIS_SETTING)
    assert first.severity is Severity.WARNING
    assert first.sentence == (
        "10 Gb/s is the rate of eth0 on n03; on 5 other hosts it is 100 Gb/s."
    )


@pytest.mark.parametrize("found", [[], [links(100, n_hosts=3)]])
def test_without_the_rates_of_all_hosts_none_is_used(found: list[dict[str, Any]]) -> None:
    verdict = judged(6, found, {1: 5.0})
    assert not any("link rate" in sentence for sentence in warned(verdict))
    assert any("no link rate to compare with: eth0" in caveat for caveat in verdict.caveats)
