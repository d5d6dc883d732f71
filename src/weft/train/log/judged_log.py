"""A file of training steps with its judged runs."""

from dataclasses import dataclass
from pathlib import Path

from weft.results.training.log_reader import read_training_log
from weft.results.training.model import TrainingLog
from weft.train.log.given_figures import GivenFigures
from weft.train.log.judged_run import JudgedRun, judge_run


@dataclass(frozen=True, slots=True)
class JudgedLog:
    """A file with its runs, judged one by one."""

    log: TrainingLog
    runs: tuple[JudgedRun, ...]


def judge_log(path: Path, given: GivenFigures) -> JudgedLog:
    """The judged runs of a file; '-' is standard input. Raises InputError for a file without
    training steps, and for figures that lack another."""
    log = read_training_log(path)
    return JudgedLog(log, tuple(judge_run(run, given) for run in log.runs))
