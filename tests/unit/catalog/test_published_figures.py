"""Published figures and facts: none lost, each with its source, each named once."""

from collections import Counter

import pytest

from weft.catalog.document import parse_document
from weft.catalog.load import facts, platform, platform_names, published_figures
from weft.catalog.machine.platform import PublishedFigure
from weft.catalog.published_figures import FactList, FigureList, as_figure, facts_of, figures_of
from weft.core.errors import InputError

# How many figures each source has, and facts each topic: a later edit cannot lose one silently.
FIGURES = {
    "Jose & Shainer": 162,
    "Affaticati et al.": 190,
    "Cazes": 65,
    "Kaneshiro": 51,
    "Madonna": 6,
}
FACTS = {
    "link generations": 31,
    "packet headers": 5,
    "efficiency": 8,
    "HBv2": 2,
    "HBv2 latency table": 6,
    "A9 (2013)": 2,
    "message rate": 2,
    "Frontera topology": 15,
    "Frontera node": 3,
    "adaptive routing": 7,
    "fault recovery": 4,
    "fabric topology": 2,
    "congestion control knobs": 11,
    "congestion control": 11,
    "SHARP": 10,
    "SHARP SAT": 4,
    "SHARP on Frontera": 9,
    "SHARP resources": 13,
    "Azure features": 1,
    "GPCNeT": 11,
    "GPCNeT Slingshot": 31,
    "isolation": 1,
    "Grok-1 314B reference": 22,
}

LIST = """
schema = "weft.figures/1"
source = "Author, Title, 2020"

[[groups]]
place = "page 1"
system = "Some machine"
platforms = ["azure-hc"]
figures = [{ id = "some-figure", value = 1, unit = "us", kind = "measured", what = "latency" }]
"""

FACT_LIST = """
schema = "weft.facts/1"

[[topics]]
topic = "links"
facts = [{ id = "some-fact", what = "a rate", value = 1, unit = "Gb/s", source = "A, B, 2020" }]
"""


def all_figures() -> dict[str, PublishedFigure]:
    return {figure.id: figure for own in published_figures().values() for figure in own}


def test_each_source_has_all_its_figures() -> None:
    from_lists = [row for row in all_figures().values() if not row.id.startswith("fact-")]
    assert len(from_lists) == 474
    assert Counter(row.source.split(",")[0] for row in from_lists) == FIGURES


def test_each_topic_has_all_its_facts() -> None:
    assert len(facts()) == 211
    assert Counter(fact.topic for fact in facts()) == FACTS


def test_an_identity_is_one_figure_in_the_whole_catalogue() -> None:
    known = all_figures()
    for owner, own in published_figures().items():
        assert len({figure.id for figure in own}) == len(own), owner
        assert all(known[figure.id] == figure for figure in own), owner
    assert len({fact.id for fact in facts()}) == len(facts())


def test_every_figure_has_a_unit_and_a_source_that_says_something() -> None:
    for figure in all_figures().values():
        assert figure.unit.strip(), figure
        assert len(figure.source.split()) >= 2, figure
        assert figure.place, figure


def test_every_fact_has_a_source() -> None:
    assert all(len(fact.source.split()) >= 2 for fact in facts())


def test_owners_are_platforms_of_the_catalogue() -> None:
    assert set(published_figures()) - {""} <= set(platform_names())
    assert {name for fact in facts() for name in fact.platforms} <= set(platform_names())


@pytest.mark.parametrize("name", ["azure-hb", "azure-hc", "azure-ndv2"])
def test_a_figure_of_a_family_belongs_to_each_member(name: str) -> None:
    figure = next(row for row in platform(name).figures if row.id == "js-edr-msgrate")
    assert (figure.value, figure.unit) == (200, "M messages/second")
    assert figure.system == "Azure HB, HC, NDv2"


def test_errata_stand_apart_from_notes() -> None:
    errata = [row.erratum for row in all_figures().values() if row.erratum]
    assert len(errata) >= 23
    assert not any("ERRATUM" in row.notes for row in all_figures().values())


def test_a_platform_of_ones_own_has_only_its_own_figures(tmp_path: object) -> None:
    from pathlib import Path

    path = Path(str(tmp_path)) / "mine.toml"
    path.write_text('schema = "weft.platform/1"\nname = "azure-hc"\ntitle = "mine"\n')
    assert platform(str(path)).figures == ()


def test_a_list_gives_its_figures_the_place_and_the_source() -> None:
    document = parse_document(FigureList, LIST, "mine.toml", "list of figures")
    ((owners, figure),) = figures_of(document)
    assert owners == ("azure-hc",)
    assert (figure.source, figure.place, figure.system) == (
        "Author, Title, 2020",
        "page 1",
        "Some machine",
    )


def test_a_fact_in_words_is_no_figure() -> None:
    document = parse_document(FactList, FACT_LIST, "mine.toml", "list of facts")
    (number,) = facts_of(document)
    assert as_figure(number) is not None
    words = number.model_copy(update={"value": None, "text": "8b/10b"})
    assert as_figure(words) is None


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("value = 1, ", "", "either a value or a text"),
        ('unit = "Gb/s", ', "", "a value has a unit"),
        ("value = 1, ", 'value = 1, text = "one", ', "either a value or a text"),
        ("value = 1, ", "value = nan, ", "value"),
        ('id = "some-fact"', 'id = "Some Fact"', "id"),
        ('topic = "links"', 'topik = "links"', "unknown key 'topics.0..topik'|topik"),
    ],
)
def test_a_broken_list_of_facts_is_refused(old: str, new: str, message: str) -> None:
    assert old in FACT_LIST
    with pytest.raises(InputError, match=message):
        parse_document(FactList, FACT_LIST.replace(old, new), "mine.toml", "list of facts")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('kind = "measured"', 'kind = "guessed"', "kind"),
        ('unit = "us"', 'unit = ""', "unit"),
        ('source = "Author, Title, 2020"', "", "source"),
        ("value = 1", "value = inf", "value"),
    ],
)
def test_a_broken_list_of_figures_is_refused(old: str, new: str, message: str) -> None:
    assert old in LIST
    with pytest.raises(InputError, match=message):
        parse_document(FigureList, LIST.replace(old, new), "mine.toml", "list of figures")
