"""A stand-in for kubectl and the cluster behind it: objects in a folder, pods that go on by a step
with each look at them, and planted faults.

The script below is what runs as `kubectl`. Texts of events, conditions and errors are those of
Kubernetes 1.34, in form; see tests/kubernetes/test_api_server.py for a real API server.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

from tests.nccl_simulation import Planted, SimulatedNccl

from weft.bench.nccl.program import NcclGroup
from weft.cli import run
from weft.core.process import Ending

NODES = tuple(f"gpu-{i}.example.net" for i in range(1, 7))

SCRIPT = r"""
import json, os, sys, time
HERE = os.path.dirname(os.path.abspath(__file__))
def load(name):
    with open(os.path.join(HERE, name)) as file:
        return json.load(file)
def save(name, value):
    path = os.path.join(HERE, name)
    with open(path + ".new", "w") as file:
        json.dump(value, file)
    os.replace(path + ".new", path)
def fail(text):
    sys.stderr.write(text + "\n")
    sys.exit(1)
def selected(words):
    return dict([words[words.index("-l") + 1].split("=")])["weft-check"]
def pod(job, role, index, node, phase, state, **status):
    name = job["metadata"]["name"]
    spec = job["spec"]["mpiReplicaSpecs"]["Worker" if role == "worker" else "Launcher"]
    labels = spec["template"]["metadata"]["labels"]
    container = spec["template"]["spec"]["containers"][0]
    one = {"name": container["name"], "image": container["image"], "state": state}
    status = {"phase": phase, "containerStatuses": [one] if state else [], **status}
    where = {"nodeName": node} if node else {}
    pod_name = f"{name}-worker-{index}" if role == "worker" else f"{name}-launcher-x7k2p"
    return {"metadata": {"name": pod_name, "labels": labels, "uid": pod_name},
            "spec": {**where, "containers": [container]}, "status": status}
def waiting(reason, message=""):
    return {"waiting": {"reason": reason, "message": message}}
def worker(job, index, node, tick, fault):
    starting = pod(job, "worker", index, node, "Pending", waiting("ContainerCreating"))
    running = pod(job, "worker", index, node, "Running", {"running": {}})
    if fault == "image":
        both = ("ErrImagePull", "ImagePullBackOff")
        return pod(job, "worker", index, node, "Pending",
                   waiting(both[min(tick, 1)], "failed to pull: 401 Unauthorized" if tick < 1
                           else 'Back-off pulling image "x"'))
    if fault == "gpus":
        text = "0/6 nodes are available: 1 Insufficient nvidia.com/gpu. preemption: 0/6 ..."
        return pod(job, "worker", index, None, "Pending", None, conditions=[
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
             "message": text}])
    if fault == "mount":
        return starting
    if fault == "evicted" and tick > 0:
        return pod(job, "worker", index, node, "Failed", None, reason="Evicted",
                   message="The node was low on resource: ephemeral-storage. ")
    if fault == "memory" and tick > 0:
        return pod(job, "worker", index, node, "Failed",
                   {"terminated": {"reason": "OOMKilled", "exitCode": 137}})
    if fault == "sshd" and tick > 0:
        return pod(job, "worker", index, node, "Failed",
                   {"terminated": {"reason": "Error", "exitCode": 127}})
    return running if tick > 0 else starting
def pods_of(job, tick, cluster):
    nodes = job["metadata"]["annotations"]["weft-nodes"].split(",")
    faults = [cluster["faults"].get(node) for node in nodes]
    if "operator" in cluster["all"]:
        return []
    found = [worker(job, i, node, tick, faults[i]) for i, node in enumerate(nodes)]
    if tick < 1 or any(one["status"]["phase"] != "Running" for one in found):
        return found
    if "deleted" in faults and tick > 1:
        return found
    launcher = pod(job, "launcher", 0, nodes[0], "Running", {"running": {}})
    if "drained" in faults and tick > 1:
        # The operator makes the worker anew; mpirun loses its daemon.
        found[faults.index("drained")]["metadata"]["uid"] = "another"
        if tick > 2:
            launcher["status"] = ended(launcher, 1)
        return [*found, launcher]
    output = cluster["outputs"][",".join(sorted(nodes))]
    if tick < 2 or output["hangs"]:
        return [*found, launcher]
    # The operator deletes running workers as soon as the launcher has ended (cleanPodPolicy).
    launcher["status"] = ended(launcher, output["code"])
    return [launcher]
def ended(launcher, code):
    state = {"terminated": {"exitCode": code, "reason": "Completed"}}
    one = {**launcher["status"]["containerStatuses"][0], "state": state}
    return {"phase": "Failed" if code else "Succeeded", "containerStatuses": [one]}
def get(words, cluster):
    if words[0] == "nodes":
        return cluster["nodes"]
    jobs = load("jobs.json")
    if words[0] == "events":
        items = [{"involvedObject": {"name": name + "-worker-0"}, "lastTimestamp": "2026-01-01",
                  "message": 'MountVolume.SetUp failed for volume "scratch"'} for name in jobs]
        return items if "mount" in cluster["faults"].values() else []
    of = selected(words)
    ticks = load("ticks.json")
    items = []
    for name, job in jobs.items():
        if job["metadata"]["labels"]["weft-check"] == of:
            tick = ticks.get(name, 0)
            items += pods_of(job, tick, cluster)
            ticks[name] = tick + 1
    save("ticks.json", ticks)
    return items
def main(words):
    with open(os.path.join(HERE, "calls"), "a") as file:
        file.write(json.dumps(words) + "\n")
    while words[0] in ("--context", "--namespace"):
        words = words[2:]
    cluster = load("cluster.json")
    verb = words[0]
    if verb == "config":
        print(json.dumps({"current-context": "site", "contexts": [
            {"name": "site", "context": {"cluster": "c", "namespace": "checks"}}]}))
        return
    for on, said in cluster["refused"].items():
        if on == verb:
            fail(said)
    if verb in cluster["all"]:
        time.sleep(600)
    if verb == "create":
        jobs = load("jobs.json")
        for job in json.load(sys.stdin)["items"]:
            assert job["metadata"]["name"] not in jobs, "a name twice"
            jobs[job["metadata"]["name"]] = job
        save("jobs.json", jobs)
    elif verb == "get":
        print(json.dumps({"items": get(words[1:], cluster)}))
    elif verb == "logs":
        name = words[1].partition("-launcher-")[0]
        nodes = load("jobs.json")[name]["metadata"]["annotations"]["weft-nodes"].split(",")
        text = cluster["outputs"][",".join(sorted(nodes))]["text"]
        for i, node in enumerate(nodes):
            text = text.replace("@" + node + "@", name + "-worker-" + str(i))
        sys.stdout.write(cluster["says"] or text)
    elif verb == "delete":
        of = selected(words)
        jobs = load("jobs.json")
        save("jobs.json", {name: job for name, job in jobs.items()
                           if job["metadata"]["labels"]["weft-check"] != of})
    else:
        fail("error: unknown command " + verb)
main(sys.argv[1:])
"""


class StandInCluster:
    """`kubectl` in a folder to be put on PATH, and what it plays.

    `planted` are faults that show in the output of nccl-tests. `faults`, by node: image, gpus,
    mount, evicted, memory, sshd, deleted, drained. `everywhere`: 'operator' (none makes pods), or
    verbs of kubectl that never end. `refused`: verbs with the text of their error. `says`: what
    all launchers print instead.
    """

    def __init__(
        self,
        folder: Path,
        nodes: Sequence[str],
        planted: Planted | None = None,
        *,
        faults: Mapping[str, str] | None = None,
        everywhere: Sequence[str] = (),
        refused: Mapping[str, str] | None = None,
        n_gpus: int = 8,
        says: str = "",
    ) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        kubectl = folder / "kubectl"
        kubectl.write_text(f"#!{sys.executable} -IS\n{SCRIPT}")
        kubectl.chmod(0o755)
        backend = SimulatedNccl(nodes, planted or Planted(), n_gpus=n_gpus, seed=2)
        groups = [(node,) for node in nodes] + list(combinations(nodes, 2))
        self.cluster: dict[str, Any] = {
            "nodes": [_node(name, n_gpus) for name in nodes],
            "outputs": {",".join(sorted(hosts)): _output(backend, hosts) for hosts in groups},
            "faults": dict(faults or {}),
            "all": list(everywhere),
            "refused": dict(refused or {}),
            "says": says,
        }
        (folder / "cluster.json").write_text(json.dumps(self.cluster))
        for name in ("jobs.json", "ticks.json"):
            (folder / name).write_text("{}")

    @property
    def left(self) -> list[str]:
        """The names of objects that are there."""
        return list(json.loads((self.folder / "jobs.json").read_text()))

    @property
    def calls(self) -> list[list[str]]:
        """The words of each call of kubectl."""
        return [json.loads(line) for line in (self.folder / "calls").read_text().splitlines()]


def _node(name: str, n_gpus: int) -> dict[str, Any]:
    return {
        "metadata": {"name": name},
        "spec": {},
        "status": {
            "allocatable": {"nvidia.com/gpu": str(n_gpus)},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def _output(backend: SimulatedNccl, hosts: tuple[str, ...]) -> dict[str, Any]:
    """What a launch prints; pods of the cluster, as yet without names, stand for its hosts."""
    ended, out, err = backend._text(NcclGroup(hosts), Random(f"{hosts}"))
    text = out + err
    for host in hosts:
        text = text.replace(host, f"@{host}@")
    return {"text": text, "code": ended.exit_code, "hangs": ended.ending is Ending.TIMED_OUT}


def check(where: Path, *more: str) -> int:
    """The exit code of a check in pods of the cluster whose kubectl is the first on PATH."""
    limits = ("--launch-limit", "1s", "--start-limit", "3s", "--no-report")
    options = ("--launcher", "kubernetes", "--image", "site/nccl-tests:1", *limits)
    return run(["check", "--with", "nccl", *options, "--dir", str(where / "run"), *more])
