"""The figures a verdict rests on, read from thresholds.toml beside this file."""

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
    schema_: Literal["weft.thresholds/1"] = Field(alias="schema")
    bandwidth_guard: _Figure
    latency_guard: _Figure
    latency_guard_without_fabric: _Figure
    scale_floor: _Figure
    false_alarms_a_run: _Figure
    smallest_z: _Figure
    smallest_class: _Figure
    smallest_fabric: _Figure
    largest_slow_share: _Figure
    retest_limit: _Figure
    retest_times: _Figure


@dataclass(frozen=True, slots=True)
class Thresholds:
    """When a pair is slow. Guards, floor and shares are fractions of 1."""

    bandwidth_guard: float
    latency_guard: float
    latency_guard_without_fabric: float
    scale_floor: float
    false_alarms_a_run: float
    smallest_z: float
    smallest_class: int
    smallest_fabric: int
    largest_slow_share: float
    retest_limit: int
    retest_times: int


@functools.cache
def thresholds() -> Thresholds:
    """The shipped figures."""
    text = resources.files("weft.diagnose").joinpath("thresholds.toml").read_text(encoding="utf-8")
    file = _ThresholdsFile.model_validate(tomllib.loads(text))
    return Thresholds(
        bandwidth_guard=file.bandwidth_guard.value,
        latency_guard=file.latency_guard.value,
        latency_guard_without_fabric=file.latency_guard_without_fabric.value,
        scale_floor=file.scale_floor.value,
        false_alarms_a_run=file.false_alarms_a_run.value,
        smallest_z=file.smallest_z.value,
        smallest_class=int(file.smallest_class.value),
        smallest_fabric=int(file.smallest_fabric.value),
        largest_slow_share=file.largest_slow_share.value,
        retest_limit=int(file.retest_limit.value),
        retest_times=int(file.retest_times.value),
    )
