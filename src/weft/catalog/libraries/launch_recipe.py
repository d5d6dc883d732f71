"""Launch recipes of a machine: settings with their reasons, as its operators publish them."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from weft.catalog.document import Document, Slug, Text, require_once

When = Literal["always", "single-node", "multi-node", "sharp", "loopback", "training", "container"]
Fabric = Literal["infiniband", "slingshot", "efa", "roce"]


VariableName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
ModuleName = Annotated[str, Field(pattern=r"^[\w][\w./+:-]*$")]
Mask = Annotated[str, Field(pattern=r"^(0x)?[0-9a-fA-F]+$")]


ADVICE = "weft: "
"""The begin of the source of what weft advises itself."""


class RecipeSetting(Document):
    """One variable of a recipe, why it is set, and who says so.

    `via` is how it is handed over: an environment variable, or a parameter of Open MPI (--mca).
    `when` are the runs it belongs to.
    """

    name: VariableName
    value: str
    reason: Text
    source: Text
    via: Literal["env", "mca"] = "env"
    when: tuple[When, ...] = ("always",)
    since: str = ""
    until: str = ""


class RecipeHook(Document):
    """An annotation that switches a hook of the machine's container engine on."""

    name: Text
    value: Text
    reason: Text
    source: Text


class Erratum(Document):
    """Something that a source prints and that is wrong or does nothing."""

    printed: Text
    where: Text
    remark: Text


class LaunchRecipe(Document):
    """All that is known about launching on one platform.

    `interface` is the network of the ranks' first meeting, `hcas` the adapters that carry data,
    `ethernet_hcas` those that the same driver shows and that must not. `cpu_masks` are the masks of
    the ranks of a node. `threads_per_core` is 1 where each core is one processor of the system.
    `launcher` is what starts the ranks there.
    """

    schema_: Literal["weft.launch-recipe/1"] = Field(alias="schema")
    name: Slug
    title: Text
    platform: str = ""
    date: Text
    source: Text
    fabric: Fabric
    gpus_per_node: int = Field(ge=0, default=0)
    cores_per_node: int = Field(ge=0, default=0)
    threads_per_core: int = Field(ge=1, default=2)
    launcher: Literal["openmpi", "hydra", "srun"] = "openmpi"
    library: Literal["nccl", "rccl", "mpi"] = "nccl"
    interface: str = ""
    hcas: tuple[str, ...] = ()
    ethernet_hcas: tuple[str, ...] = ()
    topology_file: str = ""
    modules: tuple[ModuleName, ...] = ()
    cpu_masks: tuple[Mask, ...] = ()
    network: str = Field(default="", pattern=r"^[\w=,.:+-]*$")
    """Slurm's --network that a setting needs."""
    notes: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    """Facts that a launch needs and that no source told."""
    settings: tuple[RecipeSetting, ...] = Field(alias="setting", default=())
    hooks: tuple[RecipeHook, ...] = Field(alias="hook", default=())
    """Of the container engine at CSCS."""
    errata: tuple[Erratum, ...] = Field(alias="erratum", default=())

    @property
    def is_advice(self) -> bool:
        """Whether it is advice for a kind of link, and no recipe of a machine's operators."""
        return self.source.startswith(ADVICE)

    @model_validator(mode="after")
    def _each_setting_once(self) -> "LaunchRecipe":
        keys = (f"{one.name} ({when})" for one in self.settings for when in one.when)
        require_once(keys, "setting")
        return self
