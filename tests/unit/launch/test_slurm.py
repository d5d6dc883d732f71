"""srun as the launcher of an MPI, and the plugin that is chosen for it."""

from pathlib import Path

import pytest

from weft.core.errors import MissingError
from weft.launch.mpi import Mpi
from weft.launch.slurm import choose_plugin, plugins, through_srun

# As `srun --mpi=list` of Slurm 22.05 and of 19.05 prints it.
NEW = """\
MPI plugin types are...
\tpmix
\tnone
\tcray_shasta
\tpmi2
specific pmix plugin versions available: pmix_v4
"""
OLD = "srun: MPI types are...\nsrun: none\nsrun: pmix_v2\nsrun: openmpi\nsrun: pmi2\n"


def test_the_list_of_plugins_is_read_from_new_and_old_versions() -> None:
    assert plugins(NEW) == ("pmix", "none", "cray_shasta", "pmi2", "pmix_v4")
    assert plugins(OLD) == ("none", "pmix_v2", "openmpi", "pmi2")


@pytest.mark.parametrize(
    ("implementation", "offered", "chosen"),
    [
        ("openmpi", ("none", "pmix", "pmix_v4", "pmi2"), "pmix"),
        ("openmpi", ("none", "pmix_v2", "pmix_v10", "pmi2"), "pmix_v10"),
        ("mpich", ("none", "pmix", "pmi2"), "pmi2"),
        ("intel", ("none", "pmi2"), "pmi2"),
        ("mvapich", ("none", "pmi2"), "pmi2"),
    ],
)
def test_each_mpi_gets_the_plugin_that_its_ranks_speak(
    implementation: str, offered: tuple[str, ...], chosen: str
) -> None:
    assert choose_plugin(implementation, offered) == chosen


@pytest.mark.parametrize(
    ("implementation", "offered", "said"),
    [
        ("openmpi", ("none", "pmi2"), "Open MPI wants srun's MPI plugin 'pmix'"),
        ("mpich", ("none", "pmix"), "MPICH wants srun's MPI plugin 'pmi2'"),
    ],
)
def test_where_none_fits_both_are_named(
    implementation: str, offered: tuple[str, ...], said: str
) -> None:
    with pytest.raises(MissingError, match=said) as caught:
        choose_plugin(implementation, offered)
    assert f"it offers none, {offered[1]}" in str(caught.value)
    assert "--launcher mpiexec" in caught.value.describe()


def mpi(implementation: str) -> Mpi:
    return Mpi(implementation, Path("/m/mpicc"), Path("/m/mpiexec"), "hydra", "1.0", "cc")


@pytest.fixture
def srun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "srun"
    path.write_text(f"#!/bin/sh\ncat <<'E'\n{NEW}E\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.delenv("SLURM_MPI_TYPE", raising=False)
    return path


def test_an_mpi_goes_through_srun_and_stays_itself(srun: Path) -> None:
    through = through_srun(mpi("openmpi"))
    assert (through.launcher, through.launcher_kind, through.pmi) == (srun, "srun", "pmix")
    assert (through.version, through.mpicc) == ("1.0", Path("/m/mpicc"))


def test_what_the_user_reported_srun_stays(srun: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_MPI_TYPE", "cray_shasta")
    assert through_srun(mpi("mpich")).pmi is None
    assert through_srun(mpi("unknown")).pmi is None


def test_a_machine_without_srun_is_reported_what_else_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingError, match="no 'srun' on PATH") as caught:
        through_srun(mpi("mpich"))
    assert "--launcher mpiexec" in caught.value.describe()


def test_a_list_that_fails_says_what_srun_said(srun: Path) -> None:
    srun.write_text("#!/bin/sh\necho 'srun: fatal: no controller' >&2\nexit 1\n")
    with pytest.raises(MissingError, match="exit code 1: srun: fatal: no controller"):
        through_srun(mpi("mpich"))
