"""The study document (schema weft.study/1): factors, benchmarks and repeats."""

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from weft.catalog.document import Document, Slug
from weft.catalog.factors.factor import LiveSwitch, catalogue_factor
from weft.core.nodeset import MOST_NODES
from weft.launch.redact import is_secret


class BenchmarkUse(Document):
    """A benchmark of the catalogue, with the sizes and options this study wants.

    `sizes` is the grammar of `weft.core.units.parse_size_range` ('8', '1:4M'); empty for the
    benchmark's own sizes. `options` override the benchmark's defaults.
    """

    name: Slug
    sizes: str = ""
    options: dict[str, Any] = Field(default_factory=dict)


class FactorSetting(Document):
    """One value of a factor: its effect on a live launch (`env`) and on any backend
    (`options`), and the evidence that proves it was in force. With `live` these are the effect on a
    twin alone, and `live` what puts the setting in force on a machine."""

    name: Slug
    env: dict[str, str] = Field(default_factory=dict)
    options: dict[str, Any] = Field(default_factory=dict)
    evidence: dict[str, Any] = Field(default_factory=dict)
    live: LiveSwitch | None = None

    @field_validator("env")
    @classmethod
    def _no_secrets(cls, env: dict[str, str]) -> dict[str, str]:
        for name, value in env.items():
            if is_secret(name, value):
                raise ValueError(
                    f"no secret, as {name} seems to hold: a run keeps its study, so set it in the "
                    "environment of weft instead"
                )
        return env


class Factor(Document):
    """A variable of a study. The first setting is the baseline. `manual` factors are switched by an
    administrator, so their arms cannot be interleaved. Arms are compared within each setting of a
    `condition`. A setting given by its name alone is that of the catalogue's factor."""

    name: Slug
    settings: tuple[FactorSetting, ...] = Field(min_length=2)
    manual: bool = False
    condition: bool = False

    @model_validator(mode="before")
    @classmethod
    def _settings_by_name(cls, given: Any) -> Any:
        """Raises InputError for a name that the catalogue does not have."""
        listed = given.get("settings") if isinstance(given, dict) else None
        if not isinstance(listed, list | tuple) or not any(isinstance(one, str) for one in listed):
            return given
        factor = catalogue_factor(str(given.get("name")))
        settings = [
            factor.setting(one).model_dump(exclude_none=True) if isinstance(one, str) else one
            for one in listed
        ]
        return {**given, "settings": settings}

    @field_validator("settings")
    @classmethod
    def _settings_are_unique(cls, settings: tuple[FactorSetting, ...]) -> tuple[FactorSetting, ...]:
        _refuse_twice("setting", [setting.name for setting in settings])
        return settings


class Study(Document):
    """The whole document. `nodes` lists node counts; `node_sets` how many sets of each count;
    `twin_nodes` is the size of a twin, where the command line names none; `twin_cabled`, whether
    its adapters are cabled by rails, where the machine's are."""

    schema_: Literal["weft.study/1"] = Field(alias="schema")
    name: Slug
    title: str
    question: str
    twin_nodes: int | None = Field(default=None, ge=1, le=MOST_NODES)
    twin_cabled: bool = False
    seed: int = 1
    repeats: int = Field(default=12, ge=1, le=10_000)
    nodes: tuple[Annotated[int, Field(ge=1, le=MOST_NODES)], ...] = (2,)
    node_sets: int = Field(default=1, ge=1)
    tasks_per_node: tuple[Annotated[int, Field(ge=1)], ...] = (1,)
    benchmarks: tuple[BenchmarkUse, ...] = Field(min_length=1)
    factors: tuple[Factor, ...] = ()
    timeout_s: float = Field(default=300.0, gt=0)
    source: str | None = None

    @field_validator("factors")
    @classmethod
    def _factors_are_unique(cls, factors: tuple[Factor, ...]) -> tuple[Factor, ...]:
        _refuse_twice("factor", [factor.name for factor in factors])
        if factors and all(factor.condition for factor in factors):
            raise ValueError(
                "one factor at least that is compared: arms are compared within each setting of a "
                "condition"
            )
        return factors

    @property
    def blocked_factors(self) -> tuple[str, ...]:
        """Factors whose arms are not interleaved: an administrator switches them."""
        return tuple(one.name for one in self.factors if one.manual and not one.condition)


def _refuse_twice(what: str, names: list[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"each {what} once: '{twice[0]}' appears twice")
