"""Files beside the template: ssh itself reads the configuration, and nothing is overwritten."""

import os
import shlex
import subprocess
from pathlib import Path

import pytest
from tests.unit.cluster.cloud.conftest import ED25519, Planned

from weft.cluster.cloud.files import commands, files_of, write_files
from weft.cluster.cloud.plan import Reach
from weft.core.errors import InputError
from weft.launch.hostfile import read_hostfile


def understood(config: Path, host: str) -> dict[str, str]:
    """What ssh makes of a host's name by a configuration."""
    argv = ["ssh", "-G", "-F", str(config), host]
    said = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=20).stdout
    return dict(line.split(" ", 1) for line in said.splitlines() if " " in line)


def test_nodes_are_reached_through_the_jump_host(planned: Planned, tmp_path: Path) -> None:
    folder = tmp_path / "my 100% files"
    plan = planned()
    write_files(files_of(plan, folder), folder)
    config = folder / "ssh_config"
    node = understood(config, plan.host_names[10])
    assert node["proxyjump"] == "weft-jump"
    assert node["hostname"].lower() == plan.host_names[10].lower()
    jump = understood(config, "weft-jump")
    assert jump["hostname"] == plan.address
    assert "proxyjump" not in jump
    for one in (node, jump):
        assert one["user"] == "azureuser"
        assert one["stricthostkeychecking"] == "accept-new"
        assert one["userknownhostsfile"] == str(folder / "known_hosts")
        assert one["identityfile"] == str(plan.key_file)


def test_ports_are_those_of_the_nodes(planned: Planned, tmp_path: Path) -> None:
    plan = planned(reach="ports", nodes=12)
    write_files(files_of(plan, tmp_path / "out"), tmp_path / "out")
    for i in (0, 11):
        node = understood(tmp_path / "out/ssh_config", plan.host_names[i])
        assert (node["hostname"], node["port"]) == (plan.address, str(50000 + i))


def test_the_private_key_is_named_where_it_lies_and_never_read(
    planned: Planned, tmp_path: Path
) -> None:
    (tmp_path / "id").write_text("the secret")
    plan = planned()
    files = files_of(plan, tmp_path / "out")
    assert f'IdentityFile "{tmp_path / "id"}"' in files["ssh_config"]
    assert not any("the secret" in content for content in files.values())


@pytest.mark.parametrize("reach", ["jump", "ports"])
def test_what_comes_next_names_the_files(planned: Planned, tmp_path: Path, reach: Reach) -> None:
    plan = planned(reach=reach, ssh_from=None)
    files = files_of(plan, tmp_path)
    write_files(files, tmp_path)
    deploy, up = map(shlex.split, commands(plan, tmp_path))
    assert deploy[deploy.index("--template-file") + 1] == str(tmp_path / "template.json")
    assert deploy[-1] == "sshSource=YOUR-ADDRESS/32"
    assert tuple(read_hostfile(Path(up[up.index("--hostfile") + 1]))) == plan.host_names
    assert Path(up[up.index("--ssh-config") + 1]).exists()


def test_another_file_in_the_way_is_kept_and_nothing_written(
    planned: Planned, tmp_path: Path
) -> None:
    files = files_of(planned(), tmp_path / "out")
    (tmp_path / "out").mkdir()
    (tmp_path / "out/ssh_config").write_text("mine\n")
    with pytest.raises(InputError) as raised:
        write_files(files, tmp_path / "out")
    assert raised.value.where == str(tmp_path / "out/ssh_config")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["ssh_config"]


def test_a_pipe_in_the_way_is_refused_without_waiting(planned: Planned, tmp_path: Path) -> None:
    files = files_of(planned(), tmp_path)
    os.mkfifo(tmp_path / "ssh_config")
    with pytest.raises(InputError, match="it is a pipe"):
        write_files(files, tmp_path)


def test_the_same_again_is_no_conflict(planned: Planned, tmp_path: Path) -> None:
    files = files_of(planned(), tmp_path)
    write_files(files, tmp_path)
    write_files(files, tmp_path)


def test_a_folder_that_cannot_stand_in_ssh_config_is_refused(
    planned: Planned, tmp_path: Path
) -> None:
    with pytest.raises(InputError):
        files_of(planned(), tmp_path / 'a"\n    ProxyCommand evil')
    key = tmp_path / 'k".pub'
    key.write_text(ED25519)
    with pytest.raises(InputError):
        files_of(planned(key_file=key), tmp_path)
