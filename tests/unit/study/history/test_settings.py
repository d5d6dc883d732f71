"""The fingerprint of settings: what a run recorded, without what belongs to its job."""

import dataclasses
from pathlib import Path

from tests.run_histories import FIRST_S, write_run

from weft.study.history.history import contrasts_of
from weft.study.history.settings import UNSET, host_names, is_variable, settings_of
from weft.study.run.store import read_run


def test_variables_that_steer_a_fabric_count_and_those_of_the_job_do_not(tmp_path: Path) -> None:
    environment = {"UCX_TLS": "rc", "SLURM_JOB_ID": "7", "PATH": "/bin", "OMPI_MCA_pml": "ucx"}
    run = read_run(write_run(tmp_path / "run", FIRST_S, {8: 1.0}, environment=environment))
    found = settings_of(run)
    assert found["UCX_TLS"] == "rc"
    assert found["OMPI_MCA_pml"] == "ucx"
    assert not {"SLURM_JOB_ID", "PATH"} & set(found)


def test_evidence_versions_and_host_names_count(tmp_path: Path) -> None:
    evidence = {"adaptive_routing": "on", "log": {"network": "NET/IB", "sharp": "triggered"}}
    found = settings_of(read_run(write_run(tmp_path / "run", FIRST_S, {8: 1.0}, evidence=evidence)))
    assert found["adaptive routing"] == "on"
    assert found["network in the log"] == "NET/IB"
    assert found["sharp in the log"] == "triggered"
    assert found["MPI version"] == "5.0.0"
    assert found["host names"] == "node*"


def test_firmware_is_a_setting_of_its_own(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path / "run", FIRST_S, {8: 1.0}))
    device = {"name": "mlx5_0:1", "link_layer": "InfiniBand", "firmware": "20.28.2006"}
    host = {**run.meta["host"], "devices": [device]}
    found = settings_of(dataclasses.replace(run, meta={**run.meta, "host": host}))
    assert found["firmware"] == "mlx5_0:1 20.28.2006"
    assert found["network devices"] == "mlx5_0:1 InfiniBand"


def test_host_names_are_without_numbers_and_domains(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path / "run", FIRST_S, {8: 1.0}, hosts="rack7-n"))
    assert host_names(run) == "rack*-n*"


def test_only_variables_and_options_are_unset_where_they_are_absent() -> None:
    assert is_variable("NCCL_ALGO")
    assert is_variable("option algorithm of allreduce")
    assert not is_variable("MPI version")


def test_a_division_of_runs_is_tested_once() -> None:
    settings = {
        "a": ("off",) * 6 + ("on",) * 6,
        "b": ("1",) * 6 + ("2",) * 6,
        "UCX_TLS": (UNSET,) * 11 + ("rc",),
    }
    assert list(contrasts_of(settings)) == [("a", "off")]
