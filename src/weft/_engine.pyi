"""The engine (crates/weft-py): documents in as JSON text, columns out as numpy arrays.

Every function releases the GIL. A document that is wrong raises ValueError whose text says what
and where in its first line, then what was expected. Formats: docs/reference/scenario.md.
"""

from collections.abc import Sequence
from typing import Any, TypedDict, overload

from numpy import uint8, uint32, uint64
from numpy.typing import NDArray

class Fabric:
    """A whole fabric document, checked."""

    def document(self) -> str:
        """The whole document as JSON, `schema` first."""

    def engines(self) -> list[str]:
        """The routing engines that fill the tables as the document has them."""

    def trace(
        self,
        pairs: Sequence[tuple[str, str]],
        engine: str | None = None,
        down: Sequence[str] = ...,
    ) -> list[list[str]]:
        """The egress ports crossed from each first to each second node (or HCA) name.

        Routes are `engine`'s, else the document's `lfts`, else those of `minhop`. An engine routes
        around the cables at the ports `down`.
        """

def build_fabric(spec_json: str) -> Fabric:
    """The fabric of a whole document or a generator.

    `lfts` are filled if the spec names `"routing": {"engine": ...}`.
    """

@overload
def simulate(scenarios_json: str) -> dict[str, Any]:
    """The outcome of one scenario: `status`, `message`, and columns.

    Columns of rows, tenants (`tenant_`), ports, loads (`load_`) and flows (`flow_`), counts of what
    was left out, totals: "Outcome" in docs/reference/scenario.md.
    """

@overload
def simulate(scenarios_json: list[str], threads: int) -> list[dict[str, Any]]:
    """The outcomes of several scenarios, in order, on `threads` threads (0: one a core).

    There are never more threads than scenarios.
    """

def count_work(scenarios_json: list[str]) -> list[tuple[float, float]]:
    """About how many packet hops and moves of ranks each scenario is; nothing is simulated."""

def share_done() -> float | None:
    """The part, from 0 to 1, that is done of a simulation or of files that another thread asked
    for; None while there is no such call."""

def expand_collective(step_json: str, n_ranks: int) -> dict[str, Any]:
    """What every rank exchanges in a step of a scenario's work: one row a send or receive.

    Columns `rank, index, is_send, peer, size_bytes, first_block, n_blocks`; at most 2^22 ranks and
    (about) 2^22 rows.
    """

class PortEnd(TypedDict):
    """A node's index and the number of one of its ports."""

    node: int
    port: int

class UnreachedLid(TypedDict):
    """A LID that `n_sources` end ports do not reach: paths end `at` a switch, or on a `circle`."""

    lid: int
    dst: PortEnd
    n_sources: int
    at: int
    port: int
    circle: list[int]

class PathValley(TypedDict):
    """A switch `at` which `n_paths` paths come down and go up again, and one pair's end ports."""

    at: int
    n_paths: int
    example: tuple[PortEnd, PortEnd]

class PathSurvey(TypedDict):
    """All paths between all end ports; `hops`: by cables crossed the number of pairs."""

    n_pairs: int
    hops: dict[int, int]
    n_unreachable: int
    unreachable: list[UnreachedLid]
    n_unreachable_lids: int
    valleys: list[PathValley]
    n_valley_paths: int
    n_without_lid: int

class PortLoads(TypedDict):
    """One row a port between switches: paths over it, and different destinations among them."""

    node: NDArray[uint32]
    port: NDArray[uint8]
    n_paths: NDArray[uint64]
    n_lids: NDArray[uint32]

class ShiftLoads(TypedDict):
    """By shift the most paths over one port, and the fullest port of all shifts."""

    shifts: list[int]
    worst: list[int]
    fullest: tuple[int, PortEnd] | None

class BisectionShares(TypedDict):
    """Shares of the end ports' rates; `shares` has one a matching."""

    mean: float
    standard_error: float
    least: float
    most: float
    shares: list[float]

class ChannelCircle(TypedDict):
    """A circle of channels (an egress port and its lane), and how many lie on any circle."""

    channels: list[tuple[PortEnd, int]]
    n_channels: int

class Subnet:
    """A subnet with its forwarding tables. Nodes are named by their index in the description."""

    def description(self) -> str:
        """Everything that was read, as a JSON document."""

    def changed_entries(
        self, before: Subnet, most: int
    ) -> tuple[int, int, list[tuple[int, int, int, int, int]]]:
        """How many entries of tables an account from `before` has too, how many differ, and of the
        first `most` of these: switch, node and port of the adapter, port before and now."""

    def altered(
        self,
        gone: Sequence[int],
        unplugged: Sequence[tuple[int, int]],
        switches: Sequence[tuple[int, str, int, int]],
        cables: Sequence[tuple[tuple[int, int], tuple[int, int], str | None]],
    ) -> Subnet:
        """The subnet without the nodes `gone` and the cables at the ports `unplugged` (node, port),
        then with new switches (GUID, description, number of ports, LID) and cables (ends by the
        node's GUID and the port, rate as '4xHDR'). Tables are those of before; nodes have other
        indices. Raises ValueError for a GUID that is there, and a port that is not free."""

    def survey(self) -> PathSurvey:
        """Lengths of all paths between end ports, paths that do not arrive, valleys."""

    def loads(self, pairs: Sequence[tuple[int, int]] | None = None) -> PortLoads:
        """Paths over every port between switches, of `pairs` of end ports or of all pairs."""

    def shifts(self, most: int) -> ShiftLoads:
        """The fullest port of up to `most` shifts of the end ports."""

    def bisection(self, matchings: int, seed: int) -> BisectionShares | None:
        """Effective bisection bandwidth; None with fewer than two end ports."""

    def credit_loop(self, service_level: int) -> ChannelCircle | None:
        """A credit loop of all paths on a service level; None where there is none."""

    def trace(
        self, node: int, port: int, lid: int, adaptive: bool = False
    ) -> tuple[list[tuple[tuple[int, int], tuple[int, int]]], str | None, bool]:
        """The cables (egress, ingress) from a port to a LID; none and an error if it does not
        arrive; and whether a table that was not read leaves that unknown.

        `adaptive`: every cable that adaptive routing may take.
        """

    def export(
        self, format: str, name: str = "", bits_per_s: int = 0, delay_ps: int = 0
    ) -> tuple[str, list[str]]:
        """The text for `ibsim`, `slurm` or `graphml`, or a `fabric` document as JSON, and the facts
        that it leaves out or changes.

        Of a document: its `name`, `bits_per_s` of cables without a rate, `delay_ps` of all cables.
        """

def read_subnet(paths: list[str], spec_json: str | None = None) -> Subnet:
    """The subnet that files describe, each known by its content ('-': standard input); with a
    fabric document or a generator, no file is read: that one's, with GUIDs and LIDs of its own.

    Raises OSError where a file cannot be read; content that is wrong is part of the description.
    """

def route_subnet(
    subnet: Subnet,
    engine: str | None,
    dead: list[str] | None = None,
    roots: list[int] = ...,
) -> tuple[Subnet, str | None]:
    """The same subnet with the tables of OpenSM's `engine`; `roots` are node GUIDs, if given.

    With `dead`, the tables after the cables at these ports died. And the engine that filled them;
    None where entries over these cables moved.
    """

class HwlocDevice(TypedDict):
    """A PCI bridge or device: its address, its class and ids, the bridge above it, and the NUMA
    nodes that are near. Texts are the file's."""

    bus: str
    ids: str
    above: str | None
    numa_nodes: list[int]

class HwlocHost(TypedDict):
    """What lstopo found: bridges and devices, CPUs by NUMA node, and the first value of each fact
    such as `CPUVendor`."""

    devices: list[HwlocDevice]
    cpus: dict[int, list[int]]
    facts: dict[str, str]

CONGESTION_LAWS: list[tuple[str, str]]
"""The laws of congestion control: the name of each in a scenario, and a sentence about it."""

def read_hwloc(text: str) -> HwlocHost:
    """The PCI tree in a text of `lstopo --of xml`. Raises ValueError(line, what)."""

def read_logs(logs: list[tuple[str, bytes | None]]) -> str:
    """What logs of communication libraries say, as JSON: docs/reference/doctor_log.md.

    Each has a name, and its content where it is no file of that name ('-': standard input).
    Raises OSError where a file cannot be read.
    """

def search_nccl_graphs(job_json: str) -> str:
    """The graphs that a version of NCCL finds on a node, as JSON in the order of the requests.

    Raises ValueError where the document holds something that cannot be.
    """
