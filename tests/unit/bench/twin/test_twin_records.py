"""What a twin leaves in a run directory, and what it says of itself."""

import json
from typing import Any

import pytest

from weft.bench.model import Launch, Trial
from weft.bench.twin.backend import TwinBackend
from weft.bench.twin.fault import parse_fault
from weft.catalog.load import platform

try:
    from weft import _engine as engine
except ImportError:
    engine = None

needs_engine = pytest.mark.skipif(engine is None, reason="weft._engine is not built (make setup)")

FAT_TREE = platform("fat-tree")


def latency(*nodes: str) -> Trial:
    return Trial("t-latency", "latency", (8,), nodes, 1)


@needs_engine
def test_the_recipe_is_the_scenario_that_runs() -> None:
    twin = TwinBackend(FAT_TREE, 2)
    launch = Launch(latency(*twin.nodes), 0, 0)
    recipe = twin.recipe(launch)
    assert json.loads(recipe) == twin.scenario(launch)
    assert engine is not None
    assert engine.simulate(recipe)["status"] == "complete"


@needs_engine
def test_the_platform_is_kept_next_to_the_run(tmp_path: Any) -> None:
    TwinBackend(platform("azure-a9"), 2).prepare([], tmp_path)
    assert platform(str(tmp_path / "platform.toml")) == platform("azure-a9")


@needs_engine
def test_a_launch_leaves_its_scenario_behind(tmp_path: Any) -> None:
    twin = TwinBackend(FAT_TREE, 16)
    launch = Launch(latency(*twin.nodes[:2]), repeat=3, order=0)
    twin.prepare([launch.trial], tmp_path)
    list(twin.measure(launch))
    kept = tmp_path / "recipes" / "t-latency.r03.json"
    assert kept.read_text() == twin.recipe(launch)
    assert len(kept.read_text()) < 10_000


@needs_engine
def test_facts_say_which_platform_how_large_and_what_is_planted() -> None:
    twin = TwinBackend(FAT_TREE, 16, faults=[parse_fault("n007 slow=3")], seed=9)
    facts = twin.facts()
    assert (facts["platform"], facts["n_nodes"], facts["seed"]) == ("fat-tree", 16, 9)
    assert facts["faults"] == ["n007 slow=3"]
    assert len(facts["platform_digest"]) == 64
