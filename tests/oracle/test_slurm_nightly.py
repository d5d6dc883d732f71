"""The nightly script of docs/reference/fleet.md on a real Slurm: it drains a node that two checks
in a row accuse, with a reason that names both, and nobody on the first night or on UNKNOWN."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.oracle.test_slurm import Slurm, running

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
PYTHONPATH={path} exec {python} -c 'import sys; from weft.cli import main; main()' "$verb" "$@"
"""


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    with running(tmp_path_factory.mktemp("slurm"), NODES) as cluster:
        yield cluster


def night(slurm: Slurm, fault: str, within: str = "20min") -> int:
    """The exit code of the page's script."""
    found = re.search(r"```sh\n(#!/bin/sh\n# /opt/site/weft-nightly.*?)```", PAGE.read_text(), re.S)
    assert found is not None
    bin_dir = slurm.folder / "bin"
    bin_dir.mkdir(exist_ok=True)
    weft = bin_dir / "weft"
    weft.write_text(WEFT.format(path=ROOT / "src", python=sys.executable))
    weft.chmod(0o755)
    script = found[1].replace("/opt/weft/bin", f"{bin_dir}").replace("20min", within)
    for folder in ("/var/lib/weft", "/var/lib/node_exporter"):
        script = script.replace(folder, str(slurm.folder / folder.rpartition("/")[2]))
    (slurm.folder / "node_exporter").mkdir(exist_ok=True)
    path = slurm.folder / "nightly"
    path.write_text(script)
    env = {**slurm.env, "FAULT": fault, "XDG_CACHE_HOME": str(slurm.folder / "cache")}
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
    assert night(slurm, SLOW, within="1s") == 5
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
