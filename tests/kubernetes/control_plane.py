"""A real API server of Kubernetes with the MPI operator's CRD, and a stand-in for the operator, the
scheduler, the garbage collector and all kubelets.

`make kubernetes` builds the programs from Go modules. Nodes are objects alone: pods on them get a
state and an output here, as a plan tells. The API server checks every object and every right.
"""

import contextlib
import http.client
import http.server
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

BUILT = Path(__file__).resolve().parents[2] / ".venv/opt/kubernetes"
PROGRAMS = Path(os.environ.get("WEFT_KUBERNETES", BUILT))
NEEDED = ("etcd", "kube-apiserver", "kubeflow.org_mpijobs.yaml")
TOKEN = "a-token-of-this-test"
MPIJOBS = "/apis/kubeflow.org/v2beta1/mpijobs"
START_S = 240.0


@dataclass(frozen=True)
class Ended:
    """How the launcher of a launch ends: its output, and its exit code (None: never)."""

    text: str
    exit_code: int | None


Output = Callable[[Sequence[str], Mapping[str, str]], Ended]
"""Of the nodes of a launch and their pods: how it ends."""


class ControlPlane:
    """A cluster of `nodes` with 8 GPUs each. `faults` by node: 'image', 'evicted', 'gpus'."""

    def __init__(self, folder: Path, nodes: Sequence[str], output: Output) -> None:
        self.folder, self.nodes, self.output = folder, nodes, output
        self.faults: dict[str, str] = {}
        self.port, self._etcd_port, self._peer_port, self._kubelet_port = _free_ports(4)
        self._processes: list[subprocess.Popen[bytes]] = []
        self._texts: dict[str, str] = {}
        self._over = threading.Event()
        self.kubeconfig = folder / "kubeconfig"

    def call(self, method: str, path: str, body: Any = None, kind: str = "json") -> Any:
        """A request to the API server; the object that it answers. Raises OSError."""
        kinds = {"json": "application/json", "merge": "application/merge-patch+json"}
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self.port, timeout=60, context=ssl._create_unverified_context()
        )
        with contextlib.closing(connection):
            headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": kinds[kind]}
            connection.request(method, path, json.dumps(body) if body else None, headers)
            answer = connection.getresponse()
            content = answer.read().decode()
            if answer.status >= 300:
                raise OSError(f"{method} {path}: {answer.status} {content[:500]}")
            return json.loads(content) if content.startswith("{") else content

    def start(self) -> None:
        """Start all programs, and wait until nodes and MPIJobs are there."""
        self._write_files()
        self._serve_logs()
        for name, options in self._programs():
            log = (self.folder / f"{name}.log").open("wb")
            argv = [str(PROGRAMS / name), *options]
            self._processes.append(subprocess.Popen(argv, stdout=log, stderr=log))
            if name == "kube-apiserver":
                self._await(lambda: self.call("GET", "/readyz"))
                crd = (PROGRAMS / "kubeflow.org_mpijobs.yaml").read_text()
                self.kubectl("create", "-f", "-", stdin=crd)
                for node in self.nodes:
                    self._add_node(node)
                self._await(lambda: self.objects(MPIJOBS))
        threading.Thread(target=self._play, daemon=True).start()

    def stop(self) -> None:
        """End all programs."""
        self._over.set()
        for process in reversed(self._processes):
            process.send_signal(signal.SIGTERM)
        for process in self._processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(5)
            process.kill()

    def kubectl(self, *words: str, stdin: str = "") -> str:
        """What kubectl prints. Raises CalledProcessError."""
        argv = ["kubectl", *words]
        env = {**os.environ, "KUBECONFIG": str(self.kubeconfig)}
        ran = subprocess.run(argv, input=stdin, env=env, capture_output=True, text=True, check=True)
        return ran.stdout

    def objects(self, path: str) -> list[dict[str, Any]]:
        """The objects of a list of the API."""
        return list(self.call("GET", path)["items"])

    def _programs(self) -> Iterator[tuple[str, list[str]]]:
        here, etcd = self.folder, f"http://127.0.0.1:{self._etcd_port}"
        peer = f"http://127.0.0.1:{self._peer_port}"
        yield (
            "etcd",
            [
                *(f"--data-dir={here}/etcd", f"--listen-client-urls={etcd}"),
                *(f"--advertise-client-urls={etcd}", f"--listen-peer-urls={peer}"),
                *(f"--initial-advertise-peer-urls={peer}", f"--initial-cluster=default={peer}"),
                "--unsafe-no-fsync",
            ],
        )
        yield (
            "kube-apiserver",
            [
                *(f"--etcd-servers={etcd}", f"--cert-dir={here}/certs"),
                *("--bind-address=127.0.0.1", f"--secure-port={self.port}"),
                *(f"--token-auth-file={here}/tokens.csv", "--authorization-mode=RBAC"),
                "--service-account-issuer=https://cluster.invalid",
                f"--service-account-key-file={here}/key.pem",
                f"--service-account-signing-key-file={here}/key.pem",
                "--disable-admission-plugins=ServiceAccount",
                "--service-cluster-ip-range=10.0.0.0/24",
                "--kubelet-preferred-address-types=InternalIP",
            ],
        )

    def _write_files(self) -> None:
        self.folder.mkdir(parents=True)
        (self.folder / "tokens.csv").write_text(f'{TOKEN},jane,1,"system:masters"\n')
        key, certificate = self.folder / "key.pem", self.folder / "cert.pem"
        made = ("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=kubelet")
        where = ("-keyout", str(key), "-out", str(certificate))
        subprocess.run([*made, *where], check=True, capture_output=True)
        server = f"https://127.0.0.1:{self.port}"
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {"name": "c", "cluster": {"server": server, "insecure-skip-tls-verify": True}}
            ],
            "users": [{"name": "u", "user": {"token": TOKEN}}],
            "contexts": [
                {"name": "c", "context": {"cluster": "c", "user": "u", "namespace": "default"}}
            ],
            "current-context": "c",
        }
        self.kubeconfig.write_text(json.dumps(config))

    def _await(self, probe: Callable[[], object]) -> None:
        end = time.monotonic() + START_S
        while True:
            try:
                probe()
            except OSError:
                if time.monotonic() > end or any(p.poll() is not None for p in self._processes):
                    raise
                time.sleep(0.5)
            else:
                return

    def _add_node(self, name: str) -> None:
        self.call(
            "POST",
            "/api/v1/nodes",
            {"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}},
        )
        amounts = {"cpu": "96", "memory": "1Ti", "pods": "110", "nvidia.com/gpu": "8"}
        status = {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True", "reason": "Ready"}],
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": self._kubelet_port}},
        }
        self.call("PATCH", f"/api/v1/nodes/{name}/status", {"status": status}, "merge")

    def _serve_logs(self) -> None:
        """The port of all kubelets, where the API server asks for the output of a container."""
        texts = self._texts

        class Logs(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                pod = self.path.split("/")[3]
                self.send_response(200)
                self.end_headers()
                self.wfile.write(texts.get(pod, "").encode())

            def log_message(self, *_: object) -> None:
                """Nothing."""

        server = http.server.ThreadingHTTPServer(("127.0.0.1", self._kubelet_port), Logs)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.folder / "cert.pem", self.folder / "key.pem")
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()

    def _play(self) -> None:
        while not self._over.is_set():
            with contextlib.suppress(OSError, KeyError):
                jobs = {one["metadata"]["name"]: one for one in self.objects(MPIJOBS)}
                pods: dict[str, list[dict[str, Any]]] = {name: [] for name in jobs}
                for pod in self.objects("/api/v1/pods?labelSelector=weft-check"):
                    pods.setdefault(pod["metadata"]["labels"]["weft-job"], []).append(pod)
                for name, of in pods.items():
                    self._step(jobs.get(name), of)
            time.sleep(0.2)

    def _step(self, job: dict[str, Any] | None, pods: Sequence[dict[str, Any]]) -> None:
        """What the operator and the kubelets do next with a job (None: it is gone)."""
        if job is None or "deletionTimestamp" in job["metadata"]:
            now = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}
            for pod in pods:
                self.call("DELETE", _path(pod), now)
            if job is not None and not pods:
                # So does the garbage collector after a foreground deletion.
                self.call("PATCH", _path(job), {"metadata": {"finalizers": None}}, "merge")
            return
        workers = {
            one["metadata"]["name"]: one for one in pods if "-worker-" in one["metadata"]["name"]
        }
        nodes = job["metadata"]["annotations"]["weft-nodes"].split(",")
        for number, node in enumerate(nodes):
            if f"{job['metadata']['name']}-worker-{number}" not in workers:
                self._create(job, "Worker", f"worker-{number}", node)
        running = [one for one in workers.values() if one["status"].get("phase") == "Running"]
        launcher = f"{job['metadata']['name']}-launcher-x7k2p"
        names = {one["metadata"]["name"] for one in pods}
        if len(running) == len(nodes) and launcher not in names:
            self._create(job, "Launcher", "launcher-x7k2p", nodes[0])
        for pod in pods:
            self._run(pod, dict(zip(nodes, sorted(workers), strict=False)))

    def _create(self, job: dict[str, Any], role: str, ending: str, node: str) -> None:
        """A pod of the operator's, on its node unless that has no GPU left."""
        metadata = job["metadata"]
        template = job["spec"]["mpiReplicaSpecs"][role]["template"]
        owner = {"apiVersion": job["apiVersion"], "kind": job["kind"], "name": metadata["name"]}
        owner |= {"uid": metadata["uid"], "controller": True, "blockOwnerDeletion": True}
        named = {"name": f"{metadata['name']}-{ending}", "ownerReferences": [owner]}
        is_full = self.faults.get(node) == "gpus"
        spec = {**template["spec"], "restartPolicy": "Never", "hostname": named["name"]}
        body = {"metadata": {**template["metadata"], **named}}
        body["spec"] = spec if is_full else {**spec, "nodeName": node}
        pod = self.call("POST", f"/api/v1/namespaces/{metadata['namespace']}/pods", body)
        if is_full:
            text = "0/6 nodes are available: 1 Insufficient nvidia.com/gpu. preemption: none."
            condition = {"type": "PodScheduled", "status": "False", "message": text}
            status = {"conditions": [{**condition, "reason": "Unschedulable"}]}
            self.call("PATCH", f"{_path(pod)}/status", {"status": status}, "merge")

    def _run(self, pod: dict[str, Any], worker_of: Mapping[str, str]) -> None:
        """What the kubelet of its node does next with a pod."""
        node, phase = pod["spec"].get("nodeName"), pod["status"].get("phase")
        name = pod["metadata"]["name"]
        if node is None or phase in ("Succeeded", "Failed"):
            return
        if phase == "Pending":
            self._set(pod, *self._started(pod, node))
        elif self.faults.get(node) == "evicted":
            text = "The node was low on resource: memory."
            self._set(pod, "Failed", None, reason="Evicted", message=text)
        elif "-launcher-" in name:
            ended = self.output(sorted(worker_of), worker_of)
            self._texts[name] = ended.text
            if ended.exit_code is not None:
                state = {"exitCode": ended.exit_code, "reason": "Completed"}
                over = "Failed" if ended.exit_code else "Succeeded"
                self._set(pod, over, {"terminated": state})

    def _started(self, pod: dict[str, Any], node: str) -> tuple[str, dict[str, Any]]:
        if self.faults.get(node) == "image":
            message = "failed to pull and unpack image: 401 Unauthorized"
            return "Pending", {"waiting": {"reason": "ErrImagePull", "message": message}}
        return "Running", {"running": {"startedAt": time.strftime("%Y-%m-%dT%H:%M:%SZ")}}

    def _set(self, pod: dict[str, Any], phase: str, state: Any, **more: str) -> None:
        container = pod["spec"]["containers"][0]
        ready = "True" if phase == "Running" else "False"
        one = {
            "name": container["name"],
            "image": container["image"],
            "imageID": "",
            "restartCount": 0,
            "ready": phase == "Running",
            "state": state,
        }
        conditions = [*pod["status"].get("conditions", [])]
        conditions = [c for c in conditions if c["type"] not in ("Ready", "ContainersReady")]
        conditions += [{"type": kind, "status": ready} for kind in ("Ready", "ContainersReady")]
        status = {"phase": phase, "conditions": conditions, **more}
        status["containerStatuses"] = [one] if state else []
        self.call("PATCH", f"{_path(pod)}/status", {"status": status}, "merge")


def _path(of: Mapping[str, Any]) -> str:
    """Where a pod or a job is in the API."""
    metadata = of["metadata"]
    root, kind = ("/api/v1", "pods")
    if "worker" not in metadata["name"] and "launcher" not in metadata["name"]:
        root, kind = (MPIJOBS.rpartition("/")[0], "mpijobs")
    return f"{root}/namespaces/{metadata['namespace']}/{kind}/{metadata['name']}"


def _free_ports(n: int) -> list[int]:
    sockets = [socket.socket() for _ in range(n)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def need_programs(*names: str) -> Path:
    """The first of these programs. Skips where one is absent: `make` builds them."""
    missing = [name for name in names if not (PROGRAMS / name).is_file()]
    if missing:
        pytest.skip(f"no {', '.join(missing)} on this machine (make kubernetes)")
    return PROGRAMS / names[0]


def need_control_plane() -> None:
    """Skips where the programs of a control plane or kubectl are absent."""
    need_programs(*NEEDED)
    if shutil.which("kubectl") is None:
        pytest.skip("no kubectl on this machine")
