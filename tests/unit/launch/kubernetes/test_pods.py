"""The state of a launch's pods: documents as the API server gives them, cut to what is read."""

from typing import Any

import pytest

from weft.launch.kubernetes.pods import launch_pods, offering

NODES = ("a.example", "b.example")


def pod(role: str, number: int, status: dict[str, Any], node: str | None = None) -> dict[str, Any]:
    name = f"weft-x-0-0-0-worker-{number}" if role == "worker" else "weft-x-0-0-0-launcher-h2xzl"
    spec: dict[str, Any] = {"containers": [{"name": role}]}
    if node is not None:
        spec["nodeName"] = node
    return {
        "metadata": {"name": name, "labels": {"weft-role": role}},
        "spec": spec,
        "status": status,
    }


def running(role: str, number: int, node: str) -> dict[str, Any]:
    state = [{"name": role, "state": {"running": {}}}]
    return pod(role, number, {"phase": "Running", "containerStatuses": state}, node)


def test_the_exit_code_is_that_of_the_container_that_runs_mpirun() -> None:
    ended = [
        {"name": "istio-proxy", "state": {"terminated": {"exitCode": 9}}},
        {"name": "launcher", "state": {"terminated": {"exitCode": 1, "reason": "Error"}}},
    ]
    launcher = pod("launcher", 0, {"phase": "Failed", "containerStatuses": ended}, NODES[0])
    state = launch_pods([running("worker", 0, NODES[0]), launcher], NODES)
    assert state.exit_code == 1
    assert state.launcher == ("weft-x-0-0-0-launcher-h2xzl", "launcher")
    assert state.problem is None


def test_a_pod_that_no_node_takes_belongs_to_the_node_without_one() -> None:
    text = "0/9 nodes are available: 1 Insufficient nvidia.com/gpu. preemption: 0/9 nodes"
    unplaced = {"type": "PodScheduled", "status": "False", "message": text}
    pods = [
        running("worker", 0, NODES[1]),
        pod("worker", 1, {"phase": "Pending", "conditions": [unplaced]}),
    ]
    problem = launch_pods(pods, NODES).problem
    assert problem is not None
    assert problem.node == NODES[0]
    assert problem.text == (
        "no pod fits on a.example: 0/9 nodes are available: 1 Insufficient nvidia.com/gpu"
    )


def test_workers_that_the_operator_ends_are_no_cause() -> None:
    ended = [{"name": "worker", "state": {"terminated": {"exitCode": 255, "reason": "Error"}}}]
    worker = pod("worker", 0, {"phase": "Failed", "containerStatuses": ended}, NODES[0])
    assert launch_pods([worker], NODES).problem is not None
    worker["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert launch_pods([worker], NODES).problem is None


@pytest.mark.parametrize(
    ("reason", "is_problem"),
    [("ContainerCreating", False), ("PodInitializing", False), ("CreateContainerError", True)],
)
def test_a_container_that_is_being_made_is_no_problem(reason: str, is_problem: bool) -> None:
    waits = [{"name": "worker", "state": {"waiting": {"reason": reason, "message": "m"}}}]
    one = pod("worker", 0, {"phase": "Pending", "containerStatuses": waits}, NODES[0])
    assert (launch_pods([one], NODES).problem is not None) == is_problem


def test_a_preempted_pod_is_an_evicted_one() -> None:
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "PreemptionByScheduler",
        "message": "default-scheduler: preempting to accommodate a higher priority pod",
    }
    one = running("worker", 0, NODES[0])
    one["status"]["conditions"] = [condition]
    problem = launch_pods([one], NODES).problem
    assert problem is not None
    assert problem.is_final
    assert "preempting to accommodate a higher priority pod" in problem.text


def test_a_pod_that_its_kubelet_refuses_is_told_at_once() -> None:
    status = {"phase": "Failed", "reason": "UnexpectedAdmissionError", "message": "no device"}
    problem = launch_pods([pod("worker", 0, status, NODES[0])], NODES).problem
    assert problem is not None
    assert problem.is_final
    assert problem.text == "its pod on a.example failed: UnexpectedAdmissionError: no device"


def test_only_ready_nodes_that_are_not_cordoned_offer_gpus() -> None:
    def node(name: str, gpus: str, ready: str = "True", **spec: Any) -> dict[str, Any]:
        conditions = [{"type": "Ready", "status": ready}]
        status = {"allocatable": {"nvidia.com/gpu": gpus}, "conditions": conditions}
        return {"metadata": {"name": name}, "spec": spec, "status": status}

    nodes = [
        node("n1", "8"),
        node("n2", "0"),
        node("n3", "8", ready="Unknown"),
        node("n4", "7", unschedulable=True),
    ]
    assert offering(nodes, "nvidia.com/gpu") == {"n1": 8}
    assert offering(nodes, "amd.com/gpu") == {}
    assert offering(nodes, "nvidia.com/gpu", usable=False) == {"n1": 8, "n3": 8, "n4": 7}


def test_a_launch_runs_once_its_workers_do() -> None:
    # A queue may start the launcher first. SOURCE: kubeflow/mpi-operator, pull request 868.
    pending = pod("worker", 1, {"phase": "Pending"}, NODES[1])
    launcher = running("launcher", 0, NODES[0])
    assert not launch_pods([running("worker", 0, NODES[0]), pending, launcher], NODES).is_running
    workers = [running("worker", i, node) for i, node in enumerate(NODES)]
    assert launch_pods([*workers, launcher], NODES).is_running


@pytest.mark.parametrize("placed", [(NODES[0], "c.example"), (NODES[0], NODES[0])])
def test_a_worker_on_another_node_than_asked_ends_the_launch(placed: tuple[str, str]) -> None:
    workers = [running("worker", i, node) for i, node in enumerate(placed)]
    problem = launch_pods(workers, NODES).problem
    assert problem is not None
    assert problem.is_final
    assert not problem.is_fault
    assert f"its pod was put on {placed[1]}, not on a.example or b.example alone" in problem.text


@pytest.mark.parametrize(
    ("condition", "more"),
    [({"reason": "SchedulingGated"}, {}), ({}, {"nominatedNodeName": NODES[0]})],
    ids=["a gate of a queue", "other pods are being preempted"],
)
def test_a_pod_that_is_still_to_get_its_node_is_no_problem(
    condition: dict[str, str], more: dict[str, str]
) -> None:
    unplaced = {"type": "PodScheduled", "status": "False", **condition}
    one = pod("worker", 0, {"phase": "Pending", "conditions": [unplaced], **more})
    assert launch_pods([one], NODES).problem is None


def ended(name: str, code: int) -> dict[str, Any]:
    return {"name": name, "state": {"terminated": {"exitCode": code, "reason": "Completed"}}}


def test_a_worker_whose_sshd_went_into_the_background_has_ended() -> None:
    status = {"phase": "Succeeded", "containerStatuses": [ended("worker", 0)]}
    problem = launch_pods([pod("worker", 0, status, NODES[0])], NODES).problem
    assert problem is not None
    assert problem.text == "sshd on a.example ended with exit code 0"
    assert problem.is_final


@pytest.mark.parametrize("role", ["worker", "launcher"])
def test_a_container_that_runs_first_and_fails_is_named(role: str) -> None:
    status = {"phase": "Failed", "initContainerStatuses": [ended("tuner", 3)]}
    one = pod(role, 0, status, NODES[0])
    problem = launch_pods([one], NODES).problem
    assert problem is not None
    assert problem.text == "container tuner on a.example ended with exit code 3"
    status["phase"] = "Pending"
    status["initContainerStatuses"] = [ended("tuner", 0)]
    assert launch_pods([one], NODES).problem is None
