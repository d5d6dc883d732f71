"""docs/internals/congestion_figures.md says what the engine says: some rows, run anew."""
# mypy: disable-error-code="no-untyped-def"

import json
from collections.abc import Iterator
from typing import Any

import pytest
from benches.congestion import LAWS, PAGE, gates
from benches.congestion_sweeps import TITLES, against, measure

from benches import routing
from weft._engine import simulate


def outcome_of(scenario: dict[str, Any]) -> dict[str, Any]:
    """An outcome as `weft-sim` prints it, of the engine that ships."""
    outcome = simulate(json.dumps(scenario))
    assert outcome["status"] == "complete", outcome["message"]
    return {**outcome, "rows": outcome}


@pytest.fixture(scope="module")
def page() -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(routing, "outcome_of", outcome_of)
        yield PAGE.read_text("utf-8")


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_settings_of_each_law_do_what_the_page_says(page):
    bare = measure(None)
    for law in LAWS:
        table = page.partition(f"### {TITLES[law]}, knob by knob")[2].partition("###")[0]
        assert f"| as it is | {against(measure({law: {}}), bare)} |" in table, (
            f"{law}: run benches/congestion.py --write"
        )


def test_every_law_meets_both_gates_on_the_page(page):
    gates = page.partition("### The gates")[2].partition("###")[0]
    for law in LAWS:
        counts = [
            row.rsplit("|", 2)[1].split(" of ")
            for row in gates.splitlines()
            if row.startswith(f"| {law} |") and " of " in row
        ]
        assert len(counts) == 3, law
        assert all(int(met) == int(of) for met, of in counts), law


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_gates_are_what_the_page_says_for_every_destination_and_seed(page):
    assert "\n".join(gates(every=1)) in page, "run benches/congestion.py --write"
