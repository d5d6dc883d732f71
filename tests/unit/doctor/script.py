"""A recipe of weft as a script that a test may change: its lines, and its settings by name."""

import random
import shlex
from collections.abc import Callable
from dataclasses import dataclass

from weft.catalog.libraries.launch_recipe import LaunchRecipe
from weft.catalog.libraries.variables import version_key
from weft.catalog.load import launch_recipe
from weft.core.errors import WeftError
from weft.launch import prescribed_text as texts
from weft.launch.prescription import Prescription, Run, prescribe
from weft.launch.tcl import tcl_word

FORMS = ("sbatch", "mpirun", "srun", "modulefile", "container")
VERSIONS = ("2.18.3", "2.26.5", "2.30.7", "2.32.3")
IMAGE = "nvcr.io#nvidia/pytorch:25.01-py3"


@dataclass
class Script:
    """A recipe as it is written in one form, line by line."""

    recipe: LaunchRecipe
    form: str
    version: str
    nodes: int
    lines: list[str]

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"

    @property
    def of_nccl(self) -> bool:
        return self.recipe.library != "mpi"

    def since(self, version: str) -> bool:
        return version_key(self.version) >= version_key(version)

    def line_of(self, start: str) -> int | None:
        """The number of the first line that begins so."""
        found = (i + 1 for i, line in enumerate(self.lines) if line.strip().startswith(start))
        return next(found, None)

    def value(self, name: str) -> str | None:
        """The value that the recipe gives a variable, None where it leaves it alone."""
        line = self.line_of(self._head(name))
        return None if line is None else self.lines[line - 1].strip()[len(self._head(name)) :]

    def set(self, name: str, value: str, *, raw: bool = False) -> int:
        """Set a variable, in place of the recipe's value where it has one; the line's number."""
        words = tcl_word(value) if self.form == "modulefile" else shlex.quote(value)
        line = f"{self._head(name)}{value if raw else words}"
        if self.form == "mpirun":
            line = f"  {line} \\"
        at = self.line_of(self._head(name))
        if at is None:
            at = len(self.lines) + 1 if self.form == "modulefile" else self._launch()
            self.lines.insert(at - 1, line)
        else:
            self.lines[at - 1] = line
        return at

    def _head(self, name: str) -> str:
        if self.form == "mpirun":
            return f"-genv {name} " if self.recipe.launcher == "hydra" else f"-x {name}="
        return f"setenv {name} " if self.form == "modulefile" else f"export {name}="

    def _launch(self) -> int:
        """Before the program of mpirun, before srun."""
        return len(self.lines) if self.form == "mpirun" else self.line_of("srun") or 1


Planter = Callable[[Script, random.Random], "tuple[str, int] | None"]


@dataclass(frozen=True)
class RecipeMistake:
    """A script with one mistake, and what must be found."""

    planter: str
    script: Script
    rule: str
    line: int


def clean_script(
    name: str, form: str, version: str, nodes: int, *, sharp: bool = False
) -> Script | None:
    """A recipe as weft writes it; None where it has nothing for such a run."""
    recipe = launch_recipe(name)
    tasks = recipe.gpus_per_node or recipe.cores_per_node or 1
    image = IMAGE if form == "container" else ""
    run = Run(nodes=nodes, sharp=sharp, tasks=tasks, nccl=version, image=image)
    try:
        prescription = prescribe(recipe, run)
    except WeftError:
        return None
    text = _written(prescription, form)
    return Script(recipe, form, version, nodes, text.rstrip("\n").split("\n"))


def _written(prescription: Prescription, form: str) -> str:
    command = texts.program(prescription, "allreduce")
    if form == "modulefile":
        return texts.as_modulefile(prescription)
    writers = {"mpirun": texts.as_mpirun, "srun": texts.as_srun, "sbatch": texts.as_sbatch}
    return writers.get(form, texts.as_srun)(prescription, command)
