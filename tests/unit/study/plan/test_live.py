"""A study names factors of the catalogue: their effect on a twin, and on a machine."""

from typing import Any

import pytest

from weft.core.errors import InputError
from weft.study.plan.blocks import plan_blocks
from weft.study.plan.document import parse_study
from weft.study.plan.live import on_machine, with_load
from weft.study.plan.model import Study

HEAD = """schema = "weft.study/1"
name = "x"
title = "t"
question = "q?"
[[benchmarks]]
name = "allreduce"
"""


def study(*factors: str) -> Study:
    return parse_study(HEAD + "".join(f"[[factors]]\n{one}\n" for one in factors), "x.toml")


SHARP = 'name = "sharp"\nsettings = ["off", "on"]'
ROUTING = 'name = "adaptive-routing"\nsettings = ["off", "on"]'
PLACEMENT = 'name = "placement"\nsettings = ["packed", "scattered"]'


def test_a_setting_by_name_is_the_catalogues() -> None:
    off, on = study(SHARP).factors[0].settings
    assert (off.options, on.options) == ({}, {"in_network": "platform"})
    assert on.evidence == {"sharp": "on"}


def test_on_a_machine_variables_or_a_person_switch_it() -> None:
    sharp, routing, placement = on_machine(study(SHARP, ROUTING, PLACEMENT)).factors
    on = sharp.settings[1]
    assert (on.env["MV2_ENABLE_SHARP"], on.options) == ("1", {})
    assert on.evidence == {"log": {"sharp": "triggered"}}
    assert [one.manual for one in (sharp, routing, placement)] == [False, True, False]
    assert placement.settings[0].options == {"placement": "packed"}


def test_settings_of_the_studys_own_stay_as_they_are() -> None:
    own = 'name = "sharp"\nsettings = [{ name = "a", env = { A = "1" } }, "on"]'
    first, second = on_machine(study(own)).factors[0].settings
    assert (first.env, second.env["MV2_ENABLE_SHARP"]) == ({"A": "1"}, "1")


def test_slurm_refuses_a_factor_that_an_administrator_switches() -> None:
    with pytest.raises(InputError, match="'adaptive-routing' is switched by an administrator"):
        plan_blocks(study(ROUTING))
    launches = plan_blocks(study(SHARP))
    assert {launch.trial.env["MV2_ENABLE_SHARP"] for launch in launches} == {"0", "1"}


@pytest.mark.parametrize(
    ("factor", "words"),
    [
        ('name = "sharpe"\nsettings = ["off", "on"]', "no factor 'sharpe' in the catalogue"),
        ('name = "sharp"\nsettings = ["off", "onn"]', "factor 'sharp' has no setting 'onn'"),
    ],
)
def test_what_the_catalogue_does_not_have_is_refused(factor: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        study(factor)
    assert caught.value.where == "x.toml"


def test_a_machine_never_gets_an_option_of_twins_alone() -> None:
    options: list[dict[str, Any]] = [
        setting.options
        for factor in on_machine(study(SHARP, ROUTING)).factors
        for setting in factor.settings
    ]
    assert options == [{}] * 4


def test_a_machine_needs_no_noise_of_ours() -> None:
    text = HEAD + 'options = { iterations = 3, host_noise = "platform" }\n'
    assert on_machine(parse_study(text, "x.toml")).benchmarks[0].options == {"iterations": 3}


LOAD = {
    "name": "load",
    "settings": [
        {"name": "alone", "options": {"aggressors": []}},
        {"name": "beside", "options": {"aggressors": ["alltoall@4"]}},
    ],
}


def test_aggressors_are_a_condition_of_arms_or_the_arms_of_a_study_without() -> None:
    assert [one.condition for one in with_load(study(SHARP), LOAD).factors] == [False, True]
    assert [one.condition for one in with_load(study(), LOAD).factors] == [False]
    own = 'name = "neighbour"\nsettings = ["none", "alltoall"]'
    with pytest.raises(InputError, match="names aggressors itself"):
        with_load(study(own), LOAD)
