"""Ranges of practice."""

import pytest

from weft.catalog.document import parse_document
from weft.catalog.machine.practice import PracticeFigures, practice, practice_figures
from weft.core.errors import InputError


def test_every_range_is_in_order_and_has_a_source() -> None:
    for figure in practice_figures().values():
        assert figure.low <= figure.value <= figure.high
        assert len(figure.source) > 20
        if figure.class_.value == "assumed":
            assert figure.source.startswith("assumed")


def test_a_term_divided_by_a_range_has_its_ends_the_other_way_round() -> None:
    figure = practice("verbs-efficiency")
    low, high = figure.inverse_spread
    assert low < 1 < high
    assert figure.value / low == pytest.approx(figure.high)
    assert figure.value / high == pytest.approx(figure.low)


def test_the_published_pairs_span_less_than_the_range_of_verbs() -> None:
    # SOURCE: Jose & Shainer, UCF 2022: 193.34 to 196.63 Gb/s of 198.74.
    figure = practice("verbs-efficiency")
    assert figure.low <= 193.34 / 198.74 <= figure.value + 0.01
    assert figure.value <= 196.63 / 198.74 <= figure.high


def test_an_unknown_name_gets_a_hint() -> None:
    with pytest.raises(InputError) as raised:
        practice("verbs-eficiency")
    assert raised.value.hint == "did you mean 'verbs-efficiency'?"


def test_a_range_out_of_order_is_refused() -> None:
    text = (
        'schema = "weft.practice/1"\n[figures.x]\nlow = 2\nvalue = 1\nhigh = 3\nunit = "1"\n'
        'class = "assumed"\nsource = "assumed"\n'
    )
    with pytest.raises(InputError, match="low <= value <= high"):
        parse_document(PracticeFigures, text, "mine.toml", "table of practice")
