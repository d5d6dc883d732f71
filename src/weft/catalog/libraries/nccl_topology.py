"""NCCL's reading of the words and numbers of a topology file (schema weft.nccl-topology/1)."""

from functools import cache
from typing import Annotated, Literal

from pydantic import Field

from weft.catalog.document import Document, Text
from weft.catalog.toml_file import catalogue_document

Positive = Annotated[float, Field(gt=0)]
LibraryVersion = tuple[int, int, int]
OLDEST = (0, 0, 0)
NodeKind = Literal["PCI", "NVS", "CPU", "GPU", "NIC"]


class IntelModel(Document):
    """Family 6 from a model on, or of this one only: GB/s between two sockets."""

    model: int
    gb_s: Positive
    only: bool = False
    since: LibraryVersion = OLDEST


class AmdFamily(Document):
    """GB/s between two sockets of a family; 0 stands for the others."""

    family: int
    gb_s: Positive
    since: LibraryVersion = OLDEST


class NvlinkRate(Document):
    """From a compute capability on, or of this one only: GB/s of one NVLink, one direction."""

    sm: int
    gb_s: Positive
    only: bool = False


class GpuModel(Document):
    """A GPU by its PCI device id; `nvlinks` None where machines differ."""

    device: Text
    model: Text
    sm: int
    nvlinks: int | None = None


class NcclTopology(Document):
    """The tables of one version; pairs are matched from the beginning of a value, in order."""

    schema_: Literal["weft.nccl-topology/1"] = Field(alias="schema")
    source: Text
    version: Text
    classes: tuple[tuple[Text, NodeKind], ...]
    speeds: tuple[tuple[Text, int], ...]
    unknown_speed: int
    unsaid_width: int
    levels: tuple[Text, ...]
    local_gb_s: Positive
    unsaid_net_mb_s: int
    architectures: tuple[Text, ...]
    vendors: tuple[Text, ...]
    sm: dict[Text, int]
    sockets: dict[Text, Positive]
    intel: tuple[IntelModel, ...]
    amd: tuple[AmdFamily, ...]
    nvlink: tuple[NvlinkRate, ...]
    gpus: tuple[GpuModel, ...] = Field(alias="gpu")

    def of_version(self, version: LibraryVersion) -> "NcclTopology":
        """The tables as an older version has them: without what came later."""
        return self.model_copy(
            update={
                "intel": tuple(one for one in self.intel if one.since <= version),
                "amd": tuple(one for one in self.amd if one.since <= version),
            }
        )

    def kind(self, class_: str) -> NodeKind | None:
        """The kind of a PCI class, None where NCCL knows none that it begins with."""
        return next((kind for start, kind in self.classes if class_.startswith(start)), None)

    def speed(self, link_speed: str) -> int | None:
        """100 Mb/s a lane of a link speed, None where NCCL does not know the words."""
        return next((value for start, value in self.speeds if link_speed.startswith(start)), None)

    def level(self, number: int) -> str:
        """The level that a number stands for (NCCL_NET_GDR_LEVEL, NCCL_P2P_LEVEL), from 0 on."""
        return self.levels[min(number, len(self.levels) - 1)]

    def pci_gb_s(self, link_speed: str, width: int) -> float:
        """GB/s that NCCL counts for a PCIe link."""
        speed = self.speed(link_speed)
        lanes = width or self.unsaid_width
        return lanes * (self.unknown_speed if speed is None else speed) / 80

    def intel_gb_s(self, family: int, model: int) -> float:
        """GB/s between two sockets of Intel."""
        fitting = (
            one for one in self.intel if (model == one.model if one.only else model >= one.model)
        )
        return next(fitting, self.intel[-1]).gb_s if family == 6 else self.intel[-1].gb_s

    def amd_gb_s(self, family: int) -> float:
        """GB/s between two sockets of AMD."""
        return next((one.gb_s for one in self.amd if one.family in (family, 0)), self.local_gb_s)

    def nvlink_gb_s(self, sm: int) -> float:
        """GB/s that NCCL counts for one NVLink of a GPU."""
        fitting = (one for one in self.nvlink if (sm == one.sm if one.only else sm >= one.sm))
        return next((one.gb_s for one in fitting), self.nvlink[-1].gb_s)

    def gpu(self, device: str) -> GpuModel | None:
        """The GPU of a device id such as '0x20b0'."""
        return next((one for one in self.gpus if one.device == device.lower()), None)


@cache
def nccl_topology() -> NcclTopology:
    """The tables."""
    return catalogue_document(NcclTopology, "nccl_topology.toml", "table")
