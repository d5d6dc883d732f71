"""`--against`: files, folders and run directories."""

from pathlib import Path

import pytest

from weft.cli import run

JUDGED = Path(__file__).parents[3] / "fixtures" / "judged"
PUBLISHED = (JUDGED / "ndv5_64_gpus.txt").read_text()
SIZE = 2**30
OPTIONS = ["--platform", "azure-ndv5", "--nodes", "2", "--tasks-per-node", "8"]


def file_of(path: Path, bus: float) -> str:
    """A file of nccl-tests whose one row has another size and rate."""
    alg = bus / 1.875
    text = PUBLISHED.replace(str(2**34), str(SIZE)).replace(str(2**32), str(SIZE // 4))
    text = text.replace("92382", str(round(SIZE / alg / 1e3))).replace("185.97", f"{alg:.2f}")
    path.write_text(text.replace("366.12", f"{bus:.2f}"))
    return str(path)


def test_a_folder_of_own_runs_narrows_the_range(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fleet = tmp_path / "fleet"
    fleet.mkdir()
    for index, bus in enumerate((428.0, 430.0, 432.0)):
        file_of(fleet / f"{index}.txt", bus)
    slow = file_of(tmp_path / "slow.txt", 430.0 * 7 / 8)

    assert run(["judge", slow, *OPTIONS]) == 5
    assert capsys.readouterr().out.startswith("NOTE  TOO WIDE TO TELL")
    assert run(["judge", slow, *OPTIONS, "--against", str(fleet)]) == 1
    out = capsys.readouterr().out
    assert out.startswith("BAD  LOW: all_reduce_perf at 1 GiB: bus bandwidth 376.2 GB/s")
    assert "1. adapters-lost-1-of-8: 1 of 8 adapters" in out
    assert "2 of 2 rows compared with the own fleet (3 files)" in out


def test_a_run_directory_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = []
    for index, bus in enumerate((428.0, 430.0, 432.0)):
        file = file_of(tmp_path / f"{index}.txt", bus)
        directory = str(tmp_path / f"run{index}")
        assert run(["import", file, "-o", directory, "--nodes", "2", "--tasks-per-node", "8"]) == 0
        runs += ["--against", directory]
    capsys.readouterr()
    assert run(["judge", file_of(tmp_path / "slow.txt", 376.0), *OPTIONS, *runs]) == 1
    assert "compared with the own fleet (3 files)" in capsys.readouterr().out


def test_samples_of_a_run_without_result_files_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    twin = ["--twin", "azure-hbv3", "--nodes", "2", "--sizes", "8"]
    assert run(["bench", "latency", *twin]) == 0
    (directory,) = (tmp_path / "runs").iterdir()
    (tmp_path / "slow.txt").write_text(
        "# OSU MPI Latency Test v5.9\n# Size          Latency (us)\n8                 9.00\n"
    )
    capsys.readouterr()
    assert run(["judge", "slow.txt", "--platform", "azure-hbv3", "--against", str(directory)]) == 1
    assert "1 of 1 rows compared with the own fleet" in capsys.readouterr().out


def test_nothing_to_compare_with_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    file = file_of(tmp_path / "a.txt", 390.0)
    assert run(["judge", file, "--against", str(tmp_path / "empty")]) == 2
    assert "no result file holds a table" in capsys.readouterr().err
