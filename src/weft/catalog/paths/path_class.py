"""Path classes (schema weft.path_classes/1): kinds of paths that rows of a benchmark tell apart.

A family shares a transport and a range of latencies; a class is one rate of it.
"""

from functools import cache
from typing import Literal

from pydantic import Field, model_validator

from weft.catalog.cause import Range
from weft.catalog.document import Document, RegularExpression, Slug, SourceClass, Text, require_once
from weft.catalog.toml_file import shipped_document

Transport = Literal["memory", "rdma", "sockets", "bus", "gpu-link"]


class Share(Document):
    """The share of a rate that large messages reach, from `low` to `high`."""

    low: float = Field(ge=0, le=1, allow_inf_nan=False)
    high: float = Field(gt=0, le=1, allow_inf_nan=False)
    unit: Literal["1"]
    class_: SourceClass = Field(alias="class")
    source: Text


class PathClass(Document):
    """One rate of a family: data bits a second of one link in one direction, after line code.

    `counts` is how many links two ends commonly have. `adapters`: network adapters have such a
    slot. `uncommon`: named only where no other class fits.
    """

    name: Slug
    title: Text
    gbps: float = Field(gt=0, allow_inf_nan=False)
    counts: tuple[int, ...] = (1,)
    adapters: bool = True
    uncommon: bool = False
    source: Text

    @property
    def gb_s(self) -> float:
        """The rate of one link in GB/s."""
        return self.gbps / 8


class PathFamily(Document):
    """Classes of one transport. `latency_us` is the one-way time of the smallest messages,
    `pair_rate_mps` how many of them one pair of ranks in host memory sends in a stream (10^6/s).

    `named_only`: meant only where the file names it. `own_interface` is what its libraries use
    where verbs reach it, too, but slowly. `takes_several_pairs`: one pair does not fill it.
    """

    name: Slug
    title: Text
    transport: Transport
    latency_us: Range | None = None
    pair_rate_mps: Range | None = None
    share: Share
    named_only: bool = False
    takes_several_pairs: bool = False
    own_interface: str = ""
    classes: tuple[PathClass, ...] = ()


class PathProof(Document):
    """A text in a result file that leaves only some families. `asks`: somebody chose it."""

    pattern: RegularExpression
    says: Text
    families: tuple[Slug, ...] = Field(min_length=1)
    asks: bool


class PathClasses(Document):
    """The catalogue of path classes."""

    schema_: Literal["weft.path_classes/1"] = Field(alias="schema")
    families: tuple[PathFamily, ...] = Field(min_length=1)
    proofs: tuple[PathProof, ...] = ()

    @model_validator(mode="after")
    def _names_hold(self) -> "PathClasses":
        require_once((family.name for family in self.families), "family")
        require_once((one.name for family in self.families for one in family.classes), "class")
        known = {family.name for family in self.families}
        unknown = {name for proof in self.proofs for name in proof.families} - known
        if unknown:
            raise ValueError(f"a proof names the unknown family '{min(unknown)}'")
        return self

    def class_of(self, name: str) -> tuple[PathFamily, PathClass]:
        """A class and its family. Raises KeyError where there is none of that name."""
        for family in self.families:
            for one in family.classes:
                if one.name == name:
                    return family, one
        raise KeyError(name)

    def of_transport(self, *transports: Transport) -> tuple[PathFamily, ...]:
        """The families of some transports, in the order of the catalogue."""
        return tuple(family for family in self.families if family.transport in transports)


@cache
def path_classes() -> PathClasses:
    """The shipped catalogue of path classes."""
    return shipped_document(PathClasses, "path_classes.toml", "catalogue of path classes")
