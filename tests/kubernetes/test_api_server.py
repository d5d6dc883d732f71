"""`weft check --launcher kubernetes` against a real API server, with the CRD of the MPI operator;
pods, their nodes and nccl-tests are played (tests/kubernetes/control_plane.py)."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random

import pytest
import yaml
from tests.kubernetes.control_plane import ControlPlane, Ended, need_control_plane
from tests.nccl_simulation import Planted, SimulatedNccl

from weft.bench.nccl import kubernetes
from weft.bench.nccl.program import NcclGroup
from weft.cli import run
from weft.core.process import Ending

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
Capture = pytest.CaptureFixture[str]
NODES = tuple(f"gpu-{i}" for i in range(1, 7))
THIRD = NODES[2]
LEFT = ("/apis/kubeflow.org/v2beta1/mpijobs", "/api/v1/pods")


class Played:
    """The output of nccl-tests on nodes with planted faults; hosts are pods there."""

    planted = Planted()

    def __call__(self, nodes: Sequence[str], pods: Mapping[str, str]) -> Ended:
        backend = SimulatedNccl(NODES, self.planted, seed=2)
        ended, out, err = backend._text(NcclGroup(tuple(nodes)), Random(f"{nodes}"))
        text = out + err
        for node in nodes:
            text = text.replace(node, pods[node])
        return Ended(text, None if ended.ending is Ending.TIMED_OUT else ended.exit_code)


@pytest.fixture(scope="module")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    need_control_plane()
    made = ControlPlane(tmp_path_factory.mktemp("cluster") / "c", NODES, Played())
    try:
        made.start()
        yield made
    finally:
        made.stop()


@pytest.fixture
def cluster(control_plane: ControlPlane, monkeypatch: pytest.MonkeyPatch) -> Iterator[ControlPlane]:
    """The cluster without faults, which kubectl reaches; nothing of a check is left in it."""
    monkeypatch.setenv("KUBECONFIG", str(control_plane.kubeconfig))
    monkeypatch.setattr(kubernetes, "POLL_S", 0.5)
    monkeypatch.setattr(kubernetes, "SETTLE_S", 10.0)
    control_plane.faults.clear()
    Played.planted = Planted()
    yield control_plane
    ours = [
        f"{path}/{one['metadata']['name']}"
        for path in LEFT
        for one in control_plane.objects(path)
        if one["metadata"]["name"].startswith("weft-")
    ]
    assert ours == []


def check(where: Path, *more: str) -> int:
    limits = ("--launch-limit", "20s", "--start-limit", "60s", "--no-report")
    options = ("--launcher", "kubernetes", "--image", "site/nccl-tests:1", *limits)
    return run(["check", "--with", "nccl", *options, "--dir", str(where / "run"), *more])


def test_the_api_server_takes_the_manifest_strictly(
    cluster: ControlPlane, capsys: Capture, tmp_path: Path
) -> None:
    options = ("--launcher", "kubernetes", "--image", "site/nccl-tests:1", "--dry-run")
    assert run(["check", "--with", "nccl", *options, "--format", "json"]) == 0
    trials = json.loads(capsys.readouterr().out)["trials"]
    assert [one["trial"] for one in trials][::2] == ["t000-nodes-alone-1", "t001-survey"]
    for trial in trials:
        made = cluster.kubectl(
            *("create", "--dry-run=server", "--validate=strict", "-o", "json", "-f", "-"),
            stdin=trial["recipe"],
        )
        sent = yaml.safe_load(trial["recipe"])
        kept = json.loads(made)
        # The server drops nothing that weft wrote.
        assert kept["spec"]["mpiReplicaSpecs"] == sent["spec"]["mpiReplicaSpecs"]
        assert kept["spec"]["runPolicy"].items() >= sent["spec"]["runPolicy"].items()


def test_sound_nodes_are_good(cluster: ControlPlane, tmp_path: Path, capsys: Capture) -> None:
    assert check(tmp_path) == 0
    assert capsys.readouterr().out.startswith("OK   6 of 6 nodes   pairs 15 of 15 measured")
    states = list((tmp_path / "run/raw").glob("t001-survey.*.pods.json"))
    assert len(states) == 15
    for state in states:
        pods = json.loads(state.read_text())
        workers = {pod["spec"]["nodeName"] for pod in pods if "-worker-" in pod["metadata"]["name"]}
        assert all(node in state.name for node in workers)
        assert len(workers) == 2


def test_a_slow_node_is_named(cluster: ControlPlane, tmp_path: Path, capsys: Capture) -> None:
    Played.planted = Planted(net={THIRD: 0.5})
    assert check(tmp_path) == 1
    assert capsys.readouterr().out.startswith(f"BAD  1 node   {THIRD}   5")


@pytest.mark.parametrize(
    ("fault", "clause"),
    [
        ("image", "image site/nccl-tests:1 cannot be pulled on gpu-3: ErrImagePull: failed"),
        ("gpus", "no pod fits on gpu-3: 0/6 nodes are available: 1 Insufficient nvidia.com/gpu"),
        ("evicted", "its pod on gpu-3 was evicted: The node was low on resource: memory."),
    ],
)
def test_a_node_whose_pods_do_not_run_is_not_accused(
    cluster: ControlPlane, tmp_path: Path, capsys: Capture, fault: str, clause: str
) -> None:
    cluster.faults[THIRD] = fault
    assert check(tmp_path) == 5
    out = capsys.readouterr().out
    assert f"node {THIRD} was not measured: {clause}" in out, out


def test_a_user_who_may_not_create_jobs_is_told(
    cluster: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    config = json.loads(cluster.kubeconfig.read_text())
    config["users"][0]["user"] |= {"as": "nobody", "as-groups": ["system:authenticated"]}
    other = tmp_path / "kubeconfig"
    other.write_text(json.dumps(config))
    monkeypatch.setenv("KUBECONFIG", str(other))
    assert check(tmp_path, "--hosts", ",".join(NODES), "--tasks-per-node", "8") == 3
    err = capsys.readouterr().err
    assert "this user may not do that" in err
    assert "kubectl auth can-i create mpijobs" in err


def test_a_namespace_that_is_not_there_is_told(
    cluster: ControlPlane, tmp_path: Path, capsys: Capture
) -> None:
    assert check(tmp_path, "--namespace", "nowhere") == 3
    assert "the cluster has no such namespace" in capsys.readouterr().err


def test_a_manifest_with_an_unknown_key_is_refused(
    cluster: ControlPlane, tmp_path: Path, capsys: Capture
) -> None:
    capsys.readouterr()
    options = ("--launcher", "kubernetes", "--image", "site/nccl-tests:1", "--dry-run")
    assert run(["check", "--with", "nccl", *options, "--format", "json"]) == 0
    trials = json.loads(capsys.readouterr().out)["trials"]
    manifest = yaml.safe_load(trials[0]["recipe"])
    manifest["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["hostNetwrok"] = True
    site = tmp_path / "site.yaml"
    site.write_text(yaml.safe_dump(manifest))
    assert check(tmp_path, "--manifest", str(site)) == 2
    err = capsys.readouterr().err
    assert "the cluster refuses the manifest" in err
    assert "hostNetwrok" in err
    assert os.environ["KUBECONFIG"]
