"""The judge's figures fit one another."""

from weft.judge.rules import rules


def test_a_half_and_a_double_are_beyond_what_a_curve_may_scatter() -> None:
    assert 1 < rules().curve_factor < 2
    assert rules().published_large < rules().published_small < 2
