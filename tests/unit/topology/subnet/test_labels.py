"""Names of switches: short, told apart, boards with their director."""

from tests.unit.topology.hand_subnet import described

from weft.topology.subnet.labels import Label, labels_of, shown


def labels(*names: str, system_guids: dict[str, int] | None = None) -> list[Label]:
    subnet = described(dict.fromkeys(names, 1), [], system_guids=system_guids)
    return list(labels_of(subnet).values())


def test_a_managed_switch_is_called_by_its_host_name_and_a_board_by_its_place() -> None:
    assert labels("MF0;leaf007:MQM8790/U1", "MF0;core0:CS8500/L01/U1") == [
        Label("leaf007", "leaf007", ""),
        Label("core0 L01", "core0", "L01"),
    ]


def test_boards_of_one_system_guid_are_one_director_whatever_their_names() -> None:
    boards = {"director-01/line-01": 7, "director-01/spine-02": 7}
    assert labels(*boards, "leaf-01", system_guids=boards) == [
        Label("director-01/line-01", "director-01", "director-01/line-01"),
        Label("director-01/spine-02", "director-01", "director-01/spine-02"),
        Label("leaf-01", "", ""),
    ]
    nameless = labels("abc", "xyz", system_guids={"abc": 7, "xyz": 7})
    assert [label.system for label in nameless] == ["system 0x7", "system 0x7"]


def test_switches_of_one_name_are_distinguished_by_their_guids() -> None:
    names = labels("MF0;sw:A/U1", "MF0;sw:B/U1", "other")
    assert [label.name for label in names] == ["sw (0x100)", "sw (0x101)", "other"]


def test_what_would_steer_a_terminal_is_not_shown() -> None:
    assert shown("a\x1b[31mb\x00") == "a?[31mb?"
    assert shown("  ") == "without a name"
