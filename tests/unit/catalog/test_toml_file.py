"""Figures beside code have value, unit and source; a broken file says where it is wrong."""

import tomllib
from dataclasses import dataclass
from importlib import resources

import pytest

from weft.bench.rdma.verdict import thresholds as rdma_thresholds
from weft.catalog.toml_file import figures_of, shipped_figures
from weft.check.schedule.cost import figures as check_cost
from weft.check.thresholds import thresholds as check_thresholds
from weft.core.errors import InputError
from weft.judge.rules import rules as judge_rules
from weft.validity.thresholds import thresholds as validity_thresholds


@dataclass(frozen=True, slots=True)
class Limits:
    """Two figures to break."""

    least_share: float
    fewest: int


GOOD = """
schema = "limits/1"
[least_share]
value = 1
unit = "share"
source = "chosen: all of it"
[fewest]
value = 8
unit = "readings"
source = "arithmetic"
"""


def read(text: str) -> Limits:
    return figures_of(Limits, text, "racks/limits.toml", "limits/1")


def test_fields_have_the_values_and_types_of_the_dataclass() -> None:
    limits = read(GOOD)
    assert limits == Limits(least_share=1.0, fewest=8)
    assert (type(limits.least_share), type(limits.fewest)) == (float, int)


@pytest.mark.parametrize(
    ("good", "broken", "message"),
    [
        (
            "[fewest]",
            "[fewer]",
            "unknown key 'fewer'\n.*one of .*least_share, fewest.*\n.*'fewest'",
        ),
        ("[fewest]", "[other.fewest]", "unknown key 'other'"),
        ('source = "arithmetic"', "", "key 'fewest.source' is missing"),
        ('unit = "share"', "", "key 'least_share.unit' is missing"),
        ("value = 8", "", "key 'fewest.value' is missing"),
        ('"arithmetic"', '""', "key 'fewest.source' is wrong"),
        ("value = 8", "value = 8.5", "key 'fewest.value' is wrong\n.*a whole number, not 8.5"),
        ("value = 8", "value = 0", "key 'fewest.value' is wrong\n.*greater than 0, not 0"),
        ("value = 1", "value = true", "key 'least_share.value' is wrong\n.*number, not True"),
        ("value = 1", 'value = "1"', "key 'least_share.value' is wrong\n.*number, not '1'"),
        ("value = 1", "value = inf", "key 'least_share.value' is wrong"),
        ("value = 1", "value = 1\nnote = 2", "unknown key 'least_share.note'"),
        ("limits/1", "limits/2", "key 'schema' is wrong\n.*'limits/1', not 'limits/2'"),
        ('schema = "limits/1"', "", "key 'schema' is missing"),
        ("value = 1", "value =", "not TOML"),
    ],
)
def test_a_broken_file_is_refused(good: str, broken: str, message: str) -> None:
    assert GOOD.count(good) == 1
    with pytest.raises(InputError, match=f"racks/limits.toml: {message}"):
        read(GOOD.replace(good, broken))


def test_a_table_that_is_missing_is_named() -> None:
    with pytest.raises(InputError, match=r"racks/limits\.toml: key 'fewest' is missing"):
        read(GOOD[: GOOD.index("[fewest]")])


@pytest.mark.parametrize(
    ("figures", "package", "name"),
    [
        (check_thresholds(), "weft.check", "thresholds.toml"),
        (check_cost(), "weft.check.schedule", "cost.toml"),
        (validity_thresholds(), "weft.validity", "thresholds.toml"),
        (judge_rules(), "weft.judge", "rules.toml"),
        (rdma_thresholds(), "weft.bench.rdma", "thresholds.toml"),
    ],
)
def test_every_figure_of_a_file_is_in_force(figures: object, package: str, name: str) -> None:
    tables = tomllib.loads(resources.files(package).joinpath(name).read_text("utf-8"))
    del tables["schema"]
    in_force = {field: getattr(figures, field) for field in type(figures).__annotations__}
    assert in_force == {field: table["value"] for field, table in tables.items()}


def test_a_shipped_file_is_named_by_its_place() -> None:
    with pytest.raises(InputError, match=r"^judge/rules\.toml: .*'schema' is wrong"):
        shipped_figures(type(judge_rules()), "rules.toml", "weft.judge_rules/0")
