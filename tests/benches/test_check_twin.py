"""The twins of the scoreboard: each fault shows where, and only where, it should."""
# mypy: disable-error-code="no-untyped-def"

from random import Random

import pytest
from benches.check_files import named_by_file
from benches.check_ground import Ground
from benches.check_kinds import PLANTS, Planted, Site, When, cable
from benches.check_planes import plane_of
from benches.check_shape import shape_spec

from benches import check_files
from weft.bench.twin.fault import parse_fault
from weft.catalog.load import platform
from weft.topology.fabric import Fabric


@pytest.fixture(scope="module")
def ground():
    return Ground("tree-16", "static")


def values(samples, metric):
    """By direction and round, the values of a metric."""
    return {
        (one.pair.a, one.pair.b, one.pair.round): one.metrics[metric]
        for one in samples
        if metric in one.metrics
    }


def survey(ground, *planted):
    return list(ground.twin_with(planted, "seed").measure(ground.launches[0]))


def planted(ground, kind, seed=1):
    """One fault of a kind."""
    found = PLANTS[kind](kind, Site(ground.document, "2/4"), Random(seed))
    assert found is not None
    return found


def of_cable(text, ends, **given):
    return Planted("test", text, frozenset({cable(*ends)}), faults=(parse_fault(text),), **given)


def test_one_direction_slows_what_the_node_sends_and_not_what_it_receives(ground):
    ends = Site(ground.document, "2/4").own_ends["n001/hca0"]
    text = f"{ends[0]} rate=0.5"
    one = of_cable(text, ends, when=When.ONE_WAY, first=ends[0], node="n001")
    faulty, before = survey(ground, one), survey(ground)
    sending, receiving = [], []
    for metric in ("bandwidth_ab_mb_s", "bandwidth_ba_mb_s"):
        was, now = values(before, metric), values(faulty, metric)
        for key, value in now.items():
            first = key[0] if metric == "bandwidth_ab_mb_s" else key[1]
            if "n001" in key:
                (sending if first == "n001" else receiving).append(value / was[key])
    assert max(sending) < 0.6
    assert min(receiving) == pytest.approx(1.0)
    assert values(faulty, "latency_us") == values(before, "latency_us")


def test_a_fault_at_times_slows_whole_moments_and_the_others_not_at_all(ground):
    a, b = Site(ground.document, "2/4").inner[0]
    text = f"{a} rate=0.25"
    one = of_cable(text, (a, b), when=When.AT_TIMES, share=0.5)
    was, always = (
        values(survey(ground, *some), "bandwidth_ab_mb_s") for some in ([], [always_of(one)])
    )
    now = values(survey(ground, one), "bandwidth_ab_mb_s")
    slowed = {key for key in was if always[key] < 0.9 * was[key]}
    hit = {key for key in slowed if now[key] == always[key]}
    assert 0 < len(hit) < len(slowed)
    assert all(now[key] == was[key] for key in was if key not in hit)
    assert not {key[2] for key in hit} & {key[2] for key in slowed - hit}
    assert now == values(survey(ground, one), "bandwidth_ab_mb_s")


def always_of(one):
    return of_cable(one.text, one.faults[0].place and sorted(one.things)[0][1])


@pytest.mark.parametrize("kind", ["wrong-entry", "cables-swapped", "cable-lossy", "uplink-down"])
def test_a_fault_is_simulated_and_its_file_is_read(ground, kind):
    one = planted(ground, kind)
    samples = survey(ground, one)
    assert len(samples) == len(survey(ground))
    found = ground.found([one])
    by_file = named_by_file(one, ground.document, found, samples, adaptive=False)
    assert by_file is True


@pytest.mark.parametrize("kind", ["cable-lossy", "cable-flapping"])
def test_counters_name_the_cable_whose_errors_they_count_and_no_other(ground, kind, monkeypatch):
    """In the readings of a healthy fabric."""
    one, other = planted(ground, kind), planted(ground, kind, seed=2)
    assert not one.things & other.things
    document, samples = ground.document, survey(ground)

    def is_named():
        return named_by_file(one, document, document, samples, adaptive=False)

    assert is_named() is True
    counters = check_files._counters
    monkeypatch.setattr(check_files, "_counters", lambda _, planned: counters(other, planned))
    assert is_named() is False


def test_a_kind_that_no_file_names_is_not_asked(ground):
    one = planted(ground, "node-slow")
    assert named_by_file(one, ground.document, ground.document, [], adaptive=False) is None


def test_a_healthy_fabric_has_no_fault_in_its_files(ground):
    one = planted(ground, "uplink-down")
    assert named_by_file(one, ground.document, ground.found([]), [], adaptive=False) is False


def test_planes_are_simulated_apart_and_route_as_the_whole():
    ground = Ground("planes", "static")
    part = Fabric.from_document(plane_of({**ground.document, "routing": {"engine": "minhop"}}, 1))
    hcas = [node["hcas"][1] for node in ground.document["nodes"]]
    pairs = [(a, b) for a in hcas for b in hcas if a != b]
    assert part.paths(pairs) == ground.cabling.paths(pairs)
    (node,) = {one.pair.a for one in survey(ground)[:1]}
    assert ":" in node
    slow = Planted("node-slow", "", frozenset(), "n000", (parse_fault("n000 slow=2"),))
    was, now = (values(survey(ground, *some), "latency_us") for some in ([], [slow]))
    changed = {key for key in was if now[key] > 1.05 * was[key]}
    ranks = {end for key in changed for end in key[:2] if end.startswith("n000:")}
    assert ranks == {"n000:0", "n000:1"}
    assert all(key[0].startswith("n000:") or key[1].startswith("n000:") for key in changed)


@pytest.mark.parametrize(
    ("shape", "n_switches", "n_cables"),
    [
        ({"torus": [3, 4], "nodes_per_switch": 1}, 12, 24),
        ({"torus": [2, 3], "nodes_per_switch": 1}, 6, 12),
        ({"irregular": {"switches": 5, "nodes": 9, "cables": 7, "seed": 1}}, 5, 7),
        ({"planes": {"planes": 2, "leaves": 2, "nodes_per_leaf": 3, "spines": 2}}, 8, 8),
    ],
)
def test_shapes_have_their_switches_and_cables(shape, n_switches, n_cables):
    document = shape_spec({"shape": shape}, platform("fat-tree"))
    switches = {one["name"] for one in document["switches"]}
    inner = [link for link in document["links"] if link["a"].partition("[")[0] in switches]
    assert (len(switches), len(inner)) == (n_switches, n_cables)
    n_hcas = sum(len(node["hcas"]) for node in document["nodes"])
    assert len(document["links"]) == n_cables + n_hcas
