"""Runs side by side: the same benchmark at the same scale on the same axes."""

from pathlib import Path

from tests.mock_backend import MockBackend

from weft.bench.result_scale import StatedScale
from weft.report.sections import side_by_side
from weft.study.import_run import ArmFiles, ImportOptions, import_files
from weft.study.run.store import StudyRun, read_run

from .conftest import Measure

OSU = "# OSU MPI Latency Test v5.9\n# Size          Latency (us)\n0 1.5\n8 1.5\n64 1.6\n65536 9.0\n"


def imported(folder: Path, name: str, text: str = OSU) -> StudyRun:
    (folder / f"{name}.log").write_text(text)
    import_files([ArmFiles({}, (folder / f"{name}.log",))], folder / name, ImportOptions())
    return read_run(folder / name)


def test_one_run_has_nothing_next_to_it(tmp_path: Path) -> None:
    assert side_by_side.section([imported(tmp_path, "a")]) is None


def test_runs_without_a_benchmark_in_common_are_not_drawn(tmp_path: Path) -> None:
    other = OSU.replace("Latency Test", "Bandwidth Test").replace(
        "Latency (us)", "Bandwidth (MB/s)"
    )
    assert side_by_side.section([imported(tmp_path, "a"), imported(tmp_path, "b", other)]) is None


def test_of_one_benchmark_at_two_scales_it_is_said_why_nothing_is_drawn(
    tmp_path: Path, measure: Measure
) -> None:
    run = read_run(measure(tmp_path / "mock", backend=MockBackend(), nodes=("n1", "n2")))
    (tmp_path / "file.log").write_text(OSU)
    options = ImportOptions(StatedScale(1, 2))
    import_files([ArmFiles({}, (tmp_path / "file.log",))], tmp_path / "file", options)
    found = side_by_side.section([read_run(tmp_path / "file"), run])
    assert found is not None
    assert not found.figures
    (text,) = found.paragraphs
    assert "latency: 1 node x 2 ranks in file (imported), 2 nodes x 1 rank in mock (mock)" in text


def test_a_file_and_a_measured_run_share_a_figure_by_the_metric_both_have(
    tmp_path: Path, measure: Measure
) -> None:
    run = read_run(measure(tmp_path / "mock", backend=MockBackend(), nodes=("n1", "n2")))
    found = side_by_side.section([imported(tmp_path, "file"), run])
    assert found is not None
    (figure,) = found.figures
    assert figure.title.startswith("latency, 2 nodes x 1 rank: mock (mock) is ")
    assert " of file (imported) at the median of 3 sizes" in figure.title
    headers = [column.header for column in figure.table.columns]
    assert headers == ["size", "file (imported) (µs)", "mock (mock) (µs)", "mock (mock) / first"]


def test_the_title_tells_the_ratio_a_reader_can_check(tmp_path: Path) -> None:
    twice = OSU.replace("1.5", "3.0").replace("1.6", "3.2").replace("9.0", "27.0")
    found = side_by_side.section([imported(tmp_path, "a"), imported(tmp_path, "b", twice)])
    assert found is not None
    title = found.figures[0].title
    assert "b (imported) is 2.00 of a (imported) at the median of 4 sizes, 3.00 at 64 KiB" in title


def test_runs_of_one_name_are_numbered(tmp_path: Path) -> None:
    for name in ("x", "y"):
        (tmp_path / name).mkdir()
    runs = [imported(tmp_path / "x", "a"), imported(tmp_path / "y", "a", OSU.replace("9.0", "8.0"))]
    found = side_by_side.section(runs)
    assert found is not None
    assert "2: a (imported) is " in found.figures[0].title
