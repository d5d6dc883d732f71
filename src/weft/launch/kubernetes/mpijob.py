"""The manifest of one launch: an MPIJob, whose operator starts sshd on the nodes and mpirun beside.

The field runs nccl-tests so. A JobSet starts pods only: ssh keys, host file and the order of the
start would be weft's.

SOURCE: kubeflow/mpi-operator 0.6, pkg/apis/kubeflow/v2beta1/types.go and
pkg/controller/mpi_job_controller.go. Azure and AWS document nccl-tests on Kubernetes as MPIJobs.
"""

import math
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft.core.errors import InputError
from weft.launch.launchers import LAUNCHERS
from weft.launch.spec import LaunchSpec

API_VERSION, KIND = "kubeflow.org/v2beta1", "MPIJob"
LAUNCHER, WORKER = "Launcher", "Worker"
CHECK_LABEL, JOB_LABEL, ROLE_LABEL = "weft-check", "weft-job", "weft-role"
"""Labels of all objects of a check, of a launch, and of its launcher or workers."""
NODES_ANNOTATION = "weft-nodes"
KEPT_S = 600
"""The launcher of a finished job that weft could not delete is gone after this time."""
SPARE_S = 60
"""A worker ends so long after all limits of its launch, even where no launcher was ever made."""
HOSTFILE = "/etc/mpi/hostfile"
LACKS = "weft: no "
"""Begins a line of the launcher that tells what it lacks to start mpirun."""
START_MPIRUN = f"""\
for one in getent mpirun; do
  command -v $one >/dev/null && continue
  echo "{LACKS}$one in the image"
  exit 1
done
n=0
while read -r host _; do
  until getent hosts "$host" >/dev/null; do
    [ "$host" = "$said" ] || echo "{LACKS}address of $host"
    said=$host n=$((n+1))
    sleep 1
  done
done < {HOSTFILE}
[ $n -eq 0 ] || echo "weft: all addresses after $n s"
exec "$(command -v mpirun)" "$@"
"""
"""The names of workers reach the cluster's DNS some seconds after their pods are ready; a queue may
even start the launcher before them. Called by its whole path, mpirun also finds its own programs on
the workers.

SOURCE: Open MPI 4.1, mpirun(1), --prefix. kubeflow/mpi-operator, pull request 868.
"""
SSH_OPTIONS = (
    "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
    " -o ConnectionAttempts=10"
)
"""The keys of the workers are a minute old: nobody knows them."""
SSH_VARIABLE = "OMPI_MCA_plm_rsh_args"
IMAGE_VARIABLES = ("PATH", "LD_LIBRARY_PATH")
"""A process that sshd starts has none of the image's variables."""


@dataclass(frozen=True, slots=True)
class PodSite:
    """Where the pods of a check run: the site's MPIJob, its image ("": as that says), the name of
    the resource that is a GPU, and seconds that pods may take to start."""

    template: Mapping[str, Any]
    image: str
    gpu: str
    start_limit_s: float


@dataclass(frozen=True, slots=True)
class PodLaunch:
    """One launch: the name of its objects, that of its check, its nodes, the ranks and GPUs on each
    of them, the program, variables of every rank, and its time limit."""

    name: str
    check: str
    nodes: tuple[str, ...]
    n_gpus: int
    program: tuple[str, ...]
    env: Mapping[str, str]
    limit_s: float


_OF_JOB: Mapping[str, type] = {
    "metadata": dict,
    "metadata.labels": dict,
    "metadata.annotations": dict,
    "spec.runPolicy": dict,
    "spec.runPolicy.schedulingPolicy": dict,
}
_OF_ROLE: Mapping[str, type] = {
    "metadata": dict,
    "metadata.labels": dict,
    "spec.tolerations": list,
}
_OF_CONTAINER: Mapping[str, type] = {
    "env": list,
    "resources": dict,
    "resources.limits": dict,
    "resources.requests": dict,
}
"""The parts of a site's MPIJob that weft adds to. Where one is absent, weft makes it."""


def refuse_template(template: Any, where: str) -> None:
    """Raises InputError for a document that is no MPIJob with a launcher and workers."""
    expected = f"an MPIJob ({API_VERSION}) with a container for Launcher and for Worker"
    is_mapping = isinstance(template, Mapping)
    kind = (template.get("apiVersion"), template.get("kind")) if is_mapping else None
    if kind != (API_VERSION, KIND):
        named = " ".join(map(str, kind)) if kind else "no mapping"
        raise InputError(f"{named} is no manifest for nccl-tests", where=where, expected=expected)
    for role in (LAUNCHER, WORKER):
        try:
            containers = template["spec"]["mpiReplicaSpecs"][role]["template"]["spec"]["containers"]
            is_usable = isinstance(containers, list) and isinstance(containers[0], dict)
        except (KeyError, TypeError, IndexError):
            is_usable = False
        if not is_usable:
            raise InputError(f"{role} has no container", where=where, expected=expected)
    _refuse_shapes(template, _OF_JOB, where)
    for role in (LAUNCHER, WORKER):
        replica = template["spec"]["mpiReplicaSpecs"][role]
        at = f"{where}: spec.mpiReplicaSpecs.{role}.template"
        _refuse_shapes(replica["template"], _OF_ROLE, at)
        at += ".spec.containers[0]"
        _refuse_shapes(_container(replica), _OF_CONTAINER, at)
        for one in _container(replica).get("env") or ():
            if not isinstance(one, dict):
                raise InputError(
                    f"{one!r} is no variable", where=at, expected="{name: ..., value: ...}"
                )


def _refuse_shapes(part: Mapping[str, Any], shapes: Mapping[str, type], where: str) -> None:
    for path, shape in shapes.items():
        found: Any = part
        for key in path.split("."):
            found = (found or {}).get(key)
        if found is not None and not isinstance(found, shape):
            kind = "a mapping" if shape is dict else "a list"
            raise InputError(f"{path} is {found!r:.60}", where=where, expected=kind)


def mpi_job(site: PodSite, launch: PodLaunch) -> dict[str, Any]:
    """The manifest as plain JSON values. All of the site's MPIJob stays but what a launch needs:
    names, nodes, GPUs, replicas, the command of the launcher, and no second try."""
    job = deepcopy(dict(site.template))
    labels = {"app.kubernetes.io/managed-by": "weft", CHECK_LABEL: launch.check}
    labels[JOB_LABEL] = launch.name
    metadata = dict(job.get("metadata") or {})
    metadata.pop("generateName", None)
    annotations = {**(metadata.get("annotations") or {}), NODES_ANNOTATION: ",".join(launch.nodes)}
    metadata |= {
        "name": launch.name,
        "labels": {**(metadata.get("labels") or {}), **labels},
        "annotations": annotations,
    }
    spec = job["spec"]
    spec["slotsPerWorker"] = launch.n_gpus
    spec["launcherCreationPolicy"] = "WaitForWorkersReady"
    # The command is that of Open MPI, and so is its host file, which has the workers alone.
    spec["mpiImplementation"] = "OpenMPI"
    spec.pop("runLauncherAsWorker", None)
    spec["runPolicy"] = _run_policy(spec.get("runPolicy") or {}, site, launch)
    replicas = spec["mpiReplicaSpecs"]
    for role, n in ((LAUNCHER, 1), (WORKER, len(launch.nodes))):
        replicas[role]["replicas"] = n
        replicas[role]["restartPolicy"] = "Never"
        _set_pod(replicas[role]["template"], site, launch, role, labels)
    launcher, worker = _container(replicas[LAUNCHER]), _container(replicas[WORKER])
    launcher.pop("args", None)
    launcher["command"] = ["/bin/sh", "-c", START_MPIRUN, *_mpirun(launcher, launch)]
    worker["resources"] = dict(worker.get("resources") or {})
    for kind in ("limits", "requests"):
        own = worker["resources"].get(kind) or {}
        worker["resources"][kind] = {**own, site.gpu: launch.n_gpus}
        # The workers take all GPUs: a launcher that wants one would never start.
        ((launcher.get("resources") or {}).get(kind) or {}).pop(site.gpu, None)
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": spec}


def _run_policy(own: Mapping[str, Any], site: PodSite, launch: PodLaunch) -> dict[str, Any]:
    """The site's policy with the limits of this launch; whoever queues jobs suspends them."""
    scheduling = dict(own.get("schedulingPolicy") or {})
    scheduling.pop("minResources", None)
    # By itself the operator counts the launcher, too, which it makes only when the workers run: a
    # gang scheduler would wait forever. SOURCE: kubeflow/mpi-operator, issue 608.
    scheduling["minAvailable"] = len(launch.nodes)
    return {
        **{key: value for key, value in own.items() if key != "suspend"},
        "schedulingPolicy": scheduling,
        # A crash is a reading: a second try would hide it.
        "backoffLimit": 0,
        # A launcher that weft can no longer reach ends all the same.
        "activeDeadlineSeconds": _deadline_s(site, launch),
        "ttlSecondsAfterFinished": KEPT_S,
        "cleanPodPolicy": "Running",
    }


def _deadline_s(site: PodSite, launch: PodLaunch) -> int:
    return max(1, math.ceil(launch.limit_s + site.start_limit_s))


def _container(replica: Mapping[str, Any]) -> dict[str, Any]:
    """The container that the operator works on: the first."""
    first: dict[str, Any] = replica["template"]["spec"]["containers"][0]
    return first


def _set_pod(
    template: dict[str, Any],
    site: PodSite,
    launch: PodLaunch,
    role: str,
    labels: Mapping[str, str],
) -> None:
    metadata = template["metadata"] = dict(template.get("metadata") or {})
    own = {**labels, ROLE_LABEL: role.lower()}
    metadata["labels"] = {**(metadata.get("labels") or {}), **own}
    pod = template["spec"]
    # With it the scheduler would not be asked.
    pod.pop("nodeName", None)
    if site.image:
        pod["containers"][0]["image"] = site.image
    # As daemon sets are placed: the scheduler counts the GPUs, which it does not with nodeName. The
    # label kubernetes.io/hostname need not be the node's name.
    terms = [
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
        for node in launch.nodes
    ]
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    pod["affinity"] = {"nodeAffinity": {required: {"nodeSelectorTerms": terms}}}
    if role == WORKER:
        workers = {name: own[name] for name in (JOB_LABEL, ROLE_LABEL)}
        apart = {"matchLabels": workers}
        spread = {"labelSelector": apart, "topologyKey": "kubernetes.io/hostname"}
        pod["affinity"]["podAntiAffinity"] = {required: [spread]}
        pod["activeDeadlineSeconds"] = _deadline_s(site, launch) + SPARE_S
    # The nodes are chosen by name, so taints of GPU nodes and of cordoned ones keep nobody out.
    pod["tolerations"] = [
        *(pod.get("tolerations") or ()),
        {"operator": "Exists", "effect": "NoSchedule"},
    ]


def _mpirun(container: Mapping[str, Any], launch: PodLaunch) -> tuple[str, ...]:
    """mpirun of the image. Variables of the launcher's container reach every rank, too."""
    own = {str(one.get("name")): one for one in container.get("env") or ()}
    ssh = own.pop(SSH_VARIABLE, {}).get("value") or SSH_OPTIONS
    kept = [*IMAGE_VARIABLES, *(name for name in own if name not in launch.env)]
    forwarded = tuple(word for name in dict.fromkeys(kept) for word in ("-x", name))
    spec = LaunchSpec(
        launcher=Path("mpirun"),
        # mpirun takes options up to the first word that is none.
        program=("--mca", "plm_rsh_args", ssh, *forwarded, *launch.program),
        hosts=launch.nodes,
        tasks_per_node=launch.n_gpus,
        hostfile=Path(HOSTFILE),
        env=launch.env,
        as_root=True,
    )
    return LAUNCHERS["openmpi"].command(spec).argv
