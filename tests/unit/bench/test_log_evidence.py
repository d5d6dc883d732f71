"""What of a launch's log is evidence, and that imported files carry it."""

from pathlib import Path

from weft.bench.logs.evidence import evidence_of_bytes, evidence_of_files
from weft.study.import_run import ArmFiles, ImportOptions, import_files
from weft.study.run.store import read_run

NCCL = [
    "NCCL version 2.18.3+cuda12.1",
    *(
        line
        for rank, host in enumerate("ab")
        for line in (
            f"{host}:1:2 [0] NCCL INFO NCCL_ALGO set by environment to Ring",
            f"{host}:1:2 [0] NCCL INFO Using network IB",
            f"{host}:1:2 [0] NCCL INFO comm 0x1 rank {rank} nranks 2 busId 1 commId 2 - Init START",
            f"{host}:1:2 [0] NCCL INFO Channel 00/0 : {rank}[0] -> {1 - rank}[0] [send] via "
            "NET/IB/0/GDRDMA",
        )
    ),
]
EXPECTED = {
    "libraries": ["NCCL 2.18.3+cuda12.1"],
    "network": "NET/IB",
    "gpu_direct": "all",
    "settings": {"NCCL_ALGO": "Ring"},
}
SHARP = (
    b"[a:0:588 - comm.c:392] INFO [group#:0] group id:0 tree idx:0 tree_type:LLT rail_idx:0 "
    b"group size:4 quota: (osts:8)\n"
)


def test_a_log_in_short(tmp_path: Path) -> None:
    path = tmp_path / "x.err"
    path.write_text("\n".join(NCCL))
    assert evidence_of_files([path]) == EXPECTED
    assert evidence_of_bytes("x", path.read_bytes()) == EXPECTED


def test_values_that_differ_between_ranks_are_listed() -> None:
    text = "\n".join(NCCL) + "\nb:1:2 [0] NCCL INFO NCCL_ALGO set by environment to Tree\n"
    found = evidence_of_bytes("x", text.encode())
    assert found["settings"] == {"NCCL_ALGO": ["Ring", "Tree"]}


def test_sharp_is_triggered_by_a_group_and_not_by_an_error() -> None:
    assert evidence_of_bytes("x", SHARP)["sharp"] == "triggered"
    error = b"[a:0:588 - comm.c:374] ERROR Failed to lock SAT tree\n"
    assert evidence_of_bytes("x", error)["sharp"] == "not triggered"


def test_where_no_library_speaks_there_is_no_evidence(tmp_path: Path) -> None:
    assert evidence_of_bytes("x", b'{"record": "rank"}\nhello\n') == {}
    assert evidence_of_bytes("x", b"\x1f\x8b\x08") == {}
    assert evidence_of_files([tmp_path / "nowhere"]) == {}


def test_samples_of_an_imported_file_carry_what_its_log_says(tmp_path: Path) -> None:
    fixture = Path(__file__).parents[2] / "fixtures/results/nccl-tests/h100-16-two-nodes.txt"
    path = tmp_path / "job.log"
    path.write_text("\n".join(NCCL) + "\n" + fixture.read_text(encoding="utf-8"))
    run = tmp_path / "run"
    import_files([ArmFiles({}, (path,))], run, ImportOptions(), clock=lambda: 1_700_000_000.0)
    samples = read_run(run).samples
    assert samples
    assert all(sample.evidence["log"]["network"] == "NET/IB" for sample in samples)
