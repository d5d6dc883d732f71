"""Broken documents are refused with the file, the key and what was expected."""

from pathlib import Path

import pytest

from weft.catalog.document import Document, Figure, Gbps, SourceClass, parse_document
from weft.catalog.load import platform
from weft.catalog.toml_file import catalogue_text
from weft.core.errors import InputError


class Rack(Document):
    """A small document to break."""

    name: str
    rate: Gbps


GOOD = """
name = "r1"
[rate]
value = 100
unit = "Gb/s"
class = "sourced"
source = "a data sheet"
"""


def parse(text: str) -> Rack:
    return parse_document(Rack, text, "racks/r1.toml", "rack")


def test_a_figure_keeps_value_unit_class_and_source() -> None:
    rate = parse(GOOD).rate
    assert (rate.value, rate.unit, rate.class_) == (100, "Gb/s", SourceClass.SOURCED)
    assert rate.source == "a data sheet"


def test_an_unverified_figure_gates_nothing() -> None:
    figure = parse(GOOD.replace("sourced", "unverified")).rate
    assert not figure.gates
    assert parse(GOOD).rate.gates


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ("name = ", r"racks/r1.toml: not TOML \("),
        (GOOD.replace("source =", "sauce ="), "racks/r1.toml: unknown key 'rate.sauce'"),
        (GOOD.replace("source =", "sauce ="), "did you mean 'source'"),
        (GOOD.replace("source =", "sauce ="), "expected: one of value, unit, class, source"),
        (GOOD.replace('source = "a data sheet"', ""), "key 'rate.source' is missing"),
        (GOOD.replace('"a data sheet"', '""'), "key 'rate.source' is wrong"),
        (GOOD.replace("100", '"fast"'), "key 'rate.value' is wrong"),
        (GOOD.replace("100", '"fast"'), "valid number, .*, not 'fast'"),
        (
            GOOD.replace("Gb/s", "GB/s"),
            "key 'rate' is wrong\n  expected: a figure in Gb/s, not in GB/s",
        ),
        (GOOD.replace("100", "0"), "expected: a figure above 0 Gb/s, not 0"),
        (GOOD.replace("100", "nan"), "key 'rate.value' is wrong"),
        (GOOD.replace("sourced", "rumoured"), "key 'rate.class' is wrong"),
        (GOOD.replace('"a data sheet"', "3"), "expected: text, in quotes, not 3"),
        ('name = "r1"\nrate = 3\n', "key 'rate' is wrong\n  expected: a table, not 3"),
        (GOOD + "colour = 1", "unknown key 'rate.colour'"),
    ],
)
def test_a_broken_document_says_where_and_what(broken: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse(broken)


def test_figures_are_frozen() -> None:
    figure = parse(GOOD).rate
    with pytest.raises(ValueError, match="frozen"):
        figure.value = 2.0


def test_a_figure_counts_in_whole_things() -> None:
    fields = {"value": 8.0, "unit": "HCAs", "class": "assumed", "source": "assumed: eight"}
    assert Figure.model_validate(fields).whole == 8


@pytest.mark.parametrize("value", ["9" * 5000, "[" * 5000])
def test_what_python_itself_refuses_is_no_toml(value: str) -> None:
    with pytest.raises(InputError, match="not TOML"):
        parse(f"x = {value}\n")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("value = 2048", "value = 0.3", "a figure of 1 B or more"),
        ("value = 31.5", "value = 0", "'hca_pcie' above 0 GB/s"),
    ],
)
def test_a_figure_that_nothing_can_be_divided_by_is_refused(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    text, _ = catalogue_text("platforms/perlmutter.toml")
    assert old in text
    (tmp_path / "mine.toml").write_text(text.replace(old, new))
    with pytest.raises(InputError, match=said):
        platform(str(tmp_path / "mine.toml"))
