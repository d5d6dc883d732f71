"""Virtual hosts whose network is shaped: what is measured, and whom `weft check` names.

Which host is slower, and by how much, is drawn from a seed, which is part of a test's name.
WEFT_TRIALS says how many seeds there are.
"""

import os
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.oracle.virtual import Virtual, skip_without_namespaces

from weft.cli import run
from weft.cluster.local.namespace_commands import ENVIRONMENT
from weft.cluster.local.start import leftovers, namespace_root_of

Capture = pytest.CaptureFixture[str]

N_HOSTS = 8
MBIT = 400
GOODPUT_MB_S = MBIT / 8 * 1448 / 1514
"""What TCP delivers of a rate on the wire: 1,448 B of data in a frame of 1,514 B."""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
SEEDS = pytest.mark.parametrize("seed", range(max(1, int(os.environ.get("WEFT_TRIALS") or 20))))


@pytest.fixture(scope="module")
def name(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Of a cluster that is brought up once: tests change its rates as they want them."""
    skip_without_namespaces()
    name = f"shaped-{os.getpid()}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        try:
            rate = ("--rate", f"node[1-{N_HOSTS}]={MBIT}mbit")
            assert run(["cluster", "up", "--local", str(N_HOSTS), "--name", name, *rate]) == 0
            yield name
        finally:
            run(["cluster", "down", name])
        assert name not in leftovers()


@pytest.fixture
def shaped(name: str, capsys: Capture) -> Virtual:
    """Eight hosts with equal networks."""
    cluster = Virtual(capsys, name)
    for number in range(1, N_HOSTS + 1):
        limit(cluster, number, MBIT)
    return cluster


def limit(cluster: Virtual, number: int, mbit: float) -> None:
    """Shape what a host sends, and what is sent to it: at both ends of its cable."""
    shape = ("tbf", "rate", f"{mbit:.3f}mbit", "burst", "128kb", "latency", "20ms")
    at_both_ends(cluster, number, "replace", *shape)


def unlimited(cluster: Virtual, number: int) -> None:
    """Take the limit away again."""
    at_both_ends(cluster, number, "del")


def at_both_ends(cluster: Virtual, number: int, verb: str, *discipline: str) -> None:
    """Change the queue of both ends of a host's cable."""
    root = namespace_root_of(cluster.folder)
    assert root is not None
    own = () if os.geteuid() == 0 else ("--user", "--preserve-credentials")
    within = ("nsenter", "--target", str(root), *own, "--net")
    outer = (*within, "tc", "qdisc", verb, "dev", f"port{number}", "root", *discipline)
    subprocess.run(outer, check=True, env=ENVIRONMENT, timeout=20)
    inner = ("env", f"PATH={ENVIRONMENT['PATH']}", "tc", "qdisc", verb, "dev", "eth0", "root")
    said = cluster.on(f"node{number}", *inner, *discipline)
    assert said.ok, said


def check(cluster: Virtual, folder: Path) -> dict[str, Any]:
    where = ("--cluster", cluster.name, "--dir", str(folder), "--no-report")
    code, answer = cluster.weft("check", *where, "--large", "256K")
    assert code in (0, 1, 5), answer
    assert answer["coverage"]["nodes"] == N_HOSTS, answer["coverage"]
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


def test_bandwidth_of_shaped_hosts_is_what_tcp_delivers_of_the_rate(
    shaped: Virtual, tmp_path: Path
) -> None:
    where = ("--cluster", shaped.name, "--dir", str(tmp_path / "run"))
    how = ("--sizes", "256K,1M,4M", "--iterations", "5", "--window", "16")
    code, table = shaped.weft("bench", "bandwidth", *where, *how)
    assert code == 0, table
    measured = {row["size_bytes"]: row["median"] for row in table["rows"]}
    assert set(measured) == {256 << 10, 1 << 20, 4 << 20}
    assert list(measured.values()) == pytest.approx([GOODPUT_MB_S] * 3, rel=0.02)


@SEEDS
def test_a_host_whose_network_is_slower_is_named(
    shaped: Virtual, tmp_path: Path, seed: int
) -> None:
    chosen = random.Random(seed)
    number, share = chosen.randint(1, N_HOSTS), chosen.uniform(0.3, 0.8)
    limit(shaped, number, MBIT * share)
    answer = check(shaped, tmp_path / "run")
    said = [finding["sentence"] for finding in answer["findings"]]
    assert accused(answer) == [[[f"node{number}"]]], f"node{number} at {share:.0%}: {said}"


@SEEDS
def test_nothing_is_named_where_all_are_equal(shaped: Virtual, tmp_path: Path, seed: int) -> None:
    """A run of its own for each number; nothing is drawn."""
    answer = check(shaped, tmp_path / f"run{seed}")
    assert accused(answer) == [], [finding["sentence"] for finding in answer["findings"]]
