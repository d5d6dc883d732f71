"""What was published about a twin's platform stands on its page, as a series of its own."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from weft.bench.twin.backend import PLATFORM_FILE, TwinBackend
from weft.catalog.load import platform
from weft.catalog.machine.platform import Platform, PublishedTable
from weft.core.errors import InputError, MissingError
from weft.expect.fit.platform_fit import fit_platform
from weft.expect.fit.tables import MeasuredTable
from weft.report.page import write_report
from weft.report.published_values import Published, published_of
from weft.study.run.store import read_run

Measure = Callable[..., Path]
STUDY = """
schema = "weft.study/1"
name = "pair"
title = "Two curves"
question = "As published?"
repeats = 6

[[benchmarks]]
name = "latency"
sizes = "8,4K,8K"

[[benchmarks]]
name = "bidirectional"
sizes = "4K,8K,1M"
"""


def twin_of(document: Platform) -> TwinBackend:
    try:
        return TwinBackend(document, 2)
    except MissingError as error:
        pytest.skip(str(error))


@pytest.fixture
def twin_run(measure: Measure, tmp_path: Path) -> Path:
    backend = twin_of(platform("azure-a9"))
    return measure(tmp_path / "twin", STUDY, backend=backend, nodes=backend.nodes)


def test_each_curve_has_the_published_table_of_its_benchmark(twin_run: Path) -> None:
    latency, bidirectional = published_of(read_run(twin_run))
    assert latency.series == "published: Kaneshiro"
    assert latency.by_size[4096] == 5.96
    assert bidirectional.by_size[8192] == 2873.87
    assert any("osu_bibw between two A9 machines" in note for note in bidirectional.notes)


def test_the_finding_leaves_out_what_the_fit_names_as_an_anomaly(twin_run: Path) -> None:
    _, bidirectional = published_of(read_run(twin_run))
    found = bidirectional.finding({4096: 1.1 * 5982.22, 8192: 6000.0, 1 << 20: 7066.08})
    assert found == "5.0% from the published values (median of 2 sizes), 10.0% at 4 KiB"
    assert bidirectional.finding({3: 1.0}) == ""


def test_the_page_shows_published_values_source_and_distance(
    twin_run: Path, tmp_path: Path
) -> None:
    write_report([twin_run], tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert re.search(r"latency: [\d.]+% from the published values", page)
    assert "published: Kaneshiro" in page
    assert "Lightweight Azure InfiniBand Cluster Setup" in page
    assert "Not fitted and not counted, as it breaks the rise with size: 8 KiB." in page
    assert "median / published" in page


def test_the_tables_a_platform_was_fitted_to_are_called_measured(
    measure: Measure, tmp_path: Path
) -> None:
    sizes = [2**k for k in range(12)]
    rows = tuple((size, 2 + 1e-3 * size) for size in sizes)
    table = MeasuredTable("latency", rows, "mine.txt", sha256="ab" * 32)
    backend = twin_of(fit_platform([table], name="mine").platform)
    run = measure(tmp_path / "mine", STUDY, backend=backend, nodes=backend.nodes)
    (latency,) = published_of(read_run(run))
    assert latency.series == "measured: mine.txt"
    assert latency.finding({8: rows[3][1]}).startswith("0.0% from the measured values")


@pytest.mark.parametrize("text", ['schema = "weft.platform/9"\n', "name = ["])
def test_a_platform_no_one_can_read_is_refused_by_name(twin_run: Path, text: str) -> None:
    (twin_run / PLATFORM_FILE).write_text(text, "utf-8")
    with pytest.raises(InputError) as refused:
        published_of(read_run(twin_run))
    assert refused.value.where.startswith(str(twin_run / PLATFORM_FILE))
    assert refused.value.hint == "move platform.toml away to go on without the platform"


def test_a_live_run_has_nothing_published_about_it(measure: Measure, tmp_path: Path) -> None:
    assert published_of(read_run(measure(tmp_path / "mock"))) == ()


def test_twin_and_measured_run_stand_on_one_page_with_what_was_published(
    twin_run: Path, measure: Measure, tmp_path: Path
) -> None:
    measured = measure(tmp_path / "measured", STUDY, nodes=("n1", "n2"))
    write_report([twin_run, measured], tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert page.count("<article") == 2
    assert page.count("published: Kaneshiro") >= 2
    assert "Simulated: a twin of" in page


def test_a_printed_zero_is_no_base_of_a_ratio() -> None:
    table = platform("azure-a9").published[0]
    table = PublishedTable.model_validate(
        table.model_dump(by_alias=True) | {"rows": ((8, 0.0), (4096, 2.0))}
    )
    published = Published(table, None)
    assert published.by_size == {4096: 2.0}
    assert "100.0%" not in published.finding({8: 1.0, 4096: 2.0})
