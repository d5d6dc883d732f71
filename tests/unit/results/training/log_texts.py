"""Texts of training logs, and their runs."""

import io
from pathlib import Path

from weft.results.training.log_reader import read_training_stream
from weft.results.training.model import TrainingLog

FIXTURES = Path(__file__).parents[3] / "fixtures/training"


def read(text: str | bytes) -> TrainingLog:
    """The runs of a text."""
    data = text.encode() if isinstance(text, str) else text
    return read_training_stream(io.BytesIO(data), "a log")


def megatron(step: int, ms: str = "100.0", *, more: str = "", unit: str = "ms") -> str:
    """The line of a step of Megatron-LM."""
    return (
        f" iteration {step:8d}/  500 | consumed samples: {8 * step:12d} | elapsed time per "
        f"iteration ({unit}): {ms} | learning rate: 1E-05 | global batch size:     8 | "
        f"lm loss: 2.1E+00 | number of nan iterations:   0 |{more}\n"
    )
