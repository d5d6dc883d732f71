"""`weft check --with nccl --launcher kubernetes`: the plan, and input that it refuses."""

import json
import os
from pathlib import Path

import pytest
import yaml
from tests.kubernetes.stand_in import StandInCluster

from weft.cli import run

Capture = pytest.CaptureFixture[str]
NODES = tuple(f"gpu-{i}" for i in range(1, 7))


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandInCluster:
    made = StandInCluster(tmp_path / "cluster", NODES)
    monkeypatch.setenv("PATH", str(made.folder), prepend=os.pathsep)
    return made


def changed(cluster: StandInCluster, number: int, **status: object) -> None:
    """Write the cluster anew with another status of a node."""
    cluster.cluster["nodes"][number]["status"].update(status)
    (cluster.folder / "cluster.json").write_text(json.dumps(cluster.cluster))


def planned(*more: str, with_: str = "nccl") -> int:
    options = ("--launcher", "kubernetes", "--dry-run", "--format", "json")
    return run(["check", "--with", with_, *options, *more])


def manifests(capsys: Capture) -> list[dict[str, object]]:
    """By trial the first manifest; the first line of the text is one of YAML."""
    return [yaml.safe_load(one["recipe"]) for one in json.loads(capsys.readouterr().out)["trials"]]


def test_all_usable_nodes_with_the_gpus_that_most_offer(
    cluster: StandInCluster, capsys: Capture
) -> None:
    changed(cluster, 0, conditions=[{"type": "Ready", "status": "False"}])
    # One has lost a GPU: it is measured as if it had all, so that this shows.
    changed(cluster, 1, allocatable={"nvidia.com/gpu": "7"})
    assert planned("--image", "site/nccl:1", "--format", "text") == 0
    out = capsys.readouterr().out
    assert out.startswith("plan     5 nodes alone twice, then all pairs: 10 of 10 pairs of 5 nodes")
    assert "# t000-nodes-alone-1\napiVersion: kubeflow.org/v2beta1\nkind: MPIJob\n" in out
    assert "# the first of 10 launches in 5 rounds" in out
    assert planned("--image", "site/nccl:1") == 0
    alone, _, survey = manifests(capsys)
    assert alone["metadata"]["annotations"]["weft-nodes"] == "gpu-2"
    assert alone["spec"]["slotsPerWorker"] == 8
    assert len(survey["metadata"]["annotations"]["weft-nodes"].split(",")) == 2


def test_named_hosts_and_gpus_need_no_cluster_for_a_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    made = StandInCluster(tmp_path / "c", NODES, refused={"get": "The connection was refused"})
    monkeypatch.setenv("PATH", str(made.folder), prepend=os.pathsep)
    options = ("--image", "site/rccl:1", "--hosts", "mi300-[1-2]", "--tasks-per-node", "4")
    assert planned(*options, with_="rccl") == 0
    (worker,) = {
        json.dumps(one["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0])
        for one in manifests(capsys)
    }
    assert json.loads(worker)["resources"]["limits"] == {"amd.com/gpu": 4}
    assert planned("--image", "site/rccl:1", "--hosts", "mi300-[1-2]") == 3
    assert "the API server does not answer" in capsys.readouterr().err


def test_variables_of_this_shell_reach_the_ranks_but_its_path_does_not(
    cluster: StandInCluster, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("NCCL_IB_GID_INDEX", "3")
    assert planned("--image", "site/nccl:1", "--rails", "mlx5_0:1,mlx5_1:1") == 0
    launcher = manifests(capsys)[0]["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]
    words = launcher["containers"][0]["command"]
    assert "NCCL_IB_GID_INDEX=3" in words
    assert "NCCL_IB_HCA==mlx5_0:1,mlx5_1:1" in words
    assert not [word for word in words if word.startswith("PATH=")]


SITE = """\
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
spec:
  mpiReplicaSpecs:
    Launcher: {template: {spec: {containers: [{name: l, image: site/nccl:2}]}}}
    Worker: {template: {spec: {hostNetwork: true, containers: [{name: w%s}]}}}
"""
IMAGE = ("--image", "site/nccl:1")


@pytest.mark.parametrize(
    ("options", "site", "code", "words"),
    [
        ((), None, 2, "no image for the pods"),
        (("--manifest", "@"), SITE % "", 2, "no image for the pods"),
        (("--manifest", "@"), "a: [", 2, "no YAML"),
        (("--manifest", "@"), f"{SITE % ''}---\n{SITE % ''}", 2, "2 documents"),
        (("--manifest", "@"), "apiVersion: v1\nkind: Pod\n", 2, "v1 Pod is no manifest for"),
        ((*IMAGE, "--manifest", "/nowhere.yaml"), None, 2, "/nowhere.yaml"),
        ((*IMAGE, "--hosts", "gpu-[1-2],gpu-9"), None, 2, "the cluster has no node gpu-9"),
        ((*IMAGE, "--hosts", "gpu-1"), None, 2, "one node has no pair to measure"),
        ((*IMAGE, "--mpi", "site"), None, 2, "--mpi and --launcher kubernetes contradict"),
        ((*IMAGE, "--mount", "/a:/b"), None, 2, "--mount and --launcher kubernetes contradict"),
        ((*IMAGE, "--start-limit", "soon"), None, 2, "soon"),
        ((*IMAGE, "--twin", "fat-tree"), None, 2, "--twin and --with contradict"),
        ((*IMAGE, "--with", "rccl"), None, 3, "no node offers amd.com/gpu"),
    ],
)
def test_what_it_cannot_do_is_refused(
    cluster: StandInCluster,
    tmp_path: Path,
    capsys: Capture,
    options: tuple[str, ...],
    site: str | None,
    code: int,
    words: str,
) -> None:
    assert cluster.left == []
    file = tmp_path / "site.yaml"
    if site is not None:
        file.write_text(site)
    assert planned(*(str(file) if word == "@" else word for word in options)) == code
    assert words in capsys.readouterr().err


def test_a_site_manifest_with_images_needs_no_other(
    cluster: StandInCluster, tmp_path: Path, capsys: Capture
) -> None:
    assert cluster.left == []
    site = tmp_path / "site.yaml"
    site.write_text(SITE % ", image: site/worker")
    assert planned("--manifest", str(site)) == 0
    worker = manifests(capsys)[0]["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]
    assert worker["hostNetwork"] is True
    assert worker["containers"][0]["image"] == "site/worker"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("check", "--with", "nccl", "--manifest", "f"), "--manifest needs --launcher kubernetes"),
        (("check", "--start-limit", "5m"), "--start-limit needs --with"),
        (("check", "--launcher", "kubernetes"), "--launcher kubernetes starts nccl-tests only"),
        (("bench", "latency", "--launcher", "kubernetes"), "starts nccl-tests only"),
    ],
)
def test_other_checks_have_no_pods(capsys: Capture, options: tuple[str, ...], words: str) -> None:
    assert run([*options, "--hosts", "a,b", "--dry-run"]) == 2
    assert words in capsys.readouterr().err
