"""200 recipes with one mistake each: it is found, on its line, and nothing else is said."""

import pytest
from tests.unit.doctor.recipe_errata import RECIPE_ERRATA
from tests.unit.doctor.recipe_mistakes import PLANTERS, planted
from tests.unit.doctor.script import FORMS, VERSIONS, RecipeMistake, clean_script

from weft.catalog.load import launch_recipe, launch_recipe_names, variable_lists
from weft.core.finding import Severity
from weft.doctor.case import DoctorCase
from weft.doctor.lint import lint
from weft.doctor.readers.file import read_job

N = 200
SEED = 9
PLANTED = list(planted(N, SEED))


def found_in(one: RecipeMistake) -> list[tuple[str, int]]:
    """What is found beside the recipe's own errata."""
    script, name = one.script, one.script.recipe.name
    found = complaints_of(script.text, name, script.version, script.nodes, one.rule)
    return [(rule, line) for rule, line in found if (name, rule) not in RECIPE_ERRATA]


def complaints_of(
    text: str, name: str, version: str, nodes: int, planted_rule: str = ""
) -> list[tuple[str, int]]:
    """(rule, line) of all that is more than a note, and of notes of the planted rule."""
    job = read_job("job.sh", text)
    case = DoctorCase(job, variable_lists(), launch_recipe(name), version, n_nodes=nodes)
    return [
        (one.rule.id, one.found.at.line)
        for one in lint(case)
        if one.severity is not Severity.NOTE or one.rule.id == planted_rule
    ]


@pytest.mark.parametrize(
    "one",
    PLANTED,
    ids=[f"{i}-{one.planter}-{one.script.form}" for i, one in enumerate(PLANTED)],
)
def test_the_planted_mistake_is_found_and_nothing_else(one: RecipeMistake) -> None:
    assert found_in(one) == [(one.rule, one.line)], one.script.text


def test_all_machines_forms_and_mistakes_are_tried() -> None:
    assert {one.script.recipe.name for one in PLANTED} == set(launch_recipe_names())
    assert {one.script.form for one in PLANTED} == set(FORMS)
    assert {one.script.version for one in PLANTED} == set(VERSIONS)
    assert {one.planter for one in PLANTED} == set(PLANTERS)
    assert len({one.rule for one in PLANTED}) >= 50


@pytest.mark.parametrize("name", launch_recipe_names())
def test_a_machines_own_recipe_is_clean_but_for_its_noted_errata(name: str) -> None:
    errata = " ".join(one.printed for one in launch_recipe(name).errata)
    n_scripts = 0
    for form in FORMS:
        for version in VERSIONS:
            for nodes in (1, 2, 4, 16):
                for sharp in (False, True):
                    script = clean_script(name, form, version, nodes, sharp=sharp)
                    if script is None:
                        continue
                    n_scripts += 1
                    for rule, line in complaints_of(script.text, name, version, nodes):
                        noted = RECIPE_ERRATA.get((name, rule))
                        assert noted is not None, (rule, line, script.text)
                        assert noted in errata
    assert n_scripts >= len(FORMS) * len(VERSIONS) * 4
