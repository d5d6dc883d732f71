"""Predicted lines of libfabric and of ld.so, and `weft doctor log --predicted` beside them."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.process_calls import call
from tests.unit.doctor.container.container_cases import MOUNTS, PATH, need_gcc
from tests.unit.doctor.container.container_trees import (
    LIBRARY_FOLDER,
    SlingshotNode,
    compile_library,
)
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


def line(pid: int, text: str) -> str:
    return f"libfabric:{pid}:1795945295::core:core:ofi_register_provider():461{text}"


def logged(
    node: SlingshotNode,
    *of_libfabric: str,
    network: str = "Socket",
    others: tuple[str, ...] = (),
    name: str = "job.log",
) -> Path:
    """A log of 16 ranks; the libfabric of the processes 11 and 12 says these."""
    path = node.folder / name
    lines = [*others, *LoggedJob(network=network, before=(SET,)).lines()]
    lines += [line(pid, one) for pid in (11, 12) for one in of_libfabric]
    path.write_text("\n".join(lines) + "\n")
    return path


def compared(log: Path, prediction: Path) -> tuple[int, str]:
    end = call(["doctor", "log", str(log), "--predicted", str(prediction)])
    return end.code, end.out


def findings(log: Path, prediction: Path, about: str = "provider cxi") -> list[dict[str, Any]]:
    """The findings that the log is not as predicted."""
    end = call(["doctor", "log", str(log), "--predicted", str(prediction), "--format", "json"])
    found = json.loads(end.out)["findings"]
    parted = [one for one in found if one["kind"] == "contradiction"]
    return [one for one in parted if one["facts"]["link"] == about]


def notes(log: Path, prediction: Path) -> list[str]:
    end = call(["doctor", "log", str(log), "--predicted", str(prediction), "--format", "json"])
    found = json.loads(end.out)["findings"]
    return [one["sentence"] for one in found if one["severity"] == "note"]


@FORMS
def test_a_provider_that_libfabric_registers(node: SlingshotNode, form: str) -> None:
    prediction, out = predicted(node, form=form)
    if form == "text":
        assert "\nlog   of libfabric's provider cxi, with FI_LOG_LEVEL=info:\n" in out
        assert "\n      libfabric:...<info> registering provider: cxi (...)\n" in out
    else:
        record = json.loads(out)
        assert record["predicted_provider"] == "cxi"
        assert (record["predicted_program"], record["predicted_start_log"]) == (None, None)
    as_predicted = "2 of 2 processes met libfabric's provider cxi as predicted"
    # An MPI may load a libfabric of its own.
    for more in ((), (TCP, CXI), (TCP, CXI.replace("2.1", "1.20"))):
        log = logged(node, TCP, CXI, *more)
        assert findings(log, prediction) == []
        assert as_predicted in notes(log, prediction)
    log = logged(node, network="AWS Libfabric")
    assert findings(log, prediction) == []
    said = "provider cxi is not compared: the log has none of libfabric's lines about its providers"
    assert any(one.startswith(said) for one in notes(log, prediction))


@FORMS
@pytest.mark.parametrize(("network", "severity"), [("Socket", "bad"), ("IB", "warning")])
def test_a_provider_that_a_process_lacks(
    node: SlingshotNode, form: str, network: str, severity: str
) -> None:
    prediction, _ = predicted(node, form=form)
    (found,) = findings(logged(node, TCP, network=network), prediction)
    assert (found["facts"]["n_processes"], found["severity"]) == (2, severity)
    assert found["facts"]["logged"] == "no line about cxi"
    (found,) = findings(logged(node, TCP, CXI, FILTERED, network=network), prediction)
    assert (found["facts"]["number"], found["severity"]) == (2, severity)
    assert found["facts"]["predicted"] == "no further line"
    assert found["facts"]["logged"] == FILTERED


def test_a_provider_that_is_filtered(node: SlingshotNode) -> None:
    for value in ("tcp", "^CXI", ""):
        prediction, out = predicted(node, more=f"FI_PROVIDER={value}")
        assert "BAD  8 of 8 ranks " in out
        assert f"(...)\n      libfabric:...{FILTERED}\n" in out
    log = logged(node, TCP, CXI, FILTERED)
    assert findings(log, prediction) == []
    (found,) = findings(logged(node, TCP, CXI), prediction)
    assert (found["facts"]["predicted"], found["severity"]) == (FILTERED, "warning")
    assert found["facts"]["logged"] == "no further line"


def test_a_file_that_failed_beside_one_that_is_registered_is_a_warning(
    node: SlingshotNode,
) -> None:
    prediction, _ = predicted(node)
    failed = "<warn> dlopen(/x/libcxi-fi.so): /x/libcxi-fi.so: file too short"
    (found,) = findings(logged(node, TCP, failed, CXI), prediction)
    assert (found["facts"]["number"], found["severity"]) == (1, "warning")


def test_processes_are_told_apart_by_label_and_file(node: SlingshotNode) -> None:
    """In containers every rank may be process 1."""
    prediction, _ = predicted(node)
    told = [line(1, TCP), line(1, CXI)]
    labelled = (*(f"0: {one}" for one in told), f"1: {line(1, TCP)}")
    (found,) = findings(logged(node, others=labelled), prediction)
    assert found["sentence"].startswith("1 of 2 processes logged other lines about libfabric's ")
    log = logged(node, others=(*told, line(1, TCP)))
    assert findings(log, prediction) == []
    mixed = "1 process with torn or mixed lines of libfabric not compared"
    assert mixed in notes(log, prediction)


def test_joined_lines_accuse_nobody(node: SlingshotNode) -> None:
    prediction, _ = predicted(node)
    joined = line(11, CXI) + line(12, CXI)
    log = logged(node, TCP, others=(joined,))
    assert findings(log, prediction) == []
    mixed = "2 processes with torn or mixed lines of libfabric not compared"
    assert mixed in notes(log, prediction)


def test_no_line_is_predicted_where_nccl_reaches_no_libfabric(node: SlingshotNode) -> None:
    _, out = predicted(node, more="NCCL_NET=Socket")
    assert "log   of libfabric" not in out
    (node.host / "opt/libfabric/libcxi.so.1").unlink()
    _, out = predicted(node)
    assert "log   of libfabric" not in out


def test_why_no_line_of_libfabric_is_predicted(node: SlingshotNode) -> None:
    no = "log   of libfabric: no prediction: "
    _, out = predicted(node, more="FI_PROVIDER_PATH=$SITE")
    assert f"{no}only the job knows the value of FI_PROVIDER_PATH\n" in out
    for number in range(4):
        (node.host / f"dev/cxi{number}").unlink()
    _, out = predicted(node, more="FI_CXI_X=1")
    assert f"{no}no /dev/cxi* is in the container, and what " in out


def program_of(node: SlingshotNode, name: str) -> str:
    """A program of the image that needs a library of this name, which is nowhere."""
    needed = compile_library(node.folder / f"built/{name}", MPICH)
    return MpiNode(node).program(needed)


@FORMS
@pytest.mark.parametrize("name", ["libmpi.so.12", "liblow.so.1"])
def test_a_program_that_does_not_start_logs_nothing_else(
    node: SlingshotNode, form: str, name: str
) -> None:
    program, lost = program_of(node, name), LOST.replace("libmpi.so.12", name)
    prediction, out = predicted(node, program, form=form)
    if form == "text":
        heading = f'\nlog   of ld.so about "{program}", which does not start:\n'
        assert out.startswith("BAD  8 of 8 ranks will not start: ")
        assert f"{heading}      {program}: {lost}\n" in out
        assert "NCCL INFO" not in out
    else:
        record = json.loads(out)
        assert record["predicted_start_log"] == [f"{program}: {lost}"]
        assert (record["predicted_log"], record["predicted_provider"]) == ([], None)
    log = node.folder / "start.log"
    log.write_text(f"0: {program}: {lost}\n1: {program}: {lost}\n")
    code, out = compared(log, prediction)
    assert code == 1
    assert f"{program} did not start, as predicted" in out
    about = "the start of the program"
    (found,) = findings(logged(node, TCP, CXI), prediction, about)
    assert (found["facts"]["predicted"], found["facts"]["logged"]) == (lost, "it started")
    assert found["severity"] == "warning"


def test_versions_that_a_program_lacks(node: SlingshotNode) -> None:
    needed = node.image / LIBRARY_FOLDER / "liblow.so.1"
    compile_library(needed, "int MPI_Init(void) {return 0;}", versions="LOW_2 { MPI_Init; };")
    program = MpiNode(node).program(needed)
    compile_library(needed, "int MPI_Init(void) {return 0;}", versions="LOW_1 { MPI_Init; };")
    prediction, out = predicted(node, program)
    text = f"/{LIBRARY_FOLDER.removeprefix('usr/')}/liblow.so.1: version `LOW_2' not found"
    assert f"\n      {program}: {text} (required by {program})\n" in out
    log = node.folder / "start.log"
    # Versions other than of glibc are no line that weft takes for a fault of the job.
    head = "NCCL version 2.18.3+cuda12.2\n"
    log.write_text(f"{head}{program}: {text} (required by {program})\n")
    assert findings(log, prediction, "the start of the program") == []
    assert f"{program} did not start, as predicted" in notes(log, prediction)


def test_a_program_that_does_not_start_against_the_prediction(node: SlingshotNode) -> None:
    needed = compile_library(node.image / LIBRARY_FOLDER / "liblow.so.1", MPICH)
    program = MpiNode(node).program(needed)
    prediction, out = predicted(node, program)
    assert f'log   of ld.so about "{program}": none, it finds all libraries\n' in out
    log = node.folder / "start.log"
    log.write_text(f"{program}: {LOST}\n")
    code, out = compared(log, prediction)
    assert code == 1
    assert f"BAD   {program} did not start; predicted: it starts\n" in out
    assert f"      predicted  it starts\n      logged     {LOST}  ({log}:1)\n" in out


def test_lines_of_other_programs_are_no_start_of_this_one(node: SlingshotNode) -> None:
    needed = compile_library(node.image / LIBRARY_FOLDER / "liblow.so.1", MPICH)
    others = (
        "numactl: error while loading shared libraries: libnuma.so.1: cannot open shared object "
        "file: No such file or directory",
        "ImportError: /lib/libstdc++.so.6: version `GLIBCXX_3.4.30' not found (required by /x.so)",
    )
    log = logged(node, TCP, CXI, others=others)
    about = "the start of the program"
    prediction, _ = predicted(node, MpiNode(node).program(needed))
    assert findings(log, prediction, about) == []
    # Of a program that weft does not find it predicts nothing.
    prediction, _ = predicted(node, "./a")
    assert findings(log, prediction, about) == []


HOSTILE = ("libfabric:1:" * 600, "libfabric:1:::<info> " + "dlopen(/" * 900, "x" * 9000)


@pytest.mark.parametrize("text", HOSTILE, ids=["processes", "files", "long"])
def test_hostile_lines_cost_no_time(node: SlingshotNode, text: str) -> None:
    prediction, _ = predicted(node)
    log = logged(node, others=(text,) * 50)
    end = call(["doctor", "log", str(log), "--predicted", str(prediction)])
    assert end.code in (0, 1, 5), end.err
    assert end.seconds < 10


def test_a_hostile_prediction_costs_no_time(node: SlingshotNode) -> None:
    prediction = node.folder / "prediction.txt"
    wild = "NET/Plugin: Loaded net plugin " + "...," * 500 + " (v6)"
    prediction.write_text(f"      NCCL INFO {wild}\n")
    text = "NET/Plugin: Loaded net plugin " + "a," * 2000
    path = node.folder / "job.log"
    path.write_text("\n".join(LoggedJob(before=(text,)).lines()) + "\n")
    end = call(["doctor", "log", str(path), "--predicted", str(prediction)])
    assert end.code in (0, 1), end.err
    assert end.seconds < 10


def test_a_document_without_a_name_predicts_nothing(node: SlingshotNode) -> None:
    path, out = predicted(node, form="json")
    record = json.loads(out) | {"predicted_provider": "", "predicted_program": ""}
    path.write_text(json.dumps(record | {"predicted_start_log": []}))
    _, out = compared(logged(node, TCP, CXI), path)
    assert "provider" not in "".join(one for one in out.splitlines() if "predicted" in one)
