"""`weft.load`: runs as one tidy data frame."""

import os
import warnings
from pathlib import Path
from typing import Any

from weft.api.frames import frame_of
from weft.core.errors import InputError
from weft.study.sample_table import read_sample_table


class IncompleteRunWarning(UserWarning):
    """A run has launches that failed or are not over, or could not be read."""


def load(*runs: str | os.PathLike[str], frame: str | None = None, long: bool = False) -> Any:
    """The samples of run directories, or of folders of them, as one data frame.

    A row is one sample: the values of one arm, size, launch and node set (of a check: and pair). A
    column is one variable or one metric, its unit last: `latency_us`, `busbw_gb_s`. With `long` a
    row is one value: `metric` and `value`. `is_drift_repeat` marks the baseline's return at the
    end, `left_out` says why a sample counts in no comparison. A launch that failed or hung has rows
    without figures; `state` and `note` say why.

    `frame`: "pandas", "polars", "arrow" (by default the first that is installed), or "numpy" (a
    dict of columns) and "rows" (a list of dicts), which need no package. Columns:
    docs/reference/python.md. Raises InputError for a directory that is no run, is damaged or of
    another schema; MissingError without a package. Warns IncompleteRunWarning of what is missing.
    """
    if not runs:
        raise InputError("no run", expected="weft.load(RUN...): run directories or folders of them")
    table = read_sample_table([Path(run) for run in runs])
    for remark in table.remarks:
        warnings.warn(remark, IncompleteRunWarning, stacklevel=2)
    return frame_of(table.one_value_a_row() if long else table, frame)
