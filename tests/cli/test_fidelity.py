"""`--fidelity`: what a person is told who lets a twin leave packets out."""

import json
from pathlib import Path

import pytest

from weft.cli import run
from weft.study.run.store import read_run

pytest.importorskip("weft._engine", reason="the engine is not built")

Capture = pytest.CaptureFixture[str]
FLOWS = "imulated as flows that share links fairly: no buffer fills, so no message waits"


def bench(where: Path, *words: str) -> list[str]:
    twin = ["--twin", "fat-tree", "--nodes", "8", "--dir", str(where)]
    return ["bench", "allreduce", *twin, *words]


def test_auto_says_its_reason_and_its_error_in_text_and_json(
    tmp_path: Path, capsys: Capture
) -> None:
    assert run(bench(tmp_path / "a", "--sizes", "64K", "--fidelity", "auto")) == 0
    said = capsys.readouterr().out
    assert "! Fidelity auto: packets, about " in said
    assert FLOWS not in said
    large = bench(tmp_path / "b", "--sizes", "16G", "--fidelity", "auto", "--repeats", "1")
    assert run([*large, "--format", "json"]) == 0
    caveats = json.loads(capsys.readouterr().out)["caveats"]
    (why,) = (one for one in caveats if one.startswith("Fidelity auto: flows, since packets "))
    assert "hops" in why
    (error,) = (one for one in caveats if "estimated error of flows" in one)
    # A ring on a full tree: nothing blocks.
    assert "+0.0 % in all" in error
    assert any(FLOWS in one for one in caveats)


def test_a_check_says_it_and_its_samples_once_a_launch(tmp_path: Path, capsys: Capture) -> None:
    where = tmp_path / "check"
    argv = ["check", "--twin", "fat-tree", "--nodes", "8", "--fidelity", "flow"]
    assert run([*argv, "--dir", str(where)]) == 0
    assert f"caveat: s{FLOWS}" in capsys.readouterr().out
    samples = read_run(where).samples
    assert all("flow_level" in sample.flags for sample in samples)
    launches = {(sample.trial, sample.repeat) for sample in samples}
    assert sum("notes" in sample.evidence for sample in samples) == len(launches)


def test_a_comparison_says_which_run_was_of_flows(tmp_path: Path, capsys: Capture) -> None:
    for name in ("packet", "flow"):
        argv = bench(tmp_path / name, "--sizes", "64K", "--fidelity", name, "--repeats", "6")
        assert run(argv) == 0
    capsys.readouterr()
    run(["compare", str(tmp_path / "packet"), str(tmp_path / "flow")])
    said = capsys.readouterr().out
    assert f"flow: s{FLOWS}" in said
    assert f"packet: s{FLOWS}" not in said


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("leaf-01[6] lost=0.001", "there are no packets to lose"),
        ("leaf-01[6] corrected=0.01,300", "there are no packets with errors"),
    ],
)
def test_what_needs_packets_is_refused_and_auto_follows_them(
    tmp_path: Path, capsys: Capture, fault: str, why: str
) -> None:
    argv = bench(tmp_path / "flow", "--sizes", "8", "--plant", fault, "--fidelity")
    assert run([*argv, "flow"]) == 2
    refused = capsys.readouterr().err
    assert why in refused
    assert f"the fault '{fault}'" in refused
    assert "fidelity 'packet'" in refused
    assert run([*argv, "auto", "--dir", str(tmp_path / "auto")]) == 0
    said = capsys.readouterr().out
    assert f"Fidelity auto: packets, since flows cannot: faults[0]: {why}" in said


def test_only_twins_have_a_fidelity(capsys: Capture) -> None:
    assert run(["bench", "latency", "--fidelity", "flow"]) == 2
    assert "--fidelity needs a twin" in capsys.readouterr().err
