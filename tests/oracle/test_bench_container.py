"""`weft bench --container podman` on real podman: ranks that meet from two containers, and end."""

import shlex
import sys
import tomllib
from pathlib import Path

import pytest
from tests.oracle.podman_node import PodmanNode, need_podman
from tests.unit.doctor.container.container_cases import need_gcc
from tests.unit.doctor.container.container_trees import (
    LIBRARY_FOLDER,
    build_measuring_image,
    compile_library,
)

from weft.bench.model import State
from weft.study.run.store import read_run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

WEFT = (sys.executable, "-c", "import sys; from weft.cli import run; sys.exit(run(sys.argv[1:]))")
MARK = """
#include <stdio.h>
#include <stdlib.h>
__attribute__((constructor)) static void tell(void)
{
    dprintf(2, "rank %s is in the image\\n", getenv("PMI_ID"));
}
"""
"""The image's loader puts it before the program, by a file that only the image has."""
IN_CONTAINER = ("--container", "podman", "--image", "localhost/measuring:1")
ENTRYPOINT = '["/none"]'
"""A program before the kernel, which the image lacks: no rank starts unless weft leaves it out."""
LIMIT_S = 500
ENDLESS = """\
schema = "weft.study/1"
name = "endless"
title = "A launch that does not end"
question = "Do its containers end?"
seed = 1
repeats = 1
nodes = [2]
tasks_per_node = [1]
timeout_s = 25
[[benchmarks]]
name = "allreduce"
sizes = "4M"
options = { iterations = 10000000 }
"""


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
    mark = compile_library(root / LIBRARY_FOLDER / "libmark.so", MARK)
    (root / "etc/ld.so.preload").write_text(f"/{LIBRARY_FOLDER}/{mark.name}\n")
    made = PodmanNode(folder / "node", folder / "host", ())
    made.do(
        f"set -e\ncd {folder}\ntar -C root -cf root.tar .\n"
        f"podman import --quiet --change 'ENTRYPOINT {ENTRYPOINT}' root.tar localhost/measuring:1"
    )
    loader = f"/{LIBRARY_FOLDER}/ld-linux-x86-64.so.2"
    end = made.run(f"podman run --entrypoint {loader} localhost/measuring:1 --help")
    if end.returncode != 0:
        pytest.skip(f"podman starts no container here: {end.stderr.strip()[-200:]}")
    return made


def weft_words(*words: str | Path) -> str:
    return shlex.join([*WEFT, *map(str, words)])


def test_two_ranks_measure_from_two_containers(node: PodmanNode, tmp_path: Path) -> None:
    where = tmp_path / "run"
    words = ("--sizes", "8,64K", "--repeats", "1", "--mount", "/opt:/host-opt:ro", "--dir", where)
    end = node.run(weft_words("bench", "latency", "allreduce", *IN_CONTAINER, *words), LIMIT_S)
    assert end.returncode == 0, end.stderr
    assert "whether the image reaches the fast network is unknown" in end.stderr
    run = read_run(where)
    found = {(one.benchmark, one.size_bytes, one.state) for one in run.samples}
    sizes = [(name, size) for name in ("latency", "allreduce") for size in (8, 65536)]
    assert found == {(*one, State.OK) for one in sizes}
    errors = sorted((where / "raw").glob("*.err"))
    assert len(errors) == 2
    for path in errors:
        marks = [one for one in path.read_text().splitlines() if one.endswith("is in the image")]
        assert sorted(marks) == [f"rank {rank} is in the image" for rank in (0, 1)]
    meta = tomllib.loads((where / "run.toml").read_text())
    assert meta["backend"]["facts"]["container"] == {
        "runtime": "podman",
        "image": "localhost/measuring:1",
        "mounts": ["/opt:/host-opt:ro"],
    }


def test_ranks_in_a_container_and_without_are_arms_of_one_study(
    node: PodmanNode, tmp_path: Path
) -> None:
    study, where = tmp_path / "short.toml", tmp_path / "run"
    study.write_text(ENDLESS.replace("10000000", "20").replace("endless", "short"))
    words = ("--container", "none,podman", *IN_CONTAINER[2:], "--repeats", "2", "--dir", where)
    end = node.run(weft_words("study", "run", study, *words), LIMIT_S)
    assert end.returncode in {0, 1, 5}, end.stderr
    samples = read_run(where).samples
    assert {sample.state for sample in samples} == {State.OK}
    inside = {
        sample.evidence["container"]: "is in the image"
        in (where / f"raw/{sample.trial}.r{sample.repeat:02d}.err").read_text()
        for sample in samples
    }
    assert inside == {"none": False, "podman": True}
    facts = tomllib.loads((where / "run.toml").read_text())["backend"]["facts"]
    assert "container" not in facts["launches"]["none"]
    assert facts["launches"]["podman"]["container"]["runtime"] == "podman"


def test_containers_end_with_a_launch_that_takes_too_long(node: PodmanNode, tmp_path: Path) -> None:
    study, where = tmp_path / "endless.toml", tmp_path / "run"
    study.write_text(ENDLESS)
    script = [
        weft_words("study", "run", study, *IN_CONTAINER, "--dir", where),
        "echo code $?",
        "for one in /proc/[0-9]*/cmdline; do tr '\\0' ' ' <$one; echo; done",
        "echo containers: $(podman ps --all --quiet)",
    ]
    end = node.run("\n".join(script), LIMIT_S)
    assert "code 4" in end.stdout, end.stderr
    assert "no end after 25 s" in end.stderr, end.stderr
    (error,) = (where / "raw").glob("*.err")
    assert error.read_text().count("is in the image") == 2
    left = end.stdout.partition("code 4")[2]
    assert "weft-kernel" not in left
    assert "podman run" not in left
    assert left.endswith("containers:\n")


def test_a_rank_that_crashes_ends_the_launch_before_its_limit(
    node: PodmanNode, tmp_path: Path
) -> None:
    study, where = tmp_path / "endless.toml", tmp_path / "run"
    study.write_text(ENDLESS.replace("timeout_s = 25", "timeout_s = 200"))
    script = [
        f"{weft_words('study', 'run', study, *IN_CONTAINER, '--dir', where)} &",
        f"until grep -q '\"rank\":1,' {where}/raw/*.out; do sleep 1; done 2>/dev/null",
        f'kill -SEGV $(sed -n \'s/.*"rank":1,.*"pid":\\([0-9]*\\),.*/\\1/p\' {where}/raw/*.out)',
        "wait $!",
        "echo code $?",
        "echo containers: $(podman ps --all --quiet)",
    ]
    end = node.run("\n".join(script), LIMIT_S)
    assert "code 4\ncontainers:\n" in end.stdout, end.stderr
    assert "crashed: rank 1 ended, and the containers of other ranks went on" in end.stderr
    assert "rank 1: allreduce" in end.stderr


def test_a_run_of_containers_goes_on_in_containers_only(node: PodmanNode, tmp_path: Path) -> None:
    where = tmp_path / "run"
    asked = ("bench", "latency", "--sizes", "8", "--repeats", "1", "--dir", where)
    end = node.run(weft_words(*asked, *IN_CONTAINER), LIMIT_S)
    assert end.returncode == 0, end.stderr
    again = node.run(weft_words(*asked, "--resume"), LIMIT_S)
    assert again.returncode == 2
    assert "this run was started differently: container" in again.stderr


def test_a_check_reads_its_rounds_in_the_containers(node: PodmanNode, tmp_path: Path) -> None:
    where = tmp_path / "run"
    options = ("--schedule", "full", "--tasks-per-node", "2", "--no-report", "--dir", where)
    end = node.run(weft_words("check", *IN_CONTAINER, *options, "--large", "64K"), LIMIT_S)
    # Two ranks of one host are never called good.
    assert end.returncode in (1, 5), end.stderr
    (survey,) = (where / "recipes").glob("*survey*.txt")
    folder = where / "recipes"
    assert f"--volume {folder}:{folder}:ro" in survey.read_text()
    run = read_run(where)
    assert {one.state for one in run.samples} == {State.OK}
    assert [list(IN_CONTAINER[:2]), list(IN_CONTAINER[2:])] == run.meta["again"][:2]
    again = node.run(weft_words("check", "--from", where), LIMIT_S)
    assert again.returncode == end.returncode
