"""Files of a made-up /sys, and a thread that moves one of them as traffic moves a counter."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def put(path: Path, value: object) -> None:
    """A reader sees the old value or the new one, never an empty file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(path.name + ".new")
    fresh.write_text(f"{value}\n")
    os.replace(fresh, path)


@contextmanager
def growing(path: Path, step: int, start: int = 0) -> Iterator[None]:
    """Somebody's traffic: the counter grows by `step` every few milliseconds, by the clock and not
    by how often the thread gets to run."""
    over = threading.Event()
    began = time.monotonic()

    def work() -> None:
        while not over.wait(0.005):
            put(path, start + step * int((time.monotonic() - began) / 0.005))

    put(path, start)
    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
