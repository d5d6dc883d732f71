"""Every host answers over ssh, runs Linux, and has the right time."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from weft.cluster.bringup.facts import PROBE, Facts, read_facts
from weft.cluster.bringup.model import Cluster, Outcome, doubtful, failed, right
from weft.cluster.remote import SshResult, each
from weft.cluster.ssh_failure import ssh_failure_of

PROBE_S = 30.0
CLOCK_OFF_S = 2.0
"""Beyond it the order of log lines of two hosts is lost; munge gives up at 300 s."""


def ask_facts(cluster: Cluster, hosts: Sequence[str]) -> Mapping[str, Outcome]:
    """Ask each host for its facts."""

    def ask(host: str) -> Outcome:
        asked = time.time()
        result = cluster.ssh.run(host, ["sh", "-s"], stdin=PROBE.encode(), timeout_s=PROBE_S)
        answered = time.time()
        if not result.ok:
            return _why(host, result)
        try:
            facts = read_facts(result.out, asked)
        except ValueError as error:
            return failed(str(error), "look at what its login scripts print")
        # The time of question and answer is no error of its clock.
        at = min(max(facts.clock_s, asked), answered)
        cluster.facts[host] = replace(facts, asked_s=at)
        return _of(cluster.facts[host])

    return each(hosts, ask)


def _why(host: str, result: SshResult) -> Outcome:
    why = ssh_failure_of(host, result)
    return failed(why.cause, why.remedy or f"try by hand: ssh {host} true")


def _of(facts: Facts) -> Outcome:
    if facts.system != "Linux":
        return failed(f"it runs {facts.system}, not Linux", "leave it out")
    off = facts.clock_s - facts.asked_s
    if abs(off) > CLOCK_OFF_S:
        return doubtful(
            f"its clock is {abs(off):.0f} s {'ahead' if off > 0 else 'behind'}",
            "run chronyd or ntpd there",
        )
    return right(f"clock {off:+.1f} s")
