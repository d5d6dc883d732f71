"""The figures of the judge, read from rules.toml in this folder."""

import functools
from dataclasses import dataclass

from weft.catalog.toml_file import shipped_figures


@dataclass(frozen=True, slots=True)
class Rules:
    """When a row is odd, low or impossible, and how causes are ranked. Units stand in the file."""

    rounding: float
    curve_factor: float
    curve_factor_at_end: float
    curve_roughness: float
    curve_gap: float
    placement_factor: float
    placement_from_bytes: int
    digits_to_compare: float
    digits_to_judge: float
    limit_slack: float
    lone_row_slack: float
    settled_share: float
    unsettled_factor: float
    pairs_share: float
    published_small: float
    published_large: float
    published_large_from: int
    tie: float
    assumption: float
    range_width: float
    evidence: float
    misfit_shown: float
    adapters_from_bytes: int
    bound_slack: float
    same_condition: float
    same_condition_from: int
    same_condition_least: int
    too_wide: float


@functools.cache
def rules() -> Rules:
    """The shipped figures."""
    return shipped_figures(Rules, "rules.toml", "weft.judge_rules/1")
