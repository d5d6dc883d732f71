"""Processes that a test started, and their end."""

import subprocess


def end(process: "subprocess.Popen[bytes]", patience_s: float) -> None:
    """Ask a process to end; kill it where it does not."""
    process.terminate()
    try:
        process.wait(patience_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
