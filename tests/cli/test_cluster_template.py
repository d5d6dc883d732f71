"""`weft cluster template azure`: what it writes, says and refuses."""

import json
from pathlib import Path

import pytest
from tests.unit.cluster.cloud.conftest import ED25519

from weft.cli import run

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh/id_ed25519.pub").write_text(ED25519)
    return tmp_path


def test_it_takes_a_size_and_a_number(folder: Path, capsys: Capture) -> None:
    assert run(["cluster", "template", "azure", "--sku", "HB120rs_v3", "--nodes", "16"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("WRITTEN 16 x Standard_HB120rs_v3: 120 cores, 1 x HDR 200 Gb/s\n")
    assert "untried" in said
    assert said.count("\nnext: ") == 2
    assert "put the resource group's region for YOUR-REGION" in said
    assert sorted(path.name for path in (folder / "azure-weft").iterdir()) == [
        "cloud-init-jump.yaml", "cloud-init.yaml", "hosts", "ssh_config", "template.json",
    ]  # fmt: skip
    json.loads((folder / "azure-weft/template.json").read_text())


def test_programs_read_it(capsys: Capture) -> None:
    argv = "cluster template azure --sku nd96asr_v4 --nodes 2 --dir out --name gpus --format json"
    assert run([*argv.split(), "--ssh-from", "192.0.2.0/24", "--location", "East US"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["sku"] == "Standard_ND96asr_v4"
    assert (said["hcas"], said["gpus"], said["platform"]) == (8, 8, "azure-ndv4")
    assert said["address"].endswith(".eastus.cloudapp.azure.com")
    assert len(said["files"]) == 5
    assert all(Path(path).exists() for path in said["files"].values())
    assert len(said["next"]) == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("azure --sku D4s_v5 --nodes 2", "Standard_D4s_v5 has no RDMA"),
        ("azure --sku HB120rs_v9 --nodes 2", "did you mean 'Standard_HB120rs_v3'?"),
        ("azure --sku HB120rs_v3 --nodes 101", "more than one placement group holds"),
        ("azure --sku HB120rs_v3 --nodes 0", "Invalid value for '--nodes'"),
        ("azure --sku HB120rs_v3 --nodes 2 --ssh-key nope.pub", "nope.pub: cannot be read"),
        ("aws --sku HB120rs_v3 --nodes 2", "'aws' is not 'azure'"),
    ],
)
def test_wrong_words_are_refused_and_leave_nothing(
    words: str, said: str, folder: Path, capsys: Capture
) -> None:
    assert run(["cluster", "template", *words.split()]) == 2
    assert said in capsys.readouterr().err
    assert [path.name for path in folder.iterdir()] == [".ssh"]
