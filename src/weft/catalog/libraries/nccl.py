"""NCCL's own constants (schema weft.nccl/1), one document a range of versions."""

from functools import cache
from typing import Annotated, Literal, get_args

from pydantic import Field, model_validator

from weft.catalog.document import Document, Text
from weft.catalog.toml_file import catalogue_document, catalogue_names
from weft.core.errors import InputError

Architecture = Literal["volta", "ampere", "hopper", "blackwell", "cdna2", "cdna3"]
Cpu = Literal["intel", "amd", "arm"]
Protocol = Literal["ll", "ll128", "simple"]
Algorithm = Literal["ring", "tree", "nvls", "nvlstree", "collnetdirect", "collnetchain", "pat"]

PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)
ALGORITHMS: tuple[Algorithm, ...] = get_args(Algorithm)

PAYLOAD_SHARES: dict[Protocol, float] = {"ll": 0.5, "ll128": 120 / 128, "simple": 1.0}
"""Payload of the bytes that a protocol sends. SOURCE: NVIDIA/nccl, src/device/prims_ll.h and
prims_ll128.h: flags of 4 in 8 bytes, of 8 in 128."""

Share = Annotated[float, Field(gt=0, le=1)]
Amount = Annotated[float, Field(ge=0)]
ByProtocol = tuple[Amount, Amount, Amount]
ByNodes = tuple[Amount, Amount, Amount]


class LowLatencyRates(Document):
    """The highest rate of protocol LL, in GB/s: by GPU on one node, by CPU on more."""

    one_node: dict[Architecture, Amount]
    two_nodes: dict[Cpu, Amount]
    more: dict[Cpu, Amount]


class NcclConstants(Document):
    """The tuner's constants of the versions from `first` on: latencies in us, rates in GB/s."""

    schema_: Literal["weft.nccl/1"] = Field(alias="schema")
    version: Text
    first: Text
    source: Text
    notes: tuple[str, ...] = ()
    nvls_rule: Literal["per_channel_cap", "half_of_network"]
    ring_ll_share: Share
    plateau: Annotated[float, Field(ge=1)]
    plateau_before_ampere: Annotated[float, Field(ge=1)]
    tree_share: Share
    tree_ll_share: Share
    pat_share: Share
    ll128_share: Share
    collnet_direct_share: Share
    base_latency_us: dict[Algorithm, ByProtocol]
    nvlink_latency_us: dict[Algorithm, ByProtocol]
    pci_latency_us: dict[Algorithm, ByProtocol]
    net_latency_us: dict[Algorithm, ByProtocol]
    net_overhead_us: dict[Cpu, Amount]
    ll_gb_s: LowLatencyRates
    ring_ll128_channel_gb_s: dict[Architecture, ByNodes]
    tree_ll128_channel_gb_s: dict[Architecture, ByNodes]
    tree_channel_gb_s: dict[Architecture, ByNodes]
    nvls_tree_channel_gb_s: dict[Architecture, ByNodes]
    nvls_efficiency: dict[Architecture, Share]
    tree_correction: dict[Protocol, tuple[Share, ...]]

    @model_validator(mode="after")
    def _tables_are_whole(self) -> "NcclConstants":
        latencies = (self.base_latency_us, self.nvlink_latency_us, self.net_latency_us)
        for table in (*latencies, self.pci_latency_us):
            absent = next((name for name in ALGORITHMS if name not in table), None)
            if absent is not None:
                raise ValueError(f"a latency for each algorithm; {absent} has none")
        without = next((name for name in PROTOCOLS if name not in self.tree_correction), None)
        if without is not None:
            raise ValueError(f"a correction of trees for protocol {without}")
        return self


class NcclHardware(Document):
    """GB/s of one NVLink in one direction: as NCCL counts it, and at most; `pcie_raw_share` is what
    PCIe carries at most over what NCCL counts. From version `alternating_rings_from` on rings leave
    a node by another adapter than they enter by."""

    schema_: Literal["weft.nccl-hardware/1"] = Field(alias="schema")
    source: Text
    raw_source: Text
    pcie_raw_share: Annotated[float, Field(ge=1)]
    pcie_source: Text
    alternating_rings_from: Text
    alternating_rings_source: Text
    nvlink_link_gb_s: dict[Architecture, Amount]
    nvlink_link_raw_gb_s: dict[Architecture, Amount]


@cache
def nccl_constants(version: str = "") -> NcclConstants:
    """The constants of a version such as '2.26.5' ('' for the newest known). Raises InputError."""
    documents = _documents()
    if not version:
        return documents[-1]
    wanted = version_numbers(version)
    fitting = [document for document in documents if version_numbers(document.first) <= wanted]
    if not fitting:
        raise InputError(
            f"no constants of NCCL {version}", expected=f"version {documents[0].first} or newer"
        )
    return fitting[-1]


@cache
def nccl_hardware() -> NcclHardware:
    """Rates of links that do not depend on the version."""
    return catalogue_document(NcclHardware, "nccl/hardware.toml", "table")


def has_alternating_rings(version: str) -> bool:
    """Whether rings of a version ('' for the newest) need no hop over NVLink to close between
    nodes. Raises InputError."""
    first = version_numbers(nccl_hardware().alternating_rings_from)
    return not version or version_numbers(version) >= first


@cache
def _documents() -> tuple[NcclConstants, ...]:
    documents = (
        catalogue_document(NcclConstants, f"nccl/{name}.toml", "NCCL table")
        for name in catalogue_names("nccl")
        if name != "hardware"
    )
    return tuple(sorted(documents, key=lambda document: version_numbers(document.first)))


def version_numbers(version: str) -> tuple[int, ...]:
    """'2.26.5', 'v2.26.5-1' or '2.26.5+cuda12.6' as numbers. Raises InputError."""
    parts = version.removeprefix("v").split("+", 1)[0].split("-", 1)[0].split(".")
    try:
        return tuple(int(part) for part in parts)
    except ValueError as error:
        raise InputError(
            f"'{version}' is not a version of NCCL", expected="numbers and dots, such as 2.28.3"
        ) from error
