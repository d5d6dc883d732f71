"""`weft doctor log --predicted`: the first line in which a log is not as predicted."""

import json
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path

import pytest
from tests.unit.doctor.container.container_cases import MOUNTS, PATH, need_gcc, run_doctor
from tests.unit.doctor.container.container_trees import (
    LIBRARY_FOLDER,
    NCCL_SOURCE,
    SlingshotNode,
    compile_library,
)
from tests.unit.doctor.nccl_log import LoggedJob

from weft.cli import run

SET = "Plugin name set by env to libnccl-net-ofi.so"
OPENING = "cannot open shared object file: No such file or directory"
LOAD = "NET/Plugin : Plugin load (libnccl-net-ofi.so) returned 2 : "
LOST = f"{LOAD}libfabric.so.1: {OPENING}"
NONE = "NET/Plugin : No plugin found, using internal implementation"
FAILED = (SET, LOST, NONE)


def predicted(folder: Path, *lines: str, version: str = "2.18.3") -> Path:
    path = folder / "predicted.txt"
    text = f"GOOD  every rank will use NET/OFI over cxi\n\nNCCL {version}: /lib/libnccl.so.2\n\n"
    text += "log   of each rank, with NCCL_DEBUG=INFO:\n"
    marked = (one if one.startswith("NCCL ATTN ") else f"NCCL INFO {one}" for one in lines)
    path.write_text(text + "".join(f"      {one}\n" for one in marked))
    return path


def logged(folder: Path, *before: str, network: str = "Socket", version: str = "2.18.3") -> Path:
    path = folder / "job.log"
    job = LoggedJob(network=network, before=before, version=f"{version}+cuda12.2")
    path.write_text("\n".join(job.lines()) + "\n")
    return path


def code(log: Path, prediction: Path) -> int:
    return run(["doctor", "log", str(log), "--predicted", str(prediction)])


def test_a_log_as_predicted_changes_no_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = logged(tmp_path, SET, network="AWS Libfabric")
    assert code(log, predicted(tmp_path, SET)) == 0
    out = capsys.readouterr().out
    assert "note  16 of 16 processes logged the predicted 1 line about NCCL's plug-in" in out


def test_a_plugin_that_failed_against_the_prediction(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = logged(tmp_path, *FAILED)
    assert code(log, predicted(tmp_path, SET)) == 1
    out = capsys.readouterr().out
    sentence = (
        "BAD   16 of 16 processes differ from the prediction at a library below the plug-in, "
        "line 2: libfabric.so.1 is not found; predicted: no further line\n"
        "      predicted  no further line\n"
        f"      logged     NCCL INFO {LOST}  ({log}:4)\n"
    )
    assert sentence in out


@pytest.mark.parametrize(
    ("lines", "link", "number"),
    [
        (("Plugin name set by env to libnccl-net-b.so", *FAILED[1:]), "NCCL_NET_PLUGIN", 1),
        ((SET, f"{LOAD}libnccl-net-ofi.so: {OPENING}", NONE), "the net plug-in", 2),
        ((SET, f"{LOAD}libcxi.so.1: {OPENING}", NONE), "a library below the plug-in", 2),
        (
            (SET, f"{LOAD}/l/libc.so.6: version `GLIBC_2.38' not found (required by /a.so)", NONE),
            "versions of symbols",
            2,
        ),
        ((SET, f"{LOAD}/l/a.so: file too short", NONE), "a broken file", 2),
        (
            (SET, "NET/Plugin: Failed to find ncclNetPlugin_v6 symbol."),
            "the plug-in's interface",
            2,
        ),
    ],
)
def test_the_link_that_did_otherwise(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    lines: tuple[str, ...],
    link: str,
    number: int,
) -> None:
    prediction = predicted(tmp_path, *FAILED)
    log = logged(tmp_path, *lines)
    assert run(["doctor", "log", str(log), "--predicted", str(prediction), "--format", "json"]) == 1
    findings = json.loads(capsys.readouterr().out)["findings"]
    (facts,) = (one["facts"] for one in findings if one["kind"] == "contradiction")
    assert (facts["link"], facts["number"], facts["n_processes"]) == (link, number, 16)
    assert facts["predicted"] == FAILED[number - 1]
    assert facts["logged"] == lines[number - 1]


def test_a_plugin_that_loaded_against_the_prediction_is_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = logged(tmp_path, SET, network="AWS Libfabric")
    assert code(log, predicted(tmp_path, *FAILED)) == 0
    assert "WARN  16 of 16 processes differ from the prediction" in capsys.readouterr().out


def test_a_failed_plugin_is_a_warning_where_ranks_used_a_fast_network(tmp_path: Path) -> None:
    """On InfiniBand NCCL's own code takes over."""
    log = logged(tmp_path, *FAILED, network="IB")
    assert code(log, predicted(tmp_path, SET)) == 0


REFUSED = "External network plugin /opt/libnccl-net-ofi.so is unsupported"
ASKED = "NCCL_NET_PLUGIN set by environment to ofi"


def at_attention(
    log: Path, text: str, place: str = "plugin/net.cc:119 (ncclNetPluginLoad)"
) -> Path:
    """Write a line of a log as NCCL 2.32.3 writes it at level ATTN: behind a line feed, a date and
    its place."""
    lines = [
        f"\n[2026-11-28 20:58:03] {one.replace('NCCL INFO', f'{place} NCCL ATTN')}"
        if one.endswith(text)
        else one
        for one in log.read_text().splitlines()
    ]
    log.write_text("\n".join(lines) + "\n")
    return log


def test_lines_at_attention(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = at_attention(logged(tmp_path, ASKED, REFUSED, version="2.32.3"), REFUSED)
    assert "NCCL ATTN External" in log.read_text()
    code(log, predicted(tmp_path, ASKED, f"NCCL ATTN {REFUSED}", version="2.32.3"))
    out = capsys.readouterr().out
    assert "16 of 16 processes logged the predicted 2 lines" in out
    assert f"plug-in /opt/libnccl-net-ofi.so is unsupported by this NCCL ({log}:" in out
    assert code(log, predicted(tmp_path, ASKED, version="2.32.3")) == 1
    assert f"logged     NCCL ATTN {REFUSED}  ({log}:5)" in capsys.readouterr().out


@pytest.mark.parametrize(("name", "is_fault"), [("AWS Libfabric", True), ("IB", False)])
def test_a_network_that_does_not_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, is_fault: bool
) -> None:
    """NCCL tries its own code for InfiniBand wherever no plug-in is taken."""
    lost = f"Failed to initialize NET plugin {name}"
    log = at_attention(logged(tmp_path, ASKED, lost, version="2.32.3"), lost)
    code(log, predicted(tmp_path, ASKED, version="2.32.3"))
    sentence = f"at the start of the plug-in, line 2: the plug-in {name} does not start"
    assert (sentence in capsys.readouterr().out) == is_fault


@pytest.mark.parametrize(
    ("wanted", "network", "is_other"),
    [
        ("Socket", "Socket", False),
        ("aws libfabric", "AWS Libfabric", False),
        ("Socket", "IB", True),
        ("...", "Libfabric", False),
        ("...", "IB", True),
    ],
)
def test_the_network_that_ranks_take(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    wanted: str,
    network: str,
    is_other: bool,
) -> None:
    log = logged(tmp_path, SET, network=network)
    for lines in ((SET, f"Using network {wanted}"), (f"Using network {wanted}",)):
        code(log, predicted(tmp_path, *lines))
        out = capsys.readouterr().out
        assert (f"16 of 16 ranks took NET/{network}; predicted: " in out) == is_other
        assert (f"logged     NCCL INFO Using network {network}  ({log}:" in out) == is_other


def test_no_line_about_a_plugin_is_predicted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = logged(tmp_path, network="IB")
    assert code(log, predicted(tmp_path, "Using network IB")) == 0
    assert "no process logged a line about a plug-in, as predicted" in capsys.readouterr().out


def test_one_process_of_many(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = logged(tmp_path, SET, network="AWS Libfabric")
    lines = log.read_text().splitlines()
    first = next(line for line in lines if line.endswith(SET))
    at = lines.index(first)
    lines.insert(at + 1, first.replace(SET, LOST))
    log.write_text("\n".join(lines))
    code(log, predicted(tmp_path, SET))
    out = capsys.readouterr().out
    assert "1 of 16 processes differs from the prediction" in out
    assert "15 of 16 processes logged the predicted 1 line" in out


def test_a_name_that_only_the_plugin_knows(tmp_path: Path) -> None:
    wanted = (SET, "NET/Plugin: Failed to find ncclNetPlugin_v6 symbol.")
    log = logged(tmp_path, *wanted, "NET/Plugin: Loaded net plugin AWS Libfabric (v5)", network="X")
    prediction = predicted(tmp_path, *wanted, "NET/Plugin: Loaded net plugin ... (v5)")
    assert code(log, prediction) == 0
    prediction = predicted(tmp_path, *wanted, "NET/Plugin: Loaded net plugin ... (v4)")
    assert run(["doctor", "log", str(log), "--predicted", str(prediction)]) == 0
    warned = run(
        ["doctor", "log", str(log), "--predicted", str(prediction), "--fail-on", "warning"]
    )
    assert warned == 1


def test_another_nccl_than_the_judged_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = logged(tmp_path, *FAILED)
    assert code(log, predicted(tmp_path, *FAILED, version="2.26.5")) == 1
    out = capsys.readouterr().out
    assert "the job ran NCCL 2.18.3, and the prediction is of NCCL 2.26.5" in out


def test_a_log_without_these_lines_gives_no_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = logged(tmp_path, network="IB")
    assert code(log, predicted(tmp_path, SET)) == 5
    assert "UNKNOWN  cannot tell: whether the log is as predicted" in capsys.readouterr().out


def test_wrapped_and_coloured_lines_are_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = logged(tmp_path, SET, network="AWS Libfabric")
    plain = log.read_text().splitlines()
    prediction = predicted(tmp_path, SET)
    log.write_text("".join(f"[1,3]<stdout>: \x1b[32m{one}\x1b[0m\n" for one in plain))
    assert code(log, prediction) == 0
    log.write_text("".join(f"2026-11-28 12:30:45 3: {one}\n" for one in plain))
    assert code(log, prediction) == 0
    log.write_text("".join(f"{json.dumps({'log': one, 'stream': 'stdout'})}\n" for one in plain))
    assert code(log, prediction) == 0
    assert capsys.readouterr().out.count("16 of 16 processes logged the predicted 1 line") == 3
    deep = '{"log":' * 50_000 + "NCCL INFO NET/Plugin"
    log.write_text("\n".join([*plain, deep]))
    assert code(log, prediction) == 0


def test_a_torn_line_accuses_nobody(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = logged(tmp_path, SET, network="AWS Libfabric")
    lines = log.read_text().splitlines()
    first = next(line for line in lines if line.endswith(SET))
    lines[lines.index(first)] = first[:-8] + lines[-1]
    log.write_text("\n".join(lines))
    code(log, predicted(tmp_path, SET))
    out = capsys.readouterr().out
    assert "from the prediction" not in out
    assert "with torn or mixed lines not compared" in out


def in_containers(*ranks: tuple[int, Sequence[str]]) -> str:
    """Lines of ranks on one host that are each process 1 of a container; each by its device, and
    all first lines before all second ones."""
    columns = zip_longest(*([(device, one) for one in lines] for device, lines in ranks))
    shown = (one for column in columns for one in column if one is not None)
    return "".join(f"node1:1:1 [{device}] NCCL INFO {one}\n" for device, one in shown)


def test_ranks_of_containers_that_are_all_process_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, prediction = tmp_path / "job.log", predicted(tmp_path, *FAILED)
    log.write_text(in_containers((0, FAILED), (1, FAILED)))
    code(log, prediction)
    out = capsys.readouterr().out
    assert "2 of 2 processes logged the predicted 3 lines" in out
    assert "from the prediction" not in out
    log.write_text(in_containers((0, FAILED), (1, (SET, NONE))))
    assert code(log, prediction) == 1
    assert "1 of 2 processes differs from the prediction" in capsys.readouterr().out


@pytest.mark.parametrize(
    "ranks",
    [
        pytest.param(((0, FAILED), (0, FAILED)), id="each sees one device"),
        pytest.param(((0, FAILED), (0, (SET, NONE))), id="and one differs"),
        pytest.param(((0, (SET,)), (1, (LOST, NONE))), id="one process by two threads"),
    ],
)
def test_lines_that_may_be_of_several_processes_accuse_nobody(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], ranks: tuple[tuple[int, Sequence[str]], ...]
) -> None:
    log = tmp_path / "job.log"
    log.write_text(in_containers(*ranks))
    for wanted in (FAILED, (SET,)):
        assert code(log, predicted(tmp_path, *wanted)) == 5
        out = capsys.readouterr().out
        assert "from the prediction" not in out
        assert "1 process with torn or mixed lines not compared" in out


def test_a_process_that_loads_its_plugin_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "job.log"
    log.write_text(in_containers((0, FAILED * 3)))
    code(log, predicted(tmp_path, *FAILED))
    assert "1 of 1 process logged the predicted 3 lines" in capsys.readouterr().out


def test_a_log_that_ends_too_early(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "job.log"
    log.write_text(in_containers((0, FAILED[:2])))
    code(log, predicted(tmp_path, *FAILED))
    out = capsys.readouterr().out
    assert (
        "1 of 1 process differs from the prediction at the net plug-in, line 3: the log ends here, "
        "or tells no more of plug-ins; predicted: NCCL uses no plug-in\n"
    ) in out
    assert "failed" not in out


@pytest.mark.parametrize("format_", ["text", "json"])
def test_the_output_of_the_prediction_is_the_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], format_: str
) -> None:
    need_gcc()
    node = SlingshotNode(tmp_path / "node").build()
    form = r'const char *form = "\0NET/Plugin : Plugin load (%s) returned %d : %s";'
    source = NCCL_SOURCE.replace("%s", "2.18.3") + form
    compile_library(node.image / LIBRARY_FOLDER / "libnccl.so.2", source)
    script = tmp_path / "job.sh"
    script.write_text(
        f"export LD_LIBRARY_PATH={PATH} NCCL_NET_PLUGIN=ofi\n"
        f"srun --container-image=i --container-mounts={','.join(MOUNTS)} ./a\n"
    )
    assert run_doctor(node, "--script", script, "--predict-log", "--format", format_) == 0
    prediction = tmp_path / "predicted"
    prediction.write_text(capsys.readouterr().out)
    assert "NCCL INFO Using network ..." in prediction.read_text()
    assert code(logged(tmp_path, SET, network="AWS Libfabric"), prediction) == 0
    assert code(logged(tmp_path, *FAILED), prediction) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("GOOD  every rank\n", "no predicted line"),
        ("", "no predicted line"),
        ("{", "no JSON"),
        ('{"schema": "weft.doctor-log/1"}', "no document of weft.doctor-container/1"),
        (
            '{"schema": "weft.doctor-container/1", "predicted_log": [], "chain": []}',
            "no predicted line",
        ),
        (
            '{"schema": "weft.doctor-container/1", "predicted_log": null, "chain": []}',
            "no predicted line",
        ),
        ('{"schema": "weft.doctor-container/1", "chain": []}', "no document"),
        (
            '{"schema": "weft.doctor-container/1", "predicted_log": [1], "chain": []}',
            "no document",
        ),
        ("[" * 100_000, "no predicted line"),
        ('{"a":' * 100_000, "no JSON"),
    ],
)
def test_what_is_no_prediction(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, words: str
) -> None:
    path = tmp_path / "predicted"
    path.write_text(text)
    assert code(logged(tmp_path), path) == 2
    err = capsys.readouterr().err
    assert words in err
    assert "--predict-log" in err


def test_what_can_be_read_once_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prediction = str(predicted(tmp_path, SET))
    assert run(["doctor", "log", "-", "--predicted", prediction]) == 2
    assert "standard input cannot be read twice" in capsys.readouterr().err
    assert run(["doctor", "log", str(tmp_path), "--predicted", prediction]) == 2
    assert "it is a directory" in capsys.readouterr().err
    assert run(["doctor", "log", str(logged(tmp_path)), "--predicted", "/no/such"]) == 2
