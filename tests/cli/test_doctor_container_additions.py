"""`weft doctor container --emit`: which launch is mended, and what is said of the addition."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.doctor.container.container_cases import MOUNTS, PATH, need_gcc, run_doctor
from tests.unit.doctor.container.container_trees import SlingshotNode

from weft.doctor.container.remedy.documents import MOUNT_HOOK

BARE = "srun --container-image=i ./b\n"
GOOD = (
    f"LD_LIBRARY_PATH={PATH} NCCL_NET_PLUGIN=ofi "
    f"srun --container-image=i --container-mounts={','.join(MOUNTS)} ./a\n"
)


@pytest.fixture
def job(tmp_path: Path) -> Path:
    return tmp_path / "job.sh"


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> SlingshotNode:
    need_gcc()
    node = SlingshotNode(tmp_path_factory.mktemp("node")).build()
    SlingshotNode.add_file(node.host / "data/x")
    return node


def record_of(
    node: SlingshotNode, capsys: pytest.CaptureFixture[str], *options: str | Path
) -> dict[str, Any]:
    run_doctor(node, *options, "--format", "json")
    record: dict[str, Any] = json.loads(capsys.readouterr().out)
    return record


@pytest.mark.parametrize("text", [BARE + BARE, GOOD + BARE + BARE, BARE + GOOD + BARE])
def test_several_launches_that_need_a_remedy_are_refused(
    node: SlingshotNode, job: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    job.write_text(text)
    assert run_doctor(node, "--script", job, "--emit", "pyxis") == 2
    said = capsys.readouterr()
    assert not said.out
    lines = [at for at, one in enumerate(text.splitlines(), 1) if f"{one}\n" == BARE]
    n_launches = len(text.splitlines())
    places = ", ".join(f"{job}:{one}" for one in lines)
    assert f"2 of {n_launches} launches are not GOOD: {places}" in said.err
    assert "hint: a copy of the script for each launch" in said.err


@pytest.mark.parametrize(("text", "line"), [(GOOD + BARE, 2), (BARE + GOOD, 1)])
def test_the_one_launch_that_needs_a_remedy_gets_it(
    node: SlingshotNode, job: Path, capsys: pytest.CaptureFixture[str], text: str, line: int
) -> None:
    job.write_text(text)
    assert run_doctor(node, "--script", job, "--emit", "pyxis") == 0
    assert f"checked as an addition to {job}:{line}\n" in capsys.readouterr().err


def test_launches_that_are_all_good_get_nothing(
    node: SlingshotNode, job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job.write_text(GOOD + GOOD)
    assert run_doctor(node, "--script", job, "--emit", "pyxis") == 0
    said = capsys.readouterr()
    assert not said.out
    assert "nothing to add to" in said.err


@pytest.mark.parametrize("form", ["cdi", "sarus", "podman"])
def test_a_record_of_a_fault_that_stays_has_nothing_to_paste(
    node: SlingshotNode, tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    options = ("--mount", "/no/such:/data", "--emit", form)
    assert run_doctor(node, *options) == 1
    capsys.readouterr()
    record = record_of(node, capsys, *options)
    assert (record["verdict"], record["text"], record["start"]) == ("bad", None, None)


def test_the_hook_of_sarus_is_looked_for(
    node: SlingshotNode, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    note = f"{MOUNT_HOOK} is not on the host: write the path of this Sarus' mount_hook there"
    assert run_doctor(node, "--emit", "sarus") == 0
    assert f"note: {note}\n" in capsys.readouterr().err
    assert record_of(node, capsys, "--emit", "sarus")["notes"] == [note]
    assert record_of(node, capsys, "--emit", "cdi")["notes"] == []
    hook = SlingshotNode.add_file(node.host / MOUNT_HOOK.lstrip("/"))
    assert record_of(node, capsys, "--emit", "sarus")["notes"] == []
    hook.unlink()


def test_an_export_that_keeps_additions_out_is_named(
    node: SlingshotNode, job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    note = (
        "note: --export or SLURM_EXPORT_ENV keeps added variables from the container: put ALL into "
        "the list of srun --export\n"
    )
    begins = (
        *(("srun --export=NONE", 1), ("srun --export=A", 1), ("srun --export=ALL,A", 0)),
        *(("#SBATCH --export=NONE\nsrun", 1), ("#SBATCH --export=NONE\nsrun --export=ALL", 0)),
        *(("export SLURM_EXPORT_ENV=A\nsrun", 1), ("export SLURM_EXPORT_ENV=ALL\nsrun", 0)),
    )
    for begin, code in begins:
        job.write_text(f"{begin} --container-image=i ./a\n")
        assert run_doctor(node, "--script", job, "--emit", "pyxis") == code
        said = capsys.readouterr()
        assert (note in said.err, not said.out) == (bool(code), bool(code))


READ_ONLY = {
    "edf": '"/data:/data:ro"',
    "pyxis": "FABRIC_MOUNTS=/data:/data:ro\n",
    "sarus": '"--mount=type=bind,src=/data,dst=/data,readonly"',
    "apptainer": "--bind /data:/data:ro ",
    "podman": "--volume /data:/data:ro ",
    "docker": "--volume /data:/data:ro ",
}
WRITABLE = {
    form: text.replace(":ro", "").replace(",readonly", "") for form, text in READ_ONLY.items()
}


@pytest.mark.parametrize("form", READ_ONLY)
def test_a_mount_of_the_command_line_keeps_its_flag(
    node: SlingshotNode, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    for flags, expected in (("", WRITABLE), (":rw", WRITABLE), (":ro", READ_ONLY)):
        assert run_doctor(node, "--mount", f"/data:/data{flags}", "--emit", form) == 0
        assert expected[form] in capsys.readouterr().out


def test_a_specification_keeps_the_flag_of_a_mount(
    node: SlingshotNode, capsys: pytest.CaptureFixture[str]
) -> None:
    for flags, is_read_only in (("", False), (":ro", True)):
        assert run_doctor(node, "--mount", f"/data:/data{flags}", "--emit", "cdi") == 0
        (device,) = json.loads(capsys.readouterr().out)["devices"]
        (mount,) = (x for x in device["containerEdits"]["mounts"] if x["hostPath"] == "/data")
        assert ("ro" in mount["options"]) is is_read_only


@pytest.mark.parametrize("flags", ["x", "ro,z", "ro:x", "RO"])
def test_other_flags_of_a_mount_are_refused(
    node: SlingshotNode, capsys: pytest.CaptureFixture[str], flags: str
) -> None:
    assert run_doctor(node, "--mount", f"/data:/data:{flags}", "--emit", "cdi") == 2
    assert f"'/data:/data:{flags}' is no mount" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["NCCL_NET", "FI_PROVIDER"])
def test_a_value_that_only_the_job_knows_is_shown_as_dots(
    node: SlingshotNode, job: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    job.write_text(f"export {name}=$SITE-own\n{BARE}")
    record = record_of(node, capsys, "--script", job, "--emit", "pyxis")
    assert record["verdict"] == "good"
    (reason,) = (one["reason"] for one in record["added"] if one["entry"] == name)
    assert reason == "in place of ...-own"
    assert record["replaced"] == [{"name": name, "value": "...-own", "origin": f"{job}:1"}]
    assert run_doctor(node, "--script", job, "--emit", "pyxis") == 0
    said = capsys.readouterr()
    assert "# in place of ...-own\n" in said.out
    assert f"delete: {name}=...-own ({job}:1); the addition replaces it\n" in said.err
