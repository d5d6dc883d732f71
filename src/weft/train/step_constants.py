"""The fitted figures of a step's time (step_constants.toml)."""

from dataclasses import dataclass, fields
from functools import cache

from weft.catalog.toml_file import shipped_figures


@dataclass(frozen=True, slots=True)
class StepConstants:
    """`matmul_share`: of the largest measured rate of a product of matrices, that training reaches.
    `memory_share`: of the memory's bandwidth, that what lies between products reaches.
    `wait_beyond_unit`: share of a step that GPUs wait for others where all other nodes lie beyond
    the leaves of their own unit; in proportion where a part of them does."""

    matmul_share: float
    memory_share: float
    wait_beyond_unit: float


N_CONSTANTS = len(fields(StepConstants))
"""How many figures of the model were fitted, of all sizes and precisions together."""


@cache
def step_constants() -> StepConstants:
    """The shipped ones."""
    return shipped_figures(StepConstants, "step_constants.toml", "weft.train-step/1")
