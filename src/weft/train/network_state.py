"""What is wrong with a network, or chosen otherwise: taper, lost rails, static routes, sockets."""

import math
from dataclasses import dataclass

from weft.catalog.machine.platform import Platform
from weft.expect.model import Transport
from weft.expect.taper import taper


@dataclass(frozen=True, slots=True)
class NetworkState:
    """`taper`: a leaf's rate down over its rate up. `lost_rails`: adapters of each node that are
    down. `static_routes`: flows share up-links by chance. `transport` and `gpudirect` as of an
    expectation."""

    taper: float = 1.0
    lost_rails: int = 0
    static_routes: bool = False
    transport: Transport = ""
    gpudirect: bool = True

    def slowdown(
        self, platform: Platform, n_nodes: int, distance: int, *, to_all: bool = False
    ) -> float:
        """Factor on what n_nodes exchange by their rails: each with all others (`to_all`), or with
        the one that is `distance` nodes further. Rails are cabled to leaves by their number."""
        own = taper(platform, n_nodes) if to_all else 1.0
        unit = nodes_of_unit(platform)
        if n_nodes * distance <= unit:
            return own
        leaving = min(1.0, distance / unit)
        if to_all:
            leaving = share_beyond_unit(platform, n_nodes * distance)
        factor = max(own, self.taper * leaving, 1.0)
        return factor * (collision_factor(unit, leaving) if self.static_routes else 1.0)


NODES_OF_UNIT = 32
"""Where a platform does not say: 32 nodes share the leaves of their rails. SOURCE: NVIDIA DGX
SuperPOD reference architecture (H100)."""


def nodes_of_unit(platform: Platform) -> int:
    """Nodes whose rails meet in leaves: messages among them cross no spine."""
    rails = getattr(platform.fabric, "rails", None)
    return rails.nodes_per_unit.whole if rails is not None else NODES_OF_UNIT


def share_beyond_unit(platform: Platform, n_nodes: float) -> float:
    """The share of the other nodes of a job that a node reaches over spines only."""
    beyond = n_nodes - nodes_of_unit(platform)
    return max(0.0, beyond / max(1.0, n_nodes - 1))


def collision_factor(n_links: int, mean: float = 1.0) -> float:
    """Flows on the fullest of n up-links, when each of n x `mean` flows picks one by chance: the
    mean of the largest of n counts, each Poisson. A collective waits for its slowest flow.

    SOURCE: Raab & Steger, "Balls into Bins", RANDOM 1998; counts taken as independent.
    """
    if n_links < 2:
        return 1.0
    largest, below = 0.0, 0.0
    term = cumulative = math.exp(-mean)
    for count in range(n_links + 1):
        share = cumulative**n_links
        largest += count * (share - below)
        below = share
        term *= mean / (count + 1)
        cumulative += term
    return max(1.0, largest)
