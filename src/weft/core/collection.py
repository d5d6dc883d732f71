"""Python's garbage collector, paused."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collection_paused() -> Iterator[None]:
    """For code that makes many objects and no circles of them: the collector would look through
    all of them again and again. It runs again afterwards, if it ran before."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
