"""`weft doctor log --predicted`: jobs that end, hidden lines, and documents of before."""

import json
from pathlib import Path

import pytest
from tests.cli.test_doctor_log_predicted import (
    ASKED,
    FAILED,
    NONE,
    REFUSED,
    SET,
    code,
    in_containers,
    logged,
    predicted,
)
from tests.unit.doctor.container.container_cases import MOUNTS, PATH, need_gcc, run_doctor
from tests.unit.doctor.container.container_trees import SlingshotNode

BOOT = "Bootstrap : Using eth0:10.0.0.1<0>"
CUT = "NCCL_NET_PLUGIN list contains more than 13 plugins, ignoring the rest"
WANTED = "Error: network AWS Libfabric not found."


@pytest.mark.parametrize("network", ["Socket", "AWS Libfabric"])
def test_a_job_that_ran_although_its_end_was_predicted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], network: str
) -> None:
    prediction = predicted(tmp_path, SET)
    prediction.write_text(f"{prediction.read_text()}      NCCL WARN {WANTED}\n")
    log = logged(tmp_path, SET, network=network)
    code(log, prediction)
    out = capsys.readouterr().out
    assert f"16 of 16 ranks took NET/{network}; predicted: the job ends" in out
    assert f"predicted  NCCL WARN {WANTED}\n" in out


def test_a_job_that_ended_as_predicted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prediction, log = predicted(tmp_path, *FAILED), tmp_path / "job.log"
    prediction.write_text(f"{prediction.read_text()}      NCCL WARN {WANTED}\n")
    end = f"\nnode1:1:1 [0] net.cc:1 NCCL WARN {WANTED}\n"
    log.write_text(in_containers((0, FAILED)) + end)
    code(log, prediction)
    out = capsys.readouterr().out
    assert "1 of 1 process logged the predicted 3 lines" in out
    assert "predicted:" not in out
    prediction.write_text(f"      NCCL WARN {WANTED}\n")
    log.write_text(in_containers((0, (BOOT,))) + end)
    assert code(log, prediction) != 2
    assert "predicted:" not in capsys.readouterr().out


LATE_ECHO = "NCCL_IB_HCA set by environment to mlx5"
LATE_LEVEL = "NCCL_P2P_LEVEL set by environment to SYS"


@pytest.mark.parametrize(
    ("wanted", "lines", "version", "is_other"),
    [
        pytest.param(FAILED, FAILED[1:], "2.18.3", False, id="NET alone"),
        pytest.param(FAILED, (BOOT, *FAILED[1:]), "2.18.3", True, id="INIT is shown"),
        pytest.param(FAILED, (SET, NONE), "2.18.3", True, id="its own line is there"),
        pytest.param(FAILED, FAILED[1:2], "2.18.3", True, id="another line is lost too"),
        pytest.param((ASKED, REFUSED), (REFUSED,), "2.32.3", False, id="INIT alone"),
        pytest.param((ASKED, REFUSED), (LATE_LEVEL, REFUSED), "2.32.3", False, id="a level"),
        pytest.param((ASKED, REFUSED), (LATE_ECHO, REFUSED), "2.32.3", True, id="ENV is shown"),
        pytest.param((ASKED, CUT, REFUSED), (REFUSED,), "2.32.3", False, id="a long list"),
    ],
)
def test_a_first_line_that_the_subsystems_hide(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    wanted: tuple[str, ...],
    lines: tuple[str, ...],
    version: str,
    is_other: bool,
) -> None:
    log = tmp_path / "job.log"
    text = f"node1:1:1 [0] NCCL INFO NCCL version {version}+cuda12.2\n"
    log.write_text(text + in_containers((0, lines)))
    code(log, predicted(tmp_path, *wanted, version=version))
    out = capsys.readouterr().out
    hint = "which NCCL_DEBUG_SUBSYS may hide; what shows all: NCCL_DEBUG=INFO, and INIT and NET"
    assert (" from the prediction " in out) == is_other
    assert (hint in out) != is_other


@pytest.mark.parametrize("mark", ["", "NCCL INFO "])
def test_documents_of_before_have_lines_without_their_level(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], mark: str
) -> None:
    lines = [f"{mark}{one}" for one in (*FAILED, "Using network Socket")]
    head = {"schema": "weft.doctor-container/1", "chain": [{"link": "NCCL 2.18.3"}]}
    prediction = tmp_path / "predicted.json"
    prediction.write_text(json.dumps({**head, "predicted_log": lines}))
    code(logged(tmp_path, *FAILED), prediction)
    out = capsys.readouterr().out
    assert "16 of 16 processes logged the predicted 3 lines" in out
    assert code(logged(tmp_path, SET, network="IB"), prediction) == 0
    assert "16 of 16 ranks took NET/IB; predicted: NET/Socket" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("n_before", "n_bytes", "code_"),
    [(0, 3, 0), (13, 3, 0), (14, 3, 1), (0, 239, 0), (0, 240, 1)],
)
def test_what_nccl_keeps_of_its_list(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], n_before: int, n_bytes: int, code_: int
) -> None:
    """A plug-in behind the fourteenth one, or with a longer name, is not loaded. Of a library whose
    lines weft does not know it predicts none, which is null."""
    need_gcc()
    node = SlingshotNode(tmp_path / "node").build(version="2.32.3")
    name = "ofi" + "i" * (n_bytes - 3)
    plugin = next(node.host.rglob("libnccl-net-ofi.so"))
    plugin.rename(plugin.with_name(f"libnccl-net-{name}.so"))
    value = ",".join([*(f"gone{one}" for one in range(n_before)), name])
    script = tmp_path / "job.sh"
    script.write_text(
        f"export LD_LIBRARY_PATH={PATH} NCCL_NET_PLUGIN={value}\n"
        f"srun --container-image=i --container-mounts={','.join(MOUNTS)} ./a\n"
    )
    assert run_doctor(node, "--script", script, "--format", "json") == code_
    record = json.loads(capsys.readouterr().out)
    assert record["predicted_log"] is None
