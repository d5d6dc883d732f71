"""The settings of a platform's recipe that belong to one kind of run."""

from collections.abc import Sequence
from dataclasses import dataclass

from weft.catalog.libraries.launch_recipe import LaunchRecipe, RecipeSetting, When
from weft.catalog.libraries.variables import version_key
from weft.catalog.load import variable_lists
from weft.core.errors import InputError

HANDED_ON = "$"
"""A value that begins with it is what the environment has."""


@dataclass(frozen=True, slots=True)
class OmittedSetting:
    """A setting of the recipe that this run does without, and why."""

    setting: RecipeSetting
    why: str


@dataclass(frozen=True, slots=True)
class Run:
    """One run: `nodes` None leaves the number to the shell that runs it. `image` is a container's.

    `tasks` are ranks a node.
    """

    nodes: int | None = None
    sharp: bool = False
    loopback: bool = False
    training: bool = False
    tasks: int = 1
    nccl: str = ""
    image: str = ""
    mounts: tuple[str, ...] = ()

    def kinds(self) -> tuple[When, ...]:
        """The kinds of settings that belong to it."""
        everywhere: tuple[When, ...] = ("always", *(("container",) if self.image else ()))
        if self.loopback:
            return (*everywhere, "loopback")
        if self.nodes == 1:
            return (*everywhere, "single-node")
        return (
            *everywhere,
            "multi-node",
            *(("sharp",) if self.sharp else ()),
            *(("training",) if self.training else ()),
        )


@dataclass(frozen=True, slots=True)
class Prescription:
    """The settings of one run, in the recipe's order, and those that were left out."""

    recipe: LaunchRecipe
    run: Run
    settings: tuple[RecipeSetting, ...]
    left: tuple[OmittedSetting, ...]

    @property
    def own(self) -> list[RecipeSetting]:
        """The settings whose value is the recipe's, not the environment's."""
        passed = handed_on(self.settings)
        return [one for one in self.settings if one.name not in passed]

    @property
    def values(self) -> dict[str, str]:
        """Values by name as environment variables; a parameter of Open MPI by its OMPI_MCA_."""
        return {one.name: one.value for one in self.settings}

    @property
    def cpu_bind(self) -> str:
        """srun's --cpu-bind where the recipe has a mask for each rank of a node; else ""."""
        masks = self.recipe.cpu_masks
        return f"mask_cpu:{','.join(masks)}" if masks and len(masks) == self.run.tasks else ""


def prescribe(recipe: LaunchRecipe, run: Run) -> Prescription:
    """The settings for a run. Raises InputError where the recipe has nothing for such a run."""
    offered = {when for one in recipe.settings for when in one.when}
    if run.sharp and "sharp" not in offered:
        raise InputError(
            f"{recipe.title} has no SHARP",
            expected="a machine whose switches reduce",
            hint="leave out --sharp",
        )
    if run.loopback and "loopback" not in offered:
        raise InputError(f"the recipe of {recipe.title} has no loopback test", hint="leave it out")
    if run.loopback and (run.nodes or 1) > 1:
        raise InputError("the loopback test runs on one node", hint="--nodes 1")
    if run.sharp and run.nodes == 1:
        raise InputError("SHARP needs two nodes at least", hint="--nodes 2 or more")
    kinds = set(run.kinds())
    chosen: list[RecipeSetting] = []
    left: list[OmittedSetting] = []
    for one in recipe.settings:
        if not kinds & set(one.when):
            continue
        why = _unfit(one, run.nccl)
        if why:
            left.append(OmittedSetting(one, why))
        else:
            chosen.append(one)
    return Prescription(recipe, run, tuple(chosen), tuple(left))


def _unfit(setting: RecipeSetting, version: str) -> str:
    """Why a setting does not belong to a version of NCCL; "" where it does."""
    if not version:
        return ""
    at = version_key(version)
    if setting.since and at < version_key(setting.since):
        return f"for NCCL {setting.since} and newer"
    if setting.until and at > version_key(setting.until):
        return f"for NCCL up to {setting.until}"
    variable = variable_lists()["nccl"].by_name.get(setting.name)
    if variable is not None and not variable.known_in(version):
        return f"NCCL {version} does not read it"
    return ""


def handed_on(settings: Sequence[RecipeSetting]) -> list[str]:
    """Names whose value is the environment's."""
    return [one.name for one in settings if one.value == f"{HANDED_ON}{one.name}"]
