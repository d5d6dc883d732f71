"""`weft cluster` where nothing can be reached: what is wrong, where, and what to do."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from weft.cli import run
from weft.cluster.local.layout import LAYOUT_FILE, MARKER
from weft.cluster.local.start import leftovers, processes_of
from weft.cluster.record import ClusterRecord, former_hosts, read_cluster, remember

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "weft/clusters"


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["up"], "which hosts?"),
        (["up", "n1", "--local", "2"], "HOSTS and --local contradict each other"),
        (["up", "--local", "2", "--sudo"], "--sudo would install packages on this machine"),
        (["up", "--local", "2", "--rate", "node9=1gbit"], "--rate names 'node9'"),
        (["up", "--local", "2", "--rate", "node1=fast"], "--rate 'node1=fast'"),
        (["up", "--local", "2", "--rate", "node1:up=1gbit"], "--rate 'node1:up=1gbit'"),
        (["up", "--local", "2", "--delay", "node1=0us"], "--delay 'node1=0us'"),
        (["up", "--local", "2", "--delay", "node1=2000ms"], "HOSTS=TIME up to 1000ms"),
        (["up", "--local", "2", "--delay", "node3=1ms"], "--delay names 'node3'"),
        (["up", "--local", "2", "--loss", "node1=0.1"], "--loss 'node1=0.1'"),
        (["up", "--local", "2", "--loss", "node1=0%"], "HOSTS=SHARE from 0.0001% to 99%"),
        (["up", "--local", "2", "--loss", "node1=100%"], "--loss 'node1=100%'"),
        (["up", "--local", "2", "--leaves", "3"], "3 leaves for 2 virtual hosts"),
        (["up", "--local", "2", "--uplink", "1gbit"], "no leaf has an uplink"),
        (["up", "--local", "2", "--leaves", "1", "--uplink", "1gbit"], "--leaves 2 or more"),
        (["up", "--local", "2", "--leaves", "2", "--uplink", "fast"], "--uplink 'fast'"),
        (["up", "n1", "--leaves", "2"], "--leaves is for virtual hosts"),
        (["up", "n1", "--uplink", "1gbit"], "--uplink is for virtual hosts"),
        (["up", "n1", "--rate", "n1=1gbit"], "--rate is for virtual hosts"),
        (["up", "n1", "--delay", "n1=1ms"], "--delay is for virtual hosts"),
        (["up", "n1", "--loss", "n1=1%"], "--loss is for virtual hosts"),
        (["up", "n1", "--shared-home"], "--shared-home is for virtual hosts"),
        (["up", "root@n1"], "'root@n1' names a user"),
        (["up", "n1", "--name", "../x"], "'../x' is no name of a cluster"),
        (["up", "n1", "--sudo", "--mpi", "site"], "--sudo and --mpi site"),
        (["up", "n1", "--sudo", "--mpi-module", "x"], "--mpi-module and --sudo contradict"),
        (["up", "a\x1bb"], "no host name"),
        (["up", "$(touch)"], "no host name"),
        (["up", "--", "-oProxyCommand=x"], "no host name"),
        (["up", "a\nb"], "a name holds a blank"),
        (["down"], "no cluster is up"),
        (["down", "a", "--all"], "'a' and --all contradict each other"),
        (["down", "nope"], "no cluster 'nope'"),
        (["status", "nope"], "no cluster 'nope'"),
    ],
)
def test_wrong_words_are_refused(argv: list[str], said: str, capsys: Capture) -> None:
    assert run(["cluster", *argv]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert "\x1b" not in err


def test_a_host_that_no_one_knows_is_named_with_what_mends_it(capsys: Capture) -> None:
    assert run(["cluster", "up", "nohost.invalid", "--name", "t", "--format", "json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    reach = answer["hosts"]["nohost.invalid"]["reach"]
    assert reach["state"] == "failed"
    assert reach["remedy"]
    assert answer["hosts"]["nohost.invalid"]["hello"]["state"] == "not tried"


def test_a_record_that_cannot_be_read_does_not_hide_the_others(
    state: Path, capsys: Capture
) -> None:
    for name, text in (("good", ""), ("spoiled", "{")):
        (state / name).mkdir(parents=True)
        if text:
            (state / name / "cluster.json").write_text(text)
    assert run(["cluster", "status", "--format", "json"]) == 0
    listed = {one["name"]: one["state"] for one in json.loads(capsys.readouterr().out)["clusters"]}
    assert listed["good"] == "brought up by half"
    assert listed["spoiled"] == "its record cannot be read"
    assert run(["cluster", "down", "spoiled"]) == 2
    assert "'weft cluster down --forget' drops it" in capsys.readouterr().err
    assert run(["cluster", "down", "spoiled", "--forget"]) == 0
    assert run(["cluster", "down", "good"]) == 0
    assert not (state / "good").exists()
    assert not (state / "spoiled").exists()


def of_real_hosts(folder: Path, **more: tuple[str, ...]) -> None:
    """The record of a cluster of which no host was good."""
    folder.mkdir(parents=True)
    ClusterRecord(
        name=folder.name,
        hosts=(),
        all_hosts=("n1.invalid",),
        ssh_config=None,
        agreed={},
        n_cpus=1,
        machines={},
        virtual=False,
        asked={},
        **more,
    ).write(folder)


def test_hosts_on_which_nothing_became_good_are_remembered_for_down(state: Path) -> None:
    of_real_hosts(state / "mine", former_hosts=("n0.invalid",))
    remember("mine", ("n1.invalid", "n2.invalid"))
    record = read_cluster("mine")
    assert record.all_hosts == ("n1.invalid",)
    assert record.former_hosts == ("n0.invalid", "n2.invalid")


def test_hosts_that_were_named_before_are_cleaned_too(state: Path, capsys: Capture) -> None:
    of_real_hosts(state / "mine", former_hosts=("n0.invalid",))
    assert former_hosts("mine", ("n2.invalid",)) == ("n1.invalid", "n0.invalid")
    assert former_hosts("mine", ("n0.invalid", "n1.invalid")) == ()
    assert former_hosts("none", ("n1.invalid",)) == ()
    assert run(["cluster", "down", "mine", "--format", "json"]) == 1
    assert {*json.loads(capsys.readouterr().out)["hosts"]} == {"n0.invalid", "n1.invalid"}


def test_virtual_and_real_hosts_make_no_cluster_together(state: Path, capsys: Capture) -> None:
    of_real_hosts(state / "mine")
    assert run(["cluster", "up", "--local", "2", "--name", "mine"]) == 2
    assert "'mine' is a cluster of real hosts" in capsys.readouterr().err
    (state / "own").mkdir()
    (state / "own" / LAYOUT_FILE).write_text("{}")
    assert run(["cluster", "up", "n1.invalid", "--name", "own"]) == 2
    assert "'own' is a virtual cluster" in capsys.readouterr().err


def test_what_would_be_started_is_reported_to_programs_too(state: Path, capsys: Capture) -> None:
    assert run(["cluster", "up", "--local", "2", "--dry-run", "--format", "json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert {host: of["start"]["state"] for host, of in said["hosts"].items()} == {
        "node1": "would mend", "node2": "would mend",
    }  # fmt: skip
    assert run(["cluster", "up", "--local", "2", "--dry-run"]) == 0
    assert capsys.readouterr().out.startswith("WOULD bring up 2 of 2 hosts")
    assert not state.exists()


def test_stages_that_no_host_came_to_are_not_reported(capsys: Capture) -> None:
    assert run(["cluster", "up", "nohost.invalid", "--name", "t"]) == 1
    assert capsys.readouterr().err == "reach      1 FAILED: nohost.invalid\n"


def test_a_cluster_without_a_good_host_is_not_measured_on(state: Path, capsys: Capture) -> None:
    of_real_hosts(state / "sick")
    assert run(["bench", "latency", "--cluster", "sick"]) == 2
    assert "no host of cluster 'sick' is good" in capsys.readouterr().err
    assert run(["cluster", "down", "sick", "--format", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["hosts"]["n1.invalid"]
    assert run(["cluster", "down", "sick", "--forget"]) == 0
    assert not (state / "sick").exists()


def test_a_dry_run_leaves_nothing(state: Path, capsys: Capture) -> None:
    assert run(["cluster", "up", "nohost.invalid", "--name", "t", "--dry-run"]) == 1
    assert "nohost.invalid" in capsys.readouterr().out
    assert not state.exists()


@pytest.mark.parametrize("name", ["mine", "../x", ""])
def test_who_only_has_the_variable_is_no_virtual_cluster(name: str, state: Path) -> None:
    """As a shell in which somebody exported it."""
    marked = {**os.environ, MARKER: f"{state}/{name}"}
    bystander = subprocess.Popen(["sleep", "60"], env=marked)
    try:
        assert name not in leftovers()
        assert bystander.pid not in processes_of(name)
    finally:
        bystander.kill()
        bystander.wait()


def test_down_without_a_name_is_the_one_cluster_there_is(state: Path, capsys: Capture) -> None:
    for name in ("one", "two"):
        (state / name).mkdir(parents=True)
    assert run(["cluster", "down"]) == 2
    err = capsys.readouterr().err
    assert "which cluster?" in err
    assert "one of one, two" in err
    assert run(["cluster", "down", "two"]) == 0
    assert run(["cluster", "down"]) == 0
    assert "DOWN one" in capsys.readouterr().out
    assert not (state / "one").exists()
    assert run(["cluster", "down"]) == 2
    assert "no cluster is up" in capsys.readouterr().err
