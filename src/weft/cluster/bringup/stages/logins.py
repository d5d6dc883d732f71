"""Every host logs in to the others: all pairs of a few hosts; of many, the next ones in a ring and
some that are drawn."""

import random
from collections import Counter
from collections.abc import Mapping, Sequence

from weft.cluster.bringup.model import RIGHT, Cluster, Outcome, failed, unanswered, would
from weft.cluster.remote import SshResult, each, printable_line

ALL_PAIRS_UP_TO = 16
NEXT = 2
DRAWN = 4
AT_ONCE = 8
LOGIN_S = 15
SEED = 7

TRY = r"""
name=$1
at_once=$2
limit=$3
shift 3
config="$HOME/.ssh/weft-$name/config"
[ -f "$config" ] || { echo none; exit 0; }
login() {
    error=$(ssh -F "$config" -o ConnectTimeout="$limit" -o LogLevel=ERROR -x -T -- "$1" true \
        2>&1 </dev/null) && return 0
    printf 'bad %s %s\n' "$1" "$(printf '%s' "$error" | tail -n 1 | cut -c 1-200)"
}
n=0
for host in "$@"; do
    login "$host" &
    n=$((n + 1))
    [ $((n % at_once)) = 0 ] && wait
done
wait
echo tried
"""


def try_logins(cluster: Cluster, hosts: Sequence[str]) -> Mapping[str, Outcome]:
    """Try them with the keys of the stage before; change nothing."""
    partners = partners_of(hosts)

    def look(host: str) -> SshResult:
        words = (cluster.name, str(AT_ONCE), str(LOGIN_S), *partners[host])
        rounds = 1 + len(partners[host]) // AT_ONCE
        return cluster.ssh.run(
            host, ("sh", "-c", TRY, "sh", *words), timeout_s=10 + 2 * LOGIN_S * rounds
        )

    result = each(hosts, look)
    bad = {
        (host, to): why for host in hosts for to, why in _bad(result[host], partners[host]).items()
    }
    to_blame = blamed(bad)
    return {host: _of(host, result[host], to_blame, bad) for host in hosts}


def partners_of(hosts: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """By host the hosts that it logs in to."""
    n = len(hosts)
    if n <= ALL_PAIRS_UP_TO:
        return {host: tuple(to for to in hosts if to != host) for host in hosts}
    draw = random.Random(SEED)  # noqa: S311
    partners = {}
    for i, host in enumerate(hosts):
        ring = [hosts[(i + step) % n] for step in range(1, NEXT + 1)]
        others = [to for to in hosts if to != host and to not in ring]
        partners[host] = (*ring, *draw.sample(others, DRAWN))
    return partners


def blamed(bad: Mapping[tuple[str, str], str]) -> dict[str, tuple[str, str]]:
    """The fewest hosts, one after another, by which all bad logins are explained: each with the
    first of its bad pairs. Of two the one that logs in."""
    left, found = dict(bad), dict[str, tuple[str, str]]()
    while left:
        counted = Counter(host for pair in left for host in pair)
        most = max(counted.values())
        host = next(one for pair in left for one in pair if counted[one] == most)
        found[host] = next(pair for pair in left if host in pair)
        left = {pair: why for pair, why in left.items() if host not in pair}
    return found


def _bad(result: SshResult, partners: Sequence[str]) -> dict[str, str]:
    """By partner why it could not be logged in to."""
    lines = [line.split(" ", 2) for line in result.out.splitlines() if line.startswith("bad ")]
    return {
        words[1]: printable_line(" ".join(words[2:])) for words in lines if words[1] in partners
    }


def _of(
    host: str,
    result: SshResult,
    to_blame: Mapping[str, tuple[str, str]],
    bad: Mapping[tuple[str, str], str],
) -> Outcome:
    if "none" in result.out.splitlines():
        return would("log in to the others")
    if "tried" not in result.out.splitlines():
        return unanswered(result, "its logins came to no end")
    if host not in to_blame:
        return RIGHT
    pair = to_blame[host]
    note = f"it cannot log in to {pair[1]}" if pair[0] == host else f"{pair[0]} cannot log in to it"
    return failed(
        f"{note}: {bad[pair] or 'ssh says nothing'}",
        "let ssh through between the hosts, and let their sshd take keys of ~/.ssh/authorized_keys",
    )
