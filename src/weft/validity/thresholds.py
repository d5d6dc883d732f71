"""The figures of validity, read from thresholds.toml in this folder."""

import functools
from dataclasses import dataclass

from weft.catalog.toml_file import shipped_figures


@dataclass(frozen=True, slots=True)
class ValidityThresholds:
    """When a run proves nothing. Shares are fractions of 1."""

    quiet_seconds: float
    busy_share: float
    busy_mb_s: float
    clock_share: float
    counted_share: float


@functools.cache
def thresholds() -> ValidityThresholds:
    """The shipped figures."""
    return shipped_figures(ValidityThresholds, "thresholds.toml", "weft.validity_thresholds/1")
