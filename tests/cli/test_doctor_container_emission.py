"""`weft doctor container --emit`: the text alone on standard output, its verdict apart."""

import json
import shutil
from pathlib import Path

import pytest
from tests.unit.doctor.container.container_cases import need_gcc, run_doctor
from tests.unit.doctor.container.container_trees import SlingshotNode, compile_library

from weft.cli import run
from weft.doctor.container.image import view


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> SlingshotNode:
    need_gcc()
    return SlingshotNode(tmp_path_factory.mktemp("node")).build()


@pytest.mark.parametrize(("form", "option"), [("cdi", "--cdi"), ("podman", "--script")])
def test_the_output_is_a_file_that_the_next_command_takes(
    node: SlingshotNode,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    form: str,
    option: str,
) -> None:
    assert run_doctor(node, "--emit", form) == 0
    said = capsys.readouterr()
    assert said.err.startswith("GOOD  every rank will use NET/OFI over cxi")
    assert f"next: weft doctor container {node.image} --host {node.host} {option} FILE" in said.err
    path = tmp_path / "emitted"
    path.write_text(said.out)
    assert run_doctor(node, option, path) == 0


def test_a_hook_takes_its_variables_from_the_next_line(
    node: SlingshotNode, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_doctor(node, "--emit", "sarus") == 0
    said = capsys.readouterr()
    path = tmp_path / "hook.json"
    path.write_text(said.out)
    line = next(one for one in said.err.splitlines() if one.startswith("next: "))
    words = line.split()[2:]
    assert run([str(path) if one == "FILE" else one for one in words]) == 0


def test_a_fault_that_stays_is_said_and_nothing_is_written(
    node: SlingshotNode, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(node.folder, tmp_path / "node", symlinks=True)
    other = SlingshotNode(tmp_path / "node")
    stand_in = tmp_path / "libc.so.6"
    compile_library(stand_in, "int newer(void) { return 1; }", versions="GLIBC_2.99 { newer; };")
    source = "int newer(void); int cxil_open(void) { return newer(); }"
    compile_library(other.host / "opt/libfabric/libcxi.so.1", source, needs=[stand_in])
    assert run_doctor(other, "--emit", "podman") == 1
    said = capsys.readouterr()
    assert not said.out
    assert "needs GLIBC_2.99" in said.err
    assert "not written: with all that weft found on the host, the faults above stay" in said.err
    assert run_doctor(other, "--emit", "podman", "--format", "json") == 1
    assert json.loads(capsys.readouterr().out)["text"] is None


def test_a_launch_that_is_right_gets_nothing(
    node: SlingshotNode, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "job.sh"
    mounts = "/opt/ofi:/opt/ofi,/opt/libfabric:/opt/libfabric"
    script.write_text(
        "export LD_LIBRARY_PATH=/opt/ofi:/opt/libfabric NCCL_NET_PLUGIN=ofi\n"
        f"srun --container-image=i --container-mounts={mounts} ./a\n"
    )
    assert run_doctor(node, "--script", script, "--emit", "pyxis") == 0
    said = capsys.readouterr()
    assert not said.out
    assert f"nothing to add to {script}:2" in said.err


def test_the_record_has_each_entry_with_its_reason(
    node: SlingshotNode, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_doctor(node, "--emit", "edf", "--format", "json") == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["schema"], record["verdict"]) == ("weft.container-emission/1", "good")
    assert {one["kind"] for one in record["added"]} == {"mount", "device", "variable"}
    assert all(one["reason"] for one in record["added"])
    assert run_doctor(node, "--emit", "edf", "--format", "csv") == 0
    assert capsys.readouterr().out.startswith("kind,entry,reason\n")


def test_wrong_input(
    node: SlingshotNode,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The whole of a developer's machine is not this test's business.
    monkeypatch.setattr(view, "MOST_WALKED", 1000)
    image = str(node.image)
    assert run(["doctor", "container", image, "--host", image, "--emit", "cdi"]) == 2
    assert "no device, variable or mount shows the network" in capsys.readouterr().err
    assert (
        run(
            [
                "doctor",
                "container",
                image,
                "--host",
                image,
                "--recipe",
                "alps-gh200",
                "--emit",
                "cdi",
            ]
        )
        == 3
    )
    said = capsys.readouterr().err
    assert (
        "NCCL's plug-in for libfabric was not found, neither in the image nor on the host" in said
    )
    script = tmp_path / "job.sh"
    script.write_text("podman run i ./a\n")
    assert run_doctor(node, "--script", script, "--emit", "pyxis") == 2
    assert "the launch is by podman" in capsys.readouterr().err
    running = ["doctor", "container", "/proc/self/root", "--env", "FI_PROVIDER=cxi"]
    assert run([*running, "--emit", "cdi"]) == 2
    assert "a running container takes no mounts" in capsys.readouterr().err
    (tmp_path / "hook.json").write_text("{}")
    assert run_doctor(node, "--hook", tmp_path / "hook.json") == 2
    assert "no hook with a path" in capsys.readouterr().err
