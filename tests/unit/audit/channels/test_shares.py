"""Max-min fair rates by their law: no flow can gain without a smaller or equal one losing."""

import random

import numpy as np
import pytest

from weft.audit.channels.shares import fair_rates_gbps


@pytest.mark.parametrize("seed", range(60))
def test_each_flow_has_a_full_cable_on_which_none_is_faster(seed: int) -> None:
    draw = random.Random(seed)
    n_cables = draw.randint(1, 12)
    capacity = np.array([draw.choice([40.0, 100.0, 200.0]) for _ in range(n_cables)])
    paths = [
        draw.sample(range(n_cables), draw.randint(1, min(5, n_cables)))
        for _ in range(draw.randint(1, 40))
    ]
    rates = fair_rates_gbps(paths, capacity)
    through = [
        [rates[at] for at, path in enumerate(paths) if cable in path] for cable in range(n_cables)
    ]
    for cable, own in enumerate(through):
        assert sum(own) <= capacity[cable] * (1 + 1e-9)
    for at, path in enumerate(paths):
        assert any(
            sum(through[cable]) >= capacity[cable] * (1 - 1e-9)
            and rates[at] >= max(through[cable]) * (1 - 1e-9)
            for cable in path
        )
    # The slowest flow has an equal share of the fullest cable.
    least = min(capacity[cable] / len(own) for cable, own in enumerate(through) if own)
    assert rates.min() == pytest.approx(least)


def test_a_flow_over_no_cable_has_no_limit_and_none_have_no_rates() -> None:
    assert fair_rates_gbps([(), (0,)], np.array([10.0])).tolist() == [np.inf, 10.0]
    assert fair_rates_gbps([], np.array([])).tolist() == []
