"""`weft doctor container --emit` for a launch of the user: merged, it gets the same verdict."""

import re
import shlex
from pathlib import Path

import pytest
from tests.unit.doctor.container.container_cases import need_gcc, run_doctor
from tests.unit.doctor.container.container_trees import SlingshotNode
from tests.unit.doctor.container.remedy.merged_launches import (
    Edf,
    Script,
    specification,
    without_variable,
)

from weft.cli import run
from weft.doctor.container.remedy.emission_forms import FORMS

SRUN = ("srun", "--container-mounts=/data:/data", "--container-env=NCCL_DEBUG")
IMAGE = ("--container-image=i ./a",)
OWN = ("NCCL_NET=Socket", "NCCL_NET_PLUGIN=none", "FI_PROVIDER=tcp", "LD_LIBRARY_PATH=/nowhere")
EXPORTS = tuple(f"export {one}" for one in OWN)
OPTIONS = tuple(f"--env {one}" for one in OWN)
QUOTED = tuple('{} = "{}"'.format(*one.split("=")) for one in OWN)
LAUNCHES = {
    "pyxis": [
        Script((), ("srun", *IMAGE)),
        Script(EXPORTS, (*SRUN, *IMAGE)),
        Script((), (*OWN, *SRUN, *IMAGE)),
        Script(EXPORTS[:3], (*SRUN, f"--export=ALL,{OWN[3]}", *IMAGE)),
    ],
    "edf": [Edf((), ()), Edf(('"/data:/data",',), QUOTED)],
    "apptainer": [
        Script((), ("apptainer exec", "i ./a")),
        Script(EXPORTS, ("srun apptainer exec", "--bind /data:/data", *OPTIONS, "i ./a")),
        Script((), ("apptainer exec", "--contain", "--cleanenv", *OPTIONS, "i ./a")),
        Script(
            tuple(f"export APPTAINERENV_{one}" for one in OWN),
            ("apptainer exec", *OPTIONS, "i ./a"),
        ),
        Script(tuple(f"export SINGULARITYENV_{one}" for one in OWN), ("singularity exec", "i ./a")),
    ],
    "podman": [
        Script((), ("podman run", "i ./a")),
        Script((), ("podman run", "--volume /data:/data", *OPTIONS, "i ./a")),
        Script((), ("podman run", "--device /dev/cxi0", *OPTIONS, "i ./a")),
    ],
    "docker": [Script((), ("docker run", "-v /data:/data", *OPTIONS, "i ./a"))],
    "sarus": [
        Script((), ("srun sarus run", "i ./a")),
        Script(EXPORTS, ("srun sarus run", *(f"--env={one}" for one in OWN), "i ./a")),
    ],
    "cdi": [
        Script((), ("podman run", "-v /data:/data", *OPTIONS, "i ./a")),
        Script((), ("docker run", *OPTIONS, "i ./a")),
    ],
}  # fmt: skip
DELETED = re.compile(
    r"^delete: (\w+)=(.*) \(([^()]*?)(?::(\d+))?\); the addition replaces it$", re.M
)


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> SlingshotNode:
    need_gcc()
    node = SlingshotNode(tmp_path_factory.mktemp("node")).build()
    SlingshotNode.add_file(node.host / "data/x")
    return node


def test_each_format_is_merged() -> None:
    assert set(LAUNCHES) == set(FORMS)


def words_of(said: str, begin: str) -> str:
    lines = [one for one in said.splitlines() if one.startswith(begin)]
    return lines[0].removeprefix(begin) if lines else ""


def checked(said: str, file: Path) -> int:
    """The exit code of the command that the output names, FILE being its text."""
    words = shlex.split(words_of(said, "next: weft "))
    return run([str(file) if one == "FILE" else one for one in words])


@pytest.mark.parametrize(
    ("form", "launch"), [(form, one) for form in LAUNCHES for one in LAUNCHES[form]]
)
def test_a_merged_launch_gets_the_verdict_of_the_addition(
    node: SlingshotNode,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    form: str,
    launch: Script | Edf,
) -> None:
    path = tmp_path / ("job.toml" if form == "edf" else "job.sh")
    path.write_text(launch.text)
    option = "--edf" if form == "edf" else "--script"
    assert run_doctor(node, option, path) in (1, 5)
    capsys.readouterr()
    assert run_doctor(node, option, path, "--emit", form) == 0
    said = capsys.readouterr()
    assert said.err.startswith("GOOD  ")
    assert f"add: {FORMS[form].merge}" in said.err
    file = tmp_path / "emitted"
    file.write_text(said.out)
    if form != "cdi":  # weft takes a specification as used, whatever the launch says.
        assert checked(said.err, file) in (1, 5), "what is checked is not the user's launch"
    for name, value, place, number in DELETED.findall(said.err):
        assert place == str(path)
        launch = launch.without(int(number), name, value)
    path.write_text(launch.merged(said.out, words_of(said.err, "start: ")).text)
    capsys.readouterr()
    assert checked(said.err, file) == 0, capsys.readouterr().out


@pytest.mark.parametrize("form", ["podman", "cdi"])
def test_a_specification_of_the_user_stays_beside_the_addition(
    node: SlingshotNode, tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    path = tmp_path / "own.json"
    path.write_text(specification(OWN))
    assert run_doctor(node, "--cdi", path, "--emit", form) == 0
    said = capsys.readouterr()
    assert f"checked as an addition to {path}" in said.err
    file = tmp_path / "emitted"
    file.write_text(said.out)
    for name, value, place, _ in DELETED.findall(said.err):
        assert place == path.name
        without_variable(path, name, value)
    assert checked(said.err, file) == 0
    # The user's own is checked, too.
    path.write_text("{}")
    assert checked(said.err, file) == 2


def test_a_specification_that_beats_options_is_changed(
    node: SlingshotNode, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, own = tmp_path / "job.sh", tmp_path / "own.json"
    launch = Script((), ("podman run", "--device site/own=all", *OPTIONS[:2], "i ./a"))
    path.write_text(launch.text)
    own.write_text(specification(OWN))
    assert run_doctor(node, "--script", path, "--cdi", own, "--emit", "podman") == 0
    said = capsys.readouterr()
    deleted = DELETED.findall(said.err)
    places = {(name, place) for name, _, place, _ in deleted}
    names = {one.partition("=")[0] for one in OWN}
    assert places == {(one, own.name) for one in names} | {
        (one.partition("=")[0], str(path)) for one in OWN[:2]
    }
    for name, value, place, number in deleted:
        if place == own.name:
            without_variable(own, name, value)
        else:
            launch = launch.without(int(number), name, value)
    path.write_text(launch.merged(said.out, "").text)
    assert checked(said.err, tmp_path / "no such") == 0
    own.write_text(specification(OWN))
    assert checked(said.err, tmp_path / "no such") == 1


def test_a_hook_of_the_user_stays_beside_the_addition(
    node: SlingshotNode, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "own.json"
    path.write_text(
        '{"hook": {"path": "/a/mount_hook", "args": ["mount_hook", "--device=/dev/cxi0"]}}'
    )
    assert run_doctor(node, "--hook", path, "--emit", "sarus") == 0
    said = capsys.readouterr()
    assert "/dev/cxi0" not in said.out
    file = tmp_path / "emitted"
    file.write_text(said.out)
    assert checked(said.err, file) == 0
    path.write_text("{}")
    assert checked(said.err, file) == 2
