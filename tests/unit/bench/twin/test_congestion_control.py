"""The laws of congestion control: one list, the same as the engine's and the page's."""

import re
from pathlib import Path

import pytest
from tests.unit.bench.twin.refusals import engine_refusal

from weft.bench.model import Trial
from weft.bench.twin.congestion_control import LAWS, OFF, congestion_control
from weft.catalog.load import platform
from weft.core.errors import InputError


def trial(**options: str) -> Trial:
    return Trial("t", "latency", (8,), ("n1", "n2"), 1, options=options)


def test_the_laws_are_those_that_the_engine_knows() -> None:
    no_such = engine_refusal(lambda twin: {**twin, "congestion_control": {"no_such": {}}})
    two = engine_refusal(lambda twin: {**twin, "congestion_control": {"rtt": {}, "endpoint": {}}})
    known = re.findall(r"`(\w+)`", no_such.partition("expected")[2])
    assert known == [*LAWS, "service_levels"]
    assert re.findall(r"'(\w+)'", two) == list(LAWS)


def test_the_page_of_the_scenario_has_every_law() -> None:
    page = (Path(__file__).parents[4] / "docs" / "reference" / "scenario.md").read_text()
    section = page.partition("### `congestion_control`")[2].partition("\n### ")[0]
    assert re.findall(r"^\*\*`(\w+)`\*\*", section, re.MULTILINE) == list(LAWS)


@pytest.mark.parametrize("name", ["fat-tree", "alps-a100"])
def test_a_trial_asks_for_one_law_or_for_none(name: str) -> None:
    machine = platform(name)
    for law in (*LAWS, OFF):
        assert congestion_control(machine, trial(congestion_control=law)) == law
    with pytest.raises(InputError, match=r"'rt'(.|\n)*off, annex_a10, dcqcn, rtt, endpoint"):
        congestion_control(machine, trial(congestion_control="rt"))


def test_a_slingshot_machine_holds_senders_back_unless_the_engine_cannot() -> None:
    machine = platform("alps-a100")
    assert congestion_control(platform("fat-tree"), trial()) == OFF
    assert congestion_control(machine, trial()) == "endpoint"
    assert congestion_control(machine, trial(), fidelity="flow") == OFF
    assert congestion_control(machine, trial(node="any")) == OFF
    # Asked for, it is passed on, and the engine says why it refuses.
    asked = trial(node="any", congestion_control="endpoint")
    assert congestion_control(machine, asked) == "endpoint"
