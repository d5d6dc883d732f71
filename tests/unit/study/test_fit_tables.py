"""Tables to fit from files and runs: what is taken, and what is refused with its place."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median

import pytest

from weft.catalog.load import platform
from weft.core.errors import InputError
from weft.results.result_file import read_results
from weft.study import fit_tables
from weft.study.fit_tables import published_tables, tables_of
from weft.study.run.store import StudyRun

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "results"
OSU = FIXTURES / "osu"
LATENCY = "# OSU MPI Latency Test v5.9\n# Size          Latency (us)\n"


def write(folder: Path, name: str, head: str, rows: dict[int, float]) -> Path:
    path = folder / name
    path.write_text(head + "".join(f"{size:<16}{value:.2f}\n" for size, value in rows.items()))
    return path


def test_a_published_pair_of_tables_is_read_row_by_row() -> None:
    found = tables_of([OSU / "kaneshiro_2014_latency.txt", OSU / "kaneshiro_2014_bibw.txt"])
    latency, both = found.tables
    document = platform("azure-a9")
    for table, name in ((latency, "latency"), (both, "bidirectional")):
        published = document.table(name)
        assert published is not None
        assert table.benchmark == name
        assert table.rows == published.rows
        assert len(table.sha256) == 64
    assert latency.source == "kaneshiro_2014_latency.txt"


def test_the_same_tables_stand_in_the_catalogue() -> None:
    latency, both = published_tables(platform("azure-a9")).tables
    assert (latency.benchmark, both.benchmark) == ("latency", "bidirectional")
    assert latency.source.startswith("Kaneshiro")
    with pytest.raises(InputError, match="'this-machine' has no published table of latency"):
        published_tables(platform("this-machine"))


def test_tables_of_a_real_machine_are_read_through_their_loader_warnings() -> None:
    files = [OSU / "alps_7.5_latency_host.txt", OSU / "alps_7.5_bw_host.txt"]
    latency, bandwidth = tables_of(files).tables
    assert dict(latency.rows)[8] == 3.34
    assert (bandwidth.benchmark, len(bandwidth.rows)) == ("bandwidth", 23)
    assert not latency.is_fresh


def test_repeats_of_one_table_in_a_file_become_medians(tmp_path: Path) -> None:
    sizes = [1, 2, 4, 8]
    path = tmp_path / "three.txt"
    path.write_text(
        "".join(
            LATENCY + "".join(f"{size:<16}{value:.2f}\n" for size in sizes)
            for value in (2.0, 9.0, 2.5)
        )
    )
    found = tables_of([path])
    (table,) = found.tables
    assert table.rows == tuple((size, 2.5) for size in sizes)
    assert any("medians of 3 tables" in remark for remark in found.remarks)


def test_the_window_can_be_reported(tmp_path: Path) -> None:
    head = "# OSU MPI Bandwidth Test v5.9\n# Size      Bandwidth (MB/s)\n"
    path = write(tmp_path, "bw.txt", head, {1: 1.0, 2: 2.0})
    (table,) = tables_of([path], window=16).tables
    assert (table.window, table.window_is_known) == (16, True)


@pytest.mark.parametrize(
    ("test", "benchmark"), [("Uniband", "bandwidth"), ("Biband", "bidirectional")]
)
def test_the_message_rate_of_one_pair_is_a_bandwidth(
    tmp_path: Path, test: str, benchmark: str
) -> None:
    rule = "#" + "-" * 51 + "\n"
    head = f"{rule}# Benchmarking {test} \n# #processes = 2 \n{rule}"
    rows = "".join(f"{s:13}{1000:13}{s * 1.5:13.2f}{1500000:13}\n" for s in (1, 2, 4, 8))
    path = tmp_path / "imb.txt"
    path.write_text(f"{head}       #bytes #repetitions   Mbytes/sec      Msg/sec\n{rows}")
    (table,) = tables_of([path]).tables
    assert table.benchmark == benchmark
    assert dict(table.rows) == {1: 1.5, 2: 3.0, 4: 6.0, 8: 12.0}


def test_gpu_tables_are_refused_with_their_line() -> None:
    with pytest.raises(InputError, match=r"alps_7.5_bw_gpu.txt:\d+: osu_bw in GPU memory"):
        tables_of([OSU / "alps_7.5_bw_gpu.txt"])


def test_a_file_without_such_a_table_is_refused() -> None:
    path = OSU / "omb_7.0_allreduce_slurm.txt"
    with pytest.raises(InputError, match="no table of latency or bandwidth between two ranks"):
        tables_of([path])


def test_tables_of_other_hosts_are_not_fitted_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(path: Path) -> object:
        results = read_results(path)
        hosts = ("n1", "n2") if path.name == "a.txt" else ("n1", "n3")
        tables = tuple(replace(table, hosts=hosts) for table in results.tables)
        return replace(results, tables=tables)

    monkeypatch.setattr(fit_tables, "read_results", told)
    files = [write(tmp_path, name, LATENCY, {1: 2.0, 2: 2.0}) for name in ("a.txt", "b.txt")]
    with pytest.raises(InputError, match="tables of different hosts: n1, n2 and n1, n3"):
        tables_of(files)
    found = tables_of(files, several_runs=True).tables
    assert [table.source for table in found] == ["a.txt", "b.txt"]


def test_of_several_runs_each_repeat_of_a_table_is_one(tmp_path: Path) -> None:
    path = tmp_path / "two.txt"
    path.write_text("".join(f"{LATENCY}1     {value:.2f}\n" for value in (2.0, 3.0)))
    found = tables_of([path], several_runs=True).tables
    assert [table.rows for table in found] == [((1, 2.0),), ((1, 3.0),)]


def test_two_ranks_of_a_larger_run_may_share_a_node(tmp_path: Path) -> None:
    rule = "#" + "-" * 51 + "\n"
    waiting = "# ( 94 additional processes waiting in MPI_Barrier)\n"
    head = f"{rule}# Benchmarking PingPong \n# #processes = 2 \n{waiting}{rule}"
    rows = "".join(f"{s:13}{1000:13}{s * 1.5:13.2f}{1 / 1.5:13.2f}\n" for s in (1, 2, 4, 8))
    path = tmp_path / "imb.txt"
    path.write_text(f"{head}       #bytes #repetitions      t[usec]   Mbytes/sec\n{rows}")
    (remark,) = tables_of([path]).remarks
    assert remark.endswith("94 more ranks waited: these two may share a node")


def test_tables_of_many_ranks_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def of_eight(path: Path) -> object:
        results = read_results(path)
        return replace(results, tables=tuple(replace(t, n_ranks=8) for t in results.tables))

    monkeypatch.setattr(fit_tables, "read_results", of_eight)
    path = write(tmp_path, "a.txt", LATENCY, {1: 2.0, 2: 2.0})
    with pytest.raises(InputError, match="osu_latency of 8 ranks"):
        tables_of([path])


PAIR = """
[[benchmarks]]
name = "latency"
sizes = "1:4K"

[[benchmarks]]
name = "bandwidth"
sizes = "1:4K"
"""
RunStudy = Callable[..., StudyRun]


def test_a_run_gives_medians_over_its_launches(run_study: RunStudy) -> None:
    run = run_study(repeats=3, benchmarks=PAIR)
    latency, bandwidth = tables_of([run.directory]).tables
    assert (latency.benchmark, bandwidth.benchmark) == ("latency", "bandwidth")
    assert latency.source == run.directory.name
    assert latency.is_fresh
    assert "median of 3 launches" in latency.conditions
    assert (bandwidth.window, bandwidth.window_is_known) == (64, True)
    assert len(latency.sha256) == 64
    at_8 = [
        s.metrics["latency_us_p50"]
        for s in run.samples
        if s.size_bytes == 8 and "latency_us_p50" in s.metrics
    ]
    assert dict(latency.rows)[8] == median(at_8)


def test_a_run_of_two_arms_is_refused(run_study: RunStudy, two_arms: str) -> None:
    run = run_study(repeats=2, benchmarks=PAIR, factors=two_arms)
    with pytest.raises(InputError, match="2 arms or scales of latency"):
        tables_of([run.directory])


def test_a_run_without_such_curves_is_refused(run_study: RunStudy) -> None:
    only = '[[benchmarks]]\nname = "allreduce"\nsizes = "8,64K"\n'
    run = run_study(repeats=2, benchmarks=only)
    with pytest.raises(InputError, match="no latency and no bandwidth was measured") as error:
        tables_of([run.directory])
    assert "lightweight-pair" in str(error.value)
