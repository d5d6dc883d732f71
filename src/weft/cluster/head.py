"""The host of a cluster on which launchers run: commands there, which end with their ssh client,
and files written there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from weft.cluster.remote import Ssh, SshResult

WRITE_S = 60.0
REMOVE_S = 15.0

GUARD = r"""
exec 3<&0
folder=$1
shift
mkdir -p "$folder" && cd "$folder" || exit 97
setsid "$@" 3<&- </dev/null &
child=$!
{
    cat <&3 >/dev/null
    kill -TERM "-$child" && sleep 3 && kill -KILL "-$child"
} 2>/dev/null &
watch=$!
exec 3<&-
wait "$child"
code=$?
kill "$watch" 2>/dev/null
exit "$code"
"""
"""Runs a command in a session of its own, and ends it when standard input does: so when the ssh
connection breaks, or the process that opened it is killed."""

PUT = """\
new="$1.$(uname -n).$$"
mkdir -p "$(dirname "$1")" && cat > "$new" && mv -f "$new" "$1"
"""


@dataclass(frozen=True, slots=True)
class Head:
    """`host` of a cluster, over `ssh`; `folder` is where its commands run, with `settings` in their
    environment."""

    ssh: Ssh
    host: str
    folder: str
    settings: Mapping[str, str] = field(default_factory=dict)

    def argv(self, command: Sequence[str], env: Mapping[str, str]) -> list[str]:
        """The local command that runs `command` there, as long as its standard input is open."""
        words = [f"{name}={value}" for name, value in {**self.settings, **env}.items()]
        whole = ("env", *words, *command) if words else tuple(command)
        return self.ssh.argv(self.host, ("sh", "-c", GUARD, "sh", self.folder, *whole))

    def put(self, path: str, content: bytes) -> SshResult:
        """Write a file there."""
        return self.ssh.run(
            self.host, ("sh", "-c", PUT, "sh", path), stdin=content, timeout_s=WRITE_S
        )

    def remove(self, folder: str) -> SshResult:
        """Take a folder away there, with all that was put into it."""
        return self.ssh.run(self.host, ("rm", "-rf", "--", folder), timeout_s=REMOVE_S)
