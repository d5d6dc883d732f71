"""The times of a run in words: a small message's latency, the smallest message, a collective."""

from weft.core.units import format_significant, format_size
from weft.judge.path_class.evidence import PathEvidence


def latency_text(evidence: PathEvidence) -> str:
    """'1.6 us at 1 B', or "" without a small message between two ranks."""
    if evidence.latency_us is None:
        return ""
    return f"{_us(evidence.latency_us)} us at {format_size(evidence.latency_bytes)}"


def message_text(evidence: PathEvidence) -> str:
    """The smallest message, whatever its size, or ""."""
    if evidence.message_us is None:
        return ""
    return f"{_us(evidence.message_us)} us at {format_size(evidence.message_bytes)}"


def step_text(evidence: PathEvidence) -> str:
    """'16 us for the smallest osu_allreduce', or ""."""
    if evidence.step_us is None:
        return ""
    return f"{_us(evidence.step_us)} us for the smallest {evidence.step_test}"


def _us(value: float) -> str:
    return format_significant(value, 2 if value < 100 else 3)
