"""kill -9 at any moment: no completed launch lost, none repeated, the same samples in the end."""

import json
import multiprocessing
import os
import random
import signal
import time
from collections import Counter
from pathlib import Path

from tests.mock_backend import MockBackend

from weft.bench.model import Launch, Trial
from weft.study.run.loop import execute
from weft.study.run.store import RunStore, read_run

N_KILLS = 20
LAUNCHES = [
    Launch(Trial("t000-latency", "latency", (8, 64, 512), ("n001", "n002"), 1), repeat, repeat)
    for repeat in range(300)
]


def _go_on(run_dir: Path) -> None:
    with RunStore.open(run_dir) as store:
        execute(LAUNCHES, MockBackend(delay_s=0.0005), store)


def _started(run_dir: Path) -> multiprocessing.process.BaseProcess:
    child = multiprocessing.get_context("fork").Process(target=_go_on, args=(run_dir,))
    child.start()
    return child


def _done_records(run_dir: Path) -> Counter[tuple[str, int]]:
    records = [
        json.loads(line)
        for path in (run_dir / "samples").iterdir()
        for line in path.read_bytes().split(b"\n")[:-1]
    ]
    return Counter((r["trial"], r["repeat"]) for r in records if r["record"] == "done")


def _wait_for(run_dir: Path, known: set[Path], n_bytes: int) -> None:
    """Until the child's own file has grown to `n_bytes`, however busy this machine is."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        new = set((run_dir / "samples").iterdir()) - known
        if any(path.stat().st_size >= n_bytes for path in new):
            return
        time.sleep(0.0005)


def test_a_run_killed_twenty_times_is_the_run_that_was_never_killed(tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    RunStore.create(run_dir, {}).close()
    rng = random.Random(2)
    n_killed, seen = 0, frozenset[tuple[str, int]]()
    for _ in range(N_KILLS):
        known = set((run_dir / "samples").iterdir())
        child = _started(run_dir)
        _wait_for(run_dir, known, rng.randrange(6000))
        assert child.pid is not None
        os.kill(child.pid, signal.SIGKILL)
        child.join()
        if child.exitcode != -signal.SIGKILL:
            break
        n_killed += 1
        done = read_run(run_dir).done
        assert seen <= done, "a completed launch was lost"
        seen = done
    assert n_killed >= 5, "the run ended before it could be killed"
    assert seen, "the kills came before anything was measured"
    _go_on(run_dir)

    run = read_run(run_dir)
    assert run.complete
    assert _done_records(run_dir) == Counter(launch.key for launch in LAUNCHES)
    assert list(run.samples) == [s for x in LAUNCHES for s in MockBackend().measure(x)]
