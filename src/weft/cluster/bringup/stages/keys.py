"""Every host logs in to every other, each with a key of its own, by strict host keys.

A private key never leaves the host that made it; public ones are written to each host's
authorized_keys. The host keys are those that each host's own sshd shows on that host, asked through
the login that is already proved.
"""

import re
from collections.abc import Mapping, Sequence

from weft.cluster.bringup.model import RIGHT, Cluster, Outcome, State
from weft.cluster.remote import Said, each

LIMIT_S = 30.0

OWN_KEYS = r"""
set -u
umask 077
folder="$HOME/.ssh/weft-$1"
mkdir -p "$folder" || exit 1
if [ "$4" = mend ] && [ ! -f "$folder/id_ed25519" ]; then
    # Hosts that share a home folder do this at once: the first key that is whole stays.
    mine="$folder/.key.$(uname -n).$$"
    ssh-keygen -q -t ed25519 -N '' -C "weft-$1" -f "$mine" </dev/null || exit 1
    if ln "$mine" "$folder/id_ed25519" 2>/dev/null; then
        mv -f "$mine.pub" "$folder/id_ed25519.pub"
    fi
    rm -f "$mine" "$mine.pub"
    echo made
fi
[ -f "$folder/id_ed25519" ] || exit 0
for _ in 1 2 3 4 5; do [ -f "$folder/id_ed25519.pub" ] && break; sleep 1; done
printf 'key %s\n' "$(cut -d ' ' -f 1,2 "$folder/id_ed25519.pub")"
ssh-keyscan -T 5 -p "$3" -t ed25519,ecdsa,rsa "$2" 2>/dev/null | sed 's/^[^ ]* /host /'
"""

WRITE = r"""
set -u
umask 077
folder="$HOME/.ssh/weft-$1"
put() {
    if [ "$(cat "$1" 2>/dev/null)" = "$2" ]; then return 0; fi
    echo changed
    [ "$3" = mend ] || return 0
    new="$1.$(uname -n).$$"
    printf '%s\n' "$2" > "$new" && mv -f "$new" "$1"
}
put "$folder/known_hosts" "$3" "$2" || exit 1
put "$folder/config" "$4" "$2" || exit 1
put "$folder/ssh" "$6" "$2" || exit 1
[ ! -f "$folder/ssh" ] || chmod 700 "$folder/ssh" || exit 1
allowed="$HOME/.ssh/authorized_keys"
touch "$allowed" || exit 1
printf '%s\n' "$5" | while read -r line; do
    grep -qxF -- "$line" "$allowed" && continue
    echo changed
    [ "$2" = mend ] || continue
    [ -n "$(tail -c 1 "$allowed")" ] && echo >> "$allowed"
    printf '%s\n' "$line" >> "$allowed"
done
"""

SHELL = '#!/bin/sh\nexec ssh -F "$HOME/.ssh/weft-{}/config" "$@"'

_KEY = re.compile(r"[a-z0-9@.-]{1,40} [A-Za-z0-9+/=]{16,4000}")


class Keys:
    """See the module."""

    name = "keys"
    says = "logs in to the others with its own key"

    def __call__(self, cluster: Cluster, hosts: Sequence[str]) -> Mapping[str, Outcome]:
        """Makes keys, exchanges the public ones, and tries the logins."""
        mode = "mend" if cluster.mend else "look"

        def own(host: str) -> Said:
            facts = cluster.facts[host]
            words = [cluster.name, facts.server, str(facts.ssh_port), mode]
            given = OWN_KEYS.encode()
            return cluster.ssh.run(host, ["sh", "-s", *words], given=given, timeout_s=LIMIT_S)

        said = each(hosts, own)
        keys = {host: _keys_of(one) for host, one in said.items()}
        whole = [host for host in hosts if keys[host][0] and keys[host][1]]
        folder = f"{cluster.agreed['home']}/.ssh/weft-{cluster.name}"
        cluster.agreed["remote_shell"] = f"{folder}/ssh"
        config = _config(cluster, whole)
        known = "\n".join(
            f"{_known_name(cluster, host)} {key}" for host in whole for key in keys[host][1]
        )
        allowed = "\n".join(f"{keys[host][0]} weft-{cluster.name}" for host in whole)

        # Hosts with one key have one home folder: it is written once.
        writer = {keys[host][0]: host for host in reversed(whole)}

        def write(host: str) -> Outcome:
            if host in whole and writer[keys[host][0]] != host:
                return RIGHT
            if host not in whole:
                if not cluster.mend and said[host].ok:
                    return Outcome(State.WOULD, "a key of its own, and the others' public keys")
                return Outcome(
                    State.FAILED,
                    said[host].last_line or "no key could be made there",
                    "install the OpenSSH client there, and let ~/.ssh be written",
                )
            words = [cluster.name, mode, known, config, allowed, SHELL.format(cluster.name)]
            done = cluster.ssh.run(
                host, ["sh", "-s", *words], given=WRITE.encode(), timeout_s=LIMIT_S
            )
            if not done.ok:
                return Outcome(State.FAILED, done.last_line, "let ~/.ssh be written there")
            if "changed" in done.out or "made" in said[host].out:
                note = "a key of its own, and the others' public keys"
                return Outcome(State.MENDED if cluster.mend else State.WOULD, note)
            return RIGHT

        return each(hosts, write)


def _keys_of(said: Said) -> tuple[str, tuple[str, ...]]:
    """A host's own public key, and those of its sshd."""
    lines = said.out.splitlines()
    own = [line.removeprefix("key ") for line in lines if line.startswith("key ")]
    host = [line.removeprefix("host ") for line in lines if line.startswith("host ")]
    good = tuple(sorted({key for key in host if _KEY.fullmatch(key)}))
    return (own[0] if own and _KEY.fullmatch(own[0]) else "", good)


def _known_name(cluster: Cluster, host: str) -> str:
    facts = cluster.facts[host]
    return f"[{facts.server}]:{facts.ssh_port}" if facts.ssh_port != 22 else facts.server


def _config(cluster: Cluster, hosts: Sequence[str]) -> str:
    """For `ssh -F` on any of the hosts."""
    folder = f"~/.ssh/weft-{cluster.name}"
    blocks = [
        f"Host {host}\n  HostName {cluster.facts[host].server}\n"
        f"  Port {cluster.facts[host].ssh_port}"
        for host in hosts
    ]
    return "\n".join(
        [
            *blocks,
            "Host *",
            f"  IdentityFile {folder}/id_ed25519",
            "  IdentitiesOnly yes",
            f"  UserKnownHostsFile {folder}/known_hosts",
            "  GlobalKnownHostsFile /dev/null",
            "  StrictHostKeyChecking yes",
            "  BatchMode yes",
        ]
    )
