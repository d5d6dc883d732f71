"""A fault of weft's own: one line for the user, the details in a file."""

import threading
from contextlib import suppress

_FIRST = 200
"""Characters of the message of an error that are shown."""
_of_threads: list[BaseException] = []


def fault_line(error: BaseException) -> str:
    """The line that reports a fault and names the file with its details."""
    from weft.launch.secret_text import mask_text

    # The message may be empty, and making it may fail as the call did.
    message = ""
    with suppress(Exception):
        message = mask_text((str(error).splitlines() or [""])[0])[0][:_FIRST]
    what = ": ".join(part for part in (type(error).__name__, message) if part)
    return f"weft: a fault of weft's own: {what}; please report it with {_details(error)}"


def watch_threads() -> None:
    """Keep the errors that end threads, in place of Python's traceback on standard error."""
    threading.excepthook = _keep


def fault_of_a_thread() -> BaseException | None:
    """The first error that ended a thread since `watch_threads`."""
    return _of_threads[0] if _of_threads else None


def _keep(ended: threading.ExceptHookArgs) -> None:
    if ended.exc_value is not None and not isinstance(ended.exc_value, SystemExit):
        _of_threads.append(ended.exc_value)


def _details(error: BaseException) -> str:
    """The path of a new file with the traceback, without secrets; where none can be written, the
    line of the program that failed."""
    import tempfile
    import traceback

    from weft.launch.secret_text import mask_text

    try:
        text, _ = mask_text("".join(traceback.format_exception(error)))
        with tempfile.NamedTemporaryFile(
            "w", prefix="weft-fault-", suffix=".txt", delete=False, encoding="utf-8"
        ) as file:
            file.write(text)
    except (OSError, ValueError, MemoryError, RecursionError):
        frames = list(traceback.walk_tb(error.__traceback__))
        if not frames:
            return "the command"
        frame, line = frames[-1]
        return f"the command and {frame.f_code.co_filename}, line {line}"
    return f"the command and {file.name}"
