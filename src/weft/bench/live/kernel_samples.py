"""From the kernel's rows to samples: metrics by weft.bench.metrics, flags, evidence."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from weft.bench.evidence import evidence_of, not_on_fabric_note, state_of
from weft.bench.live.aggressor_ranks import aggressor_evidence
from weft.bench.live.kernel_records import KernelOutput, KernelRow, PairRow
from weft.bench.metrics import Metrics, TimeSeries, metrics_of, pair_metrics
from weft.bench.model import Launch, Pair, Sample, State, Trial
from weft.bench.phase import BANDWIDTH
from weft.core.errors import BenchmarkError
from weft.core.nodeset import short_name

SKEW_DOMINATES_FROM = 0.5
"""Start skew over this share of a collective's median: what was timed is the barrier's exit."""

MPI_DEFAULT_WINDOW = 64  # SOURCE: OSU Micro-Benchmarks 7.4, osu_bw's default window


def samples_of(
    output: KernelOutput, launch: Launch, external: Mapping[str, Any] | None = None
) -> Iterator[Sample]:
    """The samples of a launch that ended well, with all evidence. Raises BenchmarkError."""
    state = state_of(output)
    evidence = evidence_of(output) | aggressor_evidence(output, launch) | dict(external or {})
    note = not_on_fabric_note(output) if state is State.NOT_ON_FABRIC else None
    try:
        for sample in to_samples(output, launch, state, evidence):
            yield sample if note is None else replace(sample, note=note)
    except ValueError as error:
        raise BenchmarkError(
            f"{launch.trial.benchmark} ({launch.name}): {error}",
            where=f"rank 0 on {output.host_of(0) or launch.trial.nodes[0]}",
            expected="series of positive times",
        ) from error


def to_samples(
    output: KernelOutput, launch: Launch, state: State, evidence: Mapping[str, Any]
) -> Iterator[Sample]:
    """One sample a row, and one a (pair, size) for `pairs`, in the order they were measured."""
    common: dict[str, Any] = {
        "trial": launch.trial.id,
        "repeat": launch.repeat,
        "started_unix_s": output.header.started_unix_ns / 1e9 if output.header else 0.0,
        "state": state,
        "evidence": evidence,
    }
    flags = ("oversubscribed",) if any(r.oversubscribed for r in output.ranks) else ()
    for row in output.rows:
        yield Sample(
            benchmark=row.benchmark,
            size_bytes=row.size_bytes,
            metrics=row_metrics(row, output.n_measuring),
            iterations=len(row.judged_ns),
            times_ns=row.times_ns,
            flags=flags + _row_flags(row),
            **common,
        )
    names = endpoint_names(output, launch.trial)
    groups = _by_pair_and_size(output.pair_rows)
    for rows, metrics in zip(groups, metrics_of_pairs(groups), strict=True):
        # Pairs have tens of thousands of samples: what holds for all stands on the first.
        common["evidence"] = evidence if rows[0] is output.pair_rows[0] else {}
        yield Sample(
            benchmark="pairs",
            size_bytes=rows[0].size_bytes,
            metrics=metrics,
            iterations=min(row.iterations for row in rows),
            flags=_pair_flags(rows, launch_flags=flags),
            pair=Pair(
                names[rows[0].rank_a], names[rows[0].rank_b], rows[0].round, rows[0].n_concurrent
            ),
            **common,
        )


def row_metrics(row: KernelRow, n_ranks: int) -> Metrics:
    """The metrics of a row, by its benchmark. Raises ValueError on an unknown benchmark."""
    return metrics_of(
        TimeSeries(
            row.benchmark,
            row.size_bytes,
            n_ranks,
            row.judged_ns,
            window=row.window or MPI_DEFAULT_WINDOW,
            n_pairs=row.n_pairs or 1,
            ranks_mean_ns=[times.mean for times in row.ranks_ns],
            skew_p50_ns=row.skew_ns.p50 if row.skew_ns else None,
            most_bytes=row.most_bytes,
        )
    )


def metrics_of_pairs(groups: Sequence[list[PairRow]]) -> list[Metrics]:
    """The metrics of each group: all rows of one (round, pair, size), whatever phases they are of.

    Groups of one form are worked out together, because there are thousands.
    """
    found: list[Metrics] = [{}] * len(groups)
    forms: dict[tuple[Any, ...], list[int]] = {}
    for place, rows in enumerate(groups):
        kinds = tuple((row.kind, row.window, len(row.judged_ns)) for row in rows)
        forms.setdefault((rows[0].size_bytes, kinds), []).append(place)
    for places in forms.values():
        first = groups[places[0]]
        _require_both_ways(first)
        series = {
            row.kind: np.array([groups[place][k].judged_ns for place in places], dtype=np.float64)
            for k, row in enumerate(first)
        }
        windows = {row.kind: row.window or 1 for row in first}
        columns = pair_metrics(series, first[0].size_bytes, windows)
        lists = {name: column.tolist() for name, column in columns.items()}
        for i, place in enumerate(places):
            found[place] = {name: values[i] for name, values in lists.items()}
    return found


def _require_both_ways(rows: Sequence[PairRow]) -> None:
    kinds = {row.kind for row in rows}
    missing = set(BANDWIDTH.kinds) - kinds
    if missing and kinds & set(BANDWIDTH.kinds):
        raise ValueError(f"a pair without its '{min(missing)}' row")


def endpoint_names(output: KernelOutput, trial: Trial) -> dict[int, str]:
    """Rank -> node, or node:rank where a node holds several ranks.

    A node goes by the name the trial gave it ('node1'), where that means the host the rank says it
    is on ('node1.site.example'); else by what the rank says.
    """
    given = {short_name(node): node for node in trial.nodes}
    names = {rank.rank: given.get(short_name(rank.host), rank.host) for rank in output.ranks}
    n_ranks = Counter(names.values())
    return {rank: f"{name}:{rank}" if n_ranks[name] > 1 else name for rank, name in names.items()}


def _by_pair_and_size(rows: list[PairRow]) -> list[list[PairRow]]:
    groups: dict[tuple[int, int, int, int, bool], list[PairRow]] = {}
    for row in rows:
        is_latency = row.kind == "latency"
        key = (row.round, row.rank_a, row.rank_b, row.size_bytes, is_latency)
        groups.setdefault(key, []).append(row)
    return list(groups.values())


def _pair_flags(rows: list[PairRow], launch_flags: tuple[str, ...]) -> tuple[str, ...]:
    """Only a round that crowds a host is oversubscribed: ranks without a partner take no CPU."""
    flags = launch_flags
    if all(row.crowded is not None for row in rows):
        flags = ("oversubscribed",) if any(row.crowded for row in rows) else ()
    return flags + (("invalid_data",) if any(row.n_errors for row in rows) else ())


def _row_flags(row: KernelRow) -> tuple[str, ...]:
    flags = []
    if row.skew_ns is not None:
        times = sorted(row.times_ns)
        median = times[len(times) // 2]
        if row.skew_ns.p50 > SKEW_DOMINATES_FROM * max(median, math.ulp(0)):
            flags.append("skew_dominates")
    if row.mostly_late:
        flags.append("late_starts")
    if row.n_errors:
        flags.append("invalid_data")
    return tuple(flags)
