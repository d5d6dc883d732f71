import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.mock_backend import MockBackend

from weft.core.errors import InputError
from weft.study.run.metadata import commit_of, recorded_environment, refuse_other_run, run_meta
from weft.study.run.store import RunStore


def _meta(**changes: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "study_text": "name = 'x'\n",
        "seed": 7,
        "backend": MockBackend(),
        "nodes": ("n001", "n002"),
        "environ": {},
        "clock": lambda: 1.7e9,
    }
    return run_meta(**{**fields, **changes})


def test_a_run_records_what_it_takes_to_repeat_it(tmp_path: Path) -> None:
    with RunStore.create(tmp_path / "run", _meta(argv=["study", "run", "x"])):
        pass
    meta = tomllib.loads((tmp_path / "run" / "run.toml").read_text())
    assert meta["schema"] == "weft.run/1"
    assert meta["study"] == "name = 'x'\n"
    assert meta["seed"] == 7
    assert meta["nodes"] == ["n001", "n002"]
    assert meta["backend"] == {"name": "mock", "facts": {"kind": "mock", "seed": 1}}
    assert meta["started_unix_s"] == 1.7e9
    assert meta["argv"] == ["study", "run", "x"]
    assert meta["host"]["name"]
    assert meta["weft_version"]


def test_secrets_never_reach_the_disk(tmp_path: Path) -> None:
    secret = "hunter2hunter2"
    environ = {
        "UCX_TLS": "rc",
        "NCCL_API_TOKEN": secret,
        "OMPI_MCA_registry": f"https://me:{secret}@registry.example/x",
        "AWS_SECRET_ACCESS_KEY": secret,
        "MY_NOTE": secret,
    }
    with RunStore.create(tmp_path / "run", _meta(environ=environ)):
        pass
    text = (tmp_path / "run" / "run.toml").read_text()
    assert secret not in text
    assert tomllib.loads(text)["environment"]["UCX_TLS"] == "rc"
    assert "NCCL_API_TOKEN" in recorded_environment(environ)
    assert "AWS_SECRET_ACCESS_KEY" not in recorded_environment(environ)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"study_text": "name = 'y'\n"}, "started differently: study"),
        ({"seed": 8}, "started differently: seed 7, now 8"),
        ({"nodes": ("n001", "n009")}, "started differently: nodes"),
    ],
)
def test_another_run_is_not_resumed(changes: dict[str, Any], said: str) -> None:
    refuse_other_run(_meta(), _meta(), "run")
    with pytest.raises(InputError, match=said) as error:
        refuse_other_run(_meta(), _meta(**changes), "run")
    assert "another --dir" in error.value.describe()


@pytest.mark.parametrize("fact", ["platform_digest", "faults", "mpi"])
def test_another_backend_is_not_resumed(fact: str) -> None:
    now = _meta()
    now["backend"] = {"name": "mock", "facts": {fact: ["other"]}}
    with pytest.raises(InputError, match=f"started differently: {fact}"):
        refuse_other_run(_meta(), now, "run")
    now["backend"] = {"name": "live", "facts": {}}
    with pytest.raises(InputError, match="started differently: backend mock, now live"):
        refuse_other_run(_meta(), now, "run")


def test_the_commit_is_that_of_wefts_own_checkout_only(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    assert commit_of(tmp_path) is None
