"""The time between two readings of counters."""

import os
from pathlib import Path

from weft.audit.counters.interval import interval_of
from weft.topology.subnet.subnet import Subnet


class Read(Subnet):
    """A subnet of which only the files with counters matter."""

    def __init__(self, *names: str) -> None:
        super().__init__(None)
        self.__dict__["description"] = {
            "sources": [{"name": name} for name in names],
            "readings": [{"source": number} for number in range(len(names))],
        }


def test_the_time_between_readings_is_that_of_their_files(tmp_path: Path) -> None:
    names = []
    for number, time in enumerate((1000.0, 4600.0)):
        path = tmp_path / f"counters-{number}"
        path.touch()
        os.utime(path, (time, time))
        names.append(str(path))
    found = interval_of(Read(*names), None, None)
    assert found is not None
    assert found.seconds == 3600
    assert "when they were written" in found.how
    earlier = interval_of(Read(names[1]), Read(names[0]), None)
    assert earlier is not None
    assert earlier.seconds == 3600
    told = interval_of(Read(*names), None, 60.0)
    assert told is not None
    assert (told.seconds, told.how) == (60, "--seconds")
    # In the wrong order, or one file only: the files tell nothing.
    assert interval_of(Read(*reversed(names)), None, None) is None
    assert interval_of(Read(names[0]), None, None) is None
    assert interval_of(Read("-", names[0]), None, None) is None
    # Copied in one go, both are as old.
    os.utime(names[1], (1000.5, 1000.5))
    assert interval_of(Read(*names), None, None) is None


def test_a_date_inside_a_file_comes_before_its_own(tmp_path: Path) -> None:
    names = []
    for number, clock in enumerate(("02:32:23", "04:32:23")):
        path = tmp_path / f"db-{number}"
        path.write_text(f"# ibdiagnet fabric db csv file\n# Date: Sat Nov 21 {clock} 2026\n\nx\n")
        names.append(str(path))
    found = interval_of(Read(*names), None, None)
    assert found is not None
    assert found.seconds == 7200
    assert found.how.startswith("by the files' dates")
