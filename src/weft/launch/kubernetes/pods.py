"""The pods of one launch: whether they run, ended, or why they do not start.

SOURCE: Kubernetes documentation, "Pod Lifecycle" and "Pod conditions"; kubernetes/kubernetes 1.34,
pkg/kubelet/images/types.go and pkg/kubelet/kuberuntime/kuberuntime_container.go (reasons of
containers), pkg/scheduler (messages of pods that no node takes).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from weft.launch.kubernetes.mpijob import LAUNCHER, ROLE_LABEL

Pod = Mapping[str, Any]
IMAGE_REASONS = {
    *("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"),
    *("ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed"),
}
STARTING = {"ContainerCreating", "PodInitializing", ""}
"""Reasons of a container that may still start; any other is an error."""
DESCRIBE = (
    "'kubectl describe pod' of such a pod while weft runs; --manifest may ask for a volume, a"
    " secret or a device that the node lacks"
)
MOST_LETTERS = 300


@dataclass(frozen=True, slots=True)
class PodProblem:
    """Why a launch cannot go on: one clause, and the next step. `node`: where, if that is known.
    `is_final`: it will not mend itself; others get some time. `is_fault`: nccl-tests ran, so this
    is a failure of the launch, not of its start."""

    kind: str
    text: str
    remedy: str
    node: str | None = None
    is_final: bool = False
    is_fault: bool = False


@dataclass(frozen=True, slots=True)
class LaunchPods:
    """The state of a launch. `launcher`: name of that pod and of its container, None before it
    exists; `is_running`: it and all workers run; `exit_code`: None before its end; `node_of`: nodes
    by pod; `waiting`: what has not started, in words."""

    n_pods: int
    launcher: tuple[str, str] | None
    is_running: bool
    exit_code: int | None
    node_of: Mapping[str, str]
    problem: PodProblem | None
    waiting: str


def launch_pods(pods: Sequence[Pod], nodes: Sequence[str]) -> LaunchPods:
    """The state of a launch on these nodes, of the pods that it has."""
    node_of = {_name(pod): str(pod["spec"].get("nodeName")) for pod in pods if _is_placed(pod)}
    launchers = [pod for pod in pods if _role(pod) == LAUNCHER.lower()]
    launcher = launchers[-1] if launchers else None
    workers = [pod for pod in pods if _role(pod) != LAUNCHER.lower()]
    taken = {node_of[_name(pod)] for pod in workers if _name(pod) in node_of}
    left = [node for node in nodes if node not in taken]
    problems = [one for pod in (*workers, *launchers) for one in _problems(pod, left)]
    problems += _misplaced(workers, nodes)
    problems.sort(key=lambda one: not one.is_final)
    state = _first_state(launcher) if launcher is not None else {}
    ended = state.get("terminated")
    waiting = [f"pod {_name(pod)} on {_where(pod, left)}" for pod in pods if not _has_started(pod)]
    n_running = sum((pod.get("status") or {}).get("phase") == "Running" for pod in workers)
    return LaunchPods(
        n_pods=len(pods),
        launcher=None if launcher is None else (_name(launcher), _container(launcher)),
        is_running="running" in state and n_running >= len(nodes),
        exit_code=None if ended is None else int(ended.get("exitCode", 1)),
        node_of=node_of,
        problem=problems[0] if problems else None,
        waiting=waiting[0] if waiting else "its launcher",
    )


def _misplaced(workers: Sequence[Pod], nodes: Sequence[str]) -> Iterator[PodProblem]:
    """Workers on other nodes than those asked for: their figures would be read as those nodes'."""
    placed = [str(pod["spec"]["nodeName"]) for pod in workers if _is_placed(pod)]
    others = [node for i, node in enumerate(placed) if node not in nodes or node in placed[:i]]
    if others:
        yield PodProblem(
            "misplaced",
            f"its pod was put on {others[0]}, not on {' or '.join(nodes)} alone",
            "the affinity of the pod: an admission webhook of the cluster may change it",
            is_final=True,
        )


def offering(
    nodes: Sequence[Mapping[str, Any]], gpu: str, *, usable: bool = True
) -> dict[str, int]:
    """By node that offers the resource: how many; only `usable` ones: ready, and not cordoned."""
    found = {}
    for node in nodes:
        status = node.get("status") or {}
        n = int((status.get("allocatable") or {}).get(gpu, 0))
        conditions = {one["type"]: one["status"] for one in status.get("conditions") or ()}
        is_cordoned = (node.get("spec") or {}).get("unschedulable")
        is_usable = conditions.get("Ready") == "True" and not is_cordoned
        if n > 0 and (is_usable or not usable):
            found[_name(node)] = n
    return found


def left_out(nodes: Sequence[Mapping[str, Any]], gpu: str) -> dict[str, list[str]]:
    """By reason the nodes that have the resource, and do not offer it to pods."""
    usable, offers = offering(nodes, gpu), offering(nodes, gpu, usable=False)
    found: dict[str, list[str]] = {}
    for node in nodes:
        name = _name(node)
        has_gpus = int(((node.get("status") or {}).get("capacity") or {}).get(gpu, 0)) > 0
        if name in usable or not (has_gpus or name in offers):
            continue
        is_cordoned = (node.get("spec") or {}).get("unschedulable")
        reason = "cordoned" if is_cordoned else "not ready" if name in offers else f"no {gpu} works"
        found.setdefault(reason, []).append(name)
    return found


def _problems(pod: Pod, left: Sequence[str]) -> Iterator[PodProblem]:
    """Those of one pod; `left`: nodes of the launch that have no worker."""
    status = pod.get("status") or {}
    where = _where(pod, left)
    node = where if where in left or _is_placed(pod) else None
    conditions = {one.get("type"): one for one in status.get("conditions") or ()}
    disrupted = conditions.get("DisruptionTarget") or {}
    if status.get("reason") == "Evicted" or disrupted.get("status") == "True":
        why = _cut(status.get("message") or disrupted.get("message") or disrupted.get("reason"))
        yield PodProblem(
            "evicted",
            f"its pod on {where} was evicted: {why}",
            f"'kubectl describe node {where}': free its disk or memory, or keep other jobs from it;"
            " --manifest can set a priorityClassName",
            node,
            is_final=True,
        )
    elif status.get("phase") == "Failed" and status.get("reason"):
        # Such as UnexpectedAdmissionError: the device plugin gave the kubelet no GPU.
        text = f"its pod on {where} failed: {status['reason']}: {_cut(status.get('message'))}"
        yield PodProblem("refused", text, f"'kubectl describe node {where}'", node, is_final=True)
    scheduled = conditions.get("PodScheduled") or {}
    # A gate is opened by its owner, such as a queue; a nominated node is being emptied for the pod.
    is_awaited = scheduled.get("reason") == "SchedulingGated" or status.get("nominatedNodeName")
    if scheduled.get("status") == "False" and not is_awaited:
        yield _unscheduled(_cut(scheduled.get("message")), where, node)
    for one in (
        *(status.get("initContainerStatuses") or ()),
        *(status.get("containerStatuses") or ()),
    ):
        yield from _of_container(one, pod, where, node)


def _unscheduled(message: str, where: str, node: str | None) -> PodProblem:
    message = message.partition(" preemption:")[0].rstrip(". ")
    remedy = f"'kubectl describe node {where}'"
    if "Insufficient" in message:
        remedy += ": free what other pods hold there; --tasks-per-node N takes fewer GPUs"
    elif "affinity" in message:
        remedy = "'kubectl get nodes': the cluster may have no node of this name"
    elif "taint" in message:
        remedy += ": remove the taint, or add a toleration to --manifest"
    return PodProblem("unschedulable", f"no pod fits on {where}: {message}", remedy, node)


def _of_container(
    one: Mapping[str, Any], pod: Pod, where: str, node: str | None
) -> Iterator[PodProblem]:
    state = one.get("state") or {}
    waiting, ended = state.get("waiting") or {}, state.get("terminated") or {}
    reason = str(waiting.get("reason") or "")
    why = _cut(waiting.get("message"))
    if reason in IMAGE_REASONS:
        yield PodProblem(
            "image",
            f"image {one.get('image')} cannot be pulled on {where}: {reason}: {why}",
            "the name after --image, and imagePullSecrets in --manifest",
            node,
            is_final=reason in ("InvalidImageName", "ErrImageNeverPull"),
        )
    elif reason not in STARTING:
        text = f"its container on {where} does not start: {reason}: {why}"
        yield PodProblem("container", text, DESCRIBE, node)
    how, code = str(ended.get("reason") or ""), ended.get("exitCode")
    if how == "OOMKilled":
        text = f"its container on {where} was killed, because it reached its memory limit"
        yield PodProblem(
            how, text, "a larger limit in --manifest", node, is_final=True, is_fault=True
        )
    elif how in ("StartError", "ContainerCannotRun"):
        text = f"its container on {where} does not start: {_cut(ended.get('message'))}"
        yield PodProblem("container", text, DESCRIBE, node, is_final=True)
    elif code is not None and not pod["metadata"].get("deletionTimestamp"):
        yield from _ended(one, pod, where, node)


def _ended(one: Mapping[str, Any], pod: Pod, where: str, node: str | None) -> Iterator[PodProblem]:
    """A container that ended by itself, and should not have. mpirun's own end is no problem."""
    code = one["state"]["terminated"]["exitCode"]
    is_worker = _role(pod) != LAUNCHER.lower()
    if one.get("name") == _container(pod):
        if is_worker:
            remedy = "sshd -De in the image (openssh-server), or a command for Worker in --manifest"
            text = f"sshd on {where} ended with exit code {code}"
            yield PodProblem("sshd", text, remedy, node, is_final=True)
        return
    is_first = one in ((pod.get("status") or {}).get("initContainerStatuses") or ())
    has_failed = (pod.get("status") or {}).get("phase") == "Failed" if is_first else is_worker
    if code and has_failed:
        text = f"container {one.get('name')} on {where} ended with exit code {code}"
        remedy = "'kubectl logs' of it while weft runs; --manifest, or a webhook, brings it"
        yield PodProblem("container", text, remedy, node, is_final=True)


def _name(of: Mapping[str, Any]) -> str:
    return str(of["metadata"]["name"])


def _role(pod: Pod) -> str:
    return str((pod["metadata"].get("labels") or {}).get(ROLE_LABEL))


def _container(pod: Pod) -> str:
    return str(pod["spec"]["containers"][0]["name"])


def _is_placed(pod: Pod) -> bool:
    return bool(pod["spec"].get("nodeName"))


def _where(pod: Pod, left: Sequence[str]) -> str:
    """The node of a pod; of one without, the node or nodes that it may get."""
    return str(pod["spec"].get("nodeName") or " or ".join(left) or "its nodes")


def _first_state(pod: Pod) -> Mapping[str, Any]:
    """The state of the container that runs mpirun."""
    named = {one["name"]: one for one in (pod.get("status") or {}).get("containerStatuses") or ()}
    found: Mapping[str, Any] = (named.get(_container(pod)) or {}).get("state") or {}
    return found


def _has_started(pod: Pod) -> bool:
    return (pod.get("status") or {}).get("phase") not in (None, "Pending", "Unknown")


def _cut(text: object) -> str:
    words = " ".join(str(text or "no message").split())
    return words if len(words) <= MOST_LETTERS else words[:MOST_LETTERS] + " ..."
