"""A run directory with a pipe, a device, a folder, a loop or 10 GB among its files: refused."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.limits.confined_calls import calls_in
from tests.limits.places import FABRIC
from tests.process_calls import Call

SPARSE_BYTES = 10 << 30
REFUSAL = 2


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(SPARSE_BYTES)


MADE: dict[str, Callable[[Path], None]] = {
    "pipe": os.mkfifo,
    "zero": lambda path: path.symlink_to("/dev/zero"),
    "folder": Path.mkdir,
    "loop": lambda path: path.symlink_to(path.name),
    "sparse": sparse,
}
PARTS = (
    *("run.toml", "plan.jsonl", "samples", "samples/0.jsonl", "fabric.json"),
    *("marks.json", "platform.toml"),
)
NOT_READ = {
    "report": (),
    "compare": ("marks.json", "platform.toml"),
    "export": ("marks.json", "platform.toml", "fabric.json"),
}
"""Parts that a verb does not read: a comparison no statements of a fabric, a table no fabric."""
WHOLE = "RUN"
CHECKED = ("check", "--twin", "fat-tree", "--fabric", FABRIC, "--no-report", "--dir", WHOLE)


def readings(run: str) -> dict[str, list[str]]:
    """Verbs that read a run."""
    return {
        f"report {run}": ["report", run, "-o", f"{run}.html"],
        f"compare {run}": ["compare", run, WHOLE],
        f"export {run}": ["export", run, "--to", "csv", "-o", f"{run}.csv"],
    }


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Call]:
    """How each run is read: the whole one, and those where one file is no file."""
    folder = tmp_path_factory.mktemp("runs")
    (made,) = calls_in(folder, [CHECKED])
    assert (folder / WHOLE / "marks.json").exists(), made
    commands = readings(WHOLE)
    for part in PARTS:
        for kind, make in MADE.items():
            run = f"{part}-{kind}".replace("/", "-")
            shutil.copytree(folder / WHOLE, folder / run)
            path = folder / run / part
            if path.is_dir():
                shutil.rmtree(path)
            path.unlink(missing_ok=True)
            make(path)
            commands |= readings(run)
    return dict(zip(commands, calls_in(folder, list(commands.values())), strict=True))


def test_only_regular_files_of_a_run_are_read(ended: dict[str, Call]) -> None:
    for title, call in ended.items():
        verb, _, run = title.partition(" ")
        if run == WHOLE or run.startswith(NOT_READ[verb]):
            # A comparison of a run with itself cannot tell.
            assert call.code == {"report": 0, "compare": 5, "export": 0}[verb], (title, call)
        else:
            assert call.code == REFUSAL, (title, call)
            assert run in call.err, (title, call)
