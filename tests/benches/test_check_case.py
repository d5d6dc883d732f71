"""Cases of the scoreboard: kinds, places and noise are drawn by a seed."""
# mypy: disable-error-code="no-untyped-def"

import numpy as np
import pytest
from benches.check_case import MOST_FAULTS, Noise, draw_case, healthy_case
from benches.check_figures import figures
from benches.check_kinds import KINDS
from benches.check_noise import disturbed
from benches.check_shape import shape_spec, with_tables
from tests.benches.check_wiring import measured

from weft.catalog.load import platform


def test_noise_is_lognormal_and_each_value_has_its_own():
    samples = measured([("n1", "n3")] * 4000)
    noisy = disturbed(samples, Noise(0.02, 0.0, 5.0), np.random.default_rng(1))
    logs = np.log([s.metrics["latency_us"] for s in noisy if "latency_us" in s.metrics])
    assert np.std(logs) == pytest.approx(0.02, rel=0.05)
    assert np.mean(logs) == pytest.approx(0.0, abs=0.001)
    large = [s.metrics for s in noisy if "bandwidth_mb_s" in s.metrics]
    assert all(
        m["bandwidth_mb_s"] == min(m["bandwidth_ab_mb_s"], m["bandwidth_ba_mb_s"]) for m in large
    )
    assert any(m["bandwidth_ab_mb_s"] != m["bandwidth_ba_mb_s"] for m in large)


def test_outliers_are_slower_whatever_the_unit():
    noisy = disturbed(measured([("n1", "n3")]), Noise(0.0, 1.0, 5.0), np.random.default_rng(1))
    assert noisy[0].metrics["latency_us"] == pytest.approx(5.0)
    assert noisy[1].metrics["bandwidth_ab_mb_s"] == pytest.approx(200.0)


def test_a_drift_slows_readings_the_more_the_later_they_are():
    samples = measured([("n1", "n3"), ("n1", "n4")])
    progress = [sample.pair.round / 2 for sample in samples]
    noisy = disturbed(samples, Noise(0.0, 0.0, 5.0, 0.1), np.random.default_rng(1), progress)
    values = [sample.metrics for sample in noisy]
    assert [one["latency_us"] for one in values if "latency_us" in one] == pytest.approx(
        [1.0, np.exp(0.05)]
    )
    assert values[3]["bandwidth_ab_mb_s"] == pytest.approx(1000 * np.exp(-0.05))


@pytest.fixture(scope="module")
def fabric():
    """Leaves below directors: the only shape that has a place for every kind."""
    twin = figures()["twins"]["director"]
    of = platform(twin["platform"])
    return with_tables(shape_spec(twin, of), None, of)


def test_a_seed_draws_the_same_case_again_and_another_seed_another(fabric):
    def draw(seed, number=0):
        return draw_case(fabric, number=number, twin="director", routing="static", seed=seed)

    assert draw(1) == draw(1)
    assert draw(1) != draw(2)
    cases = [draw(1, number) for number in range(200)]
    assert {one.kind for case in cases for one in case.planted} == set(KINDS)
    assert {len(case.planted) for case in cases} == set(range(1, MOST_FAULTS + 1))
    for case in cases:
        assert 0.01 <= case.noise.sigma <= 0.03
        nodes = [one.node for one in case.planted if one.node is not None]
        assert len(nodes) == len(set(nodes))


def test_faults_of_a_case_share_no_thing(fabric):
    for number in range(100):
        case = draw_case(fabric, number=number, twin="director", routing="static", seed=3)
        things = [thing for one in case.planted for thing in one.all_things]
        assert len(things) == len(set(things)), case


def test_only_the_kinds_asked_for_are_drawn_and_no_wrong_entry_under_adaptive_routing(fabric):
    where = {"number": 0, "twin": "director", "seed": 1}
    only = draw_case(fabric, **where, routing="static", only="nic-half,uplink-down")
    assert {one.kind for one in only.planted} <= {"nic-half", "uplink-down"}
    none = draw_case(fabric, **where, routing="adaptive", only="wrong-entry,nic-half")
    assert {one.kind for one in none.planted} == {"nic-half"}


def test_a_healthy_case_has_noise_and_nothing_else():
    case = healthy_case(number=3, twin="frontera", routing="static", seed=1)
    assert case.planted == ()
    assert case.noise.sigma > 0
