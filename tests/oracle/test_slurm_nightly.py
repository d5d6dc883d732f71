"""The nightly script of docs/reference/fleet.md on a real Slurm: it drains a node that two checks
in a row accuse, with a reason that names both, and nobody on the first night or on UNKNOWN. And its
script for HealthCheckProgram and Epilog, as slurmd runs it: bounded, and nobody is drained."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.oracle.test_slurm import Slurm, running
from tests.unit.doctor.machine_trees import ndr

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/reference/fleet.md"
NODES = tuple(f"n00{i}" for i in range(1, 7))
WEFT = """\
#!/bin/sh
# The nodes of the twin are those of this Slurm: what the script's check measures.
verb=$1
shift
[ "$verb" = check ] && set -- --quick --twin fat-tree --nodes 6 --plant "$FAULT" "$@"
# HANG: all is measured, and the judge does not come to an end.
hang='import time
from weft.cli.check import command
command.judge_run = lambda *_: time.sleep(600)'
PYTHONPATH={path} exec {python} -c "${{HANG:+$hang
}}from weft.cli import main; main()" "$verb" "$@"
"""
HEALTH_WEFT = """\
#!/bin/sh
# What a node finds: a driver that is not loaded, a look that hangs, nothing to read.
case $SLURMD_NODENAME in
n001) set -- "$@" --sysroot {folder}/faulty ;;
n002) exec sleep 600 ;;
*) set -- "$@" --sysroot {folder}/empty ;;
esac
PYTHONPATH={path} exec {python} -c 'from weft.cli import main; main()' "$@"
"""
LOGGER = '#!/bin/sh\necho "$SLURMD_NODENAME $*" >>{folder}/logged\n'
CALLED = """\
#!/bin/sh
# The page's script, and a line once it is over: who started it where, its code, its seconds.
begun=$(date +%s)
{folder}/weft-health
echo "{caller} $SLURMD_NODENAME $? $(($(date +%s) - begun))" >>{folder}/over
"""
HEALTH_CONF = """\
HealthCheckProgram={folder}/health
HealthCheckInterval=2
HealthCheckNodeState=ANY
Epilog={folder}/epilog
"""
LIMIT_S = 20
"""Of one look in the test; the page's is 50."""


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    with running(tmp_path_factory.mktemp("slurm"), NODES) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def looked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    """A Slurm that runs the page's script as health check and as epilog."""
    folder = tmp_path_factory.mktemp("looked")
    trees = {name: folder / name for name in ("faulty", "empty")}
    for tree in trees.values():
        tree.mkdir()
    faulty = ndr(trees["faulty"])
    for number in range(8):
        (faulty.root / f"dev/infiniband/uverbs{number}").unlink()
    given = {"folder": folder, "path": ROOT / "src", "python": sys.executable}
    script = script_of_page("slurm.conf: HealthCheckProgram")
    script = script.replace("/opt/weft/bin", f"{folder}/bin").replace(" 50 ", f" {LIMIT_S} ")
    executable(folder / "weft-health", script)
    executable(folder / "bin/weft", HEALTH_WEFT.format(**given))
    executable(folder / "bin/logger", LOGGER.format(**given))
    for caller in ("health", "epilog"):
        executable(folder / caller, CALLED.format(caller=caller, **given))
    with running(folder, NODES[:3], HEALTH_CONF.format(folder=folder)) as cluster:
        yield cluster


def script_of_page(head: str) -> str:
    """A script of docs/reference/fleet.md, by the comment that it begins with."""
    found = re.search(rf"```sh\n(#!/bin/sh\n# {head}.*?)```", PAGE.read_text(), re.S)
    assert found is not None
    return found[1]


def executable(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def night(slurm: Slurm, fault: str, *, hangs: bool = False) -> int:
    """The exit code of the page's script."""
    bin_dir = slurm.folder / "bin"
    executable(bin_dir / "weft", WEFT.format(path=ROOT / "src", python=sys.executable))
    script = script_of_page("/opt/site/weft-nightly").replace("/opt/weft/bin", f"{bin_dir}")
    script = script.replace("20min", "30s" if hangs else "20min")
    for folder in ("/shared/weft", "/shared/node_exporter"):
        script = script.replace(folder, str(slurm.folder / folder.rpartition("/")[2]))
    (slurm.folder / "node_exporter").mkdir(exist_ok=True)
    path = slurm.folder / "nightly"
    path.write_text(script)
    env = {**slurm.env, "FAULT": fault, "XDG_CACHE_HOME": str(slurm.folder / "cache")}
    if hangs:
        env["HANG"] = "1"
    return subprocess.run(["/bin/sh", str(path)], env=env, check=False, timeout=600).returncode


def state_of(slurm: Slurm, node: str) -> tuple[str, str]:
    """State and reason, by Slurm."""
    text = slurm.say(["scontrol", "show", "node", node])
    state, reason = re.search(r"State=(\S+)", text), re.search(r"Reason=(.*)", text)
    assert state is not None
    return state[1], reason[1] if reason else ""


SLOW, FAINT = "n003 slow=3", "n003 slow=1.0001"


def test_only_the_second_night_in_a_row_drains_the_node(slurm: Slurm) -> None:
    assert night(slurm, FAINT) == 0
    assert night(slurm, SLOW, hangs=True) == 5
    assert night(slurm, SLOW) == 1
    assert state_of(slurm, "n003") == ("IDLE", "")
    assert night(slurm, SLOW) == 1
    state, reason = state_of(slurm, "n003")
    assert state == "IDLE+DRAIN"
    assert reason.startswith("weft check: n003")
    assert len(re.findall(r"check-\S+ of \d{4}-\d\d-\d\d", reason)) == 2
    assert [state_of(slurm, node)[0] for node in NODES if node != "n003"] == ["IDLE"] * 5
    metrics = (slurm.folder / "node_exporter/weft.prom").read_text()
    assert metrics.endswith("# EOF\n")
    assert 'name="n003",state="accused"} 1.0' in metrics


def looks(slurm: Slurm, caller: str) -> dict[str, list[tuple[int, int]]]:
    """By node the exit code and the seconds of each look that is over."""
    path = slurm.folder / "over"
    lines = path.read_text().splitlines() if path.exists() else []
    found: dict[str, list[tuple[int, int]]] = {node: [] for node in slurm.nodes}
    for who, node, code, seconds in (line.split() for line in lines):
        if who == caller:
            found[node].append((int(code), int(seconds)))
    return found


def test_the_health_check_of_a_node_is_bounded_logs_a_fault_and_drains_nobody(
    looked: Slurm,
) -> None:
    looked.wait("two looks", lambda: min(map(len, looks(looked, "health").values())) >= 2, 300)
    found = looks(looked, "health")
    assert {code for some in found.values() for code, _ in some} == {0}
    assert min(seconds for _, seconds in found["n002"]) >= LIMIT_S - 1
    assert max(seconds for _, seconds in found["n002"]) <= LIMIT_S + 10
    logged = (looked.folder / "logged").read_text()
    assert re.search(r"^n001 -t weft BAD {3}1 thing keeps jobs from the fabric", logged, re.M)
    assert "n002 -t weft weft doctor did not end within" in logged
    assert "n003" not in logged
    assert [state_of(looked, node) for node in looked.nodes] == [("IDLE", "")] * 3


def test_the_epilog_of_a_job_looks_too_and_the_node_stays(looked: Slurm) -> None:
    number = looked.submit("n001")
    looked.say(["scancel", number])
    looked.wait("epilog", lambda: looks(looked, "epilog")["n001"], 120)
    assert looks(looked, "epilog")["n001"][0][0] == 0
    looked.wait("idle node", lambda: state_of(looked, "n001")[0] == "IDLE")
    assert state_of(looked, "n001")[1] == ""
