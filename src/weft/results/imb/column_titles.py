"""Tables of the Intel MPI Benchmarks whose title was lost: what their columns say of the test."""

from collections.abc import Collection, Sequence
from statistics import median

from weft.results.imb.names import Test, test_of
from weft.results.model import Row

TEST_FROM, COULD_BE = "test_from", "test_could_be"
"""Conditions: why a table is taken for this test, and the other tests that print such columns."""

_COUNTED = {2: "Sendrecv", 4: "Exchange"}
_BINARY = 2**20 / 1e6
_NEAR = 0.02
_COLUMNS = "the names of the columns; the title is missing"


def named_by_columns(metrics: Collection[str], rows: Sequence[Row]) -> tuple[str, Test]:
    """The name of the test that prints such columns, "" where several do, and all about it."""
    if {"bandwidth_mb_s", "msg_rate_mps"} <= set(metrics):
        return "", Test("message_rate", 0, {COULD_BE: "Uniband, Biband"})
    if "bandwidth_mb_s" not in metrics:
        return "", Test("", 0, {COULD_BE: "a collective"})
    if "latency_us_max" not in metrics:
        return "PingPong", _test("PingPong", {TEST_FROM: _COLUMNS, COULD_BE: "PingPing"})
    name = _by_counted_messages(rows)
    if not name:
        return "", Test("", 0, {COULD_BE: "Sendrecv, Exchange"})
    return name, _test(name, {TEST_FROM: "rate x slowest time over size"})


def _test(name: str, conditions: dict[str, str]) -> Test:
    test = test_of(name)
    return test._replace(conditions=test.conditions | conditions)


def _by_counted_messages(rows: Sequence[Row]) -> str:
    """Sendrecv counts two messages a time, Exchange four; "" where the rows fit neither."""
    ratios = [
        row.metrics["bandwidth_mb_s"] * time_us / row.size_bytes
        for row in rows
        if row.size_bytes
        and (time_us := row.metrics.get("latency_us_max", 0.0)) >= 1
        and row.metrics.get("bandwidth_mb_s", 0.0) >= 1
    ]
    if not ratios:
        return ""
    ratio = median(ratios)
    for n_messages, name in _COUNTED.items():
        if any(abs(ratio * unit / n_messages - 1) < _NEAR for unit in (1.0, _BINARY)):
            return name
    return ""
