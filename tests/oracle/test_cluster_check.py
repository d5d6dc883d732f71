"""Virtual hosts with faults in their cables: what is measured, and whom `weft check` names.

Which host has the fault, and how strong it is, is drawn from a seed, which is part of a test's
name. WEFT_TRIALS says how many seeds there are. Of four hosts without a platform a fault may be a
warning, which names the host, because shorter paths among the others would look alike. On a busy
machine the readings over no such host may scatter so much, or take so long, that they hide the
fault (`is_hidden`): then it need not be named, and no other host may be.
"""

import os
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import log, log1p
from pathlib import Path
from statistics import median, pstdev
from typing import Any

import pytest
from tests.oracle.virtual import Virtual, need_in_hosts, skip_without_namespaces

from weft.check.readings.readings import Metric
from weft.check.thresholds import thresholds
from weft.cli import run
from weft.cluster.local.start import LOSS_TOOLS, leftovers

Capture = pytest.CaptureFixture[str]

MBIT = 400
GOODPUT_MB_S = MBIT / 8 * 1448 / 1514
"""What TCP delivers of a rate on the wire: 1,448 B of data in a frame of 1,514 B."""
STATED_S = 60.0
"""Without --budget a check is planned as for a minute (docs/reference/check.md)."""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
SEEDS = pytest.mark.parametrize("seed", range(max(1, int(os.environ.get("WEFT_TRIALS") or 20))))


@dataclass(frozen=True, slots=True)
class Fault:
    """What is planted, by the name of the parameter of `Virtual.plant`; `hosts` have it. `share` is
    the largest part of the others' rate that one of them keeps, `delay_us` what a message gains."""

    hosts: frozenset[str]
    share: float | None = None
    delay_us: float | None = None
    rates: tuple[str, ...] = ()
    delays: tuple[str, ...] = ()
    losses: tuple[str, ...] = ()


Draw = Callable[[random.Random, tuple[str, ...]], Fault]


def _everywhere(hosts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{host}={MBIT}mbit" for host in hosts)


def _slower(drawn: random.Random, hosts: tuple[str, ...], n: int, way: str = "") -> Fault:
    """So many hosts at 30 to 80 % of the others' rate; `way`: in one direction of the cable."""
    slow = {host: drawn.uniform(0.3, 0.8) for host in drawn.sample(hosts, n)}
    rates = (f"{host}{way}={round(MBIT * 1e3 * share)}kbit" for host, share in slow.items())
    share = max(slow.values())
    return Fault(frozenset(slow), share=share, rates=(*_everywhere(hosts), *rates))


def _one_way(drawn: random.Random, hosts: tuple[str, ...]) -> Fault:
    return _slower(drawn, hosts, 1, drawn.choice((":sending", ":receiving")))


def _at_200_mbit(drawn: random.Random, hosts: tuple[str, ...]) -> Fault:
    """The others are as fast as the machine."""
    host = drawn.choice(hosts)
    return Fault(frozenset({host}), rates=(f"{host}=200mbit",))


def _lossy(drawn: random.Random, hosts: tuple[str, ...]) -> Fault:
    host = drawn.choice(hosts)
    return Fault(frozenset({host}), rates=_everywhere(hosts), losses=(f"{host}=0.1%",))


def _delayed(drawn: random.Random, hosts: tuple[str, ...]) -> Fault:
    host = drawn.choice(hosts)
    delays = (f"{host}=200us",)
    return Fault(frozenset({host}), delay_us=200.0, rates=_everywhere(hosts), delays=delays)


DRAWS: dict[str, Draw] = {
    "at 30 to 80 %": lambda drawn, hosts: _slower(drawn, hosts, 1),
    "at 200 Mbit/s": _at_200_mbit,
    "two at 30 to 80 %": lambda drawn, hosts: _slower(drawn, hosts, 2),
    "one direction": _one_way,
    "loss 0.1 %": _lossy,
    "delay 200 us": _delayed,
    "quiet": lambda _, hosts: Fault(frozenset(), rates=_everywhere(hosts)),
}


@pytest.fixture(scope="module")
def tally() -> Iterator[Counter[tuple[int, str, str]]]:
    """Trials by number of hosts, fault and result; printed at the end (pytest -s)."""
    found: Counter[tuple[int, str, str]] = Counter()
    yield found
    for (n, kind, result), count in sorted(found.items()):
        print(f"{n} hosts, {kind}: {count} {result}")


@pytest.fixture(scope="module", params=[4, 8])
def name(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, int]]:
    """Of a cluster that is brought up once, and its number of hosts: tests change its cables."""
    skip_without_namespaces()
    need_in_hosts(*LOSS_TOOLS, package=" ".join(LOSS_TOOLS.values()))
    n = int(request.param)
    name = f"impaired{n}-{os.getpid()}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        try:
            assert run(["cluster", "up", "--local", str(n), "--name", name]) == 0
            yield name, n
        finally:
            run(["cluster", "down", name])
        assert name not in leftovers()


def check(cluster: Virtual, folder: Path, n: int) -> dict[str, Any]:
    where = ("--cluster", cluster.name, "--dir", str(folder), "--no-report")
    code, answer = cluster.weft("check", *where, "--large", "256K")
    assert code in (0, 1, 5), answer
    assert answer["coverage"]["nodes"] == n, answer["coverage"]
    found: dict[str, Any] = answer
    return found


def accused(answer: dict[str, Any]) -> list[Any]:
    """What the bad findings name."""
    return [
        [suspect["ends"] for suspect in finding["facts"].get("suspects", [])]
        or finding["facts"].get("pairs")
        or finding["sentence"]
        for finding in answer["findings"]
        if finding["severity"] == "bad"
    ]


def named(answer: dict[str, Any], severities: set[str]) -> set[str]:
    """The nodes that findings of these severities name."""
    found: set[str] = set()
    for finding in answer["findings"]:
        if finding["severity"] in severities:
            facts = finding["facts"]
            found |= {suspect["node"] for suspect in facts.get("suspects", [])}
            found |= set(facts.get("nodes", [])) | {end for (end,) in facts.get("ends", [])}
    return found


def is_hidden(answer: dict[str, Any], fault: Fault) -> bool:
    """Whether the effect is less than a check without a fabric calls slow, or than three standard
    deviations of the readings over no faulty host, as natural logarithms."""
    metric = Metric.LATENCY if fault.delay_us else Metric.BANDWIDTH
    others = [
        row["value"]
        for row in answer["readings"]
        if row["metric"] == metric.value and fault.hosts.isdisjoint((row["from"], row["to"]))
    ]
    if fault.delay_us:
        effect = log1p(fault.delay_us / median(others))
    elif fault.share:
        effect = -log(fault.share)
    else:
        return False
    least = thresholds().guard(metric, with_fabric=False)
    return effect < max(least, 3 * pstdev(map(log, others)))


def test_bandwidth_of_shaped_hosts_is_what_tcp_delivers_of_the_rate(
    name: tuple[str, int], tmp_path: Path, capsys: Capture
) -> None:
    shaped, n = Virtual(capsys, name[0]), name[1]
    shaped.plant(rates=(f"node[1-{n}]={MBIT}mbit",))
    where = ("--cluster", shaped.name, "--dir", str(tmp_path / "run"))
    how = ("--sizes", "256K,1M,4M", "--iterations", "5", "--window", "16")
    code, table = shaped.weft("bench", "bandwidth", *where, *how)
    assert code == 0, table
    measured = {row["size_bytes"]: row["median"] for row in table["rows"]}
    assert set(measured) == {256 << 10, 1 << 20, 4 << 20}
    assert list(measured.values()) == pytest.approx([GOODPUT_MB_S] * 3, rel=0.02)


@SEEDS
@pytest.mark.parametrize("kind", DRAWS)
def test_the_hosts_with_a_fault_are_named_and_no_others(
    name: tuple[str, int],
    tally: Counter[tuple[int, str, str]],
    tmp_path: Path,
    capsys: Capture,
    kind: str,
    seed: int,
) -> None:
    cluster, n = Virtual(capsys, name[0]), name[1]
    hosts = tuple(f"node{i}" for i in range(1, n + 1))
    fault = DRAWS[kind](random.Random(f"{kind} {n} {seed}"), hosts)
    cluster.plant(rates=fault.rates, delays=fault.delays, losses=fault.losses)
    answer = check(cluster, tmp_path / "run", n)
    bad, all_named = named(answer, {"bad"}), named(answer, {"bad", "warning"})
    few = n <= thresholds().few_nodes
    right = all_named <= fault.hosts and fault.hosts <= (all_named if few else bad)
    right = right and (bool(bad) or not accused(answer))
    result = "wrong" if not right else "named" if bad == fault.hosts else "warned of"
    if not right and bad <= fault.hosts and is_hidden(answer, fault):
        right, result = True, "hidden by load"
    tally[n, kind, result] += 1
    said = [finding["sentence"] for finding in answer["findings"]]
    assert right, f"{fault}: {said}"
    assert answer["seconds"] <= STATED_S
