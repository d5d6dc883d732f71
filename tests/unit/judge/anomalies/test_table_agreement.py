"""GPCNeT's impact against the two measurements it is the ratio of."""

from weft.judge.anomalies.table_agreement import across_tables
from weft.judge.rules import rules
from weft.results.model import Row, Table


def tables(alone: float, loaded: float, impact: float, metric: str = "latency_us") -> list[Table]:
    measured = Table(
        "gpcnet",
        "RR",
        "random_ring_latency",
        (
            Row(1, 8, {metric: alone}, {"state": "isolated"}),
            Row(2, 8, {metric: loaded}, {"state": "congested"}),
        ),
        1,
        n_nodes=13,
    )
    ratio = Table("gpcnet", "RR", "congestion_impact", (Row(3, 8, {"impact": impact}),), 3)
    return [measured, Table(**{**_fields(ratio), "n_nodes": 13})]


def _fields(table: Table) -> dict[str, object]:
    return {name: getattr(table, name) for name in Table.__dataclass_fields__}


def test_an_impact_that_follows_is_not_doubted() -> None:
    assert across_tables(tables(2.9, 2.9, 1.0), rules()) == {}
    assert across_tables(tables(4061.4, 2030.7, 2.0, "bandwidth_mb_s"), rules()) == {}


def test_a_measurement_that_does_not_give_the_impact_puts_all_three_in_doubt() -> None:
    found = across_tables(tables(2.9, 5.8, 1.0), rules())
    assert len(found) == 3
    assert "give an impact of 2, the file says 1" in next(iter(found.values()))


def test_rounding_to_one_digit_and_missing_ratios_are_forgiven() -> None:
    assert across_tables(tables(0.3, 0.4, 1.3), rules()) == {}
    assert across_tables(tables(2.9, 5.8, 0.0), rules()) == {}
    assert across_tables(tables(2.9, 5.8, 1.0)[:1], rules()) == {}
