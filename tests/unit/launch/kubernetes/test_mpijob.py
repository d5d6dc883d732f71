"""The MPIJob of a launch: what the site's own manifest keeps, and what a launch needs."""

import getpass
import os
import re
import shutil
import socket
import subprocess
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from weft.catalog.toml_file import catalogue_text
from weft.core.errors import InputError
from weft.launch.kubernetes.mpijob import (
    SSH_OPTIONS,
    PodLaunch,
    PodSite,
    mpi_job,
    refuse_template,
)

OWN = yaml.safe_load(catalogue_text("kubernetes/mpijob.yaml")[0])
PAIR = PodLaunch(
    name="weft-1a2b3c-2-0-5",
    check="1a2b3c",
    nodes=("gpu-1.example.net", "gpu-2.example.net"),
    n_gpus=8,
    program=("/opt/all_reduce_perf", "-g", "1"),
    env={"NCCL_DEBUG": "WARN"},
    limit_s=60.0,
)
SITE: dict[str, Any] = {
    "apiVersion": "kubeflow.org/v2beta1",
    "kind": "MPIJob",
    "metadata": {"name": "ours", "labels": {"kueue.x-k8s.io/queue-name": "checks"}},
    "spec": {
        "runPolicy": {"backoffLimit": 6, "schedulingPolicy": {"queue": "q"}},
        "mpiReplicaSpecs": {
            "Launcher": {
                "template": {
                    "spec": {
                        "containers": [
                            {
                                "name": "mpi",
                                "image": "site/launcher",
                                "args": ["sleep", "1d"],
                                "env": [
                                    {"name": "NCCL_IB_GID_INDEX", "value": "3"},
                                    {"name": "NCCL_DEBUG", "value": "TRACE"},
                                    {"name": "OMPI_MCA_plm_rsh_args", "value": "-p 2222"},
                                ],
                            }
                        ]
                    }
                }
            },
            "Worker": {
                "replicas": 4,
                "template": {
                    "metadata": {"annotations": {"k8s.v1.cni.cncf.io/networks": "rail0"}},
                    "spec": {
                        "tolerations": [{"key": "team", "operator": "Exists"}],
                        "containers": [
                            {
                                "name": "mpi",
                                "image": "site/worker",
                                "resources": {
                                    "limits": {"rdma/hca": 1, "nvidia.com/gpu": 2},
                                    "requests": {"cpu": "40"},
                                },
                            },
                            {"name": "sidecar", "image": "site/sidecar"},
                        ],
                    },
                },
            },
        },
    },
}


def site_of(template: dict[str, Any] = OWN, image: str = "nccl:1") -> PodSite:
    return PodSite(template, image, "nvidia.com/gpu", 300.0)


def pod_of(job: dict[str, Any], role: str) -> Any:
    return job["spec"]["mpiReplicaSpecs"][role]["template"]["spec"]


def container_of(job: dict[str, Any], role: str) -> Any:
    return pod_of(job, role)["containers"][0]


def test_a_pair_has_a_worker_with_all_gpus_on_each_of_its_nodes() -> None:
    job = mpi_job(site_of(), PAIR)
    assert job["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"] == 2
    assert job["spec"]["slotsPerWorker"] == 8
    assert container_of(job, "Worker")["resources"]["limits"] == {"nvidia.com/gpu": 8}
    assert "resources" not in container_of(job, "Launcher")
    for role in ("Launcher", "Worker"):
        affinity = pod_of(job, role)["affinity"]["nodeAffinity"]
        terms = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        fields = [field for term in terms for field in term["matchFields"]]
        assert [field["values"] for field in fields] == [[node] for node in PAIR.nodes]
        assert "nodeName" not in pod_of(job, role)
    (apart,) = pod_of(job, "Worker")["affinity"]["podAntiAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]
    labels = job["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["metadata"]["labels"]
    assert apart["labelSelector"]["matchLabels"].items() <= labels.items()
    assert apart["labelSelector"]["matchLabels"]["weft-job"] == PAIR.name


def test_the_launcher_starts_a_rank_a_gpu_with_the_variables_of_the_image() -> None:
    command = container_of(mpi_job(site_of(), PAIR), "Launcher")["command"]
    words = command[command.index("mpirun") :]
    assert words[words.index("-n") + 1] == "16"
    assert words[-3:] == ["/opt/all_reduce_perf", "-g", "1"]
    passed = [words[i + 1] for i, word in enumerate(words) if word == "-x"]
    assert passed == ["NCCL_DEBUG=WARN", "PATH", "LD_LIBRARY_PATH"]


def test_a_crash_is_not_tried_again_and_nothing_outlives_the_limits() -> None:
    job = mpi_job(site_of(), PAIR)
    # The operator makes no launcher before all workers run: its deadline alone would free no GPU.
    assert 360 < pod_of(job, "Worker")["activeDeadlineSeconds"] <= 480
    policy = job["spec"]["runPolicy"]
    assert (policy["backoffLimit"], policy["activeDeadlineSeconds"]) == (0, 360)
    assert policy["ttlSecondsAfterFinished"] > 0
    replicas = job["spec"]["mpiReplicaSpecs"].values()
    assert {one["restartPolicy"] for one in replicas} == {"Never"}


def test_names_and_labels_are_valid_ones() -> None:
    job = mpi_job(site_of(), PAIR)
    # SOURCE: RFC 1035 label, at most 63 characters with what the operator adds.
    assert re.fullmatch(r"[a-z]([-a-z0-9]*[a-z0-9])?", f"{job['metadata']['name']}-worker-1")
    for value in job["metadata"]["labels"].values():
        assert re.fullmatch(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", value)


def test_what_the_site_says_stays_but_for_what_a_launch_needs() -> None:
    job = mpi_job(site_of(SITE, image=""), PAIR)
    assert job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "checks"
    assert job["metadata"]["name"] == PAIR.name
    assert job["spec"]["runPolicy"]["schedulingPolicy"] == {"queue": "q", "minAvailable": 2}
    assert job["spec"]["runPolicy"]["backoffLimit"] == 0
    worker = container_of(job, "Worker")
    assert worker["image"] == "site/worker"
    assert worker["resources"]["limits"] == {"rdma/hca": 1, "nvidia.com/gpu": 8}
    assert worker["resources"]["requests"] == {"cpu": "40", "nvidia.com/gpu": 8}
    assert {"key": "team", "operator": "Exists"} in pod_of(job, "Worker")["tolerations"]
    launcher = container_of(job, "Launcher")
    assert "args" not in launcher
    words = launcher["command"]
    assert words[words.index("plm_rsh_args") + 1] == "-p 2222"
    # A variable of the container reaches the ranks; weft's own value wins.
    passed = [words[i + 1] for i, word in enumerate(words) if word == "-x"]
    assert passed == ["NCCL_DEBUG=WARN", "PATH", "LD_LIBRARY_PATH", "NCCL_IB_GID_INDEX"]
    # The site's document is as it was.
    assert SITE["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"] == 4
    assert "affinity" not in SITE["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]


def test_what_would_put_ranks_elsewhere_or_never_start_does_not_stay() -> None:
    site = deepcopy(SITE)
    spec = site["spec"]
    spec |= {"mpiImplementation": "MPICH", "runLauncherAsWorker": True}
    spec["runPolicy"] = {"suspend": True, "schedulingPolicy": {"minAvailable": 5, "queue": "q"}}
    spec["runPolicy"]["schedulingPolicy"]["minResources"] = {"nvidia.com/gpu": 32}
    for role in ("Launcher", "Worker"):
        pod_of(site, role)["nodeName"] = "gpu-9"
    container_of(site, "Launcher")["resources"] = {
        "limits": {"nvidia.com/gpu": 8, "cpu": 2},
        "requests": {"nvidia.com/gpu": 8},
    }
    job = mpi_job(site_of(site), PAIR)
    # SOURCE: kubeflow/mpi-operator 0.6, newConfigMap: the host file is Open MPI's only then, and
    # has the launcher unless it is no worker.
    assert job["spec"]["mpiImplementation"] == "OpenMPI"
    assert not job["spec"].get("runLauncherAsWorker")
    policy = job["spec"]["runPolicy"]
    assert not policy.get("suspend")
    assert policy["schedulingPolicy"] == {"minAvailable": 2, "queue": "q"}
    assert container_of(job, "Launcher")["resources"] == {"limits": {"cpu": 2}, "requests": {}}
    for role in ("Launcher", "Worker"):
        assert "nodeName" not in pod_of(job, role)


def test_an_empty_part_of_the_site_s_manifest_is_one_that_is_absent() -> None:
    site = deepcopy(SITE)
    site["metadata"] = site["spec"]["runPolicy"] = None
    site["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["metadata"] = None
    container_of(site, "Worker")["resources"] = None
    job = mpi_job(site_of(site), PAIR)
    assert container_of(job, "Worker")["resources"]["limits"] == {"nvidia.com/gpu": 8}


def changed(path: str, value: Any) -> dict[str, Any]:
    """SITE with another value at a path of the launcher's pod, or of the job."""
    site = deepcopy(SITE)
    *keys, last = path.split(".")
    part: Any = site
    for key in keys:
        part = part[int(key)] if key.isdigit() else part.setdefault(key, {})
    part[last] = value
    return site


TEMPLATE = "spec.mpiReplicaSpecs.Launcher.template"


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("metadata", "ours", "metadata is 'ours'"),
        ("metadata.labels", ["a"], "metadata.labels is"),
        ("spec.runPolicy", [], "spec.runPolicy is"),
        (f"{TEMPLATE}.spec.tolerations", {"key": "a"}, "spec.tolerations is"),
        (f"{TEMPLATE}.spec.containers.0.env", {"A": "1"}, "env is"),
        (f"{TEMPLATE}.spec.containers.0.env", ["A=1"], "'A=1' is no variable"),
        (f"{TEMPLATE}.spec.containers.0.resources", {"limits": 8}, "resources.limits is 8"),
    ],
)
def test_a_part_of_another_form_is_refused(path: str, value: Any, words: str) -> None:
    with pytest.raises(InputError, match=re.escape(words)) as error:
        refuse_template(changed(path, value), "site.yaml")
    assert str(error.value.where).startswith("site.yaml")


def test_sshd_of_the_own_manifest_takes_keys_of_a_folder_that_all_may_write(
    tmp_path: Path,
) -> None:
    sshd = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin")
    if sshd is None or shutil.which("ssh") is None:
        pytest.skip("no sshd or no ssh on this machine")
    if os.getuid() == 0 and not Path("/run/sshd").is_dir():
        pytest.skip("no /run/sshd, which sshd of root needs")
    # So the operator mounts the secret with the keys. SOURCE: Kubernetes, volumes of tmpfs.
    keys = tmp_path / "keys"
    keys.mkdir()
    for name in ("host", "id_rsa"):
        argv = ["ssh-keygen", "-q", "-t", "ecdsa", "-N", "", "-f", str(keys / name)]
        subprocess.run(argv, check=True)
    (keys / "id_rsa.pub").rename(keys / "authorized_keys")
    keys.chmod(0o1777)
    script = container_of(mpi_job(site_of(), PAIR), "Worker")["command"][-1]
    (started,) = re.findall(r"exec /usr/sbin/sshd (.*)", script)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    argv = [sshd, *started.split(), "-f", "/dev/null", "-p", port, "-h", str(keys / "host")]
    argv += ["-o", f"AuthorizedKeysFile={keys}/authorized_keys", "-o", "PidFile=none"]
    server = subprocess.Popen(argv, stderr=subprocess.PIPE, text=True)
    try:
        words = ["ssh", "-p", port, "-i", str(keys / "id_rsa"), "-o", "BatchMode=yes"]
        words += [*SSH_OPTIONS.split(), getpass.getuser() + "@127.0.0.1", "echo", "in"]
        ran = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    finally:
        server.terminate()
        said = server.communicate(timeout=10)[1]
    assert ran.stdout == "in\n", f"{ran.stderr}\n{said}"


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ([], "no mapping is no manifest"),
        ({"apiVersion": "kubeflow.org/v1", "kind": "MPIJob"}, "kubeflow.org/v1 MPIJob is no"),
        ({**SITE, "spec": {"mpiReplicaSpecs": {}}}, "Launcher has no container"),
        ({**SITE, "spec": None}, "Launcher has no container"),
    ],
)
def test_what_is_no_mpijob_is_refused(document: Any, words: str) -> None:
    with pytest.raises(InputError, match=words) as error:
        refuse_template(document, "site.yaml")
    assert error.value.where == "site.yaml"


def launched(tmp_path: Path, programs: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """The launcher's command with no programs but these and those of the shell's own."""
    (tmp_path / "hostfile").write_text("one.svc slots=8\ntwo.svc slots=8\n")
    for name, script in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    command = container_of(mpi_job(site_of(), PAIR), "Launcher")["command"]
    words = [word.replace("/etc/mpi/hostfile", f"{tmp_path}/hostfile") for word in command]
    env = {"PATH": str(tmp_path)}
    return subprocess.run(words, env=env, capture_output=True, text=True, check=False, timeout=60)


def test_the_launcher_waits_for_names_and_calls_mpirun_by_its_whole_path(tmp_path: Path) -> None:
    # The second name is there at the second look.
    asked = tmp_path / "asked"
    getent = f"""\
    n=0; while read -r one; do [ "$one" = "$2" ] && n=$((n+1)); done <{asked}
    echo "$2" >>{asked}; [ "$2$n" != two.svc0 ]"""
    asked.write_text("")
    programs = {"mpirun": 'echo "$0" "$@"', "getent": getent, "sleep": "exit 0"}
    ran = launched(tmp_path, programs)
    lines = ran.stdout.splitlines()
    assert lines[:2] == ["weft: no address of two.svc", "weft: all addresses after 1 s"]
    assert lines[2].startswith(f"{tmp_path}/mpirun --allow-run-as-root --hostfile")
    assert asked.read_text().split() == ["one.svc", "two.svc", "two.svc"]


@pytest.mark.parametrize("missing", ["mpirun", "getent"])
def test_the_launcher_says_what_the_image_lacks(tmp_path: Path, missing: str) -> None:
    programs = {"mpirun": "exit 0", "getent": "exit 0"}
    del programs[missing]
    ran = launched(tmp_path, programs)
    assert ran.returncode != 0
    assert ran.stdout == f"weft: no {missing} in the image\n"
