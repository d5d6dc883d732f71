"""Which ranks of a trial of pairs send at the same time, and whole numbers of its options."""

from collections.abc import Mapping
from random import Random
from typing import Any

from weft.bench.model import Trial
from weft.core.errors import InputError


def rounds_of(trial: Trial) -> list[list[tuple[int, int]]]:
    """The trial's `rounds` option; or as many rounds of random pairs of nodes as `matchings` says,
    their tasks of the same number with one another; or all pairs: round r pairs rank i with r - i
    modulo n."""
    given = trial.options.get("rounds")
    if given is not None:
        return _rounds(given)
    if "matchings" in trial.options:
        n_rounds = count_of(trial.options, "matchings", least=1)
        draws = Random(1)  # noqa: S311 - pairs are drawn, not kept secret
        return [_matching(trial, draws) for _ in range(n_rounds)]
    n_ranks = trial.n_ranks
    rounds = [
        [(a, (r - a) % n_ranks) for a in range(n_ranks) if a < (r - a) % n_ranks]
        for r in range(n_ranks)
    ]
    return [pairs for pairs in rounds if pairs]


def _matching(trial: Trial, draws: Random) -> list[tuple[int, int]]:
    """Half of the nodes with the other half, drawn; of an odd number one stays alone."""
    order = list(range(len(trial.nodes)))
    draws.shuffle(order)
    half, per_node = len(order) // 2, trial.tasks_per_node
    return [
        (a * per_node + task, b * per_node + task)
        for a, b in zip(order[:half], order[half : 2 * half], strict=True)
        for task in range(per_node)
    ]


def _rounds(given: Any) -> list[list[tuple[int, int]]]:
    try:
        return [[(int(a), int(b)) for a, b in pairs] for pairs in given]
    except (TypeError, ValueError) as error:
        raise InputError(
            "option 'rounds' is not a list of rounds of pairs",
            expected="[[[0, 1], [2, 3]], [[0, 2], [1, 3]]]: rounds of pairs of ranks",
        ) from error


def count_of(options: Mapping[str, Any], key: str, *, least: int) -> int:
    """A whole number of a trial's options. Raises InputError for less than `least`."""
    value = options[key]
    if not isinstance(value, int) or value < least:
        raise InputError(
            f"option '{key}' is {value!r}", expected=f"a whole number of {least} or more"
        )
    return value
