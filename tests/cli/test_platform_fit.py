"""`weft platform fit`: tables in, a platform out that every verb takes."""

import csv
import io
import json
import random
import re
from pathlib import Path

import pytest

from weft.catalog.load import platform
from weft.cli import run

Capture = pytest.CaptureFixture[str]
OSU = Path(__file__).resolve().parents[1] / "fixtures" / "results" / "osu"
A9 = [str(OSU / "kaneshiro_2014_latency.txt"), str(OSU / "kaneshiro_2014_bibw.txt")]
ALPS = [str(OSU / "alps_7.5_latency_host.txt"), str(OSU / "alps_7.5_bw_host.txt")]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_verdict_anomaly_range_and_next_step_are_printed(folder: Path, capsys: Capture) -> None:
    assert run(["platform", "fit", *A9, "--base", "azure-a9", "--name", "a9", "-o", "a9.toml"]) == 0
    told = capsys.readouterr()
    lines = told.out.splitlines()
    assert lines[0].startswith("a9: ")
    assert " parameters fitted to 46 rows" in lines[0]
    assert lines[2].startswith("latency: held-out rows to")
    assert any(line.startswith("anomaly, not fitted: bidirectional at 8 KiB") for line in lines)
    assert any(line.startswith("Valid from 0 B to 4 MiB") for line in lines)
    assert lines[-2] == "its twin: weft bench latency --twin a9.toml --nodes 2"
    assert lines[-1] == f"next: weft judge {A9[0]} --platform a9.toml"
    assert told.err == "wrote a9.toml\n"


def test_the_catalogue_holds_what_the_program_gives(folder: Path) -> None:
    argv = ["platform", "fit", "--base", "azure-a9", "--name", "azure-a9", "-o", "again.toml"]
    assert run(argv) == 0
    again, known = platform(str(folder / "again.toml")), platform("azure-a9")
    assert again.host == known.host
    assert again.fit == known.fit


def test_files_and_the_catalogue_s_own_tables_give_the_same_costs(folder: Path) -> None:
    assert run(["platform", "fit", *A9, "--base", "azure-a9", "-o", "files.toml"]) == 0
    files, known = platform(str(folder / "files.toml")), platform("azure-a9")
    assert files.name == "azure-a9-fitted"
    assert files.host is not None
    assert known.host is not None
    costs = [r.model_dump(exclude={"source"}) for r in files.host.regimes]
    assert costs == [r.model_dump(exclude={"source"}) for r in known.host.regimes]
    assert files.fit is not None
    assert files.fit.tables[0].source == "kaneshiro_2014_latency.txt"
    assert len(files.fit.tables[0].sha256) == 64


def test_a_twin_of_the_file_is_measured_and_studied(folder: Path, capsys: Capture) -> None:
    assert run(["platform", "fit", *ALPS, "-o", "alps.toml"]) == 0
    assert run(["bench", "latency", "--twin", "alps.toml", "--nodes", "2", "--dir", "r"]) == 0
    capsys.readouterr()
    study = ["study", "run", "lightweight-pair", "--twin", "alps.toml", "--nodes", "2"]
    assert run([*study, "--repeats", "1", "--dir", "s"]) == 0
    rows = (folder / "s" / "samples").glob("*.jsonl")
    records = [json.loads(line) for path in rows for line in path.read_text().splitlines()]
    found = {
        record["size_bytes"]: record["metrics"]["latency_us_p50"]
        for record in records
        if record.get("benchmark") == "latency"
    }
    assert found[8] == pytest.approx(3.34, rel=0.03)
    assert found[4 << 20] == pytest.approx(182.39, rel=0.03)
    flagged = {r["size_bytes"] for r in records if "outside_fit" in r.get("flags", ())}
    assert flagged == {0}, "the file begins at 1 B"


def test_a_base_that_cannot_be_simulated_gives_expectations(folder: Path, capsys: Capture) -> None:
    assert run(["platform", "fit", *ALPS, "--base", "generic-slingshot11", "-o", "alps.toml"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == f"next: weft judge {ALPS[0]} --platform alps.toml"
    assert not any("--twin" in line for line in lines)
    argv = ["expect", "alps.toml", "latency", "--size", "8", "--memory", "host"]
    assert run([*argv, "--format", "json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["expectations"]
    assert told["value"] == pytest.approx(3.34, rel=0.03)


def test_json_is_the_platform_and_csv_the_rows_not_seen(folder: Path, capsys: Capture) -> None:
    assert run(["platform", "fit", *ALPS, "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["platform"]["fit"]["n_rows"] == 46
    assert len(told["held_out"]) == 46
    assert run(["platform", "fit", *ALPS, "-o", "b.toml", "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len(rows) == 46
    for row in rows:
        error = float(row["predicted"]) / float(row["measured"]) - 1
        assert float(row["error"]) == pytest.approx(error)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "Name a FILE to fit to, or --base for its published tables."),
        (["absent.txt"], "cannot be read: No such file"),
        ([ALPS[1]], "no latency table between two ranks"),
        ([*A9, A9[0]], "two latency tables"),
        ([*ALPS, "--base", "azure-a9"], "more than a link of 'azure-a9' carries"),
        ([*ALPS, "--name", "My Machine"], "'My Machine' cannot name a platform"),
        (["--base", "this-machine"], "platform 'this-machine' has no published table"),
        ([str(OSU / "alps_7.5_bw_gpu.txt")], "osu_bw in GPU memory"),
        ([*ALPS, "--window", "1"], "1 is not in the range x>=2"),
        ([*ALPS, "--base", "azure-a9", "--link", "hdr"], "--base and --link both give the link"),
        ([*ALPS, "--link", "edr"], "more than a link of 100 Gb/s carries"),
        ([*ALPS, "--link", "hdrr"], "no link 'hdrr'"),
    ],
)
def test_input_that_cannot_be_fitted_is_named(
    folder: Path, capsys: Capture, argv: list[str], message: str
) -> None:
    assert run(["platform", "fit", *argv]) == 2
    told = capsys.readouterr()
    assert message in told.err
    assert told.out == ""


def test_a_directory_that_cannot_be_written_is_said(folder: Path, capsys: Capture) -> None:
    (folder / "file").write_text("")
    assert run(["platform", "fit", *ALPS, "-o", "file/x.toml"]) == 3
    assert "the platform cannot be written" in capsys.readouterr().err


def healthy(folder: Path, seed: int) -> list[str]:
    """The tables of Alps as another run prints them: each row one per cent off."""
    rng, names = random.Random(seed), []
    for path in map(Path, ALPS):
        lines = path.read_text().splitlines()
        for i, line in enumerate(lines):
            if found := re.match(r"(\d+ +)([\d.]+)(.*)$", line):
                lines[i] = f"{found[1]}{float(found[2]) * rng.gauss(1, 0.01):.2f}{found[3]}"
        target = folder / f"run{seed}_{path.name}"
        target.write_text("\n".join(lines) + "\n")
        names.append(target.name)
    return names


def test_a_fit_writes_a_file_by_default_and_overwrites_none(folder: Path, capsys: Capture) -> None:
    assert run(["platform", "fit", *ALPS]) == 0
    told = capsys.readouterr()
    assert told.err.splitlines() == [
        "wrote alps_7.5-fitted.toml",
        "link: 96 % of 200 Gb/s, told by the rows (else --link)",
    ]
    before = (folder / "alps_7.5-fitted.toml").read_bytes()
    assert run(["platform", "fit", *ALPS, "--link", "slingshot11"]) == 2
    assert "the file is there already" in capsys.readouterr().err
    assert (folder / "alps_7.5-fitted.toml").read_bytes() == before
    assert run(["platform", "fit", *ALPS, "-o", "alps_7.5-fitted.toml", "--name", "x"]) == 0
    assert platform(str(folder / "alps_7.5-fitted.toml")).name == "x"


def test_healthy_runs_give_the_band_by_which_another_run_is_judged(
    folder: Path, capsys: Capture
) -> None:
    first, *others = (healthy(folder, seed) for seed in (1, 2, 3))
    healthy_options = [f"--healthy={name}" for names in others for name in names]
    assert run(["platform", "fit", *first, *healthy_options, "--link", "hdr"]) == 0
    assert "band of 3 healthy runs: latency" in capsys.readouterr().out
    assert run(["platform", "show", "run-fitted.toml"]) == 0
    assert "band of 3 healthy runs: latency" in capsys.readouterr().out
    latency, bandwidth = healthy(folder, 4)
    for file in (latency, bandwidth):
        assert run(["judge", file, "--platform", "run-fitted.toml"]) == 0
        assert capsys.readouterr().out.startswith("GOOD  NORMAL")
    slow = Path(bandwidth).read_text()
    slow = re.sub(
        r"^(\d{6,} +)([\d.]+)", lambda m: f"{m[1]}{float(m[2]) * 0.85:.2f}", slow, flags=re.M
    )
    (folder / "slow.txt").write_text(slow)
    assert run(["judge", "slow.txt", "--platform", "run-fitted.toml"]) == 1
    assert capsys.readouterr().out.startswith("BAD  LOW: osu_bw at 4 MiB")


def test_a_healthy_run_faster_than_the_fit_is_not_impossible(folder: Path, capsys: Capture) -> None:
    assert run(["platform", "fit", *ALPS]) == 0
    fast = Path(ALPS[1]).read_text()
    fast = re.sub(
        r"^(\d+ +)([\d.]+)", lambda m: f"{m[1]}{float(m[2]) * 1.03:.2f}", fast, flags=re.M
    )
    (folder / "fast.txt").write_text(fast)
    capsys.readouterr()
    assert run(["judge", "fast.txt", "--platform", "alps_7.5-fitted.toml"]) == 0
    assert "IMPOSSIBLE" not in capsys.readouterr().out


def test_after_a_judgement_against_a_link_a_fit_is_next(folder: Path, capsys: Capture) -> None:
    assert run(["judge", ALPS[0]]) == 5
    assert capsys.readouterr().out.splitlines()[-1].split()[-2] == "--link"
    assert run(["judge", ALPS[0], "--link", "slingshot11"]) == 0
    step = capsys.readouterr().out.splitlines()[-1].removeprefix("next     weft ")
    assert step == f"platform fit {ALPS[0]} --link slingshot11"
    assert run(step.split()) == 0
