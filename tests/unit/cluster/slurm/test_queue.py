"""Tasks of job arrays, from what squeue prints."""

from pathlib import Path

import pytest

from weft.cluster.slurm.queue import QueuedTask, TaskPhase, ask_queue, parse_queue
from weft.core.errors import InputError

# As squeue of Slurm 22.05 prints it with --array --format='%F|%K|%T|%r'.
SAID = """\
3|1|PENDING|JobArrayTaskLimit
3|0|RUNNING|None
4|7|CANCELLED|None
4|8|COMPLETING|NodeDown|x
"""


def test_each_task_has_a_phase() -> None:
    assert parse_queue(SAID) == {
        "3_1": QueuedTask(TaskPhase.QUEUED, "PENDING", "JobArrayTaskLimit"),
        "3_0": QueuedTask(TaskPhase.RUNNING, "RUNNING", "None"),
        "4_7": QueuedTask(TaskPhase.ENDED, "CANCELLED", "None"),
        "4_8": QueuedTask(TaskPhase.RUNNING, "COMPLETING", "NodeDown|x"),
    }


@pytest.mark.parametrize("line", ["3|1|PENDING", "x|1|PENDING|y", "3|1|what?|y"])
def test_another_line_is_an_error(line: str) -> None:
    with pytest.raises(InputError, match="squeue printed"):
        parse_queue(line)


def test_no_squeue_and_a_broken_one_are_not_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert ask_queue(["3"]).not_known == "there is no squeue on this machine"
    tool = tmp_path / "squeue"
    tool.write_text("#!/bin/sh\necho hello\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert ask_queue(["3"]).not_known == "squeue printed 'hello'"
    assert ask_queue([]).not_known is None
