"""Launches of a user, and what `--emit` prints put into them as it says."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

JOINED = ("--container-mounts=", "--container-env=")
"""Options of Pyxis that take a list."""


@dataclass(frozen=True)
class Script:
    """A job script: lines above a command, and the command's own lines, the image's at the end."""

    above: tuple[str, ...]
    command: tuple[str, ...]

    @property
    def text(self) -> str:
        return "\n".join([*self.above, " \\\n  ".join(self.command)]) + "\n"

    def without(self, number: int, *words: str) -> "Script":
        """Without a line, counted from 1, that has some words; the number of the others stays."""
        lines = [*self.above, *self.command]
        assert all(one in lines[number - 1] for one in words), (lines[number - 1], words)
        lines[number - 1] = ""
        n_above = len(self.above)
        return Script(tuple(lines[:n_above]), tuple(lines[n_above:]))

    def merged(self, emitted: str, start: str) -> "Script":
        """With the lines above, and the options, of a text or of its start line."""
        above, options = _parts(start or emitted)
        lines = [one for one in self.command if one]
        for name in JOINED:
            own = next((one for one in lines if one.startswith(name)), None)
            more = next((one for one in options if one.startswith(name)), None)
            if own is not None and more is not None:
                lines[lines.index(own)] = f"{own},{more.removeprefix(name)}"
                options.remove(more)
        return Script((*self.above, *above), (*lines[:-1], *options, lines[-1]))


@dataclass(frozen=True)
class Edf:
    """An EDF with a list of mounts and a table of variables, each entry a line."""

    mounts: tuple[str, ...]
    env: tuple[str, ...]
    head: str = 'image = "i"'

    @property
    def text(self) -> str:
        mounts = [f"  {one}" for one in self.mounts]
        return "\n".join([self.head, "mounts = [", *mounts, "]", "[env]", *self.env]) + "\n"

    def without(self, number: int, *words: str) -> "Edf":
        own = number - 5 - len(self.mounts)
        assert all(one in self.env[own] for one in words), (self.env[own], words)
        return replace(self, env=(*self.env[:own], "", *self.env[own + 1 :]))

    def merged(self, emitted: str, start: str) -> "Edf":
        assert not start
        lines = [one.strip() for one in emitted.splitlines() if not one.strip().startswith("#")]
        mounts = lines[lines.index("mounts = [") + 1 : lines.index("]")]
        env = lines[lines.index("[env]") + 1 :]
        assert not any(one.startswith("[") for one in env)
        return replace(self, mounts=(*self.mounts, *mounts), env=(*self.env, *env))


def _parts(text: str) -> tuple[list[str], list[str]]:
    """The lines above the command, and its options, each a line."""
    starts = ("srun sarus run ", "podman run ", "docker run ")
    start = next((one for one in starts if text.startswith(one) and "\n" not in text), None)
    if start is not None:
        return [], [text.removeprefix(start).removesuffix(" IMAGE PROGRAM")]
    lines = text.splitlines()
    first = next(at for at, one in enumerate(lines) if one.endswith(" \\") and one[0] != "#")
    assert lines[first] in ("srun \\", "apptainer exec \\", "podman run \\", "docker run \\")
    own = [one.removesuffix(" \\").strip() for one in lines[first + 1 :]]
    left = ("IMAGE", "PROGRAM", "--container-image=IMAGE")
    return lines[:first], [one for one in own if one not in left]


def without_variable(path: Path, name: str, value: str) -> None:
    """Delete a variable of the one device of a CDI specification."""
    table = json.loads(path.read_text())
    table["devices"][0]["containerEdits"]["env"].remove(f"{name}={value}")
    path.write_text(json.dumps(table))


def specification(env: Sequence[str]) -> str:
    """A CDI specification of variables."""
    device = {"name": "all", "containerEdits": {"env": list(env)}}
    return json.dumps({"cdiVersion": "0.6.0", "kind": "site/own", "devices": [device]})
