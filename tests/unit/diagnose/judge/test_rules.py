"""The judge's figures are data, each with its reason."""

import tomllib
from importlib import resources

from weft.diagnose.judge.rules import Rules, rules


def test_every_figure_has_a_unit_and_a_source() -> None:
    text = resources.files("weft.diagnose.judge").joinpath("rules.toml").read_text()
    figures = {k: v for k, v in tomllib.loads(text).items() if k != "schema"}
    assert set(figures) == set(Rules.__dataclass_fields__)
    assert all(figure["source"] and figure["unit"] for figure in figures.values())


def test_a_half_and_a_double_are_beyond_what_a_curve_may_scatter() -> None:
    assert 1 < rules().curve_factor < 2
    assert rules().published_large < rules().published_small < 2
