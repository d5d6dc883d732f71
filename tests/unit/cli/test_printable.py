"""Names in files may hold anything; a terminal obeys none of it."""

import pytest

from weft.cli.output import printable
from weft.topology.subnet.summary import reading_problems


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("leaf\x1b[2Jone", "leaf\\x1b[2Jone"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("back\x08\x08\x08", "back\\x08\\x08\\x08"),
        ("one\rtwo\x9b31m", "one\\x0dtwo\\x9b31m"),
        ("a\tb\nc", "a\tb\nc"),
        ("\x1b[31m\x1b[1mX\x1b[0m", "\x1b[31m\x1b[1mX\x1b[0m"),
        ("größe", "größe"),
    ],
)
def test_what_would_steer_a_terminal_is_shown_and_colours_stay(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_lines_that_were_only_counted_are_those_of_their_own_source() -> None:
    def source(n_unread: int) -> dict[str, object]:
        return {"name": "net.out", "format": "ibnetdiscover", "n_unread": n_unread}

    def unread(number: int) -> dict[str, object]:
        return {"place": {"source": number, "line": 1}, "what": "x", "expected": "y"}

    description = {
        "sources": [source(1), source(3)],
        "unread": [unread(0), unread(1)],
        "misfits": [],
    }
    assert reading_problems(description)[-1] == "net.out: 2 more lines like these"
    assert len(reading_problems(description)) == 3
