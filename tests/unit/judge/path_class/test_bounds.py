"""What bounds a statement about a path: one host, several machines, units, few rows, slow ranks."""

from dataclasses import replace

import pytest

from weft.judge.path_class.evidence import PathEvidence, evidence_of
from weft.judge.path_class.fit import fit_of
from weft.judge.path_class.mixture import mixture_of
from weft.judge.path_class.proof import proofs_in
from weft.judge.path_class.statement import statement_of
from weft.results.lines.unit_conflict import UNIT_CONFLICT
from weft.results.model import Row, Table


def latency(*rows: tuple[int, float]) -> Table:
    read = tuple(Row(i, size, {"latency_us": us}) for i, (size, us) in enumerate(rows, 1))
    return Table("osu", "osu_latency", "latency", read, 1, n_ranks=2, memory="host")


def stream(mb_s: float) -> Table:
    sizes = [1 << power for power in (16, 18, 20, 22)]
    read = tuple(Row(i, size, {"bandwidth_mb_s": mb_s}) for i, size in enumerate(sizes, 1))
    return Table("osu", "osu_bw", "bandwidth", read, 1, n_ranks=2, memory="host")


def of_hosts(n: int, us: float) -> PathEvidence:
    return replace(evidence_of([latency((0, us), (8, us)), stream(5_000)]), n_nodes=n)


def said(evidence: PathEvidence) -> str:
    finding = statement_of("f", evidence, fit_of(evidence))
    return f"{finding.severity.value.upper()} {finding.sentence}"


IN_ONE_HOST = "inside one host (shared memory, kernel sockets or a loop through the adapter)"


@pytest.mark.parametrize(
    ("us", "transports", "words"),
    [
        (0.4, {"memory"}, "inside one host (shared memory)"),
        (3.0, {"memory", "sockets"}, IN_ONE_HOST),
        (108.0, {"memory", "sockets"}, IN_ONE_HOST),
    ],
)
def test_ranks_of_one_host_measure_no_link(us: float, transports: set[str], words: str) -> None:
    evidence = of_hosts(1, us)
    assert set(fit_of(evidence).transports) == transports
    assert not fit_of(evidence).links
    assert said(evidence).startswith("NOTE 40 Gb/s, ")
    assert f"{words}; no fabric was measured" in said(evidence)


def test_a_launch_line_that_asks_for_tcp_in_one_host_is_bad() -> None:
    proofs = proofs_in(b"mpirun --mca btl tcp,self -np 2 ./osu_latency\n", {})
    evidence = replace(of_hosts(1, 9.0), proofs=proofs)
    assert said(evidence).startswith("BAD 40 Gb/s, 9.0 us at 0 B: inside one host, over kernel")


def test_a_rank_on_each_of_two_hosts_is_not_inside_one() -> None:
    assert "memory" in fit_of(evidence_of([latency((0, 1.1), (8, 1.1))])).transports
    assert set(fit_of(of_hosts(2, 1.1)).transports) == {"rdma"}


def test_a_name_of_rank_0_alone_is_not_that_of_all_ranks() -> None:
    table = replace(latency((8, 3.0)), hosts=("node1",))
    assert evidence_of([table]).n_nodes is None
    assert evidence_of([replace(table, hosts=("node1", "node1"))]).n_nodes == 1


def test_a_latency_beyond_every_class_names_no_link() -> None:
    evidence = evidence_of([latency((0, 7_200.0), (8, 7_199.0)), stream(90)])
    assert said(evidence).startswith("WARNING 7199 us at 8 B: slower than any healthy path")
    assert "several adapters" not in said(evidence)


def test_units_that_contradict_are_a_note_and_name_no_class() -> None:
    table = replace(stream(12_100), conditions={UNIT_CONFLICT: "rate by a factor of 8"})
    text = said(evidence_of([latency((8, 3.0)), table]))
    assert text == (
        "NOTE the units of the file contradict each other: line 1: rate by a factor of 8"
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"devices": ("hfi1_0",)}, "devices mlx5_0 and devices hfi1_0"),
        ({"hosts": ("c", "d")}, "hosts a, b and hosts c, d"),
        ({"memory": "gpu"}, "host memory and GPU memory"),
    ],
)
def test_tables_of_several_machines_are_named_and_not_good(
    change: dict[str, object], words: str
) -> None:
    first = replace(stream(12_100), devices=("mlx5_0",), hosts=("a", "b"))
    other = replace(first, **change)  # type: ignore[arg-type]
    assert mixture_of([first, other]) == words
    assert mixture_of([first, first]) == ""
    evidence = evidence_of([latency((8, 3.0)), first, other])
    finding = statement_of("f", evidence, fit_of(evidence))
    assert finding.severity.value != "good"
    assert finding.evidence[0].startswith("the file holds tables of ")


def test_few_rows_that_leave_the_path_open_are_too_short() -> None:
    assert said(evidence_of([latency((0, 1.5))])).startswith("NOTE too short to tell: 1.5 us")
    assert said(evidence_of([latency((0, 0.3))])).startswith("NOTE 0.30 us at 0 B: inside one host")
