"""The manifests that weft writes, read by the types and the rules of the MPI operator."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.kubernetes.control_plane import need_programs
from tests.unit.launch.kubernetes.test_mpijob import OWN, PAIR, SITE, site_of

from weft.launch.kubernetes.mpijob import mpi_job

pytestmark = pytest.mark.slow


@pytest.fixture
def reader() -> Path:
    return need_programs("mpijob")


def said(reader: Path, job: dict[str, Any]) -> str:
    """What the operator has against a manifest."""
    text = yaml.safe_dump(job)
    return subprocess.run([reader], input=text, capture_output=True, text=True, check=False).stdout


@pytest.mark.parametrize("template", [OWN, SITE], ids=["own", "site"])
def test_the_operator_accepts_them(reader: Path, template: dict[str, Any]) -> None:
    assert said(reader, mpi_job(site_of(template), PAIR)) == ""


def test_it_would_not_accept_a_wrong_one(reader: Path) -> None:
    job = mpi_job(site_of(), PAIR)
    worker = job["spec"]["mpiReplicaSpecs"]["Worker"]
    worker["template"]["spec"]["hostNetwrok"] = True
    assert "hostNetwrok" in said(reader, job)
    del worker["template"]["spec"]["hostNetwrok"]
    worker["restartPolicy"] = "Always"
    assert "restartPolicy" in said(reader, job)
    worker["restartPolicy"] = "Never"
    job["metadata"]["name"] = "weft-" + 50 * "x"
    assert "metadata.name" in said(reader, job)
