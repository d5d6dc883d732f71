"""`weft check --with nccl --launcher kubernetes` over a stand-in for kubectl: faults of nodes are
named as with other launchers, faults of the cluster with the next step; no object is left."""

import re
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from tests.kubernetes.stand_in import NODES, StandInCluster, check
from tests.nccl_simulation import Planted

from weft.cli import run
from weft.launch.kubernetes import kubectl

THIRD = NODES[2]
VERBS = {"config", "create", "get", "logs", "delete"}
Capture = pytest.CaptureFixture[str]
Cluster = Callable[..., StandInCluster]


OF_NODES = {
    "net": (
        Planted(net={THIRD: 0.5}),
        rf"BAD  1 node   {THIRD}   5\d % of others \(1\d\d of 3\d\d GB/s of bus bandwidth\)",
    ),
    "nvlink": (
        Planted(nvlink={THIRD: 0.7}),
        rf"BAD  Node {THIRD} is slow inside: \d\d % of others",
    ),
    "wrong": (Planted(wrong={THIRD: 7}), rf"BAD  Node {THIRD} gives wrong results with others"),
    "crash": (
        Planted(crashes=(THIRD,)),
        rf"BAD  Node {THIRD} fails with others: was killed by signal 11",
    ),
    "hang": (Planted(hangs=(THIRD,)), rf"BAD  Node {THIRD} fails with others: did not end in 1 s"),
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", OF_NODES)
def test_a_fault_of_a_node_is_named_as_with_other_launchers(
    cluster: Cluster, tmp_path: Path, capsys: Capture, fault: str
) -> None:
    planted, expected = OF_NODES[fault]
    made = cluster(planted)
    assert check(tmp_path) == 1
    out = capsys.readouterr().out
    assert re.match(expected, out), out
    assert len(re.findall("^BAD", out, re.MULTILINE)) == 1
    assert made.left == []
    assert run(["check", "--from", str(tmp_path / "run")]) == 1
    assert capsys.readouterr().out.startswith(out.splitlines()[0])


@pytest.mark.slow
def test_sound_nodes_are_good_and_the_run_keeps_manifests_and_output(
    cluster: Cluster, tmp_path: Path, capsys: Capture
) -> None:
    made = cluster()
    assert check(tmp_path) == 0
    assert capsys.readouterr().out.startswith("OK   6 of 6 nodes   pairs 15 of 15 measured")
    assert made.left == []
    # Pods have names of weft's; the kept output names the nodes.
    kept = list((tmp_path / "run/raw").glob("t001-survey*.out"))
    assert len(kept) == 15
    for one in kept:
        on = set(re.findall(r" on +(\S+) device", one.read_text()))
        assert len(on) == 2
        assert on <= set(NODES)
    manifests = list((tmp_path / "run/recipes").glob("t001-survey*.yaml"))
    names = {yaml.safe_load(one.read_text())["metadata"]["name"] for one in manifests}
    assert len(names) == 15


OF_CLUSTER = {
    "image": (
        f"image site/nccl-tests:1 cannot be pulled on {THIRD}: ErrImagePull: failed to pull: 401",
        "the name after --image",
    ),
    "gpus": (f"no pod fits on {THIRD}: 0/6 nodes are available: 1 Insufficient", "free what other"),
    "mount": (
        'did not start in 3 s: MountVolume.SetUp failed for volume "scratch"',
        "--start-limit, or 'kubectl describe pod'",
    ),
    "evicted": (
        f"its pod on {THIRD} was evicted: The node was low on resource: ephemeral-storage.",
        "free its disk or memory",
    ),
    "sshd": (f"sshd on {THIRD} ended with exit code 127", "openssh-server"),
    "deleted": ("its pods were deleted while it ran", "keep other controllers"),
    "drained": ("its pods were deleted while it ran", "drains of nodes"),
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", OF_CLUSTER)
def test_a_node_whose_pods_do_not_run_is_not_accused(
    cluster: Cluster, tmp_path: Path, capsys: Capture, fault: str
) -> None:
    made = cluster(faults={THIRD: fault})
    assert check(tmp_path) == 5
    out = capsys.readouterr().out
    clause, remedy = OF_CLUSTER[fault]
    assert f"node {THIRD} was not measured: " in out, out
    assert clause in out, out
    assert remedy in out, out
    assert "BAD" not in out
    assert made.left == []


@pytest.mark.slow
def test_a_container_that_reaches_its_memory_limit_is_a_failure(
    cluster: Cluster, tmp_path: Path, capsys: Capture
) -> None:
    made = cluster(faults={THIRD: "memory"})
    assert check(tmp_path) == 1
    out = capsys.readouterr().out
    assert out.startswith(f"BAD  Node {THIRD} fails alone: its container on {THIRD} was killed, ")
    assert made.left == []


@pytest.mark.parametrize(
    ("fault", "clause", "hint"),
    [
        ("image", "cannot be pulled on", "imagePullSecrets"),
        ("gpus", "no pod fits on", "kubectl describe node"),
        ("sshd", "sshd on", "openssh-server"),
    ],
)
def test_a_fault_of_all_nodes_ends_the_check_with_the_next_step(
    cluster: Cluster, tmp_path: Path, capsys: Capture, fault: str, clause: str, hint: str
) -> None:
    made = cluster(faults=dict.fromkeys(NODES, fault))
    assert check(tmp_path) == 3
    err = capsys.readouterr().err
    assert clause in err
    assert "in every launch" in err
    assert hint in err
    assert made.left == []


REFUSALS = {
    "no operator": (
        {"create": 'error: no matches for kind "MPIJob" in version "kubeflow.org/v2beta1"'},
        (3, "the cluster has no MPIJob", "install the MPI operator"),
    ),
    "forbidden": (
        {"create": 'Error from server (Forbidden): User "jane" cannot create resource "mpijobs"'},
        (3, "this user may not do that", "kubectl auth can-i create mpijobs"),
    ),
    "namespace": (
        {"create": 'Error from server (NotFound): namespaces "lab" not found'},
        (3, "the cluster has no such namespace", "--namespace NAME"),
    ),
    "quota": (
        {"create": 'Error from server (Forbidden): pods "x" is forbidden: exceeded quota: gpus'},
        (3, "a quota of the namespace forbids the pods", "ResourceQuota"),
    ),
    "refused manifest": (
        {"create": 'MPIJob in version "v2beta1" cannot be handled: strict decoding error: unknown'},
        (2, "the cluster refuses the manifest", "mend --manifest"),
    ),
    "unreachable": (
        {"get": "The connection to the server 10.0.0.1:6443 was refused - did you specify it?"},
        (3, "the API server does not answer", "kubectl cluster-info"),
    ),
    "logged out": (
        {"get": "error: You must be logged in to the server (Unauthorized)"},
        (3, "the cluster does not accept these credentials", "log in again"),
    ),
    "no delete": (
        {"delete": 'Error from server (Forbidden): cannot delete resource "mpijobs"'},
        (
            *(4, "the jobs of this check cannot be deleted"),
            "kubectl --context site --namespace checks delete mpijobs -l weft-check=",
        ),
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_cluster_that_refuses_says_why_and_what_to_do(
    cluster: Cluster, tmp_path: Path, capsys: Capture, name: str
) -> None:
    refused, (code, clause, hint) = REFUSALS[name]
    made = cluster(refused=refused)
    assert check(tmp_path) == code
    err = capsys.readouterr().err
    assert clause in err, err
    assert hint in err, err
    assert (made.left == []) == (name != "no delete")


def test_an_operator_that_makes_no_pod_ends_the_check_at_the_limit(
    cluster: Cluster, tmp_path: Path, capsys: Capture
) -> None:
    made = cluster(everywhere=("operator",))
    started = time.monotonic()
    assert check(tmp_path, "--start-limit", "1s") == 3
    assert time.monotonic() - started < 60
    err = capsys.readouterr().err
    assert "the MPI operator made no pod of it in 1 s in every launch" in err
    assert "the operator's pod and its log" in err
    assert made.left == []


def test_a_kubectl_that_hangs_ends_the_check(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    made = cluster(everywhere=("create",))
    monkeypatch.setattr(kubectl, "CALL_S", 5.0)
    assert check(tmp_path) == 3
    assert "the API server does not answer: kubectl timed out" in capsys.readouterr().err
    assert made.left == []


LAUNCHERS = {
    "ssh": (
        "root@weft-x: Permission denied (publickey,password).\n"
        "ORTE was unable to reliably start one or more daemons.\n",
        ("its launcher did not reach a worker over ssh: root@weft-x: Permission", "StrictModes no"),
    ),
    "mpirun": ("weft: no mpirun in the image\n", ("found no mpirun in the image", "Open MPI")),
}


@pytest.mark.parametrize("name", LAUNCHERS)
def test_a_launcher_that_starts_no_rank_tells_what_it_lacks(
    cluster: Cluster, tmp_path: Path, capsys: Capture, name: str
) -> None:
    text, (clause, hint) = LAUNCHERS[name]
    made = cluster(Planted(crashes=NODES, crashes_alone=NODES), says=text)
    assert check(tmp_path) == 3
    err = capsys.readouterr().err
    assert clause in err
    assert hint in err
    assert made.left == []


def test_without_kubectl_the_error_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert check(tmp_path) == 3
    assert "no 'kubectl' on PATH" in capsys.readouterr().err


@pytest.mark.slow
def test_the_real_kubectl_knows_all_words(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = shutil.which("kubectl")
    if real is None:
        pytest.skip("no kubectl on this machine")
    made = cluster(faults={THIRD: "mount"})
    check(tmp_path, "--namespace", "lab", "--start-limit", "1s")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    seen: dict[tuple[str, ...], str] = {}
    for words in made.calls:
        verb = next(word for word in words if word in VERBS)
        kind = tuple(word.partition("=")[0] for word in words if word.startswith("-"))
        if (verb, *kind) in seen:
            continue
        ran = subprocess.run(
            [real, *words], input="{}", capture_output=True, text=True, timeout=60, check=False
        )
        seen[verb, *kind] = ran.stderr
    assert {one[0] for one in seen} == VERBS
    for words_, said in seen.items():
        assert "unknown" not in said, (words_, said)
