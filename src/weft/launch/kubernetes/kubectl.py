"""kubectl, which reaches a cluster by the user's own configuration. Each call has a time limit."""

import json
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from weft.core.errors import InputError, MissingError
from weft.core.process import Command, CommandEnd, Ending, Limits, run
from weft.launch.kubernetes.mpijob import CHECK_LABEL

REQUEST_S = 20
"""Seconds that kubectl waits for an answer of the API server."""
CALL_S = 120.0
DELETE_S = 60
"""Seconds until the pods of deleted jobs are gone; those of a dead node stay longer."""
MOST_BYTES = 1 << 28
"""A pod is some 10 kB."""

_REFUSALS: tuple[tuple[str, str, str], ...] = (
    (
        r'no matches for kind "MPIJob"|resource type "?mpijobs|find the requested resource',
        "the cluster has no MPIJob of kubeflow.org/v2beta1",
        "install the MPI operator of Kubeflow, 0.5 or newer",
    ),
    (r'namespaces? "([^"]*)" not found', "the cluster has no such namespace", "--namespace NAME"),
    (
        r"exceeded quota",
        "a quota of the namespace forbids the pods",
        "another namespace, or a larger ResourceQuota",
    ),
    (
        r"is forbidden|\(Forbidden\)",
        "this user may not do that",
        "ask for a role that can create, list, watch and delete mpijobs, list pods and events, and"
        " get pods/log; 'kubectl auth can-i create mpijobs' tells",
    ),
    (
        r"Unauthorized|must be logged in|credentials|x509",
        "the cluster does not accept these credentials",
        "log in again; 'kubectl auth whoami' tells",
    ),
    (
        r"refused|Unable to connect|no such host|timed? ?out|deadline|was not found for|"
        r"no configuration has been provided|does not exist",
        "the API server does not answer",
        "'kubectl cluster-info' must work; KUBECONFIG and 'kubectl config use-context' choose it",
    ),
)
"""SOURCE: kubernetes/kubernetes 1.34, apimachinery/pkg/api/errors; messages of kubectl 1.32."""
_LOG_LINE = re.compile(r"[IWEF]\d{4} ")
_INVALID = re.compile(
    r"is invalid:|strict decoding error|unknown field|error validating|denied the request"
)
_RULES_NOT_READ = re.compile(
    r"failed to download openapi|"
    r'error validating data: (Get "|Unable to connect|Unauthorized|the server has asked)'
)
"""kubectl could not fetch the rules by which it validates: no word about the manifest.
Messages of kubectl 1.32 against a closed port, and of older ones as people report them."""


@dataclass(frozen=True, slots=True)
class Kubectl:
    """The program; the context and the namespace (None: those of the user's configuration, which
    another shell may change)."""

    program: Path
    namespace: str | None = None
    context: str | None = None

    def words(self, *words: str) -> tuple[str, ...]:
        """A command line."""
        context = () if self.context is None else ("--context", self.context)
        where = () if self.namespace is None else ("--namespace", self.namespace)
        return (str(self.program), *context, *where, *words)

    def shell_text(self, *words: str) -> str:
        """The same, to be pasted into a shell."""
        return shlex.join(("kubectl", *self.words(*words)[1:]))

    def create(self, manifests: Sequence[Mapping[str, Any]]) -> None:
        """Create objects. Raises InputError where the cluster refuses a manifest, MissingError."""
        every = {"apiVersion": "v1", "kind": "List", "items": list(manifests)}
        # Not `apply`, which also asks for each object, and kubectl makes few requests a second.
        self._call(("create", "-f", "-"), stdin=json.dumps(every).encode())

    def pods(self, check: str) -> list[Mapping[str, Any]]:
        """The pods of a check. Raises MissingError."""
        return self._items("get", "pods", "-l", f"{CHECK_LABEL}={check}")

    def nodes(self) -> list[Mapping[str, Any]]:
        """All nodes. Raises MissingError."""
        try:
            return self._items("get", "nodes")
        except MissingError as error:
            if "Forbidden" in error.what:
                error.hint = "name nodes and GPUs: --hosts NODESET --tasks-per-node N; or ask for"
                error.hint += " a role that can list nodes"
            raise

    def warnings(self) -> dict[str, str]:
        """By object the last warning about it; none where events cannot be read."""
        try:
            events = self._items("get", "events", "--field-selector", "type=Warning")
        except (InputError, MissingError):
            return {}
        events.sort(key=lambda one: str(one.get("lastTimestamp") or one.get("eventTime") or ""))
        return {
            str((one.get("involvedObject") or {}).get("name")): str(one.get("message", ""))
            for one in events
        }

    def logs(self, pod: str, container: str, out: Path, err: Path, most_bytes: int) -> bool:
        """Write a container's output to a file, and what kubectl says to another; whether that
        went well."""
        words = ("logs", pod, "-c", container, f"--limit-bytes={most_bytes}")
        command = Command(self.words(*words, self._timeout), out=out, err=err)
        ended = run(command, Limits(CALL_S, max_bytes=2 * most_bytes))
        return ended.ending is Ending.EXITED and ended.exit_code == 0

    def pinned(self) -> "Kubectl":
        """The same with the context and namespace that the user's configuration has now; unchanged
        without any, as in a pod of the cluster. Raises MissingError."""
        ended = self._run(("config", "view", "--minify", "-o", "json"))
        try:
            config = json.loads(ended.out)
            name = str(config["current-context"])
            context = next(one["context"] for one in config["contexts"] if one["name"] == name)
        except (ValueError, KeyError, TypeError, StopIteration):
            return self
        found = self.namespace or context.get("namespace") or "default"
        return replace(self, context=name, namespace=str(found))

    def delete_words(self, check: str) -> tuple[str, ...]:
        """The words that delete the jobs of a check."""
        return ("delete", "mpijobs", "-l", f"{CHECK_LABEL}={check}")

    def delete(self, check: str, *, waits: bool) -> str:
        """Delete the jobs of a check, and wait until their pods are gone; what went wrong, "" if
        nothing did."""
        words = (*self.delete_words(check), "--ignore-not-found")
        wait = ("--cascade=foreground", f"--timeout={DELETE_S}s") if waits else ("--wait=false",)
        try:
            ended = self._run((*words, *wait), more_s=DELETE_S if waits else 0)
        except MissingError as error:
            return error.what
        said = ended.err.decode(errors="replace").strip()
        # The pods of a dead node end when it is back.
        is_done = ended.exit_code == 0 or "timed out waiting" in said
        return "" if is_done else said or f"kubectl {ended.ending}"

    @property
    def _timeout(self) -> str:
        return f"--request-timeout={REQUEST_S}s"

    def _items(self, *words: str) -> list[Mapping[str, Any]]:
        out = self._call((*words, "-o", "json", self._timeout))
        try:
            return list(json.loads(out)["items"])
        except (ValueError, KeyError, TypeError) as error:
            raise MissingError(
                "kubectl prints no JSON list", where=" ".join(words), expected="a working kubectl"
            ) from error

    def _call(self, words: tuple[str, ...], stdin: bytes = b"") -> bytes:
        ended = self._run(words, stdin)
        if ended.ending is not Ending.EXITED or ended.exit_code != 0:
            said = ended.err.decode(errors="replace") or f"kubectl {ended.ending}"
            raise refusal(said, f"kubectl {' '.join(words)}")
        return ended.out

    def _run(self, words: tuple[str, ...], stdin: bytes = b"", more_s: float = 0) -> CommandEnd:
        return run(
            Command(self.words(*words), stdin=stdin), Limits(CALL_S + more_s, max_bytes=MOST_BYTES)
        )


def find_kubectl(namespace: str | None) -> Kubectl:
    """kubectl on PATH, for the cluster that it reaches now. Raises MissingError."""
    found = shutil.which("kubectl")
    if found is None:
        raise MissingError(
            "no 'kubectl' on PATH",
            expected="the client of the cluster, with a context that reaches it",
            hint="install it, or load its module before weft starts",
        )
    return Kubectl(Path(found), namespace).pinned()


def refusal(said: str, where: str) -> InputError | MissingError:
    """The error for what kubectl says."""
    # Lines of its own log repeat the message.
    lines = [line for line in said.splitlines() if not _LOG_LINE.match(line)]
    text = " ".join(" ".join(lines or [said]).split()) or "no message"
    if _INVALID.search(text) and not _RULES_NOT_READ.search(text):
        return InputError(
            f"the cluster refuses the manifest: {text[:500]}",
            where=where,
            expected="a manifest that the cluster's own rules allow",
            hint="mend --manifest; --dry-run prints what weft makes of it",
        )
    unknown = ("kubectl failed", "the same command by hand")
    known = ((what, hint) for sign, what, hint in _REFUSALS if re.search(sign, text))
    what, hint = next(known, unknown)
    return MissingError(
        f"{what}: {text[:500]}", where=where, expected="a cluster that runs MPIJobs", hint=hint
    )
