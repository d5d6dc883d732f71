"""Predicted lines of libfabric and of ld.so, and `weft doctor log --predicted` beside them."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.process_calls import call
from tests.unit.doctor.container.container_cases import MOUNTS, PATH, need_gcc
from tests.unit.doctor.container.container_trees import SlingshotNode, compile_library
from tests.unit.doctor.container.mpi_node import MPICH, MpiNode
from tests.unit.doctor.nccl_log import LoggedJob

JOB = """#SBATCH -N 2
#SBATCH --ntasks-per-node=4
export LD_LIBRARY_PATH={path} NCCL_NET_PLUGIN=ofi {more}
srun --container-image=i --container-mounts={mounts} {program}
"""
SET = "Plugin name set by env to libnccl-net-ofi.so"
CXI, TCP = "<info> registering provider: cxi (2.1)", "<info> registering provider: tcp (2.1)"
FILTERED = '<info> "cxi" filtered by provider include/exclude list, skipping'
LD_SO = "error while loading shared libraries: "
LOST = f"{LD_SO}libmpi.so.12: cannot open shared object file: No such file or directory"
FORMS = pytest.mark.parametrize("form", ["text", "json"])


@pytest.fixture
def node(tmp_path: Path) -> SlingshotNode:
    need_gcc()
    return SlingshotNode(tmp_path / "node").build()


def predicted(
    node: SlingshotNode, program: str = "./a", *, more: str = "", form: str = "text"
) -> tuple[Path, str]:
    """The file with the output of `weft doctor container`, and the output."""
    script, path = node.folder / "job.sh", node.folder / f"predicted.{form}"
    words = {"path": PATH, "mounts": ",".join(MOUNTS), "program": program, "more": more}
    script.write_text(JOB.format_map(words))
    argv = ["doctor", "container", str(node.image), "--host", str(node.host), "--predict-log"]
    end = call([*argv, "--script", str(script), "--format", form])
    assert end.code in (0, 1, 5), end.err
    path.write_text(end.out)
    return path, end.out


def logged(node: SlingshotNode, *of_libfabric: str, others: tuple[str, ...] = ()) -> Path:
    """A log of 16 ranks over a plug-in; the libfabric of the processes 11 and 12 says these."""
    path = node.folder / "job.log"
    lines = [*others, *LoggedJob(network="AWS Libfabric", before=(SET,)).lines()]
    for pid in (11, 12):
        begin = f"libfabric:{pid}:1795945295::core:core:ofi_register_provider():461"
        lines += [f"{begin}{one}" for one in of_libfabric]
    path.write_text("\n".join(lines) + "\n")
    return path


def compared(log: Path, prediction: Path) -> tuple[int, str]:
    end = call(["doctor", "log", str(log), "--predicted", str(prediction)])
    return end.code, end.out


def contradictions(log: Path, prediction: Path) -> list[dict[str, Any]]:
    end = call(["doctor", "log", str(log), "--predicted", str(prediction), "--format", "json"])
    found = json.loads(end.out)["findings"]
    return [one["facts"] for one in found if one["kind"] == "contradiction"]


@FORMS
def test_a_provider_that_libfabric_registers(node: SlingshotNode, form: str) -> None:
    prediction, out = predicted(node, form=form)
    if form == "text":
        assert "\nlog   of libfabric's provider cxi, with FI_LOG_LEVEL=info:\n" in out
        assert "\n      libfabric:...<info> registering provider: cxi (...)\n" in out
    else:
        record = json.loads(out)
        assert record["predicted_provider"] == "cxi"
        assert record["predicted_start_log"] == []
    code, out = compared(logged(node, TCP, CXI), prediction)
    assert code == 0
    assert "2 of 2 processes met libfabric's provider cxi as predicted" in out
    code, out = compared(logged(node), prediction)
    assert code == 0
    assert "no process logged which providers libfabric has; what shows it: FI_LOG_LEVEL" in out


@FORMS
def test_a_provider_that_a_process_lacks(node: SlingshotNode, form: str) -> None:
    prediction, _ = predicted(node, form=form)
    (facts,) = contradictions(logged(node, TCP), prediction)
    assert (facts["link"], facts["n_processes"]) == ("provider cxi", 2)
    assert facts["logged"] == "no line names it"
    (facts,) = contradictions(logged(node, TCP, CXI, FILTERED), prediction)
    assert (facts["number"], facts["predicted"]) == (2, "no line names it")
    assert facts["logged"] == FILTERED


def test_a_provider_that_is_filtered(node: SlingshotNode) -> None:
    prediction, out = predicted(node, more="FI_PROVIDER=tcp")
    assert "BAD  8 of 8 ranks " in out
    assert f"(...)\n      libfabric:...{FILTERED}\n" in out
    assert contradictions(logged(node, TCP, CXI, FILTERED), prediction) == []
    (facts,) = contradictions(logged(node, TCP, CXI), prediction)
    assert facts["predicted"] == FILTERED


def test_no_line_is_predicted_where_nccl_reaches_no_libfabric(node: SlingshotNode) -> None:
    _, out = predicted(node, more="NCCL_NET=Socket")
    assert "log   of libfabric" not in out
    (node.host / "opt/libfabric/libcxi.so.1").unlink()
    _, out = predicted(node)
    assert "log   of libfabric" not in out


def test_what_a_provider_does_without_its_adapter_is_not_known(node: SlingshotNode) -> None:
    for number in range(4):
        (node.host / f"dev/cxi{number}").unlink()
    _, out = predicted(node, more="FI_CXI_X=1")
    assert "log   of libfabric: no prediction: " in out


@FORMS
def test_a_program_that_lacks_its_mpi_logs_nothing_else(node: SlingshotNode, form: str) -> None:
    needed = compile_library(node.folder / "built/libmpi.so.12", MPICH)
    program = MpiNode(node).program(needed)
    prediction, out = predicted(node, program, form=form)
    if form == "text":
        heading = "\nlog   of the program, which ends at its start:\n"
        assert f"{heading}      {program}: {LOST}\n" in out
        assert "NCCL INFO" not in out
    else:
        record = json.loads(out)
        assert record["predicted_start_log"] == [f"{program}: {LOST}"]
        assert (record["predicted_log"], record["predicted_provider"]) == ([], None)
    log = node.folder / "start.log"
    log.write_text(f"0: {program}: {LOST}\n1: {program}: {LOST}\n")
    code, out = compared(log, prediction)
    assert code == 1
    assert "the program ended at its start, as predicted" in out
    (facts,) = contradictions(logged(node, TCP, CXI), prediction)
    assert (facts["predicted"], facts["logged"]) == (LOST, "the program started")


def test_a_program_that_ends_at_its_start_against_the_prediction(node: SlingshotNode) -> None:
    prediction, _ = predicted(node)
    log = node.folder / "start.log"
    log.write_text(f"./a: {LOST}\n")
    code, out = compared(log, prediction)
    assert code == 1
    assert "BAD   the program ended at its start, unlike the prediction\n" in out
    assert f"      predicted  the program starts\n      logged     {LOST}  ({log}:1)\n" in out
