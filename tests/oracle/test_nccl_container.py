"""`weft check --with nccl --container podman` on three hosts of namespaces.

Only the image has the program, a stand-in for all_reduce_perf.
"""

import os
import re
import shlex
import shutil
import sys
import tomllib
from pathlib import Path

import pytest
from tests.conftest import FAKE_SSH
from tests.nccl_stand_in import build
from tests.oracle.podman_node import PodmanNode, need_podman
from tests.unit.doctor.container.container_cases import need_gcc
from tests.unit.doctor.container.container_trees import LIBRARY_FOLDER, build_measuring_image

import weft
from weft.bench.model import State
from weft.launch.mpi import find_mpi
from weft.study.run.store import read_run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
WEFT = (sys.executable, "-c", "import sys; from weft.cli import run; sys.exit(run(sys.argv[1:]))")
IMAGE = "localhost/nccl-tests:1"
PROGRAM = "/nccl/all_reduce_perf"
LIMIT_S = 600
PATIENCE_S = 30


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> PodmanNode:
    need_podman()
    need_gcc()
    if Path(sys.prefix).is_relative_to("/opt"):
        pytest.skip("Python is in /opt, which the node has for its own files")
    folder = tmp_path_factory.mktemp("podman")
    root = folder / "root"
    (folder / "host/opt").mkdir(parents=True)
    build_measuring_image(root)
    (root / "nccl").mkdir()
    shutil.move(build(find_mpi().mpicc, folder), root / PROGRAM.lstrip("/"))
    made = PodmanNode(folder / "node", folder / "host", ())
    made.do(
        f"set -e\ncd {folder}\ntar -C root -cf root.tar .\npodman import --quiet root.tar {IMAGE}"
    )
    loader = f"/{LIBRARY_FOLDER}/ld-linux-x86-64.so.2"
    end = made.run(f"podman run --network=host {IMAGE} {loader} --help")
    if end.returncode != 0:
        pytest.skip(f"podman starts no container here: {end.stderr.strip()[-200:]}")
    return made


def check(tmp_path: Path, faults: str = "") -> str:
    """The script of a check of three hosts, one rank each, in containers that are called as they
    are. No address of theirs is one of this machine's, so Hydra starts their ranks by ssh."""
    planted, shell = tmp_path / "faults", tmp_path / "ssh"
    planted.write_text(faults)
    shell.write_text(FAKE_SSH)
    shell.chmod(0o755)
    mounts = (f"{sys.prefix}:{sys.prefix}:ro", f"{tmp_path}:{tmp_path}:ro")
    words = [
        *("check", "--with", "nccl", "--tests", PROGRAM, "--mpi", "embedded"),
        *("--hosts", "h[1-3]", "--tasks-per-node", "1", "--launch-limit", "60s", "--no-report"),
        *("--container", "podman", "--image", IMAGE, "--dir", str(tmp_path / "run")),
        *(word for one in mounts for word in ("--mount", one)),
    ]
    # A rank asks for the launcher by the name of its host.
    names = [f"127.0.0.1 localhost {os.uname().nodename}"]
    names += [f"127.0.1.{number} h{number}" for number in (1, 2, 3)]
    (tmp_path / "hosts").write_text("".join(f"{name}\n" for name in names))
    named = f"mount --bind {tmp_path}/hosts /etc/hosts"
    source = Path(weft.__file__).parents[1]
    env = f"PYTHONPATH={source} HYDRA_LAUNCHER_EXEC={shell} NCCL_STAND_IN={planted}"
    return f"{named}\n{env} {shlex.join([*WEFT, *words])}"


def test_pairs_run_the_program_of_the_image_in_containers(node: PodmanNode, tmp_path: Path) -> None:
    assert not Path(PROGRAM).exists()
    end = node.run(check(tmp_path), LIMIT_S)
    # Three nodes are too few to call the fabric good.
    assert end.returncode == 5, (end.stdout, end.stderr)
    assert "pairs 3 of 3 measured" in end.stdout
    assert {one.state for one in read_run(tmp_path / "run").samples} == {State.OK}
    texts = [one.read_text() for one in (tmp_path / "run/recipes").glob("*survey*.txt")]
    assert len(texts) == 3
    assert all(" podman run --rm " in one and f" {IMAGE} {PROGRAM} -b " in one for one in texts)
    meta = tomllib.loads((tmp_path / "run/run.toml").read_text())
    assert meta["backend"]["facts"]["container"]["image"] == IMAGE


LEFT = "left behind: "
COUNT = f"""
code=$?
for turn in $(seq {PATIENCE_S}); do
  left="$(podman ps --quiet --all) $(pgrep -x {Path(PROGRAM).name})"
  [ -z "${{left# }}" ] && break
  sleep 1
done
echo {shlex.quote(LEFT)}$left
exit $code
"""
"""Containers and processes that a check left, after some seconds in which podman removes them."""


def test_a_slow_node_is_named_and_no_container_is_left(node: PodmanNode, tmp_path: Path) -> None:
    end = node.run(check(tmp_path, "h2 net 0.5") + COUNT, LIMIT_S)
    # Of three nodes weft names the one by which all readings are slow, and accuses nobody.
    assert end.returncode == 5, (end.stdout, end.stderr)
    assert "WARNING  Node h2 may be slow" in end.stdout
    assert "is 170.0 GB/s, among h1 and h3 340.0" in end.stdout
    assert re.findall("^BAD", end.stdout, re.MULTILINE) == []
    assert end.stdout.splitlines()[-1].strip() == LEFT.strip()
