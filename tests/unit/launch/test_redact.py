import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.launch.redact import MASK, redact_environment


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("UCX_NET_DEVICES", "mlx5_0:1,mlx5_1:1"),
        ("OMPI_MCA_pml", "ucx"),
        ("SLURM_JOB_NODELIST", "node[1-64,70]"),
        ("NCCL_IB_HCA", "mlx5"),
        ("FI_CXI_DEFAULT_CQ_SIZE", "131072"),
        ("LD_LIBRARY_PATH", "/usr/lib/x86_64-linux-gnu/openmpi/lib64/release2"),
        ("OMP_NUM_THREADS", "4"),
        ("NCCL_COMMIT", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b"),
        ("CUDA_VISIBLE_DEVICES", "GPU-8f6a2d1c-1b2c-4d5e-8f90-a1b2c3d4e5f6"),
    ],
)
def test_settings_that_make_two_runs_differ_are_kept_whole(name: str, value: str):
    assert redact_environment({name: value}) == {name: value}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GITHUB_TOKEN", "x"),
        ("AWS_SECRET_ACCESS_KEY", "x"),
        ("MY_PASSWORD", "x"),
        ("DB_PASS", "x"),
        ("SSH_AUTH_SOCK", "/tmp/s"),
        ("SLURM_JWT", "x"),
        ("UCX_SECRET", "x"),
        ("OMPI_APIKEY", "x"),
        ("NCCL_PROXY", "http://user:hunter2@proxy:3128"),
        ("UCX_NOTE", "-----BEGIN OPENSSH PRIVATE KEY-----"),
        ("FI_NOTE", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc"),
        ("WEFT_URL", "https://store/x?sv=2020&sig=abcdef"),
        ("WEFT_ID", "ghp_abcdefghijklmnop1234"),
        ("MPI_ID", "9f86D081884c7D659aXfeaa0C55ad015Qa3bf4f1"),
        ("SLURM_COMMENT", "password=hunter2"),
        ("I_MPI_HYDRA_HOST", "x --password hunter2"),
        ("HYDRA_ENV_PW", "hunter2"),
        ("HYDRA_ENV_PW", "12345678"),
    ],
)
def test_a_secret_is_masked_by_name_or_by_look(name: str, value: str):
    assert redact_environment({name: value}) == {name: MASK}


def test_what_is_not_known_as_a_setting_keeps_its_name_only():
    assert redact_environment({"HOME_ADDRESS": "12 High Street"}) == {"HOME_ADDRESS": MASK}


@given(st.text(min_size=1), st.text(min_size=8))
def test_no_value_of_a_secret_name_survives(prefix: str, value: str):
    shown = redact_environment({f"{prefix}_SECRET_TOKEN": value})
    assert value not in shown.values() or value == MASK
