import itertools
from pathlib import Path

import pytest

from weft.catalog.factors.factor import catalogue_factor
from weft.catalog.load import study_names
from weft.core.errors import InputError
from weft.study.plan.document import load_study, parse_study
from weft.study.plan.plan import make_plan


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("[[benchmarks]]", "[[benchmark]]"), ["unknown key 'benchmark'", "'benchmarks'?"]),
        (("sizes =", "size ="), ["'benchmarks[0].size'", "did you mean 'sizes'?"]),
        (("repeats = 12", "repeats = 0"), ["'repeats'", "greater than or equal to 1", "not 0"]),
        (("repeats = 12", 'repeats = "many"'), ["'repeats'", "integer", "'many'"]),
        (("nodes = [2]", "nodes = [0]"), ["'nodes[0]'", "greater than or equal to 1"]),
        (("weft.study/1", "weft.study/9"), ["'schema'", "weft.study/1", "weft.study/9"]),
        (('title = "A study"', ""), ["key 'title' is missing"]),
        (('name = "x"', 'name = "../x"'), ["'name'", "pattern"]),
        (('name = "x"', "name = "), ["not TOML", "line 3"]),
        (('"adaptive"', '"static"'), ["'factors[0].settings'", "'static' appears twice"]),
        (
            (', { name = "adaptive", evidence = { transport = "mock" } }', ""),
            ["'factors[0].settings'", "at least 2 items"],
        ),
    ],
)
def test_a_mistake_is_named_where_it_stands(
    study_text: object, two_arms: str, change: tuple[str, str], said: list[str]
) -> None:
    good: str = study_text(factors=two_arms)  # type: ignore[operator]
    bad = good.replace(*change)
    assert bad != good
    with pytest.raises(InputError) as error:
        parse_study(bad, "mine.toml")
    message = error.value.describe()
    assert message.startswith("mine.toml: ")
    for words in said:
        assert words in message


def test_a_study_is_a_name_of_the_catalogue_or_a_file(tmp_path: Path, study_text: object) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(study_text(name="mine"))  # type: ignore[operator]
    study, text = load_study(str(path))
    assert study.name == "mine"
    assert text == path.read_text()
    with pytest.raises(InputError, match="did you mean 'smoke'"):
        load_study("smokey")


@pytest.mark.parametrize("name", study_names())
def test_every_study_of_the_catalogue_says_its_own_name_and_asks_something(name: str) -> None:
    study, _ = load_study(name)
    assert study.name == name
    assert study.question.endswith("?")


def test_the_lightweight_pair_measures_what_its_source_measured() -> None:
    # SOURCE: Kaneshiro, Rescale, Lightweight Azure InfiniBand Cluster Setup, 2014: two instances,
    # osu_latency from 0 to 4 MiB and osu_bibw from 1 to 4 MiB.
    study, _ = load_study("lightweight-pair")
    assert study.nodes == (2,)
    assert study.source is not None
    assert "Kaneshiro" in study.source
    assert [(use.name, use.sizes) for use in study.benchmarks] == [
        ("latency", "0:4M"),
        ("bidirectional", "1:4M"),
    ]


def test_the_congestors_of_gpcnet_meet_each_law_routing_lane_and_partition() -> None:
    study, _ = load_study("isolation-gpcnet")
    plan = make_plan(study, tuple(f"n{i:03d}" for i in range(512)))
    arms = {tuple({**one.arm, **one.condition}.values()) for one in plan.trials}
    loads = ("alone", "beside", "beside-partition")
    laws = (
        "off",
        *(one.name for one in catalogue_factor("congestion-control").settings if one.name != "off"),
    )
    assert len(laws) == 5
    assert arms == set(itertools.product(loads, laws, ("off", "on"), ("0", "1")))
    assert len(plan.trials) == len(arms) * study.node_sets * len(study.benchmarks)
    together, apart = (setting.options["aggressors"] for setting in study.factors[0].settings[1:])
    assert apart == [f"{one},pkey=0x21" for one in together]


def test_the_reference_shows_a_study_that_runs() -> None:
    page = (Path(__file__).parents[4] / "docs" / "reference" / "study.md").read_text()
    study = parse_study(page.split("```toml\n")[1].split("```")[0], "study.md")
    assert len(make_plan(study, tuple(f"n{i}" for i in range(8))).trials) == 4
