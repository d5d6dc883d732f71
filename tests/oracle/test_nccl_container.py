"""`weft check --with nccl --container podman` on three hosts of namespaces.

Only the image has the program, a stand-in for all_reduce_perf.
"""

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
from weft.launch.mpi import find_mpi

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
WEFT = (sys.executable, "-c", "import sys; from weft.cli import run; sys.exit(run(sys.argv[1:]))")
IMAGE = "localhost/nccl-tests:1"
PROGRAM = "/nccl/all_reduce_perf"
LIMIT_S = 420


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


def check(tmp_path: Path, faults: str, *more: str, limit: str = "60s") -> str:
    """The script of a check of three hosts, one rank each."""
    planted, shell = tmp_path / "faults", tmp_path / "ssh"
    planted.write_text(faults)
    shell.write_text(FAKE_SSH)
    shell.chmod(0o755)
    mounts = (f"{sys.prefix}:{sys.prefix}:ro", f"{tmp_path}:{tmp_path}:ro")
    words = [
        *("check", "--with", "nccl", "--tests", PROGRAM, "--mpi", "embedded"),
        *("--hosts", "h[1-3]", "--tasks-per-node", "1", "--launch-limit", limit, "--no-report"),
        *("--container", "podman", "--image", IMAGE, "--dir", str(tmp_path / "run")),
        *(word for one in mounts for word in ("--mount", one)),
        *more,
    ]
    # A rank asks for the launcher by the name of its host.
    (tmp_path / "hosts").write_text("127.0.0.1 localhost h1 h2 h3\n")
    named = f"mount --bind {tmp_path}/hosts /etc/hosts"
    source = Path(weft.__file__).parents[1]
    env = f"PYTHONPATH={source} HYDRA_LAUNCHER_EXEC={shell} NCCL_STAND_IN={planted}"
    return f"{named}\n{env} {shlex.join([*WEFT, *words])}"


def test_wrong_results_from_the_containers_of_a_node_are_named(
    node: PodmanNode, tmp_path: Path
) -> None:
    assert not Path(PROGRAM).exists()
    end = node.run(check(tmp_path, "h2 wrong 7"), LIMIT_S)
    assert end.returncode == 1, (end.stdout, end.stderr)
    assert end.stdout.startswith("BAD  Node h2 gives wrong results with others"), end.stdout
    assert "pairs 3 of 3 measured" in end.stdout
    texts = [one.read_text() for one in (tmp_path / "run/recipes").glob("*survey*.txt")]
    assert texts
    assert all(" podman run --rm " in one and f" {IMAGE} {PROGRAM} -b " in one for one in texts)
    meta = tomllib.loads((tmp_path / "run/run.toml").read_text())
    assert meta["backend"]["facts"]["container"]["image"] == IMAGE


def test_containers_of_a_launch_that_hangs_end_within_its_limit(
    node: PodmanNode, tmp_path: Path
) -> None:
    script = [
        check(tmp_path, "h3 hang", limit="25s"),
        "echo code $?",
        "for one in /proc/[0-9]*/cmdline; do tr '\\0' ' ' <$one; echo; done",
        "echo containers: $(podman ps --all --quiet)",
    ]
    end = node.run("\n".join(script), LIMIT_S)
    said, _, left = end.stdout.partition("\ncode ")
    assert "did not end in 25 s" in said, (said, end.stderr)
    assert PROGRAM not in left
    assert left.endswith("containers:\n")


def test_an_image_without_the_program_is_an_error(node: PodmanNode, tmp_path: Path) -> None:
    script = check(tmp_path, "").replace(PROGRAM, "/nccl/none")
    end = node.run(script, LIMIT_S)
    assert end.returncode == 3, (end.stdout, end.stderr)
    assert "/nccl/none is missing or cannot be executed in every launch" in end.stderr
