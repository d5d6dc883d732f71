"""Figures of a job that its user states."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GivenFigures:
    """Figures that the user states; they go before those of the log. FLOP counts a whole step of
    all GPUs, the peak one GPU."""

    sequence: int | None = None
    batch: int | None = None
    gpus: int | None = None
    flop_per_step: float | None = None
    peak_tflops: float | None = None
