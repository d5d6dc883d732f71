"""A launch line above a table says how many ranks and nodes it ran on."""

import pytest

from weft.results.model import Table
from weft.results.result_file import read_results_text

ALLTOALL = "# OSU MPI All-to-All Personalized Exchange Latency Test v7.5\n# Size  Avg Latency(us)\n"
LATENCY = "# OSU MPI Latency Test v7.5\n# Size  Avg Latency(us)\n"
PINGPONG = "# Benchmarking PingPong\n# #processes = 2\n#bytes #repetitions t[usec] Mbytes/sec\n"
ROW = "8   1.25\n"


def tables(text: str) -> tuple[Table, ...]:
    results = read_results_text(text.encode(), "x")
    assert results.n_unread == 0
    return results.tables


def scale(table: Table) -> tuple[int | None, int | None, int | None]:
    return table.n_ranks, table.n_nodes, table.tasks_per_node


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("$ srun -N2 --ntasks-per-node=4 --mpi=pmix ./collective/osu_alltoall", (8, 2, 4)),
        ("$ srun -N 2 --ntasks-per-node=4 --mpi=pmix ./collective/osu_alltoall", (8, 2, 4)),
        ("+ mpirun -np 64 -npernode 32 /opt/osu/osu_alltoall -m 1:8", (64, 2, 32)),
        ("    $ mpiexec -n 16 -ppn 8 osu_alltoall", (16, 2, 8)),
        ("mpirun -np 16 osu_alltoall -x 100 -i 200", (16, None, None)),
        ("$ mpirun -np 16 osu_allgather", (None, None, None)),
    ],
)
def test_a_collective_takes_its_ranks_from_the_command(
    command: str, expected: tuple[int | None, ...]
) -> None:
    [table] = tables(f"{command}\n{ALLTOALL}{ROW}")
    assert scale(table) == expected


def test_the_last_command_above_a_table_counts() -> None:
    text = "".join(f"$ mpirun -np {n} -npernode 4 osu_alltoall\n{ALLTOALL}{ROW}" for n in (8, 16))
    assert [scale(table) for table in tables(text)] == [(8, 2, 4), (16, 4, 4)]


def test_a_command_below_a_table_is_not_its_own() -> None:
    [table] = tables(f"{ALLTOALL}{ROW}$ mpirun -np 8 -npernode 4 osu_alltoall\n")
    assert scale(table) == (None, None, None)


def test_two_ranks_stay_two() -> None:
    [table] = tables(f"$ mpirun -np 2 -npernode 1 osu_latency\n{LATENCY}{ROW}")
    assert scale(table) == (2, 2, 1)
    [table] = tables(f"$ mpirun -np 64 -npernode 32 osu_latency\n{LATENCY}{ROW}")
    assert scale(table) == (2, None, None)


def test_what_imb_says_itself_stands() -> None:
    row = "            0         1000         0.09         0.00\n"
    [table] = tables(f"$ mpirun -np 2 -npernode 1 IMB-MPI1 PingPong\n{PINGPONG}{row}")
    assert scale(table) == (2, 2, 1)
    [table] = tables(f"$ mpirun -np 64 -npernode 32 IMB-MPI1\n{PINGPONG}{row}")
    assert scale(table) == (2, None, None)


def test_the_command_is_kept_without_its_secrets() -> None:
    [table] = tables(f"$ mpirun -np 2 -x API_TOKEN=hunter2 osu_latency\n{LATENCY}{ROW}")
    assert "osu_latency" in table.conditions["launch"]
    assert "hunter2" not in str(table.to_record())
