"""Every host answers over ssh, runs Linux, and has the right time."""

import time
from collections.abc import Mapping, Sequence

from weft.cluster.bringup.facts import PROBE, Facts, read_facts
from weft.cluster.bringup.model import RIGHT, Cluster, Outcome, State
from weft.cluster.remote import Said, each

PROBE_S = 30.0
CLOCK_OFF_S = 2.0
"""Beyond it log lines of hosts cannot be set beside each other; munge gives up at 300 s."""

_CAUSES = (
    ("host key verification failed", "its host key is not the one in known_hosts, or is not there",
     "log in once by hand ('ssh {host}'), compare the fingerprint, and accept it"),
    ("permission denied", "it does not let this user in with a key",
     "ssh-copy-id {host}, or name the key in ~/.ssh/config"),
    ("could not resolve", "its name is not known here", "spell it as DNS or ~/.ssh/config do"),
    ("connection refused", "nothing listens on its ssh port",
     "start sshd there, or name the port in ~/.ssh/config"),
    ("no route to host", "there is no way to it", "look at its power and its cable"),
    ("timed out", "it does not answer", "look at its power, its cable and its firewall"),
    ("connection closed", "its sshd closed the connection", "look at sshd's log there"),
)  # fmt: skip


class Reach:
    """See the module."""

    name = "reach"
    says = "answers over ssh"

    def __call__(self, cluster: Cluster, hosts: Sequence[str]) -> Mapping[str, Outcome]:
        """Asks each host for its facts."""

        def ask(host: str) -> Outcome:
            asked = time.time()
            said = cluster.ssh.run(host, ["sh", "-s"], given=PROBE.encode(), timeout_s=PROBE_S)
            asked = (asked + time.time()) / 2
            if not said.ok:
                return _why(host, said)
            try:
                facts = read_facts(said.out, asked)
            except ValueError as error:
                return Outcome(State.FAILED, str(error), "look at what its login scripts print")
            cluster.facts[host] = facts
            return _of(facts)

        return each(hosts, ask)


def _why(host: str, said: Said) -> Outcome:
    if said.code is None:
        return Outcome(State.FAILED, said.err, "look at its power, its load and its home folder")
    text = said.err.lower()
    for words, cause, remedy in _CAUSES:
        if words in text:
            return Outcome(State.FAILED, cause, remedy.format(host=host))
    return Outcome(State.FAILED, said.last_line or f"ssh ended with code {said.code}", "")


def _of(facts: Facts) -> Outcome:
    if facts.system != "Linux":
        return Outcome(State.FAILED, f"it runs {facts.system}, not Linux", "")
    off = facts.clock_s - facts.asked_s
    if abs(off) > CLOCK_OFF_S:
        return Outcome(
            State.DOUBTFUL,
            f"its clock is {abs(off):.0f} s {'ahead' if off > 0 else 'behind'}",
            "run chronyd or ntpd there",
        )
    return RIGHT
