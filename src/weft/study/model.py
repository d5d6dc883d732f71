"""The study document (schema weft.study/1): what is varied, what is measured, how often."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

STUDY_SCHEMA = "weft.study/1"
Slug = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")]


class _Document(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class BenchmarkUse(_Document):
    """A benchmark of the catalogue, with the sizes and options this study wants.

    `sizes` is the grammar of `weft.core.units.parse_size_range` ('8', '1:4M'); empty for the
    benchmark's own sizes. `options` override the benchmark's defaults.
    """

    name: Slug
    sizes: str = ""
    options: dict[str, Any] = Field(default_factory=dict)


class Setting(_Document):
    """One value of a factor: what it means to a live launch (`env`) and to any backend
    (`options`), and the evidence that proves it was in force."""

    name: Slug
    env: dict[str, str] = Field(default_factory=dict)
    options: dict[str, Any] = Field(default_factory=dict)
    evidence: dict[str, Any] = Field(default_factory=dict)


class Factor(_Document):
    """What a study varies. The first setting is the baseline. `manual` factors are switched by an
    administrator, so their arms cannot be interleaved."""

    name: Slug
    settings: tuple[Setting, ...] = Field(min_length=2)
    manual: bool = False


class Study(_Document):
    """The whole document. `nodes` lists node counts; `node_sets` how many sets of each count."""

    schema_: Literal["weft.study/1"] = Field(alias="schema")
    name: Slug
    title: str
    question: str
    seed: int = 1
    repeats: int = Field(default=12, ge=1, le=10_000)
    nodes: tuple[Annotated[int, Field(ge=1)], ...] = (2,)
    node_sets: int = Field(default=1, ge=1)
    tasks_per_node: tuple[Annotated[int, Field(ge=1)], ...] = (1,)
    benchmarks: tuple[BenchmarkUse, ...] = Field(min_length=1)
    factors: tuple[Factor, ...] = ()
    timeout_s: float = Field(default=300.0, gt=0)
    source: str | None = None

    @model_validator(mode="after")
    def _names_are_unique(self) -> "Study":
        for what, names in (
            ("factor", [factor.name for factor in self.factors]),
            *(
                (f"setting of factor '{factor.name}'", [s.name for s in factor.settings])
                for factor in self.factors
            ),
        ):
            twice = {name for name in names if names.count(name) > 1}
            if twice:
                raise ValueError(f"{what} '{sorted(twice)[0]}' appears twice")
        return self
