"""Thresholds are data, each with its source."""

import tomllib
from importlib import resources

from weft.diagnose.thresholds import Thresholds, thresholds


def test_every_figure_has_a_unit_and_a_source():
    text = resources.files("weft.diagnose").joinpath("thresholds.toml").read_text()
    figures = {k: v for k, v in tomllib.loads(text).items() if k != "schema"}
    assert set(figures) == set(Thresholds.__dataclass_fields__)
    assert all(figure["source"] and figure["unit"] for figure in figures.values())


def test_shares_are_shares():
    limits = thresholds()
    assert 0 < limits.scale_floor < limits.bandwidth_guard < 1
    assert 0.5 <= limits.largest_slow_share < 1
