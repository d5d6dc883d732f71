"""A pipe, a device, a folder, a loop, a socket or 10 GB where a file is named: refused at once."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.limits.confined_calls import calls_in
from tests.limits.places import PLACES, command_at, title_of
from tests.process_calls import Call

SPECIAL = ("pipe", "zero", "folder", "loop", "socket", "sparse")
SPARSE_BYTES = 10 << 30
REFUSAL = 2


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One of each, with a name that a document may have."""
    folder = tmp_path_factory.mktemp("special")
    os.mkfifo(folder / "pipe.toml")
    (folder / "zero.toml").symlink_to("/dev/zero")
    (folder / "folder.toml").mkdir()
    (folder / "loop.toml").symlink_to("loop.toml")
    with (folder / "sparse.toml").open("wb") as file:
        file.truncate(SPARSE_BYTES)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "socket.toml"))
        yield folder


@pytest.fixture(scope="module")
def ended(folder: Path) -> dict[tuple[str, ...], dict[str, Call]]:
    """How every place ends with every special file."""
    asked = [(place, kind) for place in PLACES for kind in SPECIAL]
    commands = [
        command_at(place, f"{kind}.toml", f"new-{number}")
        for number, (place, kind) in enumerate(asked)
    ]
    found: dict[tuple[str, ...], dict[str, Call]] = {}
    for (place, kind), call in zip(asked, calls_in(folder, commands), strict=True):
        found.setdefault(place, {})[kind] = call
    return found


@pytest.mark.parametrize("place", PLACES, ids=title_of)
def test_what_is_no_file_is_refused_at_once(
    place: tuple[str, ...], ended: dict[tuple[str, ...], dict[str, Call]]
) -> None:
    for kind, call in ended[place].items():
        said = f"{kind}: {call}"
        assert call.code == REFUSAL, said
        # A folder is named where it is none of what a verb may be given.
        assert f"{kind}.toml" in call.err + call.out or kind == "folder", said
        assert "Traceback" not in call.err, said
