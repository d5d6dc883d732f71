"""`weft doctor container`: the verdict first, the chain, formats, exit codes, and wrong input."""

import json
from pathlib import Path

import pytest
from tests.unit.doctor.container.container_cases import MOUNTS, PATH, need_gcc, run_doctor
from tests.unit.doctor.container.container_trees import SlingshotNode, compile_library

from weft.cli import run
from weft.doctor.container.image import view

VARIABLES = f"export LD_LIBRARY_PATH={PATH}\n"
SRUN = f"srun --container-image=i --container-mounts={','.join(MOUNTS)} ./a\n"
HEAD = "#SBATCH -N 2\n#SBATCH --ntasks-per-node=4\n"


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> SlingshotNode:
    need_gcc()
    return SlingshotNode(tmp_path_factory.mktemp("node")).build()


def test_the_verdict_begins_with_the_network_that_ranks_will_use(
    node: SlingshotNode, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "job.sh"
    script.write_text(HEAD + VARIABLES + SRUN)
    assert run_doctor(node, "--script", script) == 1
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("BAD  8 of 8 ranks will use NET/Socket: NCCL opens ")
    assert out[1] == "     fix: set NCCL_NET_PLUGIN=ofi for the container  [plugin-not-selected]"
    script.write_text(HEAD + VARIABLES + "export NCCL_NET_PLUGIN=ofi\n" + SRUN)
    assert run_doctor(node, "--script", script) == 0
    out = capsys.readouterr().out
    assert out.startswith("GOOD  8 of 8 ranks will use NET/OFI over cxi\nwould show: a plug-in")
    assert "└─ net plug-in: /opt/ofi/libnccl-net-ofi.so  (/opt/ofi of the host" in out


def test_a_demanded_network_ends_the_job(
    node: SlingshotNode, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "job.sh"
    script.write_text(VARIABLES + 'export NCCL_NET="AWS Libfabric"\n' + SRUN)
    assert run_doctor(node, "--script", script) == 1
    assert "every rank will end: network AWS Libfabric is not found" in capsys.readouterr().out


def test_an_empty_name_of_a_network_ends_the_job(
    node: SlingshotNode, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each of the libraries of tests/oracle/test_nccl_plugins.py looks for a network of no name."""
    script = tmp_path / "job.sh"
    script.write_text(VARIABLES + "export NCCL_NET_PLUGIN=ofi NCCL_NET=\n" + SRUN)
    assert run_doctor(node, "--script", script) == 1
    assert "every rank will end: network '' is not found" in capsys.readouterr().out


def test_a_listed_plugin_that_is_refused_gives_way_to_the_next(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    need_gcc()
    node = SlingshotNode(tmp_path / "node").build(version="2.32.3")
    compile_library(node.host / "opt/ofi/libnccl-net-old.so", "int ncclNetPlugin_v3;")
    script = tmp_path / "job.sh"
    refused = "/opt/ofi/libnccl-net-old.so, which does not use libfabric"
    for value, code, words in (
        ("old,ofi", 0, "net plug-in: /opt/ofi/libnccl-net-ofi.so"),
        ("old", 1, f"NCCL opens {refused}: NCCL_NET_PLUGIN is old"),
        ("", 1, "NCCL opens no plug-in: NCCL_NET_PLUGIN is empty"),
        ("none", 1, "NCCL opens no plug-in: NCCL_NET_PLUGIN is none"),
    ):
        script.write_text(VARIABLES + f"export NCCL_NET_PLUGIN={value}\n" + SRUN)
        assert run_doctor(node, "--script", script) == code
        assert words in capsys.readouterr().out


def test_of_several_launches_the_worst_is_shown(
    node: SlingshotNode, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "job.sh"
    bare = "srun --container-image=i ./b\n"
    script.write_text(VARIABLES + "export NCCL_NET_PLUGIN=ofi\n" + SRUN + bare)
    assert run_doctor(node, "--script", script) == 1
    assert f"the worst of 2: {script}:4" in capsys.readouterr().out


def test_the_record(
    node: SlingshotNode, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "job.sh"
    script.write_text(VARIABLES + SRUN)
    assert run_doctor(node, "--script", script, "--format", "json") == 1
    record = json.loads(capsys.readouterr().out)
    assert record["schema"] == "weft.doctor-container/1"
    assert [one["rule"] for one in record["faults"]] == ["plugin-not-selected"]
    links = [one["link"] for one in record["chain"]]
    assert links == ["NCCL 2.18.3", "net plug-in", "libfabric", "provider cxi", "adapter"]
    assert run_doctor(node, "--script", script, "--format", "csv") == 1
    assert capsys.readouterr().out.startswith("image,severity,rule,happens,fix,source\n")


def test_an_image_alone_on_a_machine_without_a_fabric_gives_no_verdict(
    node: SlingshotNode, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["doctor", "container", str(node.image), "--host", str(node.image)]) == 5
    assert "UNKNOWN  cannot tell: which network the nodes have" in capsys.readouterr().out


def test_this_process_is_a_running_container(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # The whole of a developer's machine is not this test's business.
    monkeypatch.setattr(view, "MOST_WALKED", 1000)
    code = run(["doctor", "container", "/proc/self/root", "--env", "FI_PROVIDER=cxi"])
    assert code in (1, 5)
    assert "running container /proc/self/root" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--mount", "a:b"), "--mount: 'a:b' is no mount"),
        (("--mount", "/a"), "--mount: '/a' is no mount"),
        (("--env", "1=2"), "--env: '1=2' sets no variable"),
        (("--host", "/no/such"), "/no/such: no such directory"),
        (("--script", "JOB"), "it starts no image"),
        (("--script", "JOB", "--edf", "JOB"), "two launches"),
        (("--script", "POD.yaml"), "it is of the kind Kubernetes"),
        (("--cdi", "JOB"), "it is no table of keys"),
        (("--cdi", "ANCHORS"), "it has anchors of YAML"),
        (("--cdi", "BROKEN"), "no JSON or YAML"),
        (("--cdi", "CDI"), "no cdiVersion or no devices"),
    ],
)
def test_wrong_input(
    node: SlingshotNode,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    options: tuple[str, ...],
    words: str,
) -> None:
    (tmp_path / "JOB").write_text("echo hello\n")
    (tmp_path / "CDI").write_text("kind: a/b\n")
    pod = "kind: Pod\nspec:\n  containers:\n  - image: i\n    env: [{name: A, value: b}]\n"
    (tmp_path / "POD.yaml").write_text(pod)
    (tmp_path / "ANCHORS").write_text("cdiVersion: 0.6.0\na: &x [1]\nb: [*x, *x]\n")
    (tmp_path / "BROKEN").write_text('{"cdiVersion": "0.6.0",')
    files = ("JOB", "CDI", "POD.yaml", "ANCHORS", "BROKEN")
    named = [str(tmp_path / one) if one in files else one for one in options]
    assert run_doctor(node, *named) == 2
    assert words in capsys.readouterr().err


def test_an_image_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "container", "nvcr.io/nvidia/pytorch:22.12"]) == 2
    err = capsys.readouterr().err
    assert "no such image" in err
    assert "podman save --format oci-dir -o DIR NAME" in err
