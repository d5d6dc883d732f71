"""The ranks that make pairs: which host, which rail, which HCA each of them uses."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from weft.check.readings.network import Network
from weft.check.readings.readings import Bools, Ints
from weft.core.errors import InputError
from weft.core.words import counted


@dataclass(frozen=True)
class ScheduleRanks:
    """Rank i * n_rails + r is rail r of unit i. Units are nodes; on a single host, its ranks.

    `network` is None where no fabric is known; `host` is that single host. With `share_hcas` ranks
    take the HCAs of their node in turn; else a rank beyond them is idle. INVARIANT: every node is
    in the network.
    """

    units: tuple[str, ...]
    n_rails: int
    network: Network | None = None
    host: str | None = None
    share_hcas: bool = False

    def __len__(self) -> int:
        return len(self.units) * self.n_rails

    @cached_property
    def unit(self) -> Ints:
        """By rank: its unit."""
        return np.repeat(np.arange(len(self.units)), self.n_rails)

    @cached_property
    def rail(self) -> Ints:
        """By rank: its rail."""
        return np.tile(np.arange(self.n_rails), len(self.units))

    @cached_property
    def hca(self) -> Ints:
        """By rank: its HCA (vertex number less the switches); -1 without a fabric."""
        found = np.full(len(self), -1, np.int64)
        network = self.network
        if network is None:
            return found
        number = {hca: i for i, hca in enumerate(network.hcas)}
        hcas = [[number[hca] for hca in network.hcas_of[node]] for node in self.units]
        flat = [of[rail % len(of)] for of in hcas for rail in range(self.n_rails)]
        return np.array(flat, np.int64)

    @cached_property
    def has_rail(self) -> Bools:
        """By rank: whether its node has a cabled HCA for it, of its own unless they are shared.
        Others are idle."""
        network = self.network
        if network is None:
            return np.ones(len(self), np.bool_)
        n_hcas = np.array([len(network.hcas_of[node]) for node in self.units], np.int64)
        own = (self.rail < n_hcas[self.unit]) | self.share_hcas
        return np.asarray(own & (network.port_of_hca[self.hca] >= 0), np.bool_)

    @property
    def per_host(self) -> int:
        """Ranks of a host."""
        return self.n_rails if self.host is None else len(self)

    def endpoint(self, rank: int) -> str:
        """As samples name it: the node, or 'node:rank' where a host holds several ranks."""
        if self.host is not None:
            return f"{self.host}:{rank}"
        unit = self.units[rank // self.n_rails]
        return unit if self.n_rails == 1 else f"{unit}:{rank}"


def ranks_of_nodes(
    nodes: tuple[str, ...], n_rails: int, network: Network | None, *, share_hcas: bool = False
) -> ScheduleRanks:
    """So many ranks of each node: one a rail, or more than it has HCAs, which then share them.

    Raises InputError where the HCA of a rank does not follow from its number.
    """
    if network is not None and n_rails > 1:
        for node in nodes:
            n_hcas = len(network.hcas_of[node])
            # INVARIANT: ranks take the HCAs of a node in turn, a whole number of times.
            if n_hcas and n_rails % n_hcas:
                raise InputError(
                    f"{n_rails} ranks a node do not fill the {counted(n_hcas, 'HCA')} that {node}"
                    " has in this fabric",
                    expected="one rank a node, or as many as its HCAs or a multiple of them",
                    hint="leave --tasks-per-node and --rails out, or measure without --fabric",
                )
    return ScheduleRanks(nodes, n_rails, network, share_hcas=share_hcas)


def ranks_of_host(host: str, n_ranks: int) -> ScheduleRanks:
    """So many ranks of one host, which then stand for nodes."""
    return ScheduleRanks(tuple(f"{host}:{i}" for i in range(n_ranks)), 1, None, host)
