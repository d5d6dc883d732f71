"""What is kept of a cluster that was brought up."""

import pytest

from weft.cluster.record import first_on_machine, rail_interface


def test_hosts_of_one_boot_are_one_machine() -> None:
    machines = {"a": "x", "b": "y", "c": "x", "d": "y", "e": "z"}
    assert first_on_machine(machines, "abcde") == {0: 0, 2: 0, 1: 1, 3: 1}


def test_hosts_that_do_not_say_are_machines_of_their_own() -> None:
    assert first_on_machine({"a": "", "b": ""}, "abc") == {}


@pytest.mark.parametrize(
    ("rails", "interface"),
    [
        (("eth1",), "eth1"),
        (("ib0", "ib0"), "ib0"),
        (("eth0", "eth1"), None),
        (("mlx5_0:1",), None),
        (("mlx5_0",), None),
        (("cxi0",), None),
        ((), None),
    ],
)
def test_a_single_interface_is_what_launchers_meet_by(
    rails: tuple[str, ...], interface: str | None
) -> None:
    assert rail_interface(rails, ("mlx5_0:1", "")) == interface
