"""`weft check --launcher kubernetes` over a stand-in for kubectl: no job is left on the cluster,
all calls go to one cluster, nodes that are not checked are named, secrets are not kept."""

import json
import os
import re
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from tests.kubernetes.stand_in import NODES, StandInCluster, check
from tests.nccl_simulation import Planted
from tests.process_calls import not_ignored

from weft.bench.nccl import kubernetes
from weft.catalog.toml_file import catalogue_text

Capture = pytest.CaptureFixture[str]
Cluster = Callable[..., StandInCluster]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_weft_deletes_the_jobs(
    cluster: Cluster, tmp_path: Path, number: signal.Signals
) -> None:
    made = cluster(Planted(hangs=NODES, hangs_alone=NODES))
    with not_ignored(number):
        kept = signal.getsignal(number)
        ended_by = end_weft(made, number)
        assert check(tmp_path, "--launch-limit", "60s") == 130
        assert signal.getsignal(number) is kept
    assert ended_by == [number]
    assert made.left == []
    assert [one for one in made.calls if "delete" in one][-1][-1] == "--wait=false"


def end_weft(made: StandInCluster, number: signal.Signals) -> list[signal.Signals]:
    """Send a signal as soon as there are jobs; SIGINT instead of one that would end the tests."""
    sent: list[signal.Signals] = []

    def interrupt() -> None:
        end = time.monotonic() + 60
        while not made.left and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(0.5)
        is_deadly = signal.getsignal(number) is signal.SIG_DFL
        sent.append(signal.SIGINT if is_deadly else number)
        os.kill(os.getpid(), sent[-1])

    threading.Thread(target=interrupt, daemon=True).start()
    return sent


def test_an_interrupt_that_leaves_jobs_says_how_to_delete_them(
    cluster: Cluster, tmp_path: Path, capsys: Capture
) -> None:
    hanging = Planted(hangs=NODES, hangs_alone=NODES)
    made = cluster(hanging, refused={"delete": "Unable to connect to the server: EOF"})
    end_weft(made, signal.SIGINT)
    assert check(tmp_path, "--launch-limit", "60s", "--namespace", "lab") == 130
    err = capsys.readouterr().err
    assert re.search(
        r"interrupted\njobs are left on the cluster\n"
        r"next: kubectl --context site --namespace lab delete mpijobs -l weft-check=\w{6}\n",
        err,
    ), err
    assert "nothing goes on" not in err


def test_jobs_that_cannot_be_deleted_are_not_followed_by_more(
    cluster: Cluster, tmp_path: Path
) -> None:
    made = cluster(refused={"delete": "Error from server (Forbidden): cannot delete"})
    assert check(tmp_path) == 4
    assert sum("create" in one for one in made.calls) == 1


def test_all_calls_keep_to_the_cluster_of_the_first(cluster: Cluster, tmp_path: Path) -> None:
    made = cluster(everywhere=("operator",))
    assert check(tmp_path, "--start-limit", "1s") == 3
    first, *others = made.calls
    assert first[0] == "config"
    where = ["--context", "site", "--namespace", "checks"]
    assert {tuple(one[:4]) for one in others} == {tuple(where)}


def test_gpu_nodes_that_are_not_checked_are_named(
    cluster: Cluster, tmp_path: Path, capsys: Capture
) -> None:
    made = cluster(everywhere=("operator",))
    nodes = {one["metadata"]["name"]: one for one in made.cluster["nodes"]}
    nodes[NODES[0]]["status"]["conditions"][0]["status"] = "Unknown"
    nodes[NODES[1]]["spec"]["unschedulable"] = True
    nodes[NODES[2]]["status"] |= {"allocatable": {}, "capacity": {"nvidia.com/gpu": "8"}}
    nodes[NODES[3]]["status"]["allocatable"]["nvidia.com/gpu"] = "7"
    (made.folder / "cluster.json").write_text(json.dumps(made.cluster))
    assert check(tmp_path, "--start-limit", "1s") == 3
    err = capsys.readouterr().err
    assert f"left out, because not ready: {NODES[0]} " in err
    assert f"left out, because cordoned: {NODES[1]} " in err
    assert f"left out, because no nvidia.com/gpu works: {NODES[2]} " in err
    assert f"fewer than 8 nvidia.com/gpu on {NODES[3]}: no pod will start there" in err


def test_a_user_who_may_not_list_nodes_is_told_to_name_them(
    cluster: Cluster, tmp_path: Path, capsys: Capture
) -> None:
    cluster(
        refused={"get": 'Error from server (Forbidden): nodes is forbidden: cannot list "nodes"'}
    )
    assert check(tmp_path) == 3
    assert (
        "hint: name nodes and GPUs: --hosts NODESET --tasks-per-node N" in capsys.readouterr().err
    )


def test_secrets_of_the_manifest_are_not_kept_or_printed(
    cluster: Cluster, tmp_path: Path, capsys: Capture
) -> None:
    cluster(everywhere=("operator",))
    document = yaml.safe_load(catalogue_text("kubernetes/mpijob.yaml")[0])
    worker = document["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    variables = {"HF_TOKEN": "correct-horse", "DB_PASSWORD": "battery", "NCCL_IB_HCA": "mlx5_7"}
    worker["env"] = [{"name": name, "value": value} for name, value in variables.items()]
    site = tmp_path / "site.yaml"
    site.write_text(yaml.safe_dump(document))
    assert check(tmp_path, "--manifest", str(site), "--dry-run") == 0
    shown = capsys.readouterr().out
    assert check(tmp_path, "--manifest", str(site), "--start-limit", "1s") == 3
    capsys.readouterr()
    kept = [one.read_text() for one in (tmp_path / "run").rglob("*") if one.is_file()]
    assert sum("mlx5_7" in text for text in (shown, *kept)) > 1
    for text in (shown, *kept):
        assert "correct-horse" not in text
        assert "battery" not in text


def test_a_dry_run_fits_a_terminal_and_is_what_is_created(
    cluster: Cluster, tmp_path: Path, capsys: Capture
) -> None:
    made = cluster(everywhere=("operator",))
    assert check(tmp_path, "--start-limit", "1s", "--dry-run") == 0
    shown = capsys.readouterr().out
    assert "and the start of its pods, up to a minute a round" in shown
    text = shown.partition("# t000-nodes-alone-1\n")[2].partition("# the first of")[0]
    assert max(map(len, text.splitlines())) <= 80
    assert not any("create" in one for one in made.calls)
    assert check(tmp_path, "--start-limit", "1s") == 3
    (first, *_) = sorted((tmp_path / "run/recipes").glob("t000*"))
    created = yaml.safe_load(first.read_text())
    check_id = created["metadata"]["labels"]["weft-check"]
    assert yaml.safe_load(text.replace("000000", check_id)) == created


def test_a_date_in_the_manifest_is_refused(
    cluster: Cluster, tmp_path: Path, capsys: Capture
) -> None:
    cluster()
    site = tmp_path / "site.yaml"
    text = catalogue_text("kubernetes/mpijob.yaml")[0]
    site.write_text(f"{text}\nmetadata: {{annotations: {{since: 2026-01-31}}}}\n")
    assert check(tmp_path, "--manifest", str(site)) == 2
    err = capsys.readouterr().err
    assert "a value that JSON does not have" in err
    assert "put it into quotes" in err


@pytest.mark.parametrize("domain", ["", ".weft-a.ns.svc", ".weft-a.ns.svc.k8s.site.example"])
def test_output_names_nodes_whatever_the_domain_of_the_cluster(domain: str) -> None:
    text = f"process on node weft-a-worker-1{domain} exited."
    node_of = {"weft-a-worker-1": NODES[0], "weft-a-worker-10": NODES[1]}
    assert kubernetes._with_nodes(text, node_of) == f"process on node {NODES[0]} exited."


def test_pods_that_a_namespace_forbids_are_told_apart_from_an_operator_that_is_away() -> None:
    said = ': worker pod created failed: pods "w" is forbidden: violates PodSecurity "baseline"'
    assert "Pod Security" in kubernetes._no_pod(said).remedy
    assert "the operator's pod and its log" in kubernetes._no_pod(" in 300 s").remedy
