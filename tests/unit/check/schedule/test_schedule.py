"""Schedules by name: which pairs they hold, on every rail, for groups and mixed nodes."""

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest
from tests.unit.check.schedule.fields import field_of, generated, is_disjoint, planes

from weft.check.readings.network import Network
from weft.check.schedule.node_group import group_of
from weft.check.schedule.paths import FlowPaths
from weft.check.schedule.ranks import ranks_of_host, ranks_of_nodes
from weft.check.schedule.schedule import Field, TooManyPairsError, n_overloaded, schedule_of
from weft.check.schedule.scheme import Scheme, SchemeKind, parse_scheme
from weft.check.thresholds import thresholds
from weft.core.errors import InputError


def plain(n, n_rails=1, **more):
    nodes = tuple(f"n{i:03d}" for i in range(1, n + 1))
    return Field(ranks_of_nodes(nodes, n_rails, None), None, None, 1, **more)


def pairs_of(schedule):
    return [tuple(pair) for pairs in schedule.rounds for pair in pairs.tolist()]


def test_each_rail_meets_its_own_kind_on_every_other_node_once():
    schedule = schedule_of(Scheme(SchemeKind.FULL), plain(5, 3))
    expected = [(a * 3 + r, b * 3 + r) for a, b in combinations(range(5), 2) for r in range(3)]
    assert sorted(pairs_of(schedule)) == sorted(expected)
    assert len(schedule) == 5
    assert all(is_disjoint(pairs) for pairs in schedule.rounds)


def test_rails_one_after_the_other_are_the_same_pairs_in_rounds_of_one_rail():
    schedule = schedule_of(Scheme(SchemeKind.RAILS), plain(5, 3))
    assert sorted(pairs_of(schedule)) == sorted(
        pairs_of(schedule_of(Scheme(SchemeKind.FULL), plain(5, 3)))
    )
    assert all(len({rank % 3 for rank in pairs.reshape(-1)}) == 1 for pairs in schedule.rounds)


def test_leaf_pairs_first_and_then_every_two_leaves_meet_once():
    field = field_of(generated(nodes=16, per_leaf=4, spines=4))
    pairs = pairs_of(schedule_of(Scheme(SchemeKind.LEAF), field))
    local = [(a, b) for a, b in pairs if a // 4 == b // 4]
    far = [(a, b) for a, b in pairs if a // 4 != b // 4]
    inside = [(a, b) for a, b in combinations(range(16), 2) if a // 4 == b // 4]
    assert sorted(local) == inside
    assert pairs[: len(local)] == local
    met = [tuple(sorted((a // 4, b // 4))) for a, b in far]
    assert sorted(met) == sorted(pair for pair in combinations(range(4), 2) for _ in range(4))


@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize("scheme", ["full", "cover:1", "leaf", "rails", "random:2"])
def test_rails_whose_planes_never_meet_are_measured_each_by_itself(scheme, adaptive):
    field = field_of(planes(nodes=12, per_leaf=3, spines=3), 2, adaptive=adaptive)
    pairs = pairs_of(schedule_of(parse_scheme(scheme), field))
    assert {a % 2 for a, _ in pairs} == {0, 1}
    assert all(a % 2 == b % 2 for a, b in pairs)


def with_suspects(schedule, n):
    """The rounds in which the first n units take part; nobody else does in them."""
    rounds = [pairs.tolist() for pairs in schedule.rounds if (pairs < n).any()]
    assert all(a < n <= b for pairs in rounds for a, b in pairs)
    return rounds


def test_suspects_are_halved_by_each_digit_of_their_place():
    """Four suspects: all, then 0 and 2, 1 and 3, 0 and 1, 2 and 3, and all once more, since there
    is a fourth known-good node; never the same partner twice running."""
    schedule = schedule_of(parse_scheme("bisect:n[001-004]|n[005-008]"), plain(8))
    rounds = with_suspects(schedule, 4)
    suspects = [sorted(a for a, _ in pairs) for pairs in rounds]
    assert suspects == [[0, 1, 2, 3], [0, 2], [1, 3], [0, 1], [2, 3], [0, 1, 2, 3]]
    partners = {one: [b for pairs in rounds for a, b in pairs if a == one] for one in range(4)}
    assert all(len(set(met)) >= 3 for met in partners.values())


def test_more_suspects_than_known_good_nodes_take_turns():
    schedule = schedule_of(parse_scheme("bisect:n[001-006]|n[007-008]"), plain(8))
    assert [len(pairs) for pairs in with_suspects(schedule, 6)[:3]] == [2, 2, 2]
    assert all(is_disjoint(pairs) for pairs in schedule.rounds)


@pytest.mark.parametrize(("n", "n_met"), [(5, 4), (9, 6), (30, 6)])
def test_one_suspect_meets_several_others_and_these_meet_as_often(n, n_met):
    """Without known-good nodes everybody else is."""
    schedule = schedule_of(parse_scheme("bisect:n001"), plain(n))
    met = [pairs[0][1] for pairs in with_suspects(schedule, 1)]
    assert len(set(met)) == len(met) == n_met
    others = [pair for pair in pairs_of(schedule) if 0 not in pair]
    assert len(others) >= 2 * thresholds().smallest_class
    half = replace(schedule, rounds=schedule.rounds[:2])
    assert {0 in pair for pair in pairs_of(half)} == {True, False}


@pytest.mark.parametrize(
    ("scheme", "said"),
    [
        ("bisect:n001|n001", "n001 is on both sides"),
        ("bisect:n[001-004]", "no node is left to be known-good"),
        ("bisect:stranger|n001", "no node 'stranger'"),
        ("bisect:n001|n002", "1 suspect and 1 known-good node make 1 pair: too few"),
        ("bisect:n001|n[002-004]", "name more known-good nodes, or none"),
        ("cover:3", "--schedule cover without a fabric"),
        ("leaf", "--schedule leaf without a fabric"),
    ],
)
def test_schedules_that_cannot_be_are_refused(scheme, said):
    with pytest.raises(InputError, match=said.replace("|", r"\|")):
        schedule_of(parse_scheme(scheme), plain(4))


@pytest.mark.parametrize(
    ("text", "scheme"),
    [
        ("full", Scheme(SchemeKind.FULL)),
        ("random:7", Scheme(SchemeKind.RANDOM, 7)),
        ("cover", Scheme(SchemeKind.COVER, 3)),
        ("bisect: a | b[1-2] ", Scheme(SchemeKind.BISECT, suspects="a", good="b[1-2]")),
    ],
)
def test_words_of_schedules(text, scheme):
    assert parse_scheme(text) == scheme


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ful",
        "random:",
        "random:-1",
        "random:1.5",
        "random:10001",
        "cover:0",
        "bisect",
        "full:3",
    ],
)
def test_words_that_name_no_schedule(text):
    with pytest.raises(InputError) as caught:
        parse_scheme(text)
    assert caught.value.where == "--schedule"


def test_a_group_of_nodes_keeps_the_pairs_with_an_end_in_it():
    field = plain(6)
    only = group_of("n[002-003]", field.ranks, None)
    schedule = schedule_of(Scheme(SchemeKind.FULL), Field(field.ranks, None, only, 1))
    met = sorted(pairs_of(schedule))
    wanted = [p for p in combinations(range(6), 2) if {1, 2} & {*p}]
    assert [p for p in met if {1, 2} & {*p}] == wanted
    assert len(met) - len(wanted) >= len(wanted) - 1, "as many others to compare them with"
    assert schedule.words.endswith("and as many others to compare them with")


def test_a_group_of_everybody_has_no_one_to_be_held_against():
    field = plain(4)
    only = group_of("n[001-003]", field.ranks, None)
    schedule = schedule_of(Scheme(SchemeKind.FULL), Field(field.ranks, None, only, 1))
    assert len(pairs_of(schedule)) == 6
    assert "hold them against" not in schedule.words


def test_a_switch_in_the_middle_keeps_the_pairs_that_cross_it():
    fabric = generated(nodes=16, per_leaf=4, spines=4)
    whole = field_of(fabric)
    only = group_of("spine-02", whole.ranks, whole.paths)
    schedule = schedule_of(Scheme(SchemeKind.FULL), Field(whole.ranks, whole.paths, only, 1))
    names = {a: f"n{a + 1:03d}/hca0" for a in range(16)}
    crossing = [
        (a, b)
        for a, b in combinations(range(16), 2)
        if any(
            "spine-02[" in port
            for path in fabric.paths([(names[a], names[b]), (names[b], names[a])])
            for port in path
        )
    ]
    met = set(pairs_of(schedule))
    assert set(crossing) <= met
    assert met - set(crossing)


@pytest.mark.parametrize("name", ["n099", "leaf-99"])
def test_a_group_of_strangers_is_refused(name):
    field = field_of(generated(nodes=8, per_leaf=4, spines=2))
    with pytest.raises(InputError, match=f"no node or switch '{name}'"):
        group_of(name, field.ranks, field.paths)


def test_nodes_with_fewer_hcas_meet_on_the_rails_that_both_have(make_tree):
    tree = make_tree(2, 3, 2)
    mixed = [{"name": n, "hcas": [f"{n}/hca0"]} for n in tree.nodes]
    mixed[0]["hcas"].append("n001/hca1")
    mixed[4]["hcas"].append("n005/hca1")
    links = [{"a": "n001/hca1[1]", "b": "leaf-01[11]"}, {"a": "n005/hca1[1]", "b": "leaf-02[11]"}]
    rate = {"bits_per_s": 200_000_000_000, "delay_ps": 5000}
    tree.document["nodes"] = mixed
    tree.document["links"] = [*tree.document["links"], *({**link, **rate} for link in links)]
    ranks = ranks_of_nodes(tree.nodes, 2, Network(tree))
    pairs = pairs_of(schedule_of(Scheme(SchemeKind.FULL), Field(ranks, None, None, 1)))
    assert [(a, b) for a, b in pairs if a % 2] == [(1, 9)]
    assert len(pairs) == 15 + 1
    assert ranks.network.hcas[ranks.hca[9]] == "n005/hca1"


def test_an_hca_without_a_cable_rests(make_tree):
    tree = make_tree(2, 2, 2)
    tree.document["links"] = [link for link in tree.document["links"] if "n002/" not in link["a"]]
    ranks = ranks_of_nodes(tree.nodes, 1, Network(tree))
    field = Field(ranks, None, None, 1)
    assert sorted(pairs_of(schedule_of(Scheme(SchemeKind.FULL), field))) == [(0, 2), (0, 3), (2, 3)]
    with pytest.raises(InputError, match="'n002/hca0' has no cable to a switch"):
        FlowPaths(ranks.network, ranks.hca)


def test_ranks_of_one_host_find_a_cpu_each():
    field = Field(ranks_of_host("here", 6), None, None, 1, n_cpus={0: 2})
    schedule = schedule_of(Scheme(SchemeKind.FULL), field)
    assert sorted(pairs_of(schedule)) == list(combinations(range(6), 2))
    assert {len(pairs) for pairs in schedule.rounds} == {1}


def test_who_sends_first_is_the_same_however_few_cpus_there_are():
    """Where switches choose, half of the pairs are turned: taking rounds apart turns none back."""
    field = field_of(generated(nodes=16, per_leaf=4, spines=4, hcas=2), 2, adaptive=True)
    few = replace(field, n_cpus=dict.fromkeys(range(16), 1))
    whole, parts = (schedule_of(Scheme(SchemeKind.FULL), f) for f in (field, few))
    assert len(parts) > len(whole)
    assert sorted(pairs_of(parts)) == sorted(pairs_of(whole))
    assert any(a > b for a, b in pairs_of(parts))


def test_rounds_of_a_file_are_left_as_they_are_and_counted_where_they_overload(tmp_path: Path):
    """Four hosts and two spines a leaf: four messages up are too many, two are not."""
    path = tmp_path / "rounds.txt"
    path.write_text("0-4 1-5 2-6 3-7\n0-5 1-4\n")
    field = field_of(generated(nodes=8, per_leaf=4, spines=2))
    schedule = schedule_of(parse_scheme(str(path)), field)
    assert [len(pairs) for pairs in schedule.rounds] == [4, 2]
    assert n_overloaded(schedule, field) == 1


def test_paths_of_another_routing_are_other_paths():
    fabric = generated(nodes=8, per_leaf=4, spines=2)
    static, adaptive = field_of(fabric), field_of(fabric, adaptive=True)
    assert isinstance(static.paths, FlowPaths)
    assert len(adaptive.paths.stages) > len(static.paths.stages)


@pytest.mark.parametrize(
    ("text", "said", "hint"),
    [
        ("ful", "no schedule 'ful'", "full"),
        ("covr:3", "no schedule 'covr:3'", "cover"),
        ("rounds.txt", "no file 'rounds.txt'", None),
        ("some/rounds", "no file 'some/rounds'", None),
    ],
)
def test_a_word_that_looks_like_a_file_is_missed_as_one(text, said, hint):
    with pytest.raises(InputError) as caught:
        parse_scheme(text)
    assert caught.value.what == said
    assert hint is None or hint in (caught.value.hint or "")


def test_a_switch_is_offered_where_its_name_is_nearly_right():
    field = field_of(generated(nodes=8, per_leaf=4, spines=2))
    with pytest.raises(InputError) as caught:
        group_of("spine01", field.ranks, field.paths)
    assert "spine-01" in (caught.value.hint or "")


def test_more_pairs_than_a_check_takes_are_refused_before_they_cost(monkeypatch):
    monkeypatch.setattr("weft.check.schedule.schedule.MOST_PAIRS", 100)
    for text in ("full", "rails", "random:90", "reflections:90"):
        with pytest.raises(TooManyPairsError, match="more than 100 pairs in one check"):
            schedule_of(parse_scheme(text), plain(40))
    assert schedule_of(parse_scheme("full"), plain(14)).n_pairs == 91
    field = plain(40)
    one = replace(field, only=group_of("n001", field.ranks, None))
    touched = [pair for pair in pairs_of(schedule_of(Scheme(SchemeKind.FULL), one)) if 0 in pair]
    assert sorted(touched) == [(0, other) for other in range(1, 40)]
