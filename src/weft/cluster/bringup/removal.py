"""Removal of all files that a bring-up put on real hosts."""

from collections.abc import Mapping, Sequence

from weft.cluster.remote import Ssh, SshResult, each

LEAVE_S = 60.0

REMOVE = r"""
set -u
umask 077
allowed=$(readlink -f "$HOME/.ssh/authorized_keys")
if grep -qs -- " weft-$1\$" "$allowed"; then
    new="$allowed.$(uname -n).$$"
    cp -p "$allowed" "$new" || exit 1
    grep -v -- " weft-$1\$" "$allowed" > "$new"
    [ $? -le 1 ] && mv -f "$new" "$allowed" || { rm -f "$new"; exit 1; }
fi
[ -s "$allowed" ] || rm -f "$allowed"
rm -rf "$HOME/.ssh/weft-$1" || exit 1
base="$HOME/.local/share/weft"
rm -rf "$base/clusters/$1" || exit 1
# Kernels and MPI are there for all clusters that this host is in.
set -- "$HOME"/.ssh/weft-*/
[ -d "$1" ] || rm -rf "$base/kernels" "$base/mpi" || exit 1
rmdir "$base/clusters" "$base" "$HOME/.local/share" "$HOME/.local" 2>/dev/null
exit 0
"""


def leave(ssh: Ssh, name: str, hosts: Sequence[str]) -> Mapping[str, SshResult]:
    """The outcome on each host; those that share a home do the same at once."""
    words = ("sh", "-c", REMOVE, "sh", name)
    return each(hosts, lambda host: ssh.run(host, words, timeout_s=LEAVE_S))
