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

    def slowdown(self, platform: Platform, n_nodes: int) -> float:
        """Factor on what n_nodes exchange by their rails, all nodes with all. Rails are cabled to
        leaves by their number: up to `fabric.rails.nodes_per_unit` nodes no message leaves one."""
        own = taper(platform, n_nodes)
        leaving = share_beyond_unit(platform, n_nodes)
        if leaving == 0:
            return own
        factor = max(own, self.taper * leaving, 1.0)
        return factor * (collision_factor(nodes_of_unit(platform)) if self.static_routes else 1.0)


NODES_OF_UNIT = 32
"""Where a platform does not say. SOURCE: NVIDIA DGX SuperPOD reference architecture (H100): 32 nodes
share the leaves of their rails."""


def nodes_of_unit(platform: Platform) -> int:
    """Nodes whose rails meet in leaves: messages among them cross no spine."""
    rails = getattr(platform.fabric, "rails", None)
    return rails.nodes_per_unit.whole if rails is not None else NODES_OF_UNIT


def share_beyond_unit(platform: Platform, n_nodes: float) -> float:
    """The share of the other nodes of a job that a node reaches over spines only."""
    beyond = n_nodes - nodes_of_unit(platform)
    return max(0.0, beyond / max(1.0, n_nodes - 1))


def collision_factor(n_links: int) -> float:
    """Flows on the fullest of n up-links, when as many flows pick one each by chance: the mean of
    the largest of n counts, each Poisson of mean 1. A ring waits for its slowest hop.

    SOURCE: Raab & Steger, "Balls into Bins", RANDOM 1998; counts taken as independent.
    """
    if n_links < 2:
        return 1.0
    mean, below = 0.0, 0.0
    term = cumulative = math.exp(-1.0)
    for count in range(n_links + 1):
        share = cumulative**n_links
        mean += count * (share - below)
        below = share
        term /= count + 1
        cumulative += term
    return max(1.0, mean)
