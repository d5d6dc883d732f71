"""How a platform's nodes are cabled: the part `[fabric]` of its document."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from weft.catalog.document import (
    TAG,
    Bytes,
    Cables,
    Document,
    Groups,
    Nanoseconds,
    Nodes,
    Ports,
    Slug,
    Switches,
    Text,
)

FAT_TREE, DRAGONFLY = f"{TAG}fat-tree", f"{TAG}dragonfly"

RoutingEngine = Literal["minhop", "updn", "dmodk"]
"""The engines of a generated fabric; a test holds them to the list of the compiled engine."""


class AdaptiveRouting(Document):
    """How a switch compares the up ports it may choose from: by load, in steps of `grade`.

    A trial asks for it with the option `adaptive_routing = "on"`.
    """

    grade: Bytes


class Directors(Document):
    """What is inside the spines of a fixed fat-tree that are directors: line boards, every one
    joined to every spine board. Cables from leaves fill one line board after the other.

    The twin takes each director for one switch; `weft fabric generate` builds the boards.
    """

    board_ports: Ports
    line_board_down: Ports
    spine_boards: Switches
    inside_delay: Nanoseconds


class Rails(Document):
    """Adapters cabled by rails: those of one number, of every node of a unit, share a leaf.

    `basis` says in words why this is taken to be so; `hca_name` has `{rail}` where the number
    stands. The twin cables all adapters of a node to its leaf, unless a study says `twin_cabled`;
    `weft fabric generate` builds rails.
    """

    basis: Text
    hca_name: Annotated[str, Field(pattern=r"^[a-z0-9_]*\{rail\}$")]
    nodes_per_unit: Nodes


class FatTree(Document):
    """A fat-tree as large as the nodes asked for.

    `balanced`: leaves are filled so that there are about as many leaves as nodes on each, which
    shows every hop class on a small twin; every node has its own path up. `fixed`: leaves are
    filled with `nodes_per_leaf` nodes, and each leaf has `cables_per_spine` cables to each of
    `spines` spines. Above `two_level_nodes` nodes the tree has three levels of `radix` ports.
    """

    shape: Literal["balanced", "fixed"]
    radix: Ports
    nodes_per_leaf: Nodes | None = None
    spines: Switches | None = None
    cables_per_spine: Cables | None = None
    two_level_nodes: Nodes
    routing: RoutingEngine = "dmodk"
    adaptive: AdaptiveRouting | None = None
    directors: Directors | None = None
    rails: Rails | None = None

    @model_validator(mode="after")
    def _fixed_is_complete(self) -> "FatTree":
        given = (self.nodes_per_leaf, self.spines, self.cables_per_spine)
        if self.shape == "fixed" and None in given:
            raise ValueError("a fixed fat-tree needs nodes_per_leaf, spines and cables_per_spine")
        if self.shape == "balanced" and given != (None, None, None):
            raise ValueError("a balanced fat-tree chooses nodes_per_leaf, spines and cables itself")
        if self.directors is not None and (self.shape != "fixed" or self.rails is not None):
            raise ValueError("directors are the spines of a fixed fat-tree without rails")
        if self.rails is not None and self.rails.nodes_per_unit.value >= self.radix.value:
            raise ValueError("a leaf of a rail needs ports that go up")
        return self


class DetourRouting(AdaptiveRouting):
    """Adaptive routing of a dragonfly, in force unless a trial asks for `adaptive_routing = "off"`.

    `detours` lead over a third group: `ugal` compares the loads of the sender's switch, `none`
    leaves packets on shortest paths.
    """

    detours: Literal["none", "ugal"]


class Dragonfly(Document):
    """Groups of switches: those of a group joined pairwise, every two groups by `group_cables`.

    Of the machine's `nodes` those asked for fill the groups in order; the adapters of a node spread
    evenly over the `chassis_switches` switches of its chassis. The twin leaves out all groups but
    three where one holds the nodes asked for; `weft fabric generate` builds all of them.
    `congestion_control` is a law of the twin, in force unless a trial asks for another or for
    "off".
    """

    shape: Literal["dragonfly"]
    radix: Ports
    groups: Groups
    switches_per_group: Switches
    nodes_per_group: Nodes
    group_cables: Cables
    chassis_switches: Switches
    nodes: Nodes
    adaptive: DetourRouting
    congestion_control: Slug

    @model_validator(mode="after")
    def _chassis_are_whole(self) -> "Dragonfly":
        if self.switches_per_group.whole % self.chassis_switches.whole:
            raise ValueError("whole chassis a group: switches_per_group over chassis_switches")
        if self.nodes_per_group.whole % self.switches_per_group.whole:
            raise ValueError("as many nodes for each switch: nodes_per_group over them")
        if self.nodes.whole > self.groups.whole * self.nodes_per_group.whole:
            raise ValueError("no more nodes than groups x nodes_per_group")
        if self.groups.whole < 3 and self.adaptive.detours != "none":
            raise ValueError("three groups or more, for detours over a third one")
        return self

    @property
    def routing(self) -> str:
        """The engine that fills its tables."""
        return self.shape

    @property
    def nodes_per_switch(self) -> int:
        """Nodes of a group for each of its switches."""
        return self.nodes_per_group.whole // self.switches_per_group.whole


def _kind(given: object) -> str:
    """The tag of a cabling. A `shape` that is none gets the errors of a fat-tree."""
    if isinstance(given, Mapping):
        return DRAGONFLY if given.get("shape") == "dragonfly" else FAT_TREE
    return DRAGONFLY if isinstance(given, Dragonfly) else FAT_TREE


Cabling = Annotated[
    Annotated[FatTree, Tag(FAT_TREE)] | Annotated[Dragonfly, Tag(DRAGONFLY)],
    Discriminator(_kind),
]
"""How nodes are cabled, by its `shape`."""
