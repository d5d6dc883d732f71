"""The rules are read as Open MPI's sources say; tests/oracle has the real library read them."""

import json

import pytest
from tests.unit.study.tuning.tunings import Chosen, expected_arm, tuned

from weft.core.errors import InputError
from weft.study.tuning.algorithm import TunedAlgorithm
from weft.study.tuning.openmpi_rules import RULES, openmpi_rules

ALGORITHMS = {
    "ring": TunedAlgorithm("4"),
    "segmented": TunedAlgorithm("5", (("segmentsize", 8192),)),
}
CHOSEN: Chosen = {
    (4, 8): "",
    (4, 4096): "ring",
    (4, 65536): "ring",
    (4, 1 << 20): "segmented",
    (8, 8): "ring",
    (8, 4096): "",
    (16, 8): "",
    (16, 4096): "segmented",
}
CALLS = [
    (n, s) for n in (2, 3, 4, 6, 8, 12, 16, 17) for s in (0, 7, 8, 9, 4095, 4096, 65536, 1 << 21)
]

Rule = tuple[int, int, int, int, int]
"""From so many bytes: algorithm, fan-out, segment, requests."""


def read(text: str) -> dict[int, list[tuple[int, list[Rule]]]]:
    """By collective its rules by number of ranks.

    SOURCE: open-mpi/ompi, coll_tuned_dynamic_file.c: white space separates numbers, '#' begins a
    comment, the version stands first, and the first rule of each number of ranks is of 0 bytes.
    """
    has_requests = text.startswith("rule-file-version-2\n")
    lines = text.split("\n")[1 if has_requests else 0 :]
    by_line = iter([line.partition("#")[0].split() for line in lines])
    found: dict[int, list[tuple[int, list[Rule]]]] = {}
    for _ in range(int(next(by_line)[0])):
        (collective,) = map(int, next(by_line))
        (n_sizes,) = map(int, next(by_line))
        for _ in range(n_sizes):
            ranks, n_rules = map(int, next(by_line))
            rules: list[Rule] = []
            for _ in range(n_rules):
                words = [int(word) for word in next(by_line)]
                assert len(words) in ((4, 5) if has_requests else (4,))
                rules.append((*words, 0)[:5])  # type: ignore[arg-type]
            assert rules[0][0] == 0, "rules begin at 0 bytes"
            found.setdefault(collective, []).append((ranks, rules))
    return found


def taken(rules: list[tuple[int, list[Rule]]], n_ranks: int, n_bytes: int) -> Rule:
    """SOURCE: open-mpi/ompi 4.1, coll_tuned_dynamic_rules.c: the last number of ranks that is not
    larger than the communicator's, or else the first; in it the last such number of bytes."""
    by_ranks = [one for ranks, one in rules if ranks <= n_ranks] or [rules[0][1]]
    return [rule for rule in by_ranks[-1] if rule[0] <= n_bytes][-1]


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize(
    ("benchmark", "collective", "number", "of_all_ranks"),
    [("allreduce", "allreduce", 2, False), ("allgather", "allgather", 0, True)],
)
def test_each_call_takes_what_was_chosen(
    version: int, benchmark: str, collective: str, number: int, of_all_ranks: bool
) -> None:
    one = tuned(benchmark, collective, ALGORITHMS, CHOSEN)
    rules = read(openmpi_rules([one], version).texts[RULES])[number]
    for n_ranks, size in CALLS:
        if of_all_ranks and n_ranks not in (4, 8, 16):
            # Blocks of other numbers of ranks add up to other sums: the limits hold for the sums.
            continue
        arm = expected_arm(CHOSEN, n_ranks, size)
        n_bytes = size * n_ranks if of_all_ranks else size
        _, algorithm, fan_out, segment, _ = taken(rules, n_ranks, n_bytes)
        expected = {"": (0, 0), "ring": (4, 0), "segmented": (5, 8192)}[arm]
        assert (algorithm, segment) == expected, (n_ranks, size)
        assert fan_out == 0


def test_numbers_of_requests_need_the_second_form() -> None:
    algorithms = {"sync": TunedAlgorithm("4", (("max_requests", 32),))}
    one = tuned("alltoall", "alltoall", algorithms, {(4, 8): "sync"})
    rules = read(openmpi_rules([one], 5).texts[RULES])[3]
    assert taken(rules, 4, 32) == (32, 4, 0, 0, 32)
    with pytest.raises(InputError, match="max_requests, which rules of Open MPI 4 cannot set"):
        openmpi_rules([one], 4)


def test_broadcast_keeps_the_usual_fan_out_of_chains() -> None:
    one = tuned("broadcast", "bcast", {"chain": TunedAlgorithm("2")}, {(4, 8): "chain"})
    rules = read(openmpi_rules([one], 4).texts[RULES])[7]
    assert taken(rules, 4, 8) == (8, 2, 4, 0, 0)


def test_version_6_has_ranges_as_json() -> None:
    one = tuned("allreduce", "allreduce", ALGORITHMS, CHOSEN)
    document = json.loads(openmpi_rules([one], 6).texts[RULES])
    rules = document["collectives"]["allreduce"]
    for n_ranks, size in CALLS:
        fitting = [
            rule["alg"]
            for ranks in rules
            if ranks["comm_size_min"] <= n_ranks <= ranks["comm_size_max"]
            for rule in ranks["rules"]
            if rule["msg_size_min"] <= size <= rule["msg_size_max"]
        ]
        arm = expected_arm(CHOSEN, n_ranks, size)
        assert fitting == {"": [], "ring": [4], "segmented": [5]}[arm], (n_ranks, size)
