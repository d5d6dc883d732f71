"""The command that would decide: the run's own, with more units."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.mock_backend import MockBackend

from weft.study.comparison.comparison import compare_arms
from weft.study.comparison.larger_run import larger_command, without_option
from weft.study.run.store import StudyRun

RunStudy = Callable[..., StudyRun]
ARGV = ["study", "run", "a b.toml", "--repeats", "4", "--dir=x", "--resume", "--seed", "3"]


def test_the_command_of_the_run_with_more_repeats(run_study: RunStudy, two_arms: str) -> None:
    run = run_study(factors=two_arms, repeats=4)
    run = replace(run, meta={**run.meta, "argv": ARGV})
    command = larger_command(run, compare_arms(run).findings)
    assert command == "weft study run 'a b.toml' --seed 3 --repeats 6"


@pytest.mark.parametrize("argv", [[], ["import", "a.log"], ["check"]])
def test_a_run_that_no_study_made_has_none(
    run_study: RunStudy, two_arms: str, argv: list[str]
) -> None:
    run = run_study(factors=two_arms, repeats=4)
    run = replace(run, meta={**run.meta, "argv": argv})
    assert larger_command(run, compare_arms(run).findings) is None


def test_a_decided_run_needs_none(run_study: RunStudy, two_arms: str) -> None:
    run = run_study(factors=two_arms, backend=MockBackend(effects={"routing=adaptive": 1.5}))
    run = replace(run, meta={**run.meta, "argv": ARGV})
    assert larger_command(run, compare_arms(run).findings) is None


def test_an_option_goes_with_its_value() -> None:
    words = ["bench", "x", "--repeats", "3", "--repeats=4", "--resume", "--repeat-not"]
    assert without_option(words, "--repeats") == ["bench", "x", "--repeat-not"]
