"""Which launcher starts ranks: srun for the nodes of the job around it, else the MPI's own."""

from pathlib import Path

import pytest

from weft.cli.backend.opening import launched_mpi
from weft.core.errors import InputError, MissingError


def tool(path: Path, says: str) -> None:
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)


@pytest.fixture
def mpicc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An MPICH with its mpiexec, in a job of n1 to n4 with an srun."""
    tool(tmp_path / "mpicc", "gcc -lmpich")
    tool(tmp_path / "mpiexec", "HYDRA build details: Version: 4.0.2")
    tool(tmp_path / "srun", "pmi2")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[1-4]")
    monkeypatch.delenv("SLURM_MPI_TYPE", raising=False)
    return str(tmp_path / "mpicc")


def test_nodes_of_the_job_are_reached_by_srun(mpicc: str) -> None:
    mpi = launched_mpi(mpicc, None, ("n1", "n3"))
    assert (mpi.launcher.name, mpi.launcher_kind, mpi.pmi) == ("srun", "srun", "pmi2")


def test_an_mpich_whose_lines_are_too_long_for_srun_starts_its_ranks_itself(mpicc: str) -> None:
    tool(Path(mpicc).with_name("mpiexec"), "HYDRA build details: Version: 5.0.2")
    assert launched_mpi(mpicc, None, ("n1", "n3")).launcher_kind == "hydra"
    assert launched_mpi(mpicc, "srun", ("n1", "n3")).launcher_kind == "srun"


def test_other_nodes_and_who_asks_for_it_get_the_mpis_own_launcher(mpicc: str) -> None:
    for mpi in (launched_mpi(mpicc, None, ("n1", "n9")), launched_mpi(mpicc, "mpiexec", ("n1",))):
        assert (mpi.launcher.name, mpi.launcher_kind, mpi.pmi) == ("mpiexec", "hydra", None)


def test_in_a_prolog_there_is_no_step_and_so_no_srun(
    mpicc: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_SCRIPT_CONTEXT", "prolog_slurmctld")
    assert launched_mpi(mpicc, None, ("n1", "n3")).launcher_kind == "hydra"


def test_srun_outside_of_a_job_is_refused(mpicc: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="needs a Slurm job") as caught:
        launched_mpi(mpicc, "srun", ("n1", "n9"))
    assert caught.value.where == "node n9"
    monkeypatch.delenv("SLURM_JOB_ID")
    with pytest.raises(InputError, match="needs a Slurm job") as caught:
        launched_mpi(mpicc, "srun", ("n1",))
    assert "weft study submit" in caught.value.describe()
    assert "--launcher mpiexec --dry-run" in caught.value.describe()


def test_an_mpi_without_a_launcher_has_srun_only(mpicc: str) -> None:
    Path(mpicc).with_name("mpiexec").unlink()
    assert launched_mpi(mpicc, None, ("n1",)).launcher_kind == "srun"
    with pytest.raises(MissingError, match="no launcher of its own"):
        launched_mpi(mpicc, "mpiexec", ("n1",))
