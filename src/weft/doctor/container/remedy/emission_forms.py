"""The formats of `weft doctor container --emit`: what is each for, and how is it added?"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EmissionForm:
    """A format. `runtimes` are those that it is for, the first by default; `option` is that of
    `weft doctor container` which reads it; `merge` tells where its parts go in a launch that the
    user has; `place` is where its runtime looks for such a file."""

    name: str
    title: str
    runtimes: tuple[str, ...]
    option: str
    merge: str
    place: str = ""


_BEHIND = "behind your own options, before the image"
FORMS: Mapping[str, EmissionForm] = {
    one.name: one
    for one in (
        EmissionForm(
            "edf", "an EDF of CE", ("CE",), "--edf",
            "put its mounts behind your own, and the lines of each table into your table",
        ),
        EmissionForm(
            "pyxis", "lines of a job script: srun", ("pyxis",), "--script",
            "put the lines above srun directly before your srun, and its options behind your own; "
            "join two lists of one option by a comma, your own first",
        ),
        EmissionForm(
            "sarus", "an OCI hook; its start line sets the variables", ("sarus",), "--hook",
            f"put the options of the start line {_BEHIND}", "the folder hooksDir of sarus.json",
        ),
        EmissionForm(
            "apptainer", "lines of a job script: apptainer", ("apptainer",), "--script",
            f"put its options {_BEHIND}; lines with export, if any, before your command",
        ),
        EmissionForm(
            "podman", "a command line", ("podman",), "--script", f"put its options {_BEHIND}"
        ),
        EmissionForm(
            "cdi", "a specification of the Container Device Interface", ("podman", "docker"),
            "--cdi", f"put the option --device of the start line {_BEHIND}", "/etc/cdi",
        ),
        EmissionForm(
            "docker", "a command line", ("docker",), "--script", f"put its options {_BEHIND}"
        ),
    )
}  # fmt: skip
