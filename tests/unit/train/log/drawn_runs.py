"""Runs with drawn step times, as a log of Megatron-LM states them."""

import io

import numpy as np

from weft.results.training.log_reader import read_training_stream
from weft.results.training.model import TrainingRun


def times(n: int, level: float = 3.0, *, seed: int = 1, noise: float = 0.004) -> np.ndarray:
    """Steady step times in seconds."""
    return level * (1 + noise * np.random.default_rng(seed).standard_normal(n))


def log_of(
    step_times: np.ndarray,
    *,
    gpus: int = 64,
    sequence: int = 4096,
    batch: int = 256,
    every: int = 0,
) -> str:
    """A log; with `every` a checkpoint after so many steps."""
    lines = [f"using world size: {gpus}, data-parallel size: 8", f"  seq_length ..... {sequence}"]
    for i, time in enumerate(step_times, start=1):
        lines.append(
            f" iteration {i:8d}/  9999 | consumed samples: {batch * i:12d} | elapsed time per "
            f"iteration (ms): {1e3 * time:.1f} | global batch size: {batch:5d} | lm loss: 2.0E+00 |"
        )
        if every and i % every == 0:
            lines.append(f"saving checkpoint at iteration {i:8d} to /lustre/run")
    return "\n".join(lines) + "\n"


def run_of(text: str) -> TrainingRun:
    """The only run of a log."""
    (run,) = read_training_stream(io.BytesIO(text.encode()), "a log").runs
    return run
