"""Any figure divided by 2, 4 or 8, or multiplied by 8, is noticed; untouched files are not accused.

A mutation changes one row: all its columns together, as a machine that is slower or a unit that
slipped would, or one column alone, as an edited file would.
"""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from weft.judge.judge import judge_results
from weft.judge.log import Log, log_in
from weft.judge.model import FileJudgement
from weft.results.model import ResultFile, Row
from weft.results.result_file import read_results

FIXTURES = Path(__file__).parent / "fixtures"
FILES: list[tuple[str, dict[str, Any]]] = [
    ("judged/alps_gh200_allreduce.txt", {}),
    ("judged/h100_16_gpus_nvls_on.txt", {"platform": "azure-ndv5"}),
    ("judged/ndv5_8_gpus_nvls.txt", {}),
    ("judged/ndv5_8_gpus_loopback.txt", {}),
    *(
        (
            f"judged/ndv5_{n}_gpus.txt",
            {"platform": "azure-ndv5", "n_nodes": n // 8, "tasks_per_node": 8},
        )
        for n in (32, 64, 128, 256, 512, 1024)
    ),
    *(
        (f"judged/ndv4_pairs_{memory}.txt", {"platform": platform, "memory": memory})
        for memory in ("host", "gpu")
        for platform in ("azure-ndv4", "generic-hdr")
    ),
    *(
        (f"results/osu/kaneshiro_2014_{test}.txt", {"platform": platform})
        for test in ("latency", "bibw")
        for platform in ("azure-a9", "generic-qdr")
    ),
    *(
        (f"results/osu/alps_7.5_{test}.txt", {"platform": "alps-gh200"})
        for test in ("bibw_gpu", "bw_gpu", "bw_host", "latency_host")
    ),
    (
        "results/osu/alps_7.5_alltoall_host.txt",
        {"platform": "alps-gh200", "n_nodes": 2, "tasks_per_node": 4},
    ),
    ("results/clusterkit/report-hbv2-32-nodes.txt", {"platform": "azure-hbv2"}),
]
FACTORS = (1 / 2, 1 / 4, 1 / 8, 8.0)
MAIN = ("latency_us", "bandwidth_mb_s", "msg_rate_mps", "algbw_gb_s", "busbw_gb_s")
N_CASES = 2000
LEAST_NOTICED = 0.95


@dataclass(frozen=True)
class Known:
    """A file whose machine is known, and what is said about it untouched."""

    name: str
    options: Mapping[str, Any]
    results: ResultFile
    log: Log
    judgement: FileJudgement

    @property
    def sound(self) -> list[tuple[int, int]]:
        """(table, row) of every row that nobody has anything against."""
        silent = {id(row.row) for row in self.judgement.rows if not row.noticed}
        return [
            (i, k)
            for i, table in enumerate(self.results.tables)
            for k, row in enumerate(table.rows)
            if id(row) in silent and any(row.metrics.get(name, 0.0) > 0 for name in MAIN)
        ]


@pytest.fixture(scope="module")
def files() -> list[Known]:
    return [known(name, options) for name, options in FILES]


def known(name: str, options: Mapping[str, Any]) -> Known:
    path = FIXTURES / name
    results, log = read_results(path), log_in(path)
    return Known(name, options, results, log, judge_results(results, **options, log=log))


def test_no_untouched_file_is_accused(files: list[Known]) -> None:
    accused = [one.name for one in files if one.judgement.is_bad]
    assert accused == []


def test_an_untouched_row_is_never_called_better_than_expected(files: list[Known]) -> None:
    high = [
        (one.name, row.row.line)
        for one in files
        for row in one.judgement.rows
        if row.state.value == "high"
    ]
    assert high == []


def slower(row: Row, factor: float, names: Sequence[str]) -> Row:
    """Rates times the factor, times divided by it."""
    changed = {
        name: row.metrics[name] / factor if "latency" in name else row.metrics[name] * factor
        for name in names
    }
    return replace(row, metrics={**row.metrics, **changed})


def mutated(one: Known, at: tuple[int, int], rng: random.Random) -> tuple[ResultFile, Row, str]:
    table = one.results.tables[at[0]]
    row = table.rows[at[1]]
    present = [name for name in row.metrics if row.metrics[name] > 0]
    figures = [name for name in present if name.startswith(MAIN) and "percent" not in name]
    if rng.random() < 0.5:
        figures = [rng.choice([name for name in MAIN if name in present])]
    factor = rng.choice(FACTORS)
    changed = slower(row, factor, figures)
    rows = (*table.rows[: at[1]], changed, *table.rows[at[1] + 1 :])
    tables = list(one.results.tables)
    tables[at[0]] = replace(table, rows=rows)
    return replace(one.results, tables=tuple(tables)), changed, table.tool


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2026, 7])
def test_nineteen_of_twenty_mutations_are_noticed(files: list[Known], seed: int) -> None:
    rng = random.Random(seed)
    places = [(one, at) for one in files for at in one.sound]
    tried: Counter[str] = Counter()
    noticed: Counter[str] = Counter()
    for _ in range(N_CASES):
        one, at = rng.choice(places)
        results, row, tool = mutated(one, at, rng)
        judgement = judge_results(results, **one.options, log=one.log)
        tried[tool] += 1
        noticed[tool] += any(j.noticed for j in judgement.rows if j.row is row)

    rates = ", ".join(f"{tool} {noticed[tool]}/{n}" for tool, n in sorted(tried.items()))
    print(f"noticed: {noticed.total()} of {tried.total()} ({rates})")
    assert noticed.total() >= LEAST_NOTICED * N_CASES, rates
    assert noticed["osu"] >= LEAST_NOTICED * tried["osu"], rates
