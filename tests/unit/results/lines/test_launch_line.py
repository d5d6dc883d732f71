import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.results.lines.launch_line import (
    LaunchScale,
    gpus_of_process,
    launch_of,
    settings_of,
    shown,
)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("mpirun -n 256 -npernode 16 ./all_reduce_perf -b 8 -e 512M -g 1", (256, 16, 16)),
        ("mpirun -np 16 -N 8 --bind-to none all_reduce_perf -b 8 -g 1 -n 50", (16, 2, 8)),
        ("mpirun --map-by ppr:8:node -np 16 ./build/all_gather_perf", (16, 2, 8)),
        ("mpirun -np 2 ./build/all_reduce_perf -g 8", (16, None, None)),
        ("srun --nodes=2 --ntasks-per-node=8 --mpi=pmix all_reduce_perf_mpi -g 1", (16, 2, 8)),
        ("srun -N 2 -n 16 ./alltoall_perf", (16, 2, 8)),
        ("srun -N2 -n16 ./alltoall_perf -g1", (16, 2, 8)),
        ("srun -N 4 --ntasks-per-node=1 ./alltoall_perf -g 4 -t 2", (32, 4, 8)),
        ("mpirun.mpich -np 16 ./build/all_reduce_perf -g 1", (16, None, None)),
        ("mpirun -N 2 -np 2 -map-by ppr:1:node ./all_reduce_perf", (2, None, None)),
        ("mpirun -np 7 -npernode 4 ./alltoall_perf", (7, None, 4)),
        ("./build/all_reduce_perf -b 8 -e 128M -f 2 -g 4 -n 20", (None, None, None)),
    ],
)
def test_a_launch_line_says_ranks_nodes_and_ranks_a_node(
    line: str, expected: tuple[int | None, ...]
) -> None:
    assert launch_of(line) == LaunchScale(*expected)


@pytest.mark.parametrize(
    ("line", "n_gpus"),
    [("./all_reduce_perf -b 8 -g 4", 4), ("x_perf -t 2 -g4", 8), ("x_perf -b 8", None)],
)
def test_a_command_says_the_gpus_of_one_process(line: str, n_gpus: int | None) -> None:
    assert gpus_of_process(line) == n_gpus


@given(text=st.text(max_size=80), number=st.text(max_size=12))
def test_any_line_is_survived(text: str, number: str) -> None:
    found = launch_of(f"mpirun -np {number} -N {text} ./all_reduce_perf -g {number}")
    assert all(value is None or value > 0 for value in found)


def test_a_secret_that_a_launch_line_passes_on_is_not_kept() -> None:
    line = "mpirun -x API_TOKEN=verysecret -x NCCL_DEBUG=INFO -np 2 ./all_reduce_perf"
    assert shown(line) == line.replace("verysecret", "[redacted]")
    assert len(shown("x" * 10_000)) == 200


def test_settings_of_nccl_on_the_line_are_conditions_where_they_are_one_word() -> None:
    line = "mpirun -x NCCL_ALGO=RING -x NCCL_PROTO=LL,LL128 -x NCCL_P2P_DISABLE=1 -x A=b ./x_perf"
    assert settings_of(line) == {"algorithm": "RING", "p2p_disable": "1"}
