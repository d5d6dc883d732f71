"""No password of a launch line or of a line nobody understood is kept."""

import pytest

from weft.core.errors import InputError
from weft.results.lines.secrets import masked
from weft.results.result_file import read_results_text

SAID = [
    "HF_TOKEN=tops3cret mpirun -np 2 ./osu_latency",
    "mpirun -x NCCL_TOKEN=tops3cret -np 2 ./osu_latency",
    "srun --export=ALL,HF_TOKEN=tops3cret,A=b -n 2 ./osu_latency",
    "srun --export=ALL,MY_PASSWORD=tops3cret,tops3cret,A=b -n 2 ./osu_latency",
    "mpirun --password tops3cret -np 2 ./osu_latency",
    "mpirun --api-key=tops3cret -np 2 ./osu_latency",
    "mpiexec -genv AWS_SECRET_ACCESS_KEY tops3cret -np 2 ./osu_latency",
    "mpiexec -env WANDB_API_KEY tops3cret -np 2 ./osu_latency",
    'mpirun --env "DB_PASS=tops3cret tops3cret" -np 2 ./osu_latency',
    "mpirun -x 'A_TOKEN=tops3cret' -np 2 ./osu_latency",
    "mpirun -np 2 ./osu_latency https://bob:tops3cret@host/x",
    "mpirun -np 2 ./osu_latency https://bob:tops3cret/tops3cret@host/x",
    'curl -H "Authorization: Bearer tops3cret" -np 2 mpirun -n 2 osu_latency',
    '{"password": "tops3cret", "a": 1} mpirun -n 2 ./osu_latency',
    "token: tops3cret mpirun -n 2 ./osu_latency",
    "mpirun -n 2 ./osu_latency AKIATOPS3CRETTOPS3CRET",
]
TABLE = "# OSU MPI Latency Test v7.4\n# Size  Avg Latency(us)\n8  1.25\n"


@pytest.mark.parametrize("line", SAID)
def test_a_secret_is_not_kept(line: str) -> None:
    assert "tops3cret" not in masked(line).lower()
    for text in (f"{line}\n{TABLE}", f"{TABLE}x {line}\n", f"{line.replace('run', '')}\n{TABLE}"):
        assert "tops3cret" not in str(read_results_text(text.encode(), "x").to_record()).lower()
    with pytest.raises(InputError) as failure:
        read_results_text(f"x {line.replace('run', '')}\n".encode(), "x")
    assert "tops3cret" not in failure.value.what.lower()


def test_where_a_long_line_is_cut_no_half_secret_stays() -> None:
    line = "x" * 140 + " https://bob:tops3cret-and-more@host/"
    [unread] = read_results_text(f"{TABLE}{line}\n".encode(), "x").unread
    assert "tops3" not in unread.text


@pytest.mark.parametrize(
    "line",
    [
        "mpirun -np 4 --map-by ppr:2:node -x NCCL_ALGO=Ring -x UCX_TLS=rc,cuda ./all_reduce_perf",
        "srun --nodes=2 --ntasks-per-node 4 --mpi=pmix ./osu_allreduce -m 1:1048576",
        " 65536   1000   22000.00   21999.50   0.3519",
        "[2024-05-01 12:00:00] node7: epoch 3 | loss: 1.25 | http://host:8080/metrics",
    ],
)
def test_other_lines_stay_as_they_are(line: str) -> None:
    assert masked(line) == line
