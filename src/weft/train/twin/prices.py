"""What the exchanges of a step take on a twin: all groups of a kind at once, on the job's nodes.

The twin gives the time of transfers, NCCL's model the latency, as for an allreduce by rails
(`weft.bench.twin.gpu.rails`). Exchanges inside nodes keep the model's price: the fabric has no part
in them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from weft.bench.twin.gpu.chakra_program import payload_share
from weft.bench.twin.gpu.gpu_program import Fidelity, GpuTwin
from weft.bench.twin.gpu.group_moves import group_rounds, ring_steps
from weft.catalog.machine.platform import Platform
from weft.core.errors import InputError
from weft.train.network_state import NetworkState
from weft.train.prices import CollectivePrices, RankGroup
from weft.train.step_time import StepModel

MOST_ROUNDS = 16
"""Rounds of a ring that are simulated: all are alike, as each GPU sends to one other in each."""
ROUNDS_BESIDE = 4
"""The same beside a neighbour, whose messages cost as much to simulate as the job's."""
MOST_PACKETS = 1_000_000
"""Of one exchange; of more, messages are simulated as flows. A packet costs 4 us."""


@dataclass(frozen=True, slots=True)
class TwinPrice:
    """Seconds of one exchange on the twin, and by NCCL's model; how messages were simulated."""

    seconds: float
    formula_s: float
    fidelity: Fidelity


@dataclass(frozen=True, slots=True)
class TwinPrices(CollectivePrices):
    """Seconds of collectives, between nodes as the twin simulates them on `n_nodes`."""

    n_nodes: int = 1
    neighbours: tuple[str, ...] = ()
    simulated: dict[tuple[str, int, RankGroup], TwinPrice] = field(default_factory=dict)

    def price_of(self, collective: str, size_bytes: float, group: RankGroup) -> TwinPrice | None:
        """What was simulated of an exchange; None of one that the twin has no part in."""
        return self.simulated.get((collective, round(size_bytes), group))

    def _priced(self, collective: str, size: int, group: RankGroup) -> float:
        model = self._model(collective, size, group)
        formula_s = (model.latency_ns + model.transfer_ns) / 1e9
        if not self._by_rails(group):
            return formula_s
        sent = size / payload_share(model.algorithm)
        transfer_s, fidelity = self._transfer(collective, sent, group)
        seconds = model.latency_ns / 1e9 + transfer_s
        self.simulated[collective, size, group] = TwinPrice(seconds, formula_s, fidelity)
        return seconds

    def _transfer(self, collective: str, size: float, group: RankGroup) -> tuple[float, Fidelity]:
        """Seconds of the transfers without NCCL's latency, and how they were simulated."""
        network = self.network
        twin = GpuTwin(
            self.platform,
            max(self.n_nodes, group.n_nodes * group.distance),
            f"{network.taper:g}:1" if network.taper > 1 else "",
            network.static_routes,
            self.neighbours,
        )
        groups = list(_sharing(collective, group, twin.n_nodes, twin.gpus_per_node))
        program = _Program(collective, size, groups, twin)
        packets = self.platform.packets
        assert packets is not None
        n_packets = program.n_bytes / packets.mtu.whole
        fidelity: Fidelity = "packet" if n_packets <= MOST_PACKETS else "flow"
        rounds = ring_steps(collective, group.n)
        repeated = rounds / min(rounds, program.most_rounds)
        return twin.seconds(program.calls(), fidelity) * repeated, fidelity


def twin_prices(
    platform: Platform, network: NetworkState, n_gpus: int, neighbours: tuple[str, ...] = ()
) -> TwinPrices:
    """Prices on the nodes of a job of `n_gpus`. Raises InputError for what no twin simulates."""
    if network.transport == "sockets" or not network.gpudirect or network.lost_rails:
        raise InputError(
            "--twin with --transport sockets, --without-gpudirect or --lost-rails",
            expected="all rails by RDMA: the twin does not simulate how NCCL does without them",
            hint="leave out --twin: NCCL's model prices them",
        )
    per_node = GpuTwin(platform, 1).gpus_per_node
    if network.taper != int(network.taper):
        raise InputError(
            f"--twin with --taper {network.taper:g}",
            expected="a whole number",
            hint=f"the nearest possible value is --taper {max(1, round(network.taper))}",
        )
    return TwinPrices(platform, network, n_nodes=-(-n_gpus // per_node), neighbours=neighbours)


def on_twin(step: StepModel, neighbours: tuple[str, ...] = ()) -> StepModel:
    """The step with its exchanges between nodes simulated. Raises InputError."""
    prices = step.prices
    found = twin_prices(prices.platform, prices.network, step.layout.n_gpus, neighbours)
    return replace(step, prices=found)


def _sharing(
    collective: str, group: RankGroup, n_nodes: int, gpus_per_node: int
) -> Iterator[list[int]]:
    """The groups that exchange at once. Stages of a pipeline all send to the next one, and with
    virtual stages the last one to the first: as one ring over all that are so far apart."""
    if collective == "sendrecv" and group.n == 2 and group.per_node == 1:
        group = replace(group, n=n_nodes // group.distance)
    yield from groups_of(group, n_nodes, gpus_per_node)


def groups_of(group: RankGroup, n_nodes: int, gpus_per_node: int) -> Iterator[list[int]]:
    """The GPUs of each group of a kind on a job's nodes: every node is in as many groups as the
    group says, and the members of one are `distance` nodes apart."""
    span = group.n_nodes * group.distance
    at_once = max(1, min(group.at_once, gpus_per_node // group.per_node))
    for first in range(0, n_nodes - span + 1, span):
        for offset in range(group.distance):
            for number in range(at_once):
                yield [
                    (first + offset + place // group.per_node * group.distance) * gpus_per_node
                    + number
                    + place % group.per_node * at_once
                    for place in range(group.n)
                ]


@dataclass(frozen=True, slots=True)
class _Program:
    """One collective of many groups, as calls of all GPUs of a job."""

    collective: str
    size: float
    groups: list[list[int]]
    twin: GpuTwin

    @property
    def most_rounds(self) -> int:
        """Rounds of a ring that are simulated."""
        return ROUNDS_BESIDE if self.twin.neighbours else MOST_ROUNDS

    @property
    def n_bytes(self) -> float:
        """All that is sent."""
        members = self.groups[0]
        rounds = self._rounds(members, members[0])
        sent = sum(size for _, sends in rounds for _, size in sends)
        return float(sent) * sum(len(one) for one in self.groups)

    def calls(self) -> str:
        """The text for the engine."""
        n_ranks = self.twin.n_nodes * self.twin.gpus_per_node
        lines = [f"num_ranks {n_ranks}"]
        for members in self.groups:
            for member in members:
                lines.append(f"rank {member} {{")
                for receives, sends in self._rounds(members, member):
                    lines += [f"irecv from {peer}" for peer in receives]
                    lines += [f"isend {size}b to {peer}" for peer, size in sends]
                    lines.append("wait")
                lines.append("}")
        return "\n".join(lines) + "\n"

    def _rounds(
        self, members: list[int], member: int
    ) -> list[tuple[list[int], list[tuple[int, int]]]]:
        return group_rounds(
            self.collective,
            self.size,
            members,
            member,
            self.twin.gpus_per_node,
            most_rounds=self.most_rounds,
        )
