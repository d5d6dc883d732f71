"""Which metric of a benchmark is shown and compared."""

from collections.abc import Callable
from pathlib import Path

import pytest

from weft.bench.result_scale import StatedScale
from weft.core.errors import InputError
from weft.study.comparison.headlines import Headlines, base_name, lower_is_better
from weft.study.import_run import ArmFiles, ImportOptions, import_files
from weft.study.run.store import StudyRun, read_run

RunStudy = Callable[..., StudyRun]
ALLREDUCE = (
    "# OSU MPI Allreduce Latency Test v7.4\n# Size       Avg Latency(us)\n8        3.10\n64   3.4\n"
)
OVERLAP = """\
# OSU MPI Non-blocking Allreduce Latency Test v7.4
# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait

# Size           Overall(us)       Compute(us)    Pure Comm.(us)        Overlap(%)
8                      10.00              5.00              6.00             16.67
"""


def imported(folder: Path, text: str) -> StudyRun:
    path = folder / "x.log"
    path.write_text(text)
    import_files([ArmFiles({}, (path,))], folder / "imported", ImportOptions(StatedScale(2, 1)))
    return read_run(folder / "imported")


def test_a_measured_run_shows_the_catalogues_headline(run_study: RunStudy) -> None:
    assert Headlines([run_study()])("allreduce").headline == "latency_us_p50"


def test_a_file_with_means_only_shows_the_mean(tmp_path: Path) -> None:
    chosen = Headlines([imported(tmp_path, ALLREDUCE)])("allreduce")
    assert (chosen.headline, chosen.better) == ("latency_us", "lower")


def test_a_file_next_to_a_measured_run_is_compared_by_what_both_have(
    tmp_path: Path, run_study: RunStudy
) -> None:
    both = Headlines([imported(tmp_path, ALLREDUCE), run_study()])
    assert both("allreduce").headline == "latency_us"


def test_a_test_no_catalogue_knows_has_a_headline_of_its_own_metrics(tmp_path: Path) -> None:
    run = imported(tmp_path, OVERLAP)
    name = run.launches[0].trial.benchmark
    chosen = Headlines([run])(name)
    assert chosen.headline in run.samples[0].metrics
    assert chosen.better == "lower"


def test_a_benchmark_that_no_one_brought_is_refused(run_study: RunStudy) -> None:
    with pytest.raises(InputError, match="no benchmark 'nonsense' in the catalogue"):
        Headlines([run_study()])("nonsense")


@pytest.mark.parametrize(
    ("metric", "lower"),
    [
        ("latency_us", True),
        ("latency_us_p99", True),
        ("overall_us", True),
        ("impact", True),
        ("busbw_gb_s", False),
        ("bandwidth_mb_s_p50", False),
        ("msg_rate_mps", False),
    ],
)
def test_times_count_downwards_and_rates_upwards(metric: str, *, lower: bool) -> None:
    assert lower_is_better(metric) is lower


def test_what_tells_variants_apart_is_no_part_of_the_benchmarks_name() -> None:
    assert base_name("allreduce.in-place") == "allreduce"
