"""Logs that real libraries write under a study: UCX of the embedded MPICH, on this host."""

from pathlib import Path

import pytest

from weft.cli import run
from weft.study.comparison.treatment import settings_of, untreated_because
from weft.study.plan.document import parse_study
from weft.study.run.store import read_run

pytestmark = pytest.mark.slow

STUDY = """
schema = "weft.study/1"
name = "lanes"
title = "Lanes"
question = "Do settings reach UCX?"
seed = 1
repeats = 1
nodes = [1]
tasks_per_node = [2]

[[benchmarks]]
name = "latency"
sizes = "8"

[[factors]]
name = "lanes"

[[factors.settings]]
name = "shm"
env = { UCX_TLS = "shm,self", UCX_LOG_LEVEL = "info" }
evidence = { log = { settings = { UCX_TLS = "shm,self" } } }

[[factors.settings]]
name = "tcp"
env = { UCX_TLS = "tcp,self", UCX_LOG_LEVEL = "info" }

[[factors.settings]]
name = "misspelt"
env = { UCX_NET_DEVISES = "lo", UCX_LOG_LEVEL = "info" }

[[factors.settings]]
name = "unproved"
env = { UCX_TLS = "tcp,self" }
evidence = { log = { settings = { UCX_TLS = "tcp,self" } } }
"""


def test_a_study_sees_in_its_own_logs_which_arms_were_in_force(tmp_path: Path) -> None:
    file, directory = tmp_path / "study.toml", tmp_path / "run"
    file.write_text(STUDY)
    assert run(["study", "run", str(file), "--dir", str(directory)]) == 0
    done = read_run(directory)
    study = parse_study(STUDY, "study.toml")
    arms = {launch.trial.id: launch.trial.arm for launch in done.launches}
    said = {}
    for sample in done.samples:
        arm = arms[sample.trial]
        said[arm["lanes"]] = untreated_because(sample, settings_of(study, arm))
        if arm["lanes"] == "tcp":
            assert "tcp" in sample.evidence["log"]["transports"]
        if arm["lanes"] == "shm":
            assert "tcp" not in sample.evidence["log"]["transports"]
    assert said.pop("shm") is None
    assert said.pop("tcp") is None
    assert str(said.pop("misspelt")).endswith("UCX_NET_DEVISES, which the library does not know")
    assert str(said.pop("unproved")).endswith("found nothing")
    assert said == {}
