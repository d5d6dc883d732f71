"""The platform document (schema weft.platform/1): a machine as figures with sources."""

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Literal

from pydantic import Field, field_validator, model_validator

from weft.catalog.document import (
    Bytes,
    Document,
    Figure,
    GBps,
    Gbps,
    Gpus,
    Nanoseconds,
    Probability,
    RegularExpression,
    Slug,
    SourceClass,
    Text,
    require_once,
)
from weft.catalog.libraries.mpi_algorithms import Levels, LibraryAlgorithm, mpi_algorithms
from weft.catalog.machine.cabling import Cabling, Dragonfly
from weft.catalog.machine.fit_report import Fit
from weft.catalog.machine.in_network import InNetwork
from weft.catalog.machine.node_map import NodeMap
from weft.core.units import in_force


class Cable(Document):
    """A class of links: the data rate of one, and the delay of its cable.

    `most` is a higher rate that another source states: expectations rest on `rate`, but nothing is
    called impossible below `most`.
    """

    rate: Gbps
    delay: Nanoseconds
    most: Gbps | None = None

    @property
    def most_gbps(self) -> float:
        """The highest rate any source states, in Gb/s."""
        return max(self.rate.value, self.most.value if self.most is not None else 0.0)


class Links(Document):
    """`host` links join nodes to leaves, `switch` links join switches."""

    host: Cable
    switch: Cable


class Packets(Document):
    """The largest payload of a packet, and whose headers it carries."""

    mtu: Bytes
    headers: Literal["infiniband", "ethernet"] = "infiniband"


class SwitchModel(Document):
    """How a switch forwards. The buffer is per input port."""

    model: Literal["voq"] = "voq"
    forwarding: Literal["cut_through", "store_and_forward"] = "cut_through"
    delay: Nanoseconds
    buffer: Bytes


class HostRegime(Document):
    """Host cost of messages up to `max_bytes` (absent: of any size): LogGP's o, and a cost a byte
    that the host adds to the wire's.

    `latency_ns` and `latency_ns_per_byte` are on a message's path and occupy no processor.
    `gap_ns` and `gap_ns_per_byte` are the least time between two messages of one sender (LogGP's g
    and G): they slow a stream of messages, not a single one.
    """

    max_bytes: int | None = Field(default=None, ge=0)
    protocol: Literal["eager", "rendezvous"]
    send_overhead_ns: float = Field(ge=0)
    recv_overhead_ns: float = Field(ge=0)
    send_ns_per_byte: float = Field(default=0, ge=0)
    recv_ns_per_byte: float = Field(default=0, ge=0)
    latency_ns: float = Field(default=0, ge=0)
    latency_ns_per_byte: float = Field(default=0, ge=0)
    gap_ns: float = Field(default=0, ge=0)
    gap_ns_per_byte: float = Field(default=0, ge=0)
    class_: SourceClass = Field(alias="class")
    source: Text
    conditions: str = ""

    def overheads_ns(self, size_bytes: int) -> tuple[float, float]:
        """Time for which a message occupies the processors of sender and receiver, in ns."""
        return (
            self.send_overhead_ns + self.send_ns_per_byte * size_bytes,
            self.recv_overhead_ns + self.recv_ns_per_byte * size_bytes,
        )

    def free_latency_ns(self, size_bytes: int) -> float:
        """The part of a message's latency that occupies no processor, in ns."""
        return self.latency_ns + self.latency_ns_per_byte * size_bytes


HOST_COSTS = {
    "send_overhead_ns": "ns",
    "recv_overhead_ns": "ns",
    "send_ns_per_byte": "ns/B",
    "recv_ns_per_byte": "ns/B",
    "latency_ns": "ns",
    "latency_ns_per_byte": "ns/B",
    "gap_ns": "ns",
    "gap_ns_per_byte": "ns/B",
}
"""The costs of a `HostRegime` and their units."""


class IntraNode(Document):
    """The channel between two ranks of one node. `overhead_share`: the share of a regime's fixed
    overheads that a message takes there, the bytes being the channel's; without it a message costs
    the processors what one over the network does."""

    latency: Nanoseconds
    rate: Gbps
    overhead_share: Probability | None = None


class Noise(Document):
    """Operating-system noise: an event of mean length with a probability an iteration."""

    probability: Probability
    mean: Nanoseconds


class PlatformHost(Document):
    """The time that a host adds to the fabric's.

    `adapter_latency` is the part of it that does not occupy the host (bus and adapter, one way, on
    each side); overheads in `regimes` do. `noise` is there always; what trials may ask for is
    `idle_core_noise`, where a node has cores without a task, and `full_node_noise`.
    """

    adapter_latency: Nanoseconds
    regimes: tuple[HostRegime, ...] = Field(min_length=1)
    message_gap: Nanoseconds
    intra_node: IntraNode
    start_jitter: Nanoseconds | None = None
    noise: Noise | None = None
    idle_core_noise: Noise | None = None
    full_node_noise: Noise | None = None

    @model_validator(mode="after")
    def _regimes_cover_every_size(self) -> "PlatformHost":
        limits = [regime.max_bytes for regime in self.regimes]
        inner = [limit for limit in limits[:-1] if limit is not None]
        if limits[-1] is not None or len(inner) != len(limits) - 1:
            raise ValueError("exactly the last regime has no max_bytes")
        if any(a >= b for a, b in pairwise(inner)):
            raise ValueError("max_bytes rises from regime to regime")
        return self

    def regime(self, size_bytes: int) -> HostRegime:
        """The protocol regime in force at a size."""
        return in_force(self.regimes, size_bytes)


class Algorithm(Levels):
    """The algorithm an MPI library takes for a collective up to `max_bytes`, from so many tasks a
    node on."""

    benchmark: Slug
    max_bytes: int | None = Field(default=None, ge=0)
    tasks_per_node: int = Field(default=1, ge=1)
    algorithm: Slug
    class_: SourceClass = Field(alias="class")
    source: Text


class MpiFigures(Document):
    """The MPI library a platform is described with. Algorithms in order of size.

    `choice` names the document of `catalog/algorithms` whose decisions are this library's; they
    hold before those of `algorithms` that are assumed. `one_sided`: who moves puts and gets between
    nodes, the adapter (RDMA) or the processors at both ends (sockets).
    """

    library: str = ""
    choice: Literal["", "mpich", "mvapich2", "mvapich2-frontera", "openmpi"] = ""
    one_sided: Literal["adapter", "processor"] = "adapter"
    algorithms: tuple[Algorithm, ...] = ()


class PublishedTable(Document):
    """A table somebody published: [size in bytes, value] rows, as printed."""

    name: Slug
    benchmark: Slug
    metric: Text
    unit: Text
    rows: tuple[tuple[int, float], ...] = Field(min_length=1)
    class_: SourceClass = Field(alias="class", default=SourceClass.PUBLISHED)
    source: Text
    conditions: str = ""
    errata: tuple[str, ...] = ()


class GpuNode(Document):
    """The GPUs of a node, as NCCL's search sees them; rates are of one direction.

    `nvlink` is all NVLink of one GPU (links x payload rate of one, as NCCL counts it), `pcie` the
    path between a GPU and its HCA. `switched`: through NVSwitches; `nvls`: those reduce in flight.
    `pcie_switch`: GPUs and HCAs meet below the processor. `ll128`: NCCL sees them near enough for
    protocol LL128 between nodes (one bridge above both, which a virtual machine may only pretend).
    `host_memory`: what the memory of the node's processors carries, reads and writes together.
    `nvlink_domain`: GPUs that one NVLink fabric joins, where it reaches over nodes.
    `net_seen`: what operators of the machine see of an adapter from GPU memory, where it is less
    than its rate and PCIe for an unknown reason. `topology_file`: where the topology file comes
    from without which NCCL does not see which HCA is near a GPU.
    """

    model: Text
    architecture: Literal["volta", "ampere", "hopper", "blackwell", "cdna2", "cdna3"]
    cpu: Literal["intel", "amd", "arm"]
    per_node: Gpus
    nvlink: GBps | None = None
    pcie: GBps | None = None
    host_memory: GBps | None = None
    switched: bool = False
    nvls: bool = False
    pcie_switch: bool = True
    ll128: bool = True
    nvlink_domain: Gpus | None = None
    net_seen: GBps | None = None
    topology_file: str = ""


class Signs(Document):
    """Signs of this platform in a result file: words in GPU names, patterns (Python's `re`)
    of host names and of device names."""

    gpus: tuple[Text, ...] = ()
    hosts: tuple[RegularExpression, ...] = ()
    hcas: tuple[RegularExpression, ...] = ()


FigureKind = Literal["measured", "promised", "derived", "hardware", "setting"]


class PublishedFigure(Document):
    """One figure somebody published about this machine, with what is needed to check it.

    `kind` says what it is: measured, promised (a maximum or a design figure), derived (computed
    from other figures), hardware, or setting. `system` is the source's own name for the machine.
    """

    id: Slug
    value: float = Field(allow_inf_nan=False)
    unit: Text
    kind: FigureKind
    what: Text
    system: str = ""
    benchmark: str = ""
    source: Text
    place: str = ""
    conditions: str = ""
    notes: str = ""
    erratum: str = ""


class Platform(Document):
    """A machine. One with `fabric` can be simulated, and then has `links`, `packets`, `switch` and
    `host` too; one without can be measured, and judged as far as its other parts carry."""

    schema_: Literal["weft.platform/1"] = Field(alias="schema")
    name: Slug
    title: Text
    notes: tuple[str, ...] = ()
    node: dict[Slug, Figure] = Field(default_factory=dict)
    facts: dict[Slug, Figure] = Field(default_factory=dict)
    links: Links | None = None
    packets: Packets | None = None
    switch: SwitchModel | None = None
    in_network: InNetwork | None = None
    fabric: Cabling | None = None
    host: PlatformHost | None = None
    gpus: GpuNode | None = None
    node_map: NodeMap | None = None
    mpi: MpiFigures = MpiFigures()
    signs: Signs = Signs()
    published: tuple[PublishedTable, ...] = ()
    figures: tuple[PublishedFigure, ...] = ()
    fit: Fit | None = None

    @model_validator(mode="after")
    def _twin_is_whole(self) -> "Platform":
        parts = ("links", "packets", "switch", "host")
        absent = [part for part in parts if getattr(self, part) is None]
        if self.fabric is not None and absent:
            raise ValueError(f"a platform with a fabric needs {', '.join(absent)} too")
        if self.fabric is not None and self.hcas_per_node < 1:
            raise ValueError("a platform with a fabric needs node.hcas of 1 or more")
        if self.dragonfly is not None:
            _require_ports(self.dragonfly, self.hcas_per_node)
        return self

    @field_validator("node")
    @classmethod
    def _rates_are_above_zero(cls, node: dict[str, Figure]) -> dict[str, Figure]:
        for name, figure in node.items():
            if figure.unit.endswith("/s") and figure.value <= 0:
                raise ValueError(f"'{name}' above 0 {figure.unit}, not {figure.value:g}")
        return node

    @model_validator(mode="after")
    def _figures_have_one_name_each(self) -> "Platform":
        require_once((figure.id for figure in self.figures), "figure")
        return self

    @property
    def has_twin(self) -> bool:
        """Whether the platform can be simulated."""
        return self.fabric is not None

    @property
    def dragonfly(self) -> Dragonfly | None:
        """The fabric where it is a dragonfly: adaptive, with a law of congestion control, unless a
        trial asks otherwise."""
        return self.fabric if isinstance(self.fabric, Dragonfly) else None

    @property
    def hcas_per_node(self) -> int:
        """HCAs of one node; one where the document does not say."""
        hcas = self.node.get("hcas")
        return hcas.whole if hcas is not None else 1

    def choice(
        self,
        benchmark: str,
        size_bytes: int,
        n_ranks: int,
        tasks_per_node: int = 1,
        *,
        library: str = "",
    ) -> LibraryAlgorithm | None:
        """The library's own choice, `library`'s where the document names none; None where that is
        not known, or a row knows more."""
        row = self.algorithm(benchmark, size_bytes, tasks_per_node)
        unsure = row is None or row.class_ is SourceClass.ASSUMED
        named = self.mpi.choice or library
        if not named or not unsure:
            return None
        return mpi_algorithms(named).choose(benchmark, n_ranks, size_bytes, tasks_per_node)

    def algorithm(
        self, benchmark: str, size_bytes: int, tasks_per_node: int = 1
    ) -> Algorithm | None:
        """The document's own row for a collective at a size; None where it has none."""
        rows = [
            row
            for row in self.mpi.algorithms
            if row.benchmark == benchmark and tasks_per_node >= row.tasks_per_node
        ]
        return next((r for r in rows if r.max_bytes is None or size_bytes <= r.max_bytes), None)

    def table(self, name: str) -> PublishedTable | None:
        """The published table of that name."""
        return next((table for table in self.published if table.name == name), None)


def _require_ports(fabric: Dragonfly, hcas_per_node: int) -> None:
    """Raises ValueError where a switch has too few ports, or a chassis an adapter too many."""
    if hcas_per_node % fabric.chassis_switches.whole:
        raise ValueError("node.hcas spread evenly over fabric.chassis_switches")
    n_switches = fabric.switches_per_group.whole
    outside = math.ceil(fabric.group_cables.whole * (fabric.groups.whole - 1) / n_switches)
    needed = fabric.nodes_per_switch * hcas_per_node + n_switches - 1 + outside
    if needed > fabric.radix.whole:
        raise ValueError(f"a switch of {needed} ports or more, for nodes, its group and others")


def figures(document: Document, path: str = "") -> Iterator[tuple[str, Figure]]:
    """Every figure of a document with its key path, in the order of the document."""
    for name in type(document).model_fields:
        yield from _figures_in(getattr(document, name), f"{path}.{name}" if path else name)


def _figures_in(part: object, path: str) -> Iterator[tuple[str, Figure]]:
    if isinstance(part, Figure):
        yield path, part
    elif isinstance(part, Document):
        yield from figures(part, path)
    elif isinstance(part, dict):
        for key, inner in part.items():
            yield from _figures_in(inner, f"{path}.{key}")
    elif isinstance(part, tuple):
        for i, inner in enumerate(part):
            yield from _figures_in(inner, f"{path}[{i}]")
