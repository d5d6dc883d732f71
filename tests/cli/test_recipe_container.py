"""`weft recipe --container`, `weft doctor container` and `weft doctor log` agree everywhere."""

import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.unit.doctor.container.container_cases import judged, need_gcc
from tests.unit.doctor.container.container_trees import (
    LIBRARY_FOLDER,
    NCCL_SOURCE,
    PLUGIN_SOURCE,
    SlingshotNode,
    compile_library,
)
from tests.unit.doctor.container.remedy.emissions import remedy_of
from tests.unit.doctor.container.remedy.verbs_trees import EFA_LIBFABRIC_SOURCE, add_rdma_core
from tests.unit.doctor.nccl_log import LoggedJob

from weft.bench.logs.log_facts import read_logs
from weft.bench.logs.ranks import job_log
from weft.catalog.load import launch_recipe, recipe_machines
from weft.cli import run
from weft.cli.recipe.command import CONTAINERS
from weft.cli.recipe.container_text import RUNTIMES
from weft.core.finding import Finding, Severity
from weft.doctor.container.chain.report import BY_ABSENCE, Chain
from weft.doctor.container.launch.runtime import RUNTIMES as KNOWN
from weft.doctor.log.judge import judge

Nodes = Mapping[str, SlingshotNode]
NETWORKS = {"slingshot": "AWS Libfabric", "efa": "AWS Libfabric"}
"""The name that NCCL logs; IB for the others."""
TOPOLOGY_FILES = {launch_recipe(one).topology_file for one in recipe_machines()} - {""}


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Nodes:
    """By fabric a node, and an image that has rdma-core and nothing of libfabric."""
    need_gcc()
    slingshot = SlingshotNode(tmp_path_factory.mktemp("slingshot")).build()
    verbs = SlingshotNode(tmp_path_factory.mktemp("verbs"))
    efa = SlingshotNode(tmp_path_factory.mktemp("efa"))
    for node in (verbs, efa):
        node.add_libc(node.image)
        node.add_libc(node.host)
        nccl = node.image / LIBRARY_FOLDER / "libnccl.so.2"
        compile_library(nccl, NCCL_SOURCE.replace("%s", "2.18.3"))
        SlingshotNode.add_file(node.host / "dev/infiniband/uverbs0")
    add_rdma_core(verbs.image, LIBRARY_FOLDER, "34")
    for path in TOPOLOGY_FILES:
        SlingshotNode.add_file(verbs.host / path.lstrip("/"))
    core = add_rdma_core(efa.host, LIBRARY_FOLDER, "50", "efa")
    own = efa.host / "opt/amazon/lib"
    driver = compile_library(own / "libefa.so.1", "int efa_open(void) { return 0; }", needs=[core])
    fabric = compile_library(own / "libfabric.so.1", EFA_LIBFABRIC_SOURCE, needs=[driver])
    compile_library(own / "libnccl-net.so", PLUGIN_SOURCE % 6, needs=[fabric])
    return {"slingshot": slingshot, "efa": efa, "infiniband": verbs, "roce": verbs}


def logged(folder: Path, chain: Chain, network: str) -> list[Finding]:
    """The findings of `weft doctor log` in a log with the lines that are predicted."""
    path = folder / "job.log"
    path.write_text("\n".join(LoggedJob(network=network, before=chain.log).lines()) + "\n")
    return judge(job_log(read_logs([str(path)])))


def text_of(name: str, runtime: str, capsys: pytest.CaptureFixture[str], *more: str) -> str:
    words = ["recipe", name, "--nodes", "2", "--container", runtime, "--image", "i", *more]
    assert run(words) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("runtime", CONTAINERS)
@pytest.mark.parametrize("name", recipe_machines())
def test_recipe_container_and_log_agree(
    nodes: Nodes,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    runtime: str,
) -> None:
    recipe = launch_recipe(name)
    node = nodes[recipe.fabric]
    is_named = recipe.fabric != "slingshot" or recipe.hcas or recipe.hooks
    if runtime in ("ce", "podman") and not is_named:
        assert run(["recipe", name, "--container", runtime, "--image", "i"]) == 2
        assert "does not name the adapters" in capsys.readouterr().err
        return
    path = tmp_path / "launch"
    path.write_text(text_of(name, runtime, capsys))
    option = {"edf" if runtime == "ce" else "script": path}
    case, chain = judged(node.image, node.host, recipe=name, **option)
    assert case.plan.runtime is KNOWN["CE" if runtime == "ce" else runtime]
    faults = {one.rule.id for one in chain.faults}
    if runtime == "ce" and recipe.hooks:
        assert (chain.verdict(), faults) == (Severity.UNKNOWN, set())
        return
    if recipe.fabric in NETWORKS:
        # The image has neither plug-in nor libfabric, as the comment of the recipe says.
        assert "plugin-not-mounted" in faults
        assert faults <= BY_ABSENCE
        assert "weft doctor container IMAGE --recipe" in path.read_text()
        if "NCCL_NET" not in case.variables:
            (worst, *_) = logged(tmp_path, chain, "Socket")
            assert worst.severity is Severity.BAD
        chain = remedy_of(node.image, node.host, RUNTIMES[runtime], recipe=name, **option).chain
    assert chain.verdict() is Severity.GOOD
    network = NETWORKS.get(recipe.fabric, "IB")
    (only,) = logged(tmp_path, chain, network)
    assert only.severity is Severity.GOOD
    assert f"16 of 16 ranks used NET/{network}" in only.sentence


@pytest.mark.parametrize("runtime", CONTAINERS)
def test_each_entry_has_its_reason(runtime: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = text_of("azure-ndv5", runtime, capsys, "--mount", "/scratch:/data")
    flat = " ".join(said.replace("\n#", " ").split())
    reasons = [
        one.reason for one in launch_recipe("azure-ndv5").settings if one.name == "NCCL_PXN_DISABLE"
    ]
    for reason in (*reasons, "NCCL_TOPO_FILE names it", "given by --mount"):
        assert reason in flat
    assert "/scratch:/data" in said


def test_a_hook_of_the_machine_takes_the_place_of_mounts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    table = tomllib.loads(text_of("alps-gh200", "ce", capsys))
    assert set(table) == {"image", "env", "annotations"}
    hook = table["annotations"]["com"]["hooks"]["aws_ofi_nccl"]
    assert hook == {"enabled": "true", "variant": "cuda12"}


@pytest.mark.parametrize("runtime", CONTAINERS)
def test_comments_fit_a_terminal_of_80_columns(
    runtime: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = text_of("azure-ndv5", runtime, capsys, "--program", "./a").splitlines()
    comments = [one for one in lines if one.lstrip().startswith("#") and "srun" not in one]
    assert comments
    assert max(map(len, comments)) < 80


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--container", "podman"], "--container goes with --image"),
        (["--container", "pyxis", "--image", "i", "--for", "srun"], "give two forms"),
        (["--container", "podman", "--image=--privileged"], "is no name of an image"),
        (["--container", "ce", "--image", "a\nb"], "is no name of an image"),
        (
            ["--container", "podman", "--image", "i", "--mount", "$DATA:/data"],
            "'$DATA:/data' is no mount for podman",
        ),
    ],
)
def test_what_cannot_be(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["recipe", "azure-ndv5", "--nodes", "2", *words]) == 2
    assert said in capsys.readouterr().err
