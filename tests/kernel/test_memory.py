"""GPU memory, on a stand-in for the CUDA runtime: what it hands out is copied in and out."""

import subprocess

import pytest

RUNTIME = """
#include <stdlib.h>
#include <string.h>
int MPIX_Query_cuda_support(void) { return getenv("FAKE_MPI_REFUSES") == NULL; }
int cudaGetDeviceCount(int *n) { *n = getenv("FAKE_NO_GPU") == NULL; return 0; }
int cudaSetDevice(int device) { return device != 0; }
int cudaMalloc(void **at, size_t n) { *at = malloc(n); return *at == NULL; }
int cudaFree(void *at) { free(at); return 0; }
int cudaMemcpy(void *to, const void *from, size_t n, int kind) {
    memcpy(to, from, n);
    return kind != 1 && kind != 2;
}
"""
ARGUMENTS = (
    *("--memory", "cuda", "--iterations", "3", "--warmup", "1", "--validate"),
    *("--benchmark", "latency", "--sizes", "1,4096", "--benchmark", "allreduce", "--sizes", "64"),
    *("--benchmark", "alltoall", "--sizes", "100", "--benchmark", "pairs"),
)
MORE = ("reduce", "reduce_scatter", "broadcast", "allgather", "alltoallv", "fan_in", "fan_out")
MORE += ("random_ring_latency", "natural_ring_bandwidth", "gather", "scatter")


@pytest.fixture(scope="module")
def runtime(tmp_path_factory):
    """A libcudart.so whose device memory is ordinary memory."""
    folder = tmp_path_factory.mktemp("cuda")
    (folder / "cuda.c").write_text(RUNTIME)
    library = folder / "libcudart.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, folder / "cuda.c"], check=True)
    return {"LD_LIBRARY_PATH": str(folder), "LD_PRELOAD": str(library)}


def test_messages_go_through_gpu_buffers_and_arrive(kernel, runtime):
    outcome = kernel.run(2, *ARGUMENTS, **runtime)
    assert outcome.exit_code == 0, outcome.stderr
    assert outcome.only("header")["memory"] == "cuda"
    rows = outcome.of("row") + outcome.of("pair_row")
    assert [row["n_errors"] for row in rows] == [0] * 7


def test_every_benchmark_checks_what_arrived_in_gpu_memory(kernel, runtime):
    names = [word for name in MORE for word in ("--benchmark", name)]
    arguments = ("--memory", "cuda", "--iterations", "2", "--validate", "--sizes", "64", *names)
    for environment, n_errors in (({}, 0), ({"WEFT_TEST_CORRUPT": "1"}, 1)):
        outcome = kernel.run(2, *arguments, **environment, **runtime)
        assert [row["n_errors"] for row in outcome.of("row")] == [n_errors] * len(MORE)


def test_a_flipped_byte_in_gpu_memory_is_found(kernel, runtime):
    outcome = kernel.run(2, *ARGUMENTS, WEFT_TEST_CORRUPT="1", **runtime)
    assert [row["n_errors"] for row in outcome.of("row")] == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("lack", "message"),
    [
        ("FAKE_NO_GPU", "finds no GPU on this host"),
        ("FAKE_MPI_REFUSES", "this MPI library reports that it cannot send GPU memory"),
    ],
)
def test_what_is_lacking_is_said(kernel, runtime, lack, message):
    outcome = kernel.run(2, *ARGUMENTS, **runtime, **{lack: "1"})
    assert outcome.exit_code == 3
    assert message in outcome.only("error")["message"]
