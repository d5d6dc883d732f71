"""Bare `weft`: this machine, and five commands that exist."""

import shlex

import pytest

from weft.cli import VERBS, run
from weft.cli.welcome import FIVE_THINGS, describe_host
from weft.core.host import Host, NetworkDevice


def host(*devices: NetworkDevice) -> Host:
    return Host(
        name="n1",
        cpu_model="CPU X",
        cpus=(0, 1),
        n_cores=2,
        all_cpus_allowed=True,
        n_numa_nodes=1,
        memory_gb=24.0,
        kernel="6.1",
        devices=devices,
    )


def test_bare_weft_says_what_this_machine_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 0
    printed = capsys.readouterr().out
    assert "MPI:" in printed
    assert all(command in printed for command, _ in FIVE_THINGS)


@pytest.mark.parametrize("command", [command for command, _ in FIVE_THINGS])
def test_each_of_the_five_things_is_a_verb(command: str) -> None:
    assert len(FIVE_THINGS) == 5
    assert shlex.split(command)[1] in VERBS


def test_a_fast_device_is_named_with_rate_and_state() -> None:
    device = NetworkDevice("mlx5_0:1", "InfiniBand", "ACTIVE", 200.0, fast=True)
    ethernet = NetworkDevice("eth0", "Ethernet", "up", 10.0, fast=False)
    text = describe_host(host(device, ethernet))
    assert "mlx5_0:1 (InfiniBand 200 Gb/s, ACTIVE)" in text
    assert "eth0" not in text
    assert "no InfiniBand" in describe_host(host(ethernet))
