"""The MPIJob of a launch: what the site's own manifest keeps, and what a launch needs."""

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from weft.catalog.toml_file import catalogue_text
from weft.core.errors import InputError
from weft.launch.kubernetes.mpijob import PodLaunch, PodSite, mpi_job, refuse_template

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
    assert job["spec"]["runPolicy"]["schedulingPolicy"] == {"queue": "q"}
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


def test_the_launcher_waits_for_names_and_calls_mpirun_by_its_whole_path(tmp_path: Path) -> None:
    (tmp_path / "hostfile").write_text("one.svc slots=8\ntwo.svc slots=8\n")
    for name, script in (
        ("mpirun", 'echo "$0" "$@"'),
        # The second name is there at the second look.
        ("getent", f'echo "$2" >>{tmp_path}/asked; [ $(grep -c two {tmp_path}/asked) != 1 ]'),
    ):
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    command = container_of(mpi_job(site_of(), PAIR), "Launcher")["command"]
    words = [word.replace("/etc/mpi/hostfile", f"{tmp_path}/hostfile") for word in command]
    path = f"{tmp_path}:{os.environ['PATH']}"
    ran = subprocess.run(words, env={"PATH": path}, capture_output=True, text=True, check=True)
    assert ran.stdout.startswith(f"{tmp_path}/mpirun --allow-run-as-root --hostfile")
    assert (tmp_path / "asked").read_text().split() == ["one.svc", "two.svc", "two.svc"]
