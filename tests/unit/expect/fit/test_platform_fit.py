"""Fits of tables with known parameters: the parameters come back, and rows not seen are known."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import median

import pytest

from weft.bench.model import Launch, Trial
from weft.bench.twin.backend import TwinBackend
from weft.catalog.document import parse_document, to_toml
from weft.catalog.load import platform
from weft.catalog.machine.platform import HostRegime, Platform
from weft.core.errors import InputError, MissingError
from weft.expect.fit.platform_fit import HALVES, FittedPlatform, fit_platform, predicted_value
from weft.expect.fit.tables import METRICS, MeasuredTable
from weft.expect.model import Conditions
from weft.expect.prediction import predict

SIZES = [2**k for k in range(23)]
LIMITS = (256, 16384)
KNOWN = (
    # (overhead of each side, latency, gap in ns; the same a byte)
    (150.0, 900.0, 700.0, 0.1, 0.4, 0.5),
    (400.0, 1600.0, 1500.0, 0.02, 0.1, 0.09),
    (500.0, 7000.0, 5200.0, 0.01, 0.01, 0.06),
)


def with_regimes(document: Platform, costs: Sequence[tuple[float, ...]] = KNOWN) -> Platform:
    tops = (*LIMITS, None)[-len(costs) :]
    regimes = tuple(
        HostRegime.model_validate(
            {
                "max_bytes": top,
                "protocol": "eager",
                "send_overhead_ns": overhead,
                "recv_overhead_ns": overhead,
                "send_ns_per_byte": overhead_b,
                "recv_ns_per_byte": overhead_b,
                "latency_ns": latency,
                "latency_ns_per_byte": latency_b,
                "gap_ns": gap,
                "gap_ns_per_byte": gap_b,
                "class": "assumed",
                "source": "known to the test",
            }
        )
        for top, (overhead, latency, gap, overhead_b, latency_b, gap_b) in zip(
            tops, costs, strict=True
        )
    )
    assert document.host is not None
    host = document.host.model_copy(update={"regimes": regimes})
    return document.model_copy(update={"host": host})


def tables_of(
    document: Platform, benchmarks: Sequence[str], noise: Callable[[], float] = lambda: 1.0
) -> list[MeasuredTable]:
    """What a twin of the platform gives, each row times `noise`."""
    try:
        twin = TwinBackend(document, 2)
    except MissingError as error:
        pytest.skip(str(error))
    tables = []
    for name in benchmarks:
        options = {"iterations": 1, "warmup": 0}
        trial = Trial("t", name, tuple(SIZES), twin.nodes, 1, {}, {}, options)
        samples = twin.measure(Launch(trial, 0, 0))
        rows = tuple((s.size_bytes, s.metrics[METRICS[name]] * noise()) for s in samples)
        tables.append(MeasuredTable(name, rows, f"a twin's {name}"))
    return tables


def regimes_of(fitted: FittedPlatform) -> tuple[HostRegime, ...]:
    assert fitted.platform.host is not None
    return fitted.platform.host.regimes


BASE = platform("fat-tree")


@pytest.mark.parametrize("windows", [["bandwidth"], ["bidirectional"]])
def test_gaps_and_changes_of_protocol_come_back_from_a_twin_within_two_percent(
    windows: list[str],
) -> None:
    known = with_regimes(BASE)
    fitted = fit_platform(tables_of(known, ["latency", *windows]), name="back", base=BASE)
    regimes = regimes_of(fitted)
    assert len(regimes) == len(KNOWN)
    for regime, (overhead, latency, gap, overhead_b, latency_b, gap_b) in zip(
        regimes, KNOWN, strict=True
    ):
        assert regime.gap_ns == pytest.approx(gap, rel=0.02)
        assert regime.gap_ns_per_byte == pytest.approx(gap_b, rel=0.02)
        # What a table of latencies cannot split comes back as a sum.
        host_ns = regime.send_overhead_ns + regime.recv_overhead_ns + regime.latency_ns
        a_byte = 2 * regime.send_ns_per_byte + regime.latency_ns_per_byte
        assert host_ns == pytest.approx(2 * overhead + latency, rel=0.02)
        assert a_byte == pytest.approx(2 * overhead_b + latency_b, rel=0.05)
    for regime, limit in zip(regimes, LIMITS, strict=False):
        assert regime.max_bytes is not None
        assert limit <= regime.max_bytes < 2 * limit


def test_overheads_come_back_where_windows_in_both_directions_keep_the_processor_busy() -> None:
    busy = [(900.0, 1500.0, 1200.0, 0.0, 0.0, 0.05)]
    tables = tables_of(with_regimes(BASE, busy), ["latency", "bandwidth", "bidirectional"])
    (regime,) = regimes_of(fit_platform(tables, name="back", base=BASE))[:1]
    assert regime.send_overhead_ns == pytest.approx(900, rel=0.02)
    assert regime.recv_overhead_ns == pytest.approx(900, rel=0.02)
    assert regime.latency_ns == pytest.approx(1500, rel=0.03)
    assert regime.gap_ns == pytest.approx(1200, rel=0.02)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("share", [0.02, 0.05])
def test_noise_moves_what_is_predicted_by_no_more_than_itself(share: float, seed: int) -> None:
    rng = random.Random(seed)
    known = with_regimes(BASE)
    benchmarks = ["latency", "bidirectional"]
    noisy = tables_of(known, benchmarks, lambda: max(0.5, rng.gauss(1, share)))
    fitted = fit_platform(noisy, name="noisy", base=BASE)
    for truth in tables_of(known, benchmarks):
        errors = [abs(predicted_value(fitted.platform, truth, s) / v - 1) for s, v in truth.rows]
        assert median(errors) < share
    assert len(regimes_of(fitted)) <= len(KNOWN) + 2


def test_without_a_base_the_fabric_is_as_fast_as_the_tables_and_gives_them_back() -> None:
    tables = tables_of(with_regimes(BASE), ["latency", "bidirectional"])
    fitted = fit_platform(tables, name="alone")
    assert fitted.platform.links is not None
    for table in tables:
        for size, value in table.rows:
            predicted = predicted_value(fitted.platform, table, size)
            assert predicted == pytest.approx(value, rel=0.05), (table.benchmark, size)


def test_a_twin_of_the_fitted_platform_gives_what_the_fit_predicts() -> None:
    tables = tables_of(with_regimes(BASE), ["latency", "bidirectional"])
    fitted = fit_platform(tables, name="again", base=BASE)
    for table in tables_of(fitted.platform, ["latency", "bidirectional"]):
        for size, value in table.rows:
            assert predicted_value(fitted.platform, table, size) == pytest.approx(value, rel=0.02)


def test_the_document_says_where_it_comes_from_and_how_far_it_reaches() -> None:
    tables = tables_of(with_regimes(BASE), ["latency", "bandwidth"])
    tables = [replace(table, source="run 7", sha256="ab" * 32) for table in tables]
    fitted = fit_platform(tables, name="mine", base=BASE)
    read = parse_document(Platform, to_toml(fitted.platform), "mine.toml", "platform")
    assert read == fitted.platform
    fit = read.fit
    assert fit is not None
    assert (fit.min_bytes, fit.max_bytes) == (1, 4 << 20)
    assert fit.covers(4 << 20)
    assert not fit.covers(8 << 20)
    assert fit.n_rows == 46
    assert fit.n_parameters == 2 * (3 + 3) + 2
    latency, bandwidth = fit.tables
    assert (latency.source, latency.sha256) == ("run 7", "ab" * 32)
    assert latency.sizes_bytes == tuple(SIZES)
    assert [half.fitted_on for half in bandwidth.held_out] == list(HALVES)
    assert sum(half.n_rows for half in bandwidth.held_out) == len(SIZES)
    assert any("windows of 64 messages" in said for said in fit.assumptions)


def test_rows_held_out_are_not_fitted() -> None:
    def spoil(table: MeasuredTable) -> MeasuredTable:
        rows = tuple((s, v * (1.04 if i % 2 else 1.0)) for i, (s, v) in enumerate(table.rows))
        return replace(table, rows=rows)

    tables = [spoil(table) for table in tables_of(with_regimes(BASE), ["latency"])]
    fitted = fit_platform(tables, name="spoilt", base=BASE)
    first, second = (half.summary for half in fitted.held_out)
    assert first.median_error == pytest.approx(1 - 1 / 1.04, abs=0.004)
    assert second.median_error == pytest.approx(0.04, abs=0.004)


def test_an_anomaly_is_named_with_its_neighbours_and_left_out() -> None:
    latency, both = tables_of(with_regimes(BASE), ["latency", "bidirectional"])
    rows = tuple((s, v / 3 if s == 2048 else v) for s, v in both.rows)
    fitted = fit_platform([latency, replace(both, rows=rows)], name="odd", base=BASE)
    assert fitted.platform.fit is not None
    (row,) = fitted.platform.fit.tables[1].left_out
    assert row.size_bytes == 2048
    assert row.value == dict(rows)[2048]
    # A third of the rate was measured there.
    assert row.held_out_error == pytest.approx(2, abs=0.3)
    counted = fitted.platform.fit.tables[1].held_out
    assert sum(half.n_rows for half in counted) == len(rows) - 1
    assert all(half.worst_error < 1 for half in counted)
    assert "breaks the rise with size" in row.reason
    published = fitted.platform.table("bidirectional")
    assert published is not None
    assert published.errata == ("2 KiB is an anomaly: not fitted",)


def test_a_half_learns_nothing_from_the_rows_it_is_judged_by() -> None:
    latency, both = tables_of(with_regimes(BASE), ["latency", "bidirectional"])
    # Every second row is of a faster machine, and one of them an anomaly.
    other = {s: v / 3 if s == 2048 else v * 1.03 for s, v in both.rows[1::2]}
    spoilt = replace(both, rows=tuple((s, other.get(s, v)) for s, v in both.rows))
    for base in (BASE, None):
        first = fit_platform([latency, both], name="a", base=base).halves[0]
        again = fit_platform([latency, spoilt], name="a", base=base).halves[0]
        assert again.host == first.host
        assert again.links == first.links


def test_the_worse_half_is_what_a_table_is_said_to_be_known_to() -> None:
    fitted = fit_platform(tables_of(with_regimes(BASE), ["latency"]), name="mine", base=BASE)
    assert fitted.platform.fit is not None
    (table,) = fitted.platform.fit.tables
    assert table.unseen.median_error == max(half.median_error for half in table.held_out)
    assert table.unseen.worst_error == max(half.worst_error for half in table.held_out)
    assert table.unseen.n_rows == len(SIZES)


def test_tables_of_a_faster_fabric_than_the_base_are_refused() -> None:
    tables = tables_of(with_regimes(BASE), ["latency", "bandwidth"])
    with pytest.raises(InputError, match="more than a link of 'azure-a9' carries") as error:
        fit_platform(tables, name="no", base=platform("azure-a9"))
    assert "leave it out" in str(error.value)


def test_a_bus_that_both_directions_share_is_reported_not_refused() -> None:
    latency, one_way = tables_of(with_regimes(BASE), ["latency", "bandwidth"])
    shared = replace(one_way, benchmark="bidirectional", source="shared bus")
    fitted = fit_platform([latency, one_way, shared], name="bus", base=BASE)
    errors = {h.table.benchmark: h.summary.median_error for h in fitted.held_out}
    assert errors["bandwidth"] < 0.05
    assert errors["bidirectional"] > 0.3
    assert fitted.platform.fit is not None
    assert "both directions at once: only busy processors slow windows down" in (
        fitted.platform.fit.assumptions
    )


def test_tables_of_two_machines_are_refused() -> None:
    latency, _ = tables_of(with_regimes(BASE), ["latency", "bandwidth"])
    slow = tuple((size, value * 40) for size, value in latency.rows)
    _, one_way = tables_of(with_regimes(BASE), ["latency", "bandwidth"])
    with pytest.raises(InputError, match=r"less than the latency of one|tables of the same"):
        fit_platform([replace(latency, rows=slow), one_way], name="no", base=BASE)


def test_a_base_without_a_fabric_is_refused() -> None:
    tables = tables_of(with_regimes(BASE), ["latency"])
    with pytest.raises(InputError, match="'this-machine' has no fabric"):
        fit_platform(tables, name="no", base=platform("this-machine"))


def test_a_table_that_says_nothing_about_its_own_rows_is_refused() -> None:
    rng = random.Random(3)
    rows = tuple(
        (size, 10 ** rng.uniform(0, 0.04 * k + 4 * (k % 2))) for k, size in enumerate(SIZES)
    )
    with pytest.raises(InputError, match=r"break the rise with size|predict the other half to"):
        fit_platform([MeasuredTable("latency", rows, "noise.txt")], name="no")


def test_a_size_beyond_the_fit_of_a_platform_is_marked() -> None:
    a9 = platform("azure-a9")
    inside = predict(a9, Conditions("latency", 4 << 20))
    outside = predict(a9, Conditions("latency", 8 << 20))
    assert "outside the fit" not in inside.source
    assert outside.source.endswith("8 MiB is outside the fit (0 B to 4 MiB)")
    assert "outside the fit" not in predict(a9, Conditions("barrier", 0)).source
