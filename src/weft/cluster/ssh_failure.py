"""Why a host was not reached over ssh, from ssh's own output, and the remedy."""

from dataclasses import dataclass

from weft.cluster.remote import SshResult


@dataclass(frozen=True, slots=True)
class SshFailure:
    """`cause` in words, `remedy` "" where none is known. `alive`: the host did answer, but does
    not let this user in, so that its state is unknown."""

    cause: str
    remedy: str = ""
    alive: bool = False

    @property
    def is_unknown_name(self) -> bool:
        """Whether nothing resolves its name."""
        return self.cause == _UNKNOWN_NAME


_UNKNOWN_NAME = "its name is not known here"


_CAUSES = (
    ("identification has changed", True, "its host key is another one than known_hosts has",
     "ask who runs it for the fingerprint; where it was installed anew: ssh-keygen -R {host}"),
    ("host key verification failed", True,
     "its host key differs from the one in known_hosts, or known_hosts has none",
     "log in once by hand ('ssh {host}'), compare the fingerprint, and accept it"),
    ("permission denied", True, "it does not let this user in with a key",
     "ssh-copy-id {host}, or name the key in ~/.ssh/config"),
    ("'ssh' cannot be started", True, "there is no ssh on this machine",
     "install an OpenSSH client here"),
    ("it wrote more than", True, "its output is longer than weft reads",
     "look at what its login scripts print"),
    ("login shell did not run", True, "its login shell does not run commands",
     "look at the user's login shell there"),
    ("virtual cluster is not running", False, "the virtual cluster is not running",
     "'weft cluster up --local N' starts it again"),
    ("could not resolve", False, _UNKNOWN_NAME,
     "spell it as DNS or ~/.ssh/config do"),
    ("connection refused", False, "nothing listens on its ssh port",
     "start sshd there, or name the port in ~/.ssh/config"),
    ("no route to host", False, "no route leads to it", "look at its power and its cable"),
    ("timed out", False, "nothing comes back from it",
     "look at its power, its cable and its firewall"),
    ("connection closed", False, "its sshd closed the connection", "look at sshd's log there"),
)  # fmt: skip


def ssh_failure_of(host: str, result: SshResult) -> SshFailure:
    """The cause of an `SshResult` of a host that was not reached."""
    text = result.err.lower()
    for words, alive, cause, remedy in _CAUSES:
        if words in text:
            return SshFailure(cause, remedy.format(host=host), alive)
    if result.code is None:
        return SshFailure(result.err, "look at its power, its load and its home folder")
    return SshFailure(result.last_line or f"ssh ended with code {result.code}")
