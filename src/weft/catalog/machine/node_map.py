"""Where the devices of a node hang, as a platform knows it."""

from typing import Annotated

from pydantic import Field

from weft.catalog.document import Document, SourceClass, Text

BusId = Annotated[str, Field(pattern=r"^[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$")]
CpuList = Annotated[str, Field(pattern=r"^\d+(-\d+)?(,\d+(-\d+)?)*$")]


class DeviceGroup(Document):
    """GPUs and adapters that are near each other, by bus id; as many of both belong in pairs."""

    gpus: tuple[BusId, ...] = ()
    hcas: tuple[BusId, ...] = ()


class NumaNode(Document):
    """A NUMA node: its number, its CPUs as `0-23,48`, and what hangs on it."""

    id: int = Field(ge=0)
    cpus: CpuList
    groups: tuple[DeviceGroup, ...] = Field(min_length=1)


class NodeMap(Document):
    """A node's processors and PCI devices. `link_speed` in the words of NCCL's file. `bridged`: the
    file makes up a bridge above each group, because the machine does not show the real ones."""

    class_: SourceClass = Field(alias="class")
    source: Text
    architecture: Text
    vendor: Text
    family: int = Field(ge=0)
    model: int = Field(ge=0)
    link_speed: Text
    link_width: int = Field(ge=1, le=32)
    bridged: bool
    numa: tuple[NumaNode, ...] = Field(min_length=1)
