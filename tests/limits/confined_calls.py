"""Calls of weft in forks of a fresh interpreter, under limits: run as a program.

Reads a JSON list of commands from standard input, writes a JSON list of how each ended.
"""

import importlib
import json
import pkgutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from tests.process_calls import Call, call

import weft.cli

MOST_BYTES = 1 << 30
"""Of address space, the interpreter and its libraries included."""
MOST_SECONDS = 20
ROOT = Path(__file__).resolve().parents[2]


def calls_in(folder: Path, commands: Sequence[Sequence[str]]) -> list[Call]:
    """How the commands end in a folder, under the limits."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.limits.confined_calls", str(ROOT)],
        input=json.dumps(commands),
        capture_output=True,
        text=True,
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "HOME": str(folder)},
        check=True,
    )
    return [Call(**one) for one in json.loads(done.stdout)]


def _import_verbs() -> None:
    """So that no call has to."""
    for module in pkgutil.walk_packages(weft.cli.__path__, "weft.cli."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


if __name__ == "__main__":
    _import_verbs()
    asked = json.loads(sys.stdin.read())
    ended = [call(one, limit_s=MOST_SECONDS, limit_bytes=MOST_BYTES) for one in asked]
    print(json.dumps([asdict(one) for one in ended]))
