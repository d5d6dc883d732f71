"""Azure's machine sizes with InfiniBand, and what holds for a deployment (schema weft.azure/1)."""

import re
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Literal

from pydantic import Field

from weft.catalog.document import Document, Nodes, Slug, Text
from weft.catalog.toml_file import shipped_document
from weft.core.errors import InputError, did_you_mean

PREFIX = "Standard_"
# SOURCE: Microsoft, Azure virtual machine sizes naming conventions: family, vCPUs, constrained
# vCPUs, additive features in lower case ('r': RDMA), accelerator, version.
_NAME = re.compile(r"Standard_(?P<family>[A-Z]{1,4})\d+(-\d+)?(?P<features>[a-z]*)(_\w+)?")

Count = Annotated[int, Field(gt=0, strict=True)]


class Image(Document):
    """An image of Azure's Marketplace."""

    publisher: Text
    offer: Text
    sku: Text
    version: Text
    source: Text


class JumpHost(Image):
    """The small machine with the public address, and its image."""

    size: Text


class Series(Document):
    """Sizes that share a host: `sizes` by whole name, with their cores. `hcas` adapters of
    `rate_gbps` each."""

    name: Text
    platform: Slug | None = None
    fabric: Literal["EDR", "HDR", "NDR"]
    hcas: Count
    rate_gbps: Annotated[float, Field(gt=0)]
    gpus: Annotated[int, Field(ge=0, strict=True)] = 0
    gpu: str = ""
    sizes: dict[Text, Count]
    source: Text


class RefusedSizes(Document):
    """Sizes that have or had RDMA and that no template is written for."""

    sizes: tuple[Text, ...]
    why: Text
    instead: Text
    source: Text


class Azure(Document):
    """All of it. `group_nodes` is what a placement group holds."""

    schema_: Literal["weft.azure/1"] = Field(alias="schema")
    refused_users: tuple[Text, ...]
    refused_users_source: Text
    group_nodes: Nodes
    group_nodes_on_request: Nodes
    image: Image
    jump: JumpHost
    series: tuple[Series, ...]
    refused: tuple[RefusedSizes, ...]


@dataclass(frozen=True, slots=True)
class Size:
    """A size of a series."""

    name: str
    cores: int
    series: Series


@cache
def azure() -> Azure:
    """The shipped document."""
    return shipped_document(Azure, "azure.toml", "list of Azure's sizes")


def azure_size(name: str) -> Size:
    """The size of this name, with or without 'Standard_', in any case. Raises InputError that says
    why there is no template for it."""
    whole = name if name.lower().startswith(PREFIX.lower()) else PREFIX + name
    for series in azure().series:
        for size, cores in series.sizes.items():
            if size.lower() == whole.lower():
                return Size(size, cores, series)
    raise _why_not(whole)


def _why_not(whole: str) -> InputError:
    for refused in azure().refused:
        if whole.lower() in map(str.lower, refused.sizes):
            return InputError(f"{whole}: {refused.why}", expected=refused.instead)
    known = [size for series in azure().series for size in series.sizes]
    largest = ", ".join(next(iter(series.sizes)) for series in azure().series)
    shape = _NAME.fullmatch(whole)
    if shape is not None and "r" not in shape["features"]:
        family = [size for size in known if size.startswith(PREFIX + shape["family"])]
        return InputError(
            f"{whole} has no RDMA: Azure writes an 'r' behind the cores of sizes that have",
            expected=f"a size with InfiniBand: {largest}, or one with fewer of their cores",
            hint=did_you_mean(whole, family),
        )
    return InputError(
        f"no size '{whole[:80]}' with InfiniBand",
        expected=f"{largest}, or one with fewer of their cores such as Standard_HB120-96rs_v3",
        hint=did_you_mean(whole, known),
    )
