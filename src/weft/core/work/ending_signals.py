"""Signals that end a program, taken as Ctrl-C while it holds something elsewhere."""

import contextlib
import signal
import threading
from collections.abc import Iterator

ENDING = (signal.SIGTERM, signal.SIGHUP)
"""From a scheduler or `kill`, and from a terminal that is closed."""


@contextlib.contextmanager
def ended_as_by_ctrl_c() -> Iterator[None]:
    """Meanwhile these signals raise KeyboardInterrupt in the main thread. Those that are ignored
    (nohup) or handled by others stay so."""
    is_main = threading.current_thread() is threading.main_thread()
    taken = [one for one in ENDING if is_main and signal.getsignal(one) is signal.SIG_DFL]
    for one in taken:
        signal.signal(one, signal.default_int_handler)
    try:
        yield
    finally:
        for one in taken:
            signal.signal(one, signal.SIG_DFL)
