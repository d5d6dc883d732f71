"""The plan of a check of a ground: the product's schedule, and what its rounds take on a fabric."""

from collections.abc import Iterable

import numpy as np
from benches.check_ground import Ground

from weft.bench.model import Launch
from weft.catalog.load import benchmark
from weft.check.launches import check_launches, is_follow_up
from weft.check.readings.network import Network
from weft.check.schedule.cost import Cost, effort_of
from weft.check.schedule.paths import FlowPaths
from weft.check.schedule.plan import CheckPlan, plan_check
from weft.check.schedule.ranks import ranks_of_nodes
from weft.check.schedule.schedule import Field
from weft.check.schedule.scheme import parse_scheme
from weft.check.suspects.follow_up import FollowUpSize

BUDGET_S = 60.0
TIMEOUT_S = 3600.0
LARGE_BYTES = 2**20
SEED = 1
"""What fabric time is told for: the large message of `weft check`, and its own counts."""

Launches = tuple[Launch, Launch, Launch]


def plan_of(ground: Ground) -> CheckPlan:
    """What `weft check --budget 60s --schedule ...` plans; `auto` leaves the schedule to it."""
    plan: CheckPlan = ground.kept("plan", lambda: _plan(ground))
    return plan


def _plan(ground: Ground) -> CheckPlan:
    network = Network(ground.wiring)
    ranks = ranks_of_nodes(ground.nodes, ground.n_rails, network)
    ways = FlowPaths(network, ranks.hca, adaptive=ground.adaptive)
    cost = Cost(ranks, ways, effort_of(benchmark("pairs").options, LARGE_BYTES))
    scheme = None if ground.schedule == "auto" else parse_scheme(ground.schedule)
    return plan_check(Field(ranks, ways, None, SEED), cost, scheme, BUDGET_S)


def launches_of(ground: Ground) -> Launches:
    """The launches of the plan, with the twin's sizes and counts."""
    launches: Launches = ground.kept(
        "launches",
        lambda: check_launches(
            ground.nodes,
            tasks_per_node=ground.n_rails,
            sizes_bytes=ground.sizes_bytes,
            rounds=plan_of(ground).schedule.option,
            options=ground.options,
            timeout_s=TIMEOUT_S,
        ),
    )
    return launches


def size_of(ground: Ground) -> FollowUpSize:
    """How much may be measured again."""
    return FollowUpSize(most_rounds=plan_of(ground).most_follow_up_rounds)


def fabric_s(ground: Ground, measured: Iterable[Launch]) -> float:
    """Seconds that launches take on the fabric by the product's own reckoning, follow-ups too."""
    plan = plan_of(ground)
    rounds = [
        np.array(pairs, np.int64)
        for launch in measured
        if not is_follow_up(launch.trial)
        for pairs in launch.trial.options["rounds"]
    ]
    return plan.cost.seconds(rounds)
