"""Rounds of pairs on real MPI processes of this machine."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from weft.bench.live.backend import LiveBackend
from weft.bench.live.failure import HangError
from weft.bench.model import Launch, Sample, Trial
from weft.launch.mpi import Mpi

HOST = os.uname().nodename


def measure(
    mpi: Mpi,
    run_dir: Path,
    options: Mapping[str, Any],
    sizes: tuple[int, int],
    n_ranks: int = 2,
    **changes: Any,
) -> list[Sample]:
    fields = {"options": options, "timeout_s": 60.0, **changes}
    given = Trial("t001", "pairs", sizes, (HOST,), n_ranks, **fields)
    backend = LiveBackend(mpi, (HOST,))
    backend.prepare([given], run_dir)
    return list(backend.measure(Launch(given, repeat=1, order=0)))


def test_pairs_run_the_rounds_they_are_given(mpi: Mpi, tmp_path: Path):
    options = {"iterations": 4, "warmup": 1, "rounds": [[(0, 1)], [(1, 0)]]}
    samples = measure(mpi, tmp_path, options, (8, 65536))
    assert [(s.size_bytes, s.pair.round if s.pair else None) for s in samples] == [
        (8, 0),
        (65536, 0),
        (8, 1),
        (65536, 1),
    ]
    first = {s.pair.round: s.pair.a for s in samples if s.pair}
    assert first == {0: f"{HOST}:0", 1: f"{HOST}:1"}, "the first of a pair sends first"


def test_more_ranks_than_cpus_are_judged_where_no_round_crowds_them(mpi: Mpi, tmp_path: Path):
    n_cpus = len(os.sched_getaffinity(0))
    if n_cpus < 2:
        pytest.skip("needs two CPUs, so that a pair has one each")
    full = [[2 * i, 2 * i + 1] for i in range(n_cpus // 2 + 1)]
    rounds = [[[0, 1]], [[1, n_cpus + 1]], full]
    options = {"iterations": 5, "warmup": 1, "window": 2, "rounds": rounds}
    samples = measure(mpi, tmp_path, options, (8, 4096), n_ranks=n_cpus + 2)
    flags = {(s.pair.round, s.flags) for s in samples if s.pair}
    assert flags == {(0, ()), (1, ()), (2, ("oversubscribed",))}


def test_a_rank_that_hangs_is_distinguished_from_those_that_rest(mpi: Mpi, tmp_path: Path):
    options = {"iterations": 2, "warmup": 1, "rounds": [[[1, 3]]]}
    hang = {"WEFT_TEST_HANG_RANK": "3"}
    with pytest.raises(HangError) as caught:
        measure(mpi, tmp_path, options, (8, 64), n_ranks=5, env=hang, timeout_s=6.0)
    assert caught.value.where == f"host {HOST}, rank 3"
