"""Without a named platform a check takes that of this machine, if this machine is measured."""

from os import uname
from pathlib import Path

import pytest
from tests.unit.doctor.machine_trees import Tree

from weft.check.external_evidence import platform_choice as machines
from weft.core.errors import InputError


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of this host, which has an HDR adapter."""
    tree = Tree(tmp_path / "here").machine()
    tree.hca(0, rate="HDR", n_keys=1)
    monkeypatch.setattr("weft.doctor.machine.detection.document.ROOT", tree.root)
    return uname().nodename


def test_only_where_this_host_is_one_of_several(here: str) -> None:
    assert machines.detected((here, "other")) is not None
    assert machines.detected((f"{here}.site.example", "other")) is not None
    assert machines.detected((here,)) is None
    assert machines.detected(("a", "b")) is None


def test_it_is_kept_and_a_named_one_goes_before_it(here: str, tmp_path: Path) -> None:
    found = machines.detected((here, "other"))
    assert found is not None
    machines.keep(found, tmp_path, machines.DETECTED_FILE)
    kept = machines.of_run(tmp_path, [])
    assert kept is not None
    assert (kept.platform, kept.because) == (found.platform, found.because)
    machines.keep(machines.named("azure-hbv3"), tmp_path)
    named = machines.of_run(tmp_path, [])
    assert named is not None
    assert named.platform.name == "azure-hbv3"


def test_a_file_of_another_version_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / machines.DETECTED_FILE).write_text("schema = 'weft.platform/9'\n")
    with pytest.raises(InputError) as refused:
        machines.of_run(tmp_path, [])
    assert refused.value.hint == "move detected.toml away to go on without the platform"


@pytest.mark.usefixtures("here")
def test_here_can_be_named() -> None:
    assert machines.named("here").platform.name == "here"
