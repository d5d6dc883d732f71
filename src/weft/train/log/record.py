"""A judged run as plain JSON values, and its readings as rows."""

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from weft.results.training.model import TrainingLog, stated_record
from weft.train.log.judged_run import JudgedRun
from weft.train.log.steady import SteadyState
from weft.train.log.throughput import Throughput

BEGINNING, STRAGGLER, STEADY = "beginning", "straggler", "steady"


def log_record(log: TrainingLog, judged: "tuple[JudgedRun, ...]") -> dict[str, Any]:
    """A file with its runs."""
    return {
        "path": log.path,
        "n_lines": log.n_lines,
        "runs": [run_record(one) for one in judged],
    }


def run_record(judged: JudgedRun) -> dict[str, Any]:
    """A run without its readings."""
    run = judged.run
    return {
        "tool": run.tool,
        "first_line": run.first_line,
        "last_line": run.last_line,
        "n_readings": int(run.times_s.size),
        "first_step": int(run.steps[0]),
        "last_step": int(run.steps[-1]),
        "rank": run.rank,
        "n_ranks": run.n_ranks,
        "n_repeated": run.n_repeated,
        "has_loss": run.has_loss,
        "loss_nan_line": run.loss_nan_line,
        "remarks": [{"line": line, "text": text} for line, text in run.remarks],
        "steady": None if judged.steady is None else _steady_record(judged.steady, judged),
        "rates": None if judged.rates is None else _rates_record(judged.rates),
        "findings": [finding.to_record() for finding in judged.findings],
    }


def _steady_record(steady: SteadyState, judged: JudgedRun) -> dict[str, Any]:
    run = judged.run
    return {
        "method": steady.method,
        "n_discarded": steady.first,
        "first_step": int(run.steps[steady.first]),
        "first_line": int(run.lines[steady.first]),
        "step_s": steady.summary.median,
        "low_s": steady.summary.low,
        "high_s": steady.summary.high,
        "mean_s": steady.mean_s,
        "irregular_share": steady.irregular.share,
        "irregular_time_share": steady.irregular.time_share,
        "n_readings": steady.summary.n,
        "straggler_share": steady.straggler_share,
        "stragglers": [
            {
                "n": group.n,
                "period": group.period,
                "first_step": group.first_step,
                "median_excess_s": group.median_excess_s,
                "excess_s": group.excess_s,
                "causes": dict(group.causes),
                "lines": list(group.lines),
            }
            for group in steady.groups
        ],
        "levels": [
            {"step": int(run.steps[one.at]), "line": int(run.lines[one.at]), "ratio": one.ratio}
            for one in steady.levels
        ],
        "drift": None if steady.drift is None else asdict(steady.drift),
    }


def _rates_record(rates: Throughput) -> dict[str, Any]:
    return {
        "sequence": stated_record(rates.sequence),
        "batch": stated_record(rates.batch),
        "gpus": stated_record(rates.gpus),
        "samples_s": rates.samples_s,
        "tokens_s": rates.tokens_s,
        "tokens_s_per_gpu": rates.tokens_s_per_gpu,
        "tflops_per_gpu": rates.tflops,
        "tflops_source": rates.tflops_source,
        "mfu": rates.mfu,
    }


def reading_rows(path: str, number: int, judged: JudgedRun) -> list[Mapping[str, Any]]:
    """A row a reading, in order."""
    run = judged.run
    return [
        {
            "file": path,
            "run": number,
            "line": int(run.lines[at]),
            "step": int(run.steps[at]),
            "n_steps": int(run.n_steps[at]),
            "step_s": float(run.times_s[at]),
            "global_batch": _whole(float(run.batches[at])),
            "state": state_of(judged.steady, at),
        }
        for at in range(run.times_s.size)
    ]


def _whole(value: float) -> int | None:
    return int(value) if math.isfinite(value) else None


def state_of(steady: SteadyState | None, at: int) -> str:
    """'beginning', 'straggler' or 'steady'; "" of a run without a steady state."""
    if steady is None:
        return ""
    if at < steady.first:
        return BEGINNING
    return STEADY if steady.kept[at] else STRAGGLER
