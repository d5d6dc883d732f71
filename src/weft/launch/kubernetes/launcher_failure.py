"""Why the launcher of an MPIJob started no rank, as its output tells."""

import re
from collections.abc import Sequence

from weft.launch.kubernetes.mpijob import LACKS
from weft.launch.kubernetes.pods import PodProblem

_SSH = re.compile(
    r"^.*(?:Permission denied \(|Host key verification failed|ssh: connect to host |"
    r"ssh: Could not resolve hostname|UNPROTECTED PRIVATE KEY FILE).*$",
    re.MULTILINE,
)
"""SOURCE: OpenSSH, ssh.c, sshconnect.c and sshconnect2.c."""
MOST_LETTERS = 200
_REMEDIES = (
    ("address of", "the pods of the cluster's DNS: 'kubectl get pods -n kube-system'"),
    ("in the image", "an image with Open MPI, getent (of libc) and sshd: --image NAME"),
)


def launcher_failure(text: str, nodes: Sequence[str]) -> PodProblem | None:
    """The problem in the output of a launcher that started no rank; None where it tells none."""
    lines = [line for line in text.splitlines() if line.strip()]
    if lines and lines[-1].startswith(LACKS):
        lack = lines[-1].removeprefix(LACKS).strip()
        remedy = next(remedy for sign, remedy in _REMEDIES if sign in lack)
        return PodProblem("launcher", f"its launcher found no {lack}", remedy, _node(lack, nodes))
    said = _SSH.search(text)
    if said is None:
        return None
    line = said[0].strip()[:MOST_LETTERS]
    return PodProblem(
        "ssh",
        f"its launcher did not reach a worker over ssh: {line}",
        "sshd of the image, or of --manifest: it needs StrictModes no, host keys, and the port of"
        " the launcher's ssh; for another user than root also sshAuthMountPath",
        _node(line, nodes),
    )


def _node(line: str, nodes: Sequence[str]) -> str | None:
    named = [node for node in nodes if re.search(rf"(?<![\w.-]){re.escape(node)}(?![\w-])", line)]
    return named[0] if len(named) == 1 else None
