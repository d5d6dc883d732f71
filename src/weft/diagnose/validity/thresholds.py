"""The figures behind validity, read from thresholds.toml beside this file."""

import functools
import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class _Document(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class _Figure(_Document):
    value: float = Field(gt=0)
    unit: str
    source: str


class _ThresholdsFile(_Document):
    schema_: Literal["weft.validity_thresholds/1"] = Field(alias="schema")
    quiet_seconds: _Figure
    busy_share: _Figure
    busy_mb_s: _Figure
    clock_share: _Figure
    counted_share: _Figure


@dataclass(frozen=True, slots=True)
class Thresholds:
    """When a run proves nothing. Shares are fractions of 1."""

    quiet_seconds: float
    busy_share: float
    busy_mb_s: float
    clock_share: float
    counted_share: float


@functools.cache
def thresholds() -> Thresholds:
    """The shipped figures."""
    package = resources.files("weft.diagnose.validity")
    text = package.joinpath("thresholds.toml").read_text(encoding="utf-8")
    file = _ThresholdsFile.model_validate(tomllib.loads(text))
    return Thresholds(
        quiet_seconds=file.quiet_seconds.value,
        busy_share=file.busy_share.value,
        busy_mb_s=file.busy_mb_s.value,
        clock_share=file.clock_share.value,
        counted_share=file.counted_share.value,
    )
