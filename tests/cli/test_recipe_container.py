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
from weft.doctor.container.case import ContainerCase
from weft.doctor.container.chain.report import BY_ABSENCE, Chain
from weft.doctor.container.judge import outcome
from weft.doctor.container.launch.runtime import RUNTIMES as KNOWN
from weft.doctor.log.judge import judge

Nodes = Mapping[str, SlingshotNode]
LOGGED = {
    "NET/OFI over": "AWS Libfabric",
    "NET/IB": "IB",
    "NET/Socket": "Socket",
}
"""By part of the verdict the name that NCCL logs for its network."""
INFO = "NCCL INFO "
OVER_LIBFABRIC = ("slingshot", "efa")
FORM = 'const char *form = "NET/Plugin : Plugin load (%s) returned %d : %s";'
SOURCE = (NCCL_SOURCE + FORM).replace("version %s", "version 2.18.3")
NOT_THERE = "cannot open shared object file: No such file or directory"
"""SOURCE: NVIDIA/nccl v2.18.3-1, src/net.cc: the formats of these lines; glibc, dlerror."""
TOPOLOGY_FILES = {launch_recipe(one).topology_file for one in recipe_machines()} - {""}


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Nodes:
    """By fabric a node, and an image that has rdma-core and nothing of libfabric."""
    need_gcc()
    slingshot = SlingshotNode(tmp_path_factory.mktemp("slingshot")).build()
    compile_library(slingshot.image / LIBRARY_FOLDER / "libnccl.so.2", SOURCE)
    verbs = SlingshotNode(tmp_path_factory.mktemp("verbs"))
    efa = SlingshotNode(tmp_path_factory.mktemp("efa"))
    for node in (verbs, efa):
        node.add_libc(node.image)
        node.add_libc(node.host)
        nccl = node.image / LIBRARY_FOLDER / "libnccl.so.2"
        compile_library(nccl, SOURCE)
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


def logged(folder: Path, case: ContainerCase, chain: Chain) -> Finding:
    """The finding of `weft doctor log` in a log with the network and the lines that the verdict
    predicts."""
    said = outcome(case, chain)
    (network,) = (name for part, name in LOGGED.items() if part in said)
    path = folder / "job.log"
    found = [one.removeprefix(INFO) for one in chain.log or () if one.startswith(INFO)]
    before = tuple(one for one in found if not one.startswith("Using network "))
    path.write_text("\n".join(LoggedJob(network=network, before=before).lines()) + "\n")
    (only,) = judge(job_log(read_logs([str(path)])))
    assert f"16 of 16 ranks used NET/{network}" in only.sentence
    return only


def lines_of(selected: str, *, loads: bool) -> tuple[str, ...]:
    """What NCCL logs about its plug-in: none of those here has the collectives."""
    return tuple(f"{INFO}{one}" for one in texts_of(selected, loads=loads))


def texts_of(selected: str, *, loads: bool) -> tuple[str, ...]:
    name = f"libnccl-net-{selected}.so" if selected else "libnccl-net.so"
    asked = (f"Plugin name set by env to {name}",) if selected else ()
    if loads:
        coll = ("_v6 symbol.", " symbol (v4 or v5).")
        return (*asked, *(f"NET/Plugin: Failed to find ncclCollNetPlugin{one}" for one in coll))
    return (
        *asked,
        f"NET/Plugin : Plugin load ({name}) returned 2 : {name}: {NOT_THERE}",
        "NET/Plugin : No plugin found, using internal implementation",
    )


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
    selected = case.value("NCCL_NET_PLUGIN")
    if recipe.fabric in OVER_LIBFABRIC:
        # The image has neither plug-in nor libfabric, as the comment of the recipe says.
        assert "plugin-not-mounted" in faults
        assert faults <= BY_ABSENCE
        assert "weft doctor container IMAGE --recipe" in path.read_text()
        # The image for Slingshot has HPC-X's plug-in under the default name.
        has_default = recipe.fabric == "slingshot" and not selected
        ends = "NCCL_NET" in case.variables and not has_default
        lost = f"NCCL WARN Error: network {case.value('NCCL_NET')} not found."
        assert chain.log == (*lines_of(selected, loads=has_default), *([lost] if ends else []))
        if "NCCL_NET" in case.variables:
            network = case.value("NCCL_NET")
            assert f"will end: network {network} is not found" in outcome(case, chain)
        else:
            worst = logged(tmp_path, case, chain)
            assert worst.severity is Severity.BAD
            assert (f"plug-in not found (libnccl-net-{selected}.so)" in worst.sentence) is bool(
                selected
            )
        remedy = remedy_of(node.image, node.host, RUNTIMES[runtime], recipe=name, **option)
        case, chain = remedy.case, remedy.chain
        taken = case.value("NCCL_NET") or "..."
        assert chain.log == (*lines_of("ofi", loads=True), f"{INFO}Using network {taken}")
    else:
        assert chain.log is not None
        assert chain.log[-1] == f"{INFO}Using network IB"
    assert chain.verdict() is Severity.GOOD
    assert logged(tmp_path, case, chain).severity is Severity.GOOD


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


@pytest.mark.parametrize(("runtime", "is_said"), [("ce", True), ("pyxis", False)])
def test_a_hook_that_is_written_has_its_source(
    runtime: str, is_said: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    said = text_of("alps-gh200", runtime, capsys, "--explain")
    line = "com.hooks.aws_ofi_nccl.variant=cuda12\n"
    source = "  source: eth-cscs/cscs-docs 80abed1, container engine\n"
    assert (line in said, source in said) == (is_said, is_said)


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
        (["--container", "podman", "--image", "i", "--diff", "job.sh"], "--diff and --container"),
        (["--for", "srun", "--diff", "job.sh"], "--diff and --for"),
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
