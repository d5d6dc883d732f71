"""Factors that only machines have: on a twin their arms would be one, and look equal."""

import pytest

from weft.core.errors import InputError
from weft.study.plan.document import parse_study
from weft.study.plan.model import Study
from weft.study.plan.twin import refuse_inert

HEAD = """schema = "weft.study/1"
name = "x"
title = "t"
question = "q?"
[[benchmarks]]
name = "allreduce"
[[factors]]
"""


def study(factor: str) -> Study:
    return parse_study(HEAD + factor, "x.toml")


def own(one: str, other: str) -> str:
    return f'name = "mine"\nsettings = [{{ name = "a", {one} }}, {{ name = "b", {other} }}]'


@pytest.mark.parametrize(
    "factor",
    [
        own('env = { A = "1" }', 'env = { A = "2" }'),
        own("options = { sync = 'barrier' }", "options = { sync = 'window' }"),
        own("options = { iterations = 2, memory = 'host' }", "options = { iterations = 2 }"),
        own("options = { window = 1 }", "options = { window = 2 }"),
        own("options = { seed = 1 }", "options = { seed = 7 }"),
        'name = "partition"\nsettings = ["0x7fff", "0x0021"]',
    ],
)
def test_settings_that_a_twin_does_not_have_are_refused(factor: str) -> None:
    with pytest.raises(
        InputError, match=r"factor '.*': on a twin '.*' are the same, because it ignores"
    ):
        refuse_inert(study(factor))


@pytest.mark.parametrize(
    "factor",
    [
        own("options = { iterations = 1 }", "options = { iterations = 2 }"),
        own("env = {}", "options = {}"),
        'name = "placement"\nsettings = ["packed", "scattered"]',
        'name = "allreduce-algorithm"\nsettings = ["ring", "recursive-doubling"]',
        'name = "sharp"\nsettings = ["off", "on"]',
    ],
)
def test_settings_that_a_twin_has_or_that_do_not_differ_pass(factor: str) -> None:
    refuse_inert(study(factor))
