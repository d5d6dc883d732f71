"""What a cause of the catalogue would make of a row: the value it predicts, as a span."""

import math
from collections.abc import Sequence
from dataclasses import replace

from weft.catalog.cause import AlternativeConditions, Bound, Cause, Feature, Range
from weft.catalog.machine.platform import Platform
from weft.expect.model import Conditions, Expectation
from weft.judge.expectation.expected_value import Predict, convert, with_room
from weft.judge.model import JudgedRow
from weft.judge.rules import rules

Span = tuple[float, float]
"""The least and the greatest value a cause predicts for a row."""
CHANGES_NOTHING = 0.05
"""A cause that moves the expected value by less than this share explains nothing."""


def applies(
    cause: Cause, row: JudgedRow, platform: Platform, families: frozenset[str] = frozenset()
) -> bool:
    """Whether a cause is thinkable for a row on this platform. `families` are those of the paths
    that the file itself names."""
    conditions = row.conditions
    if conditions is None or row.expectation is None:
        return False
    nodes = {
        "": True,
        "one": conditions.inside_node,
        "two": conditions.n_nodes == 2,
        "several": conditions.n_nodes > 1,
    }
    return (
        nodes[cause.nodes]
        and (not cause.libraries or conditions.library in cause.libraries)
        and (not cause.benchmarks or conditions.benchmark in cause.benchmarks)
        and cause.memory in ("", conditions.memory)
        and all(feature in families or _has(platform, feature) for feature in cause.needs)
    )


def predicted_span(cause: Cause, row: JudgedRow, platform: Platform, ask: Predict) -> Span | None:
    """What the row would be under the cause; None where the cause says nothing about it."""
    found, conditions = row.expectation, row.conditions
    if found is None or conditions is None:
        return None
    if cause.instead is not None and cause.instead.lost_hcas:
        return _with_fewer_hcas(cause.instead.lost_hcas, row, platform, ask)
    if cause.instead is not None:
        return _instead(_changed(cause.instead, conditions), row.metric, found, ask)
    span = _by_figure(cause, found, conditions, platform)
    return _over_sockets(span, row.metric, found, conditions, ask) if cause.takes_sockets else span


def _over_sockets(
    span: Span | None, metric: str, found: Expectation, conditions: Conditions, ask: Predict
) -> Span | None:
    """A span of traffic that takes the kernel's sockets, which are as slow as usual besides."""
    sockets = _instead(replace(conditions, transport="sockets"), metric, found, ask)
    if span is None or sockets is None:
        return span or sockets
    slower = max if found.lower_is_better else min
    return slower(span[0], sockets[0]), slower(span[1], sockets[1])


def _by_figure(
    cause: Cause, found: Expectation, conditions: Conditions, platform: Platform
) -> Span | None:
    """What a share, an added time or a cap makes of an expectation."""
    if cause.share is not None:
        return _shared(found, cause.share)
    if cause.adds is not None:
        return _added(found, cause.adds, conditions)
    if cause.cap is not None:
        n_hcas = _n_capped(cause, conditions, platform)
        return _capped(found, cause.cap, conditions, platform, n_hcas=n_hcas)
    return None


def with_one_rate(cause: Cause, rows: Sequence[JudgedRow], platform: Platform) -> Cause:
    """A cause whose cap is no slower than the best row: a link has one rate for all rows."""
    if cause.cap is None:
        return cause
    best = max((_least_cap(cause, row, platform) for row in rows), default=0.0)
    low = min(cause.cap.high, max(cause.cap.low, best))
    return cause.model_copy(update={"cap": cause.cap.model_copy(update={"low": low})})


def _least_cap(cause: Cause, row: JudgedRow, platform: Platform) -> float:
    """GB/s of one adapter (or node) that a row takes at least; 0 where it tells none."""
    conditions, size = row.conditions, row.row.size_bytes or 0
    if conditions is None or row.value <= 0:
        return 0.0
    if row.metric == "busbw_gb_s":
        twice = conditions.n_nodes == 2 and conditions.benchmark == "allreduce"
        of_all = row.value / (2 if twice else 1)
        return of_all / _n_capped(cause, conditions, platform)
    if row.metric == "bandwidth_mb_s":
        return row.value / 1e3 / (2 if conditions.benchmark == "bidirectional" else 1)
    if row.metric == "msg_rate_mps":
        return row.value * size / 1e3
    is_pair = conditions.benchmark == "latency" and conditions.library != "nccl"
    return size / (row.value * 1e3) if is_pair and row.metric == "latency_us" else 0.0


def _n_capped(cause: Cause, conditions: Conditions, platform: Platform) -> int:
    """How many adapters of a node a cap holds for."""
    if conditions.library != "nccl" or cause.cap_of != "hca":
        return 1
    return conditions.n_hcas or platform.hcas_per_node


def best_under(
    cause: Cause, bound: Bound, row: JudgedRow, platform: Platform, ask: Predict
) -> float | None:
    """The best value that a bound of a cause leaves a row; None where it leaves any."""
    found, conditions = row.expectation, row.conditions
    if found is None or conditions is None:
        return None
    if bound == "link":
        if cause.share is None or not found.limit:
            return None
        most = cause.share.high
        return found.limit / most if found.lower_is_better else found.limit * most
    if bound == "sockets":
        span = _instead(replace(conditions, transport="sockets"), row.metric, found, ask)
    else:
        span = predicted_span(cause, _unbounded(cause, row, found), platform, ask)
    return None if span is None else span[0 if found.lower_is_better else 1]


def _unbounded(cause: Cause, row: JudgedRow, found: Expectation) -> JudgedRow:
    """The row at the best of what is expected; under a cap as if the machine had no other limit."""
    best, none = (found.low, 0.0) if found.lower_is_better else (found.high, math.inf)
    return replace(row, expectation=replace(found, value=best if cause.cap is None else none))


def _has(platform: Platform, feature: Feature) -> bool:
    gpus = platform.gpus
    return {
        "several-hcas": platform.hcas_per_node > 1,
        "gpus": gpus is not None,
        "nvls": gpus is not None and gpus.nvls,
        "nvlink": gpus is not None and gpus.nvlink is not None,
        "amd": gpus is not None and gpus.cpu == "amd",
        "roce": _is_roce(platform),
        "topology-file": gpus is not None and bool(gpus.topology_file),
    }[feature]


def _is_roce(platform: Platform) -> bool:
    """Ethernet whose adapters are not Slingshot's, which has no GIDs and needs no PFC."""
    headers = platform.packets.headers if platform.packets else ""
    return headers == "ethernet" and not any("cxi" in name for name in platform.signs.hcas)


def _changed(instead: AlternativeConditions, conditions: Conditions) -> Conditions:
    return replace(
        conditions,
        transport=instead.transport or conditions.transport,
        gpudirect=instead.gpudirect and conditions.gpudirect,
        algorithm=instead.algorithm or conditions.algorithm,
        protocol=instead.protocol or conditions.protocol,
        window=instead.window or conditions.window,
    )


def share_left(
    lost: int, conditions: Conditions, metric: str, platform: Platform, ask: Predict
) -> Span | None:
    """(least, greatest) share of the speed that a node keeps without some of its adapters: the
    closed form's, and that of the adapters left. None where the adapters do not decide."""
    in_all = conditions.n_hcas or platform.hcas_per_node
    whole, fewer = ask(conditions), ask(replace(conditions, n_hcas=in_all - lost))
    if lost >= in_all or isinstance(whole, str) or isinstance(fewer, str):
        return None
    pair = convert(whole, metric, conditions), convert(fewer, metric, conditions)
    if pair[0] is None or pair[1] is None:
        return None
    ratio = pair[1].value / pair[0].value
    share = 1 / ratio if pair[0].lower_is_better else ratio
    if share > 1 - CHANGES_NOTHING:
        return None
    left = (in_all - lost) / in_all
    return min(share, left), max(share, left)


def _with_fewer_hcas(lost: int, row: JudgedRow, platform: Platform, ask: Predict) -> Span | None:
    found, conditions = row.expectation, row.conditions
    if found is None or conditions is None:
        return None
    span = share_left(lost, conditions, row.metric, platform, ask)
    if span is None:
        return None
    if found.lower_is_better:
        return found.value / span[1], found.value / span[0]
    return found.value * span[0], found.value * span[1]


def _instead(other: Conditions, metric: str, found: Expectation, ask: Predict) -> Span | None:
    changed = ask(other)
    if isinstance(changed, str):
        return None
    converted = convert(changed, metric, other)
    if converted is None or abs(converted.value - found.value) < CHANGES_NOTHING * found.value:
        return None
    wide = with_room(converted, rules())
    return wide.low, wide.high


def _shared(found: Expectation, share: Range) -> Span:
    if found.lower_is_better:
        return found.value / share.high, found.value / share.low
    return found.value * share.low, found.value * share.high


def _added(found: Expectation, adds: Range, conditions: Conditions) -> Span | None:
    if found.metric != "latency_us" or conditions.benchmark not in ("latency", "barrier"):
        return None
    return found.value + adds.low, found.value + adds.high


def _capped(
    found: Expectation, cap: Range, conditions: Conditions, platform: Platform, *, n_hcas: int
) -> Span | None:
    """A rate is at most the cap; a time at least what the cap takes for it."""
    if found.lower_is_better:
        return _capped_time(found, cap, conditions, platform, n_hcas=n_hcas)
    low, high = cap.low * n_hcas, cap.high * n_hcas
    if found.metric == "busbw_gb_s":
        # Between two nodes a tree sends each byte once where a ring sends it almost twice.
        high *= 2 if conditions.n_nodes == 2 and conditions.benchmark == "allreduce" else 1
    elif found.metric == "bandwidth_mb_s":
        directions = 2 if conditions.benchmark == "bidirectional" else 1
        low, high = (1e3 * directions * rate for rate in (low, high))
    elif found.metric == "msg_rate_mps" and conditions.size_bytes > 0:
        low, high = (1e3 * rate / conditions.size_bytes for rate in (low, high))
    else:
        return None
    if found.value <= low:
        return None
    return min(found.low, low), min(found.value, high)


def _capped_time(
    found: Expectation, cap: Range, conditions: Conditions, platform: Platform, *, n_hcas: int
) -> Span | None:
    """The least time that the link's rate allows grows as the cap is below that rate."""
    rates = (cap.high * n_hcas, cap.low * n_hcas)
    if conditions.benchmark == "latency" and conditions.library != "nccl":
        least, most = (conditions.size_bytes / (rate * 1e3) for rate in rates)
    elif found.limit and platform.links is not None:
        link_gb_s = platform.links.host.rate.value / 8
        if conditions.library == "nccl":
            link_gb_s *= platform.hcas_per_node
        least, most = (found.limit * link_gb_s / rate for rate in rates)
    else:
        return None
    if most <= found.value:
        return None
    return max(found.value, least), max(found.high, most)
