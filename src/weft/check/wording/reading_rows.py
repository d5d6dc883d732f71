"""The readings of a check as rows of a table, each with its norm and its mark."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from weft.check.readings.readings import METRICS, Metric
from weft.check.suspects.survey import Survey


def rows_of(survey: Survey, numbers: Iterable[int] | None = None) -> list[dict[str, Any]]:
    """One row a reading; of these readings, or of all."""
    readings, against_ = survey.readings, survey.normed
    marks = marks_of(survey)
    rows = []
    for row in range(len(readings)) if numbers is None else numbers:
        a, b = readings.name(row)
        judged = against_.norm[row] >= 0
        norm = against_.norms[against_.norm[row]] if judged else None
        metric: Metric = METRICS[readings.metric[row]]
        rows.append(
            {
                "from": a,
                "to": b,
                "metric": metric.value,
                "size_bytes": int(readings.size_bytes[row]),
                "value": float(readings.value[row]),
                "expected": None if norm is None else norm.expected,
                "share": float(np.exp(-against_.slower[row])) if judged else None,
                "hop_class": None if norm is None else norm.hop_class.words,
                "trial": readings.trials[readings.trial[row]][0],
                "round": int(readings.round[row]),
                "mark": marks[row],
            }
        )
    return rows


def marks_of(survey: Survey) -> list[str]:
    """By reading: slow (a suspect explains it), disturbed (nothing does), normal or unjudged."""
    marks = np.where(survey.slow, np.where(survey.explained, "slow", "disturbed"), "normal")
    return [str(m) for m in np.where(survey.judged, marks, "unjudged")]
