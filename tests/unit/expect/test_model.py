"""Terms, what limits a sum of them, and how far a class of figure is trusted."""

from weft.catalog.document import SourceClass
from weft.expect.model import SPREAD, Term, largest, weakest_source

WIRE = Term("link rate", 100.0, SourceClass.SOURCED)
HOST = Term("host overheads", 300.0, SourceClass.FITTED)
SWITCH = Term("switch delay", 130.0, SourceClass.ASSUMED)
NOTHING = Term("adapter latency", 0.0, SourceClass.UNVERIFIED)


def test_the_longest_term_limits() -> None:
    assert largest([WIRE, HOST, SWITCH]) is HOST


def test_an_assumed_figure_may_be_off_by_two_either_way() -> None:
    assert (SWITCH.low_ns, SWITCH.high_ns) == (65.0, 260.0)


def test_the_less_a_class_is_trusted_the_wider_its_interval() -> None:
    order = [SourceClass.SOURCED, SourceClass.PUBLISHED, SourceClass.FITTED, SourceClass.ASSUMED]
    widths = [SPREAD[class_][1] / SPREAD[class_][0] for class_ in order]
    assert widths == sorted(widths)
    assert set(SPREAD) == set(SourceClass)


def test_the_weakest_class_comes_first_and_absent_terms_do_not_count() -> None:
    said = weakest_source("mine", [WIRE, HOST, SWITCH, NOTHING])
    assert said == "platform mine: assumed, fitted, sourced"
