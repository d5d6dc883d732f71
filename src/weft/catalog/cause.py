"""Causes (schema weft.causes/1): why a result is slower, or faster, than it should be.

A cause is an alternative expectation: what it caps, what it multiplies, what it adds.
"""

from functools import cache
from typing import Literal

from pydantic import Field, model_validator

from weft.catalog.document import Document, Slug, SourceClass, Text, require_once
from weft.catalog.toml_file import shipped_document

Feature = Literal["several-hcas", "gpus", "nvls", "nvlink", "amd", "roce", "topology-file"]
"""What a platform must have for a cause to be thinkable. "roce": RDMA over Ethernet;
"topology-file": its virtual machines hide PCI distances, which NCCL reads from a file instead."""
Bound = Literal["own", "sockets", "link"]
"""A bound that no row of the series may exceed under a cause: what the cause predicts at best; what
TCP reaches at best; its share of the physical limit."""


class Range(Document):
    """From `low` to `high`; one figure where both are the same."""

    low: float = Field(gt=0, allow_inf_nan=False)
    high: float = Field(gt=0, allow_inf_nan=False)
    unit: Text
    class_: SourceClass = Field(alias="class")
    source: Text
    conditions: str = ""

    @model_validator(mode="after")
    def _in_order(self) -> "Range":
        if self.low > self.high:
            raise ValueError("low is not above high")
        return self


class AlternativeConditions(Document):
    """Conditions that hold instead of the usual ones: what the closed forms then predict.

    `lost_hcas` is how many HCAs of a node carry nothing. `gpudirect` off: through host memory.
    `window` is how many messages are in flight.
    """

    transport: Literal["", "network", "sockets"] = ""
    lost_hcas: int | None = Field(default=None, ge=1)
    gpudirect: bool = True
    algorithm: str = ""
    protocol: str = ""
    window: int | None = Field(default=None, ge=1)


class Evidence(Document):
    """A line of a log, or a condition of the table, that speaks for a cause or against it.

    `pattern` is a regular expression (Python's `re`, searched) over `key`: "log" for log lines,
    "path" for the families of paths that a line leaves (`catalog/paths`), "peak" for the greatest
    peak of the rows over their average, else `NAME VALUE` of a condition of the table.
    """

    key: Text
    pattern: Text
    speaks: Literal["for", "against"]


class Cause(Document):
    """One cause. Exactly one of `instead`, `cap`, `share`, `adds` says what it does; none of them
    for a cause that no figure describes, which is named only where the file speaks for it.

    `cap` is of one HCA, or of a node (`cap_of`), in one direction (GB/s); `share` multiplies every
    rate; `adds` is added to every message (us). `explains` is which rows it is for.
    `benchmarks`, `libraries`, `memory` and `nodes` narrow where it can be; empty is anywhere.
    `assumptions` counts what must coincide. A row beyond one of `bounds` refutes it.
    `only_with_evidence`: its figure fits too much to name it without a word in the file.
    `for_each_lost_hca`: one cause for each number of a node's HCAs that may be lost; its texts hold
    {lost}, {left}, {all} and {more} (left, less one).
    """

    name: Slug
    title: Text
    explains: Literal["low", "impossible", "normal"] = "low"
    sentence: Text
    instead: AlternativeConditions | None = None
    cap: Range | None = None
    cap_of: Literal["hca", "node"] = "hca"
    share: Range | None = None
    adds: Range | None = None
    benchmarks: tuple[Slug, ...] = ()
    libraries: tuple[Literal["mpi", "verbs", "nccl"], ...] = ()
    memory: Literal["", "host", "gpu"] = ""
    nodes: Literal["", "one", "two", "several"] = ""
    needs: tuple[Feature, ...] = ()
    assumptions: int = Field(default=1, ge=1)
    bounds: tuple[Bound, ...] = ()
    only_with_evidence: bool = False
    for_each_lost_hca: bool = False
    evidence: tuple[Evidence, ...] = ()
    confirm: Text
    remedy: Text
    source: Text

    @property
    def takes_sockets(self) -> bool:
        """Whether its traffic takes the kernel's sockets, besides its own effect."""
        return "sockets" in self.bounds and self.instead is None

    @model_validator(mode="after")
    def _one_effect_at_most(self) -> "Cause":
        effects = (self.instead, self.cap, self.share, self.adds)
        if sum(effect is not None for effect in effects) > 1:
            raise ValueError("at most one of instead, cap, share and adds")
        return self

    def expanded(self, n_hcas: int) -> tuple["Cause", ...]:
        """The cause itself, or one for each number of a node's HCAs that may be lost."""
        if not self.for_each_lost_hca:
            return (self,)
        return tuple(self._with_lost(lost, n_hcas) for lost in range(1, n_hcas))

    def _with_lost(self, lost: int, n_hcas: int) -> "Cause":
        left = n_hcas - lost
        words = {"{lost}": lost, "{left}": left, "{all}": n_hcas, "{more}": left - 1}

        def filled(text: str) -> str:
            for word, number in words.items():
                text = text.replace(word, str(number))
            return text

        evidence = (e.model_copy(update={"pattern": filled(e.pattern)}) for e in self.evidence)
        texts = {name: filled(getattr(self, name)) for name in ("title", "sentence")}
        return self.model_copy(
            update={
                **texts,
                "name": f"{self.name}-{lost}-of-{n_hcas}",
                "evidence": tuple(evidence),
                "instead": AlternativeConditions(lost_hcas=lost),
                "for_each_lost_hca": False,
            }
        )


class Causes(Document):
    """The catalogue of causes."""

    schema_: Literal["weft.causes/1"] = Field(alias="schema")
    causes: tuple[Cause, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _one_name_each(self) -> "Causes":
        require_once((cause.name for cause in self.causes), "cause")
        return self


@cache
def causes() -> tuple[Cause, ...]:
    """Every cause of the catalogue, in its order."""
    return shipped_document(Causes, "causes.toml", "catalogue of causes").causes
