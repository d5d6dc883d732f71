"""The faults of a case of the scoreboard, one to three drawn from a seed; and its noise."""

from dataclasses import dataclass
from random import Random

from benches.check_figures import figures
from benches.check_kinds import KINDS, PLANTS, Document, Planted, Site

MOST_FAULTS = 3
TRIES = 50
"""Times that another place is drawn before a case has fewer faults."""


@dataclass(frozen=True, slots=True)
class Noise:
    """Lognormal noise of every measured value, and outliers; `sigma` is a natural logarithm, as is
    the `drift` from the first reading of a check to its last."""

    sigma: float
    outliers: float
    outlier_factor: float
    drift: float = 0.0


@dataclass(frozen=True, slots=True)
class Case:
    """A measured fabric with `planted` faults; none in a healthy run."""

    number: int
    twin: str
    routing: str
    planted: tuple[Planted, ...]
    noise: Noise
    seed: str


def draw_case(
    fabric: Document, *, number: int, twin: str, routing: str, seed: int, only: str | None = None
) -> Case:
    """Case `number` of a seed with one to three faults in different places."""
    name = f"check/{seed}/{twin}/{routing}/{number}"
    draws = Random(name)  # noqa: S311
    known = figures()["twins"][twin]
    site = Site(fabric, known["lanes"])
    barred = {*known.get("without", ()), *(("wrong-entry",) if routing == "adaptive" else ())}
    kinds = [kind for kind in (only.split(",") if only else KINDS) if kind not in barred]
    planted: list[Planted] = []
    wanted = draws.randint(1, MOST_FAULTS)
    for _ in range(TRIES):
        if len(planted) == wanted:
            break
        kind = draws.choice(kinds)
        one = PLANTS[kind](kind, site, draws)
        if one is not None and _is_apart(one, planted):
            planted.append(one)
    return Case(number, twin, routing, tuple(planted), _noise(draws), name)


def _is_apart(one: Planted, before: list[Planted]) -> bool:
    """Whether a fault shares no node and no cable with those before it."""
    taken = {thing for other in before for thing in other.all_things}
    nodes = {other.node for other in before} - {None}
    return not one.all_things & taken and one.node not in nodes


def healthy_case(*, number: int, twin: str, routing: str, seed: int) -> Case:
    """A run in which nothing is wrong."""
    name = f"healthy/{seed}/{twin}/{routing}/{number}"
    return Case(number, twin, routing, (), _noise(Random(name)), name)  # noqa: S311


def _noise(draws: Random) -> Noise:
    noise = figures()["noise"]
    sigma = draws.uniform(*noise["sigma"])
    drift = draws.choice((0.0, 1.0)) * draws.uniform(-noise["drift"], noise["drift"])
    return Noise(sigma, noise["outliers"], noise["outlier_factor"], drift)
