from pathlib import Path

import pytest
from tests.needs import need_mpi

from weft.core.errors import ExitCode, MissingError
from weft.launch.mpi import classify, compiler_env, find_mpi

OPEN_MPI = "mpirun (Open MPI) 5.0.3\n\nReport bugs to https://www.open-mpi.org/community/help/\n"
HYDRA = "HYDRA build details:\n    Version:           4.0.2\n    CC:    gcc\n"
INTEL = "Intel(R) MPI Library for Linux* OS, Version 2021.9 Build 20230307\n"


@pytest.mark.parametrize(
    ("version", "compile_line", "expected"),
    [
        (OPEN_MPI, "gcc -lmpi", "openmpi"),
        ("mpirun.openmpi (OpenRTE) 4.1.4\n", "gcc -lmpi", "openmpi"),
        (HYDRA, "gcc -lmpich", "mpich"),
        (HYDRA, "gcc -I/opt/mvapich2/include -lmpi", "mvapich"),
        (INTEL, "gcc -lmpi", "intel"),
        ("slurm 22.05.8\n", "gcc -I/usr/lib/openmpi/include -lmpi", "openmpi"),
        ("slurm 22.05.8\n", "cc -I/opt/cray/pe/mpich/8.1/include -lmpi", "mpich"),
        ("something else\n", "cc -lmpi", "unknown"),
    ],
)
def test_the_implementation_is_read_from_what_the_mpi_says(version, compile_line, expected):
    assert classify(version, compile_line, "run") == expected


def test_without_a_name_the_embedded_mpich_is_found():
    mpi = find_mpi()
    assert mpi.implementation == "mpich"
    assert mpi.launcher_kind == "hydra"
    assert mpi.launcher.parent == mpi.mpicc.parent


def test_open_mpi_by_its_debian_name_gets_its_own_launcher():
    need_mpi("mpicc.openmpi")
    mpi = find_mpi("mpicc.openmpi")
    assert mpi.implementation == "openmpi"
    assert mpi.launcher.name in ("mpiexec.openmpi", "mpirun.openmpi")
    assert "4." in mpi.version or "5." in mpi.version


def make_tool(path: Path, text: str, code: int = 0) -> Path:
    path.write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\nexit {code}\n")
    path.chmod(0o755)
    return path


def test_a_path_is_paired_with_the_launcher_next_to_it(tmp_path: Path):
    make_tool(tmp_path / "mpicc", "gcc -lmpi")
    make_tool(tmp_path / "mpiexec", HYDRA)
    mpi = find_mpi(str(tmp_path / "mpicc"))
    assert (mpi.launcher, mpi.version) == (tmp_path / "mpiexec", "MPICH 4.0.2")


def test_site_is_the_mpicc_on_path(tmp_path: Path, monkeypatch):
    make_tool(tmp_path / "mpicc", "gcc -lmpi")
    make_tool(tmp_path / "mpirun", OPEN_MPI)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert find_mpi("site").mpicc == tmp_path / "mpicc"


def test_site_without_an_mpicc_says_what_to_load(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingError, match="no 'mpicc' on PATH") as caught:
        find_mpi("site")
    assert "--mpi /path/to/mpicc" in str(caught.value)
    assert caught.value.exit_code == ExitCode.MISSING


def test_an_unknown_wrapper_is_missing():
    with pytest.raises(MissingError, match=r"no MPI compiler wrapper 'mpicc\.nosuch'"):
        find_mpi("mpicc.nosuch")


def test_a_wrapper_without_its_launcher_is_missing_even_with_another_on_path(
    tmp_path: Path, monkeypatch
):
    make_tool(tmp_path / "mpicc", "gcc -lmpi")
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    with pytest.raises(MissingError, match="no launcher for") as caught:
        find_mpi(str(tmp_path / "mpicc"))
    assert "'mpiexec' or 'mpirun' in the wrapper's folder" in str(caught.value)


def test_inside_a_slurm_job_srun_stands_in_for_a_missing_launcher(tmp_path: Path, monkeypatch):
    make_tool(tmp_path / "mpicc", "cc -I/opt/cray/pe/mpich/8.1/include -lmpi")
    tools = tmp_path / "slurm"
    tools.mkdir()
    make_tool(tools / "srun", "slurm 23.02.7")
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    mpi = find_mpi(str(tmp_path / "mpicc"))
    assert (mpi.launcher_kind, mpi.implementation) == ("srun", "mpich")
    assert mpi.version == "srun: slurm 23.02.7"


def test_a_wrapper_that_fails_is_missing_with_its_own_words(tmp_path: Path):
    make_tool(tmp_path / "mpicc", "no compiler licence", code=1)
    make_tool(tmp_path / "mpiexec", HYDRA)
    with pytest.raises(MissingError, match="failed with exit code 1: no compiler licence"):
        find_mpi(str(tmp_path / "mpicc"))


def test_a_wrapper_that_does_not_know_its_folder_is_reported(tmp_path: Path):
    """As mpicc of PyPI's impi-devel, which takes it from I_MPI_ROOT."""
    tools = tmp_path / "bin"
    tools.mkdir()
    make_tool(tools / "mpicc", 'gcc -I"I_MPI_SUBSTITUTE_INSTALLDIR/include" -lmpi')
    make_tool(tools / "mpiexec", INTEL)
    assert compiler_env(find_mpi(str(tools / "mpicc"))) == {"I_MPI_ROOT": str(tmp_path)}
    make_tool(tools / "mpicc", "gcc -I/opt/intel/oneapi/mpi/2021.9/include -lmpi")
    assert compiler_env(find_mpi(str(tools / "mpicc"))) == {}
