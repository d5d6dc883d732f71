"""Tables become launches, rows become samples; what differs inside an arm is in the name."""

from collections.abc import Mapping

import pytest

from weft.bench.result_samples import Imported, SourceFile, endpoints_of, launches_of, slug
from weft.bench.result_scale import StatedScale
from weft.core.errors import InputError
from weft.results.model import ResultFile, Row, Table

STATIC, ADAPTIVE = {"routing": "static"}, {"routing": "adaptive"}


def row(line: int, size: int | None = 8, us: float = 1.5, **labels: str) -> Row:
    return Row(line, size, {"latency_us": us}, labels)


def table(
    *rows: Row, test: str = "osu_latency", benchmark: str = "latency", **more: object
) -> Table:
    return Table("osu", test, benchmark, rows, 1, **more)  # type: ignore[arg-type]


def imported(
    *tables: Table, arm: Mapping[str, str] | None = None, more: tuple[SourceFile, ...] = ()
) -> Imported:
    files = (SourceFile("000-a.log", arm or {}, ResultFile("a.log", tables)), *more)
    return launches_of(files, StatedScale(2, 1))


def names(found: Imported) -> list[str]:
    return [one.launch.trial.benchmark for one in found.launches]


def test_tables_of_one_test_are_repeats_of_one_trial() -> None:
    found = imported(table(row(3)), table(row(9)), table(row(15)))
    assert [one.launch.repeat for one in found.launches] == [0, 1, 2]
    assert len({one.launch.trial.id for one in found.launches}) == 1


def test_a_sample_keeps_metrics_and_where_they_stand() -> None:
    figures = {"latency_us": 1.62, "latency_us_p99": 2.0, "iterations": 1000.0}
    one = Row(12, 64, figures, {"validation": "Pass"}, {"Foo": "x"})
    (launch,) = imported(table(one, version="7.4")).launches
    (sample,) = launch.samples
    assert sample.metrics == figures
    assert (sample.size_bytes, sample.iterations, sample.flags) == (64, 1000, ())
    assert sample.evidence == {
        "file": "000-a.log",
        "line": 12,
        "tool": "osu 7.4",
        "test": "osu_latency",
        "labels": {"validation": "Pass"},
        "other": {"Foo": "x"},
    }


def test_in_place_rows_are_a_test_of_their_own_and_out_of_place_keeps_the_plain_name() -> None:
    rows = (row(3, placement="out-of-place"), row(3, placement="in-place"))
    found = imported(table(*rows, test="all_reduce_perf", benchmark="allreduce"))
    assert names(found) == ["allreduce", "allreduce.in-place"]


@pytest.mark.parametrize(
    ("tool", "benchmark", "expected"),
    [
        ("osu", "alltoall", "alltoall"),
        ("nccl-tests", "alltoall", "alltoall.whole-buffer"),
        ("rccl-tests", "allgather", "allgather.whole-buffer"),
        ("nccl-tests", "allreduce", "allreduce"),
    ],
)
def test_sizes_that_count_all_blocks_do_not_meet_sizes_of_one(
    tool: str, benchmark: str, expected: str
) -> None:
    one = Table(tool, "a_test", benchmark, (row(3),), 1)
    assert names(imported(one)) == [expected]


def test_labels_that_differ_at_one_size_tell_trials_apart() -> None:
    rows = (row(3, redop="sum", type="float"), row(4, redop="max", type="float"))
    assert names(imported(table(*rows, benchmark="allreduce"))) == [
        "allreduce.sum",
        "allreduce.max",
    ]


def test_labels_that_change_with_size_are_results_and_no_names() -> None:
    rows = (row(3, 8, algorithm="LL"), row(4, 64, algorithm="Simple"))
    assert names(imported(table(*rows, benchmark="allreduce"))) == ["allreduce"]


def test_two_tests_of_one_benchmark_in_one_arm_are_distinguished() -> None:
    found = imported(table(row(3)), table(row(9), test="PingPong"))
    assert names(found) == ["latency.osu_latency", "latency.pingpong"]


def test_what_differs_between_arms_only_is_the_arms_own_doing() -> None:
    other = SourceFile("001-b.log", ADAPTIVE, ResultFile("b.log", (table(row(3), memory="gpu"),)))
    found = imported(table(row(3), memory="host"), arm=STATIC, more=(other,))
    assert names(found) == ["latency", "latency"]
    assert [dict(one.launch.trial.arm) for one in found.launches] == [STATIC, ADAPTIVE]
    assert [one.launch.block for one in found.launches] == [0, 1]


def test_memory_that_differs_inside_an_arm_is_in_the_name() -> None:
    found = imported(table(row(3), memory="host"), table(row(9), memory="gpu"))
    assert names(found) == ["latency.host", "latency.gpu"]


def test_a_test_without_a_counterpart_is_stored_under_its_own_name() -> None:
    found = imported(table(row(3), test="osu_iallreduce (overlap)", benchmark=""))
    assert names(found) == ["osu_iallreduce-overlap"]


def test_a_table_whose_test_no_one_named_bears_the_tools_name() -> None:
    found = imported(table(row(3), test="", benchmark=""))
    assert names(found) == ["osu"]
    assert found.launches[0].samples[0].evidence["test"] == "osu"


def test_nodes_bear_the_names_the_file_gives_and_else_none_is_invented_as_real() -> None:
    named = imported(table(row(3), hosts=("n7", "n9")))
    assert named.launches[0].launch.trial.nodes == ("n7", "n9")
    assert imported(table(row(3))).launches[0].launch.trial.nodes == ("unnamed1", "unnamed2")


def test_rows_of_a_pair_keep_their_ends() -> None:
    found = imported(table(row(3, pair="n1,n2"), row(4, pair="n2,n3"), benchmark="pairs"))
    (launch,) = found.launches
    assert launch.launch.trial.nodes == ("n1", "n2", "n3")
    pairs = [sample.pair for sample in launch.samples]
    assert [(pair.a, pair.b) for pair in pairs if pair] == [("n1", "n2"), ("n2", "n3")]


@pytest.mark.parametrize(
    ("label", "ends"),
    [("n1,n2", ("n1", "n2")), ("n-1 - n-2", ("n-1", "n-2")), ("a -> b", ("a", "b")), ("x", ())],
)
def test_the_ends_of_a_pair(label: str, ends: tuple[str, ...]) -> None:
    assert endpoints_of(row(1, pair=label)) == ends


def test_ranks_stand_for_the_hosts_where_some_row_lacks_their_names() -> None:
    named = row(3, pair="0-1", hosts="a b")
    found = imported(table(named, row(4, pair="1-2"), benchmark="pairs"))
    assert found.launches[0].launch.trial.nodes == ("rank0", "rank1", "rank2")
    (alone,) = imported(table(named, benchmark="pairs")).launches
    assert alone.launch.trial.nodes == ("a", "b")


def test_a_file_is_believed_where_the_users_word_does_not_fit_one_of_its_tables() -> None:
    unlike = table(row(3), test="osu_init", benchmark="startup", n_ranks=8, n_nodes=4)
    found = imported(unlike, table(row(9), test="osu_allreduce", benchmark="allreduce"))
    nodes = [len(one.launch.trial.nodes) for one in found.launches]
    assert nodes == [4, 2]
    said = "osu_init ran on 4 nodes, and the command line says 2: the file is believed"
    assert found.remarks == (said,)


def test_a_users_word_that_fits_no_table_is_refused() -> None:
    with pytest.raises(InputError, match="osu_init ran on 4 nodes, and the command line says 2"):
        imported(table(row(3), test="osu_init", benchmark="startup", n_ranks=8, n_nodes=4))


@pytest.mark.parametrize(
    "bad", [row(3, validation="Fail"), Row(3, 8, {"latency_us": 1.0, "n_wrong": 4.0})]
)
def test_data_that_arrived_wrong_supports_no_verdict(bad: Row) -> None:
    assert imported(table(bad)).launches[0].samples[0].flags == ("invalid_data",)


def test_rows_without_a_figure_are_counted() -> None:
    found = imported(table(row(3), Row(4, 16, {})))
    assert found.left_out == {"osu_latency: no figure in the row": 1}


def test_files_without_a_single_figure_are_refused() -> None:
    with pytest.raises(InputError, match=r"no row with a figure in 000-a\.log"):
        imported(table(Row(4, 16, {})))


@pytest.mark.parametrize(
    ("text", "expected"),
    [("PingPong", "pingpong"), ("a b (c)", "a-b-c"), ("ü", "unnamed"), ("_x", "x")],
)
def test_a_slug_is_what_a_study_takes_for_a_name(text: str, expected: str) -> None:
    assert slug(text) == expected
