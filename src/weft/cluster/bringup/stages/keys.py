"""Every host logs in to every other, each with a key of its own, by strict host keys.

A private key never leaves the host that made it; public ones are written to each host's
authorized_keys. The host keys are those that each host's own sshd shows on that host, asked through
the login that is already proved.
"""

import re
from collections.abc import Mapping, Sequence

from weft.cluster.bringup.model import RIGHT, Cluster, Outcome, failed, mended, would
from weft.cluster.remote import ALIVE_S, ALIVE_TIMES, CONNECT_S, SshResult, each
from weft.cluster.tar_archive import packed

LIMIT_S = 30.0
NOT_WRITTEN = "its keys cannot be written"

OWN_KEYS = r"""
set -u
umask 077
folder="$HOME/.ssh/weft-$1"
if [ "$4" = mend ] && [ ! -f "$folder/id_ed25519" ]; then
    mkdir -p "$folder" || exit 1
    # Hosts that share a home folder do this at once: the first key that is whole stays.
    mine="$folder/.key.$(uname -n).$$"
    ssh-keygen -q -t ed25519 -N '' -C "weft-$1" -f "$mine" </dev/null || exit 1
    if ln "$mine" "$folder/id_ed25519" 2>/dev/null; then
        mv -f "$mine.pub" "$folder/id_ed25519.pub"
    fi
    rm -f "$mine" "$mine.pub"
    echo made
fi
[ -f "$folder/id_ed25519" ] || { echo keyless; exit 0; }
for _ in 1 2 3 4 5; do [ -f "$folder/id_ed25519.pub" ] && break; sleep 1; done
printf 'key %s\n' "$(cut -d ' ' -f 1,2 "$folder/id_ed25519.pub")"
ssh-keyscan -T 5 -p "$3" -t ed25519,ecdsa,rsa "$2" 2>/dev/null | sed 's/^[^ ]* /host /'
"""

WRITE = r"""
set -u
umask 077
folder="$HOME/.ssh/weft-$1"
given=$(mktemp -d) || exit 1
trap 'rm -rf "$given"' EXIT
tar -xf - -C "$given" || exit 1
for name in known_hosts config ssh; do
    cmp -s "$given/$name" "$folder/$name" && continue
    echo "weft changed"
    [ "$2" = mend ] || continue
    new="$folder/.$name.$(uname -n).$$"
    cat "$given/$name" > "$new" && mv -f "$new" "$folder/$name" || exit 1
done
[ "$2" != mend ] || chmod 700 "$folder/ssh" || exit 1
allowed=$(readlink -f "$HOME/.ssh/authorized_keys")
[ "$2" != mend ] || touch "$allowed" || exit 1
# Keys of hosts that were installed anew, or left out.
grep -s -- " weft-$1\$" "$allowed" | grep -vxF -f "$given/allowed" > "$given/stale"
if [ -s "$given/stale" ]; then
    echo "weft changed"
    new="$allowed.$(uname -n).$$"
    if [ "$2" = mend ]; then
        cp -p "$allowed" "$new" || exit 1
        grep -vxF -f "$given/stale" "$allowed" > "$new"
        [ $? -le 1 ] && mv -f "$new" "$allowed" || { rm -f "$new"; exit 1; }
    fi
fi
while read -r line; do
    grep -qsxF -- "$line" "$allowed" && continue
    echo "weft changed"
    [ "$2" = mend ] || continue
    [ -n "$(tail -c 1 "$allowed")" ] && echo >> "$allowed"
    printf '%s\n' "$line" >> "$allowed"
done < "$given/allowed"
"""

SHELL = '#!/bin/sh\nexec ssh -F "$HOME/.ssh/weft-{}/config" "$@"\n'

_KEY = re.compile(r"[a-z0-9@.-]{1,40} [A-Za-z0-9+/=]{16,4000}")


def exchange_keys(cluster: Cluster, hosts: Sequence[str]) -> Mapping[str, Outcome]:
    """Make keys and exchange the public ones."""
    mode = "mend" if cluster.mend else "look"

    def own(host: str) -> SshResult:
        facts = cluster.facts[host]
        words = [cluster.name, facts.server, str(facts.ssh_port), mode]
        stdin = OWN_KEYS.encode()
        return cluster.ssh.run(host, ["sh", "-s", *words], stdin=stdin, timeout_s=LIMIT_S)

    result = each(hosts, own)
    keys = {host: _keys_of(one) for host, one in result.items()}
    whole = [host for host in hosts if keys[host][0] and keys[host][1]]
    folder = f"{cluster.agreed['home']}/.ssh/weft-{cluster.name}"
    cluster.agreed["remote_shell"] = f"{folder}/ssh"
    known = [f"{_known_name(cluster, host)} {key}" for host in whole for key in keys[host][1]]
    allowed = [f"{keys[host][0]} weft-{cluster.name}" for host in whole]
    stdin = packed(
        {
            "known_hosts": _lines(known),
            "config": _lines(_config(cluster, whole)),
            "ssh": SHELL.format(cluster.name).encode(),
            "allowed": _lines(allowed),
        }
    )

    # Hosts with one key have one home folder: it is written once.
    writer = {keys[host][0]: host for host in reversed(whole)}

    def write(host: str) -> Outcome:
        if host in whole and writer[keys[host][0]] != host:
            return RIGHT
        if host not in whole:
            if not cluster.mend and "keyless" in result[host].out.splitlines():
                return would("a key of its own, and the others' public keys")
            return failed(
                _why(result[host], keys[host]),
                "install the OpenSSH client there, and let ~/.ssh be written",
            )
        words = ["sh", "-c", WRITE, "sh", cluster.name, mode]
        done = cluster.ssh.run(host, words, stdin=stdin, timeout_s=LIMIT_S)
        if not done.ok:
            return failed(done.last_line or NOT_WRITTEN, "let ~/.ssh be written there")
        if "weft changed" in done.out or "made" in result[host].out.splitlines():
            note = "a key of its own, and the others' public keys"
            return mended(note) if cluster.mend else would(note)
        return RIGHT

    return each(hosts, write)


def _keys_of(result: SshResult) -> tuple[str, tuple[str, ...]]:
    """A host's own public key, and those of its sshd."""
    lines = result.out.splitlines()
    own = [line.removeprefix("key ") for line in lines if line.startswith("key ")]
    host = [line.removeprefix("host ") for line in lines if line.startswith("host ")]
    good = tuple(sorted({key for key in host if _KEY.fullmatch(key)}))
    return (own[0] if own and _KEY.fullmatch(own[0]) else "", good)


def _why(result: SshResult, keys: tuple[str, tuple[str, ...]]) -> str:
    if result.ok and keys[0]:
        return "its sshd did not show its host keys there (ssh-keyscan)"
    return result.last_line or "no key could be made there"


def _known_name(cluster: Cluster, host: str) -> str:
    facts = cluster.facts[host]
    return f"[{facts.server}]:{facts.ssh_port}" if facts.ssh_port != 22 else facts.server


def _lines(lines: Sequence[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def _config(cluster: Cluster, hosts: Sequence[str]) -> list[str]:
    """For `ssh -F` on any of the hosts."""
    folder = f"~/.ssh/weft-{cluster.name}"
    blocks = [
        f"Host {host}\n  HostName {cluster.facts[host].server}\n"
        f"  Port {cluster.facts[host].ssh_port}"
        for host in hosts
    ]
    return [
        *blocks,
        "Host *",
        f"  IdentityFile {folder}/id_ed25519",
        "  IdentitiesOnly yes",
        f"  UserKnownHostsFile {folder}/known_hosts",
        "  GlobalKnownHostsFile /dev/null",
        "  StrictHostKeyChecking yes",
        "  BatchMode yes",
        f"  ConnectTimeout {CONNECT_S}",
        f"  ServerAliveInterval {ALIVE_S}",
        f"  ServerAliveCountMax {ALIVE_TIMES}",
    ]
