"""GPU products (schema weft.gpu_products/1): their printed names, and their links in a node."""

import re
from collections.abc import Iterable
from functools import cache
from typing import Annotated, Literal

from pydantic import Field, model_validator

from weft.catalog.document import Document, RegularExpression, Slug, Text, require_once
from weft.catalog.toml_file import shipped_document

PciId = Annotated[str, Field(pattern=r"^[0-9a-f]{4}:[0-9a-f]{4}$")]


class GpuProduct(Document):
    """One product. `link` names the path class of its links to other GPUs ("": PCIe only),
    `links` how many it has, `seen_gb_s` one of them as NCCL counts it; `switched`: through
    NVSwitches; `reduces`: those reduce (NVLS). `pci_ids` are vendor:device as 1002:74a1."""

    name: Slug
    title: Text
    patterns: tuple[RegularExpression, ...] = Field(min_length=1)
    link: Slug | Literal[""] = ""
    links: int = Field(default=0, ge=0)
    seen_gb_s: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    architecture: Literal["volta", "ampere", "hopper", "blackwell", "cdna2", "cdna3"]
    switched: bool = False
    reduces: bool = False
    pcie: Slug
    pci_ids: tuple[PciId, ...] = ()
    source: Text


class GpuProducts(Document):
    """The catalogue of products."""

    schema_: Literal["weft.gpu_products/1"] = Field(alias="schema")
    products: tuple[GpuProduct, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _one_name_each(self) -> "GpuProducts":
        require_once((product.name for product in self.products), "product")
        return self


@cache
def gpu_products() -> tuple[GpuProduct, ...]:
    """Every product, in the order of the catalogue: the first whose pattern is found is meant."""
    return shipped_document(GpuProducts, "gpu_products.toml", "catalogue of GPUs").products


def product_of(names: Iterable[str]) -> GpuProduct | None:
    """The product that device names print; None where none does, or several."""
    found = {
        product.name: product
        for name in names
        for product in [_product(name)]
        if product is not None
    }
    return next(iter(found.values())) if len(found) == 1 else None


@cache
def _product(name: str) -> GpuProduct | None:
    for product in gpu_products():
        if any(re.search(pattern, name) for pattern in product.patterns):
            return product
    return None
