"""The figures the judge rests on, read from rules.toml beside this file."""

import functools
import tomllib
from dataclasses import dataclass, fields
from importlib import resources
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class _Document(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class _Figure(_Document):
    value: float = Field(gt=0)
    unit: str
    source: str


class _RulesFile(_Document):
    schema_: Literal["weft.judge_rules/1"] = Field(alias="schema")
    rounding: _Figure
    curve_factor: _Figure
    curve_factor_at_end: _Figure
    curve_roughness: _Figure
    curve_gap: _Figure
    placement_factor: _Figure
    placement_from_bytes: _Figure
    digits_to_compare: _Figure
    digits_to_judge: _Figure
    limit_slack: _Figure
    settled_share: _Figure
    unsettled_factor: _Figure
    pairs_share: _Figure
    published_small: _Figure
    published_large: _Figure
    published_large_from: _Figure
    tie: _Figure
    assumption: _Figure
    range_width: _Figure
    evidence: _Figure
    misfit_shown: _Figure
    adapters_from_bytes: _Figure


@dataclass(frozen=True, slots=True)
class Rules:
    """When a row is odd, low or impossible, and how causes are ranked. Units stand in the file."""

    rounding: float
    curve_factor: float
    curve_factor_at_end: float
    curve_roughness: float
    curve_gap: float
    placement_factor: float
    placement_from_bytes: float
    digits_to_compare: float
    digits_to_judge: float
    limit_slack: float
    settled_share: float
    unsettled_factor: float
    pairs_share: float
    published_small: float
    published_large: float
    published_large_from: float
    tie: float
    assumption: float
    range_width: float
    evidence: float
    misfit_shown: float
    adapters_from_bytes: float


@functools.cache
def rules() -> Rules:
    """The shipped figures."""
    text = resources.files("weft.diagnose.judge").joinpath("rules.toml").read_text(encoding="utf-8")
    file = _RulesFile.model_validate(tomllib.loads(text))
    return Rules(**{field.name: getattr(file, field.name).value for field in fields(Rules)})
