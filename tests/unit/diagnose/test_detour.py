"""A cable that is down carries nothing; what goes around it meets others."""

import pytest

from weft.core.finding import FindingKind, Severity
from weft.diagnose.verdict import judge_pairs, pairs_to_retest


def check(documented, real):
    samples = real.all_pairs()
    alone = real.alone(pairs_to_retest(samples, documented))
    return judge_pairs(samples, documented, isolated=alone)


@pytest.mark.parametrize("down", [(2, 3), (1, 1), (4, 2)])
@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_a_cable_that_is_down_is_named_though_no_message_crosses_it(
    make_tree, make_fabric, down, noise
):
    documented, real = make_tree(4, 4, 4), make_tree(4, 4, 4, down=down)
    verdict = check(documented, make_fabric(real, collide=True, noise=noise))
    finding = verdict.findings[0]
    assert finding.severity is Severity.BAD
    assert "carries nothing" in finding.sentence
    cables = [set(suspect["ends"]) for suspect in finding.facts["suspects"]]
    leaf, spine = down
    assert {f"leaf-{leaf:02d}[{4 + spine}]", f"spine-{spine:02d}[{leaf}]"} in cables
    assert len(cables) <= 2


def test_routing_unlike_the_tables_everywhere_points_at_no_cable(make_tree, make_fabric):
    """Every message takes another spine than documented: no cable is avoided by all."""
    documented, real = make_tree(4, 4, 4), make_tree(4, 4, 4)
    straight = real._path
    real._path = lambda a, b: (
        (*straight(a, b // 2 * 2 + b // real.per_leaf % 2)[:-1], straight(a, b)[-1])
    )
    verdict = check(documented, make_fabric(real, collide=True, noise=0.0))
    assert {f.kind for f in verdict.findings} <= {FindingKind.ANOMALY, FindingKind.HEALTHY}


def test_meetings_that_the_tables_foresee_are_no_detour(make_tree, make_fabric):
    tapered = make_tree(4, 4, 3)
    verdict = check(tapered, make_fabric(tapered, collide=True, noise=0.0))
    assert [f.kind for f in verdict.findings] == [FindingKind.HEALTHY]
    assert verdict.findings[0].facts["pairs_that_collided"] > 0


def test_a_neighbours_traffic_on_one_cable_is_not_an_avoided_cable(make_tree, make_fabric):
    """Busy at first and free in the retest: everything slow crosses it, nobody else is met."""
    tree = make_tree(4, 4, 4)
    fabric = make_fabric(tree, noise=0.0)
    port = "leaf-02[6]"
    busy = [_halved(s, tree, port) for s in fabric.all_pairs()]
    alone = fabric.alone(pairs_to_retest(busy, tree))
    verdict = judge_pairs(busy, tree, isolated=alone)
    assert verdict.findings[0].kind is FindingKind.ANOMALY
    assert verdict.findings[0].severity is Severity.WARNING


def _halved(sample, tree, port):
    from dataclasses import replace

    metrics = dict(sample.metrics)
    for name, ends in (
        ("bandwidth_ab_mb_s", (sample.pair.a, sample.pair.b)),
        ("bandwidth_ba_mb_s", (sample.pair.b, sample.pair.a)),
    ):
        if name in metrics and port in tree.paths([ends])[0]:
            metrics[name] /= 2
    return replace(sample, metrics=metrics)
