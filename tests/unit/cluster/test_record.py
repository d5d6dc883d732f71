"""What is kept of a cluster that was brought up."""

from weft.cluster.record import first_on_machine


def test_hosts_of_one_boot_are_one_machine() -> None:
    machines = {"a": "x", "b": "y", "c": "x", "d": "y", "e": "z"}
    assert first_on_machine(machines, "abcde") == {0: 0, 2: 0, 1: 1, 3: 1}


def test_hosts_that_do_not_say_are_machines_of_their_own() -> None:
    assert first_on_machine({"a": "", "b": ""}, "abc") == {}
