"""A platform with one figure at another value."""

from weft.catalog.document import SourceClass
from weft.catalog.load import platform
from weft.catalog.machine.platform import figures
from weft.catalog.machine.scaling import UNSURE, unsure_figures


def test_each_unsure_figure_alone_is_changed() -> None:
    machine = platform("frontera")
    before = dict(figures(machine))
    for name, scaled in unsure_figures(machine):
        if name not in before:
            continue  # Costs of all regimes together.
        after = dict(figures(scaled(2)))
        assert after[name].value == 2 * before[name].value
        assert before[name].class_ in UNSURE
        assert {key for key in before if after[key] != before[key]} == {name}


def test_no_figure_with_a_source_is_among_them() -> None:
    names = {name for name, _ in unsure_figures(platform("frontera"))}
    sourced = {
        name
        for name, figure in figures(platform("frontera"))
        if figure.class_ is SourceClass.SOURCED
    }
    assert sourced
    assert not names & sourced
    assert "switch.buffer" in names
