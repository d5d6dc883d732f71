"""Every mistake of the published recipes is found, on its line, and nothing beside it."""

import pytest
from tests.unit.doctor.published_mistakes import PUBLISHED, PublishedMistake

from weft.catalog.load import launch_recipe, variable_lists
from weft.core.finding import Severity
from weft.doctor.case import DoctorCase
from weft.doctor.lint import lint
from weft.doctor.readers.file import read_job


@pytest.mark.parametrize("one", PUBLISHED, ids=lambda one: one.what)
def test_it_is_found_and_nothing_next_to_it(one: PublishedMistake) -> None:
    job = read_job(one.name, one.text)
    recipe = launch_recipe(one.platform) if one.platform else None
    found = lint(DoctorCase(job, variable_lists(), recipe, one.nccl))
    told = [((each.rule.id, each.found.at.line), each.severity) for each in found]
    named = [what for what, severity in told if severity is not Severity.NOTE or what in one.finds]
    assert sorted(named) == sorted(one.finds), one.source
